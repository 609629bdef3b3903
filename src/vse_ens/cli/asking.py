"""What commands that ask a trained model share: the model, and lists of labels as they are typed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vse_ens.cli.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vse_ens.annotator import Annotator
    from vse_ens.curate.explain import Reason

ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model directory.")]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        show_default=False,
        help="In place of an image of the model: the labels of any other image, with commas.",
    ),
]


def load(model: Path, screen: Screen) -> Annotator:
    """The trained model in a directory."""
    with screen.busy(f"loading {model}"):
        from vse_ens.annotator import Annotator

        return Annotator.load(model)


def listed(text: str) -> list[str]:
    """Labels with commas between them; one that holds a comma stands in double quotes."""
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [label for row in rows for one in row if (label := one.strip())]


def listed_or_read(text: str | None) -> list[str] | None:
    """Labels with commas between them, or those in the file of that name, one a line."""
    if text is None:
        return None
    path = Path(text)
    if not path.is_file():
        return listed(text)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{path} is not UTF-8 text with one label a line") from error
    return [label for line in lines if (label := line.strip())]


def named(reason: Reason) -> str:
    """A reason in words."""
    sources = {"image": "the image's own vector", "bias": "the label's own bias"}
    return " + ".join(reason.labels) or sources[reason.source]


def in_words(reasons: Sequence[Reason], most: int = 3) -> str:
    """The first few reasons, each with its share."""
    return ", ".join(f"{named(reason)} ({reason.share:+.2f})" for reason in reasons[:most])


def as_documents(reasons: Sequence[Reason]) -> list[dict[str, Any]]:
    """Reasons for JSON."""
    return [{"labels": list(one.labels), "share": one.share, "source": one.source} for one in reasons]


def probability(confidence: float | None) -> str:
    """A confidence as a table shows it."""
    return "-" if confidence is None else f"{confidence:.3f}"


def some(labels: Sequence[str], *, first: Sequence[str] = (), most: int = 6) -> str:
    """The labels of an image as a table shows them: a few, some of them in front."""
    ordered = sorted(labels, key=lambda label: label not in first)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more
