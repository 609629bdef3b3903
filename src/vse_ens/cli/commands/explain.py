"""``vse explain``: why a label."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from vse_ens.cli.console import Console, columns
from vse_ens.cli.options import Labels, ModelFolder, as_documents, listed, load, named, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vse_ens.curate.explain import Explanation


def explain(
    model: ModelFolder,
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[IMAGE] LABEL", show_default=False, help="An image of the model, and a label for it."),
    ],
    *,
    labels: Labels = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Name so many reasons; the others are summed.")] = 10,
    screen: Console,
) -> None:
    """Show why a label is suggested: shares that add up to its score.

    Each known label of the image, and each combination of two, adds its share to the score.
    """
    if len(asked) != (1 if labels is not None else 2):
        wanted = "one LABEL beside --labels" if labels is not None else "an IMAGE and a LABEL, or --labels and a LABEL"
        raise typer.BadParameter(f"give {wanted}; an id with spaces stands in quotes", param_hint="'[IMAGE] LABEL'")
    annotator = load(model, screen)
    if labels is None:
        image, label = asked
        known = annotator.known_.labels_of(image)
        found = annotator.explain(image, label)
    else:
        image, [label] = None, asked
        known = listed(labels)
        found = annotator.explain(labels=known, label=label)
    document = {
        "image": image,
        "labels": known,
        "label": label,
        "score": found.score,
        "confidence": found.confidence,
        "reasons": as_documents(found.reasons),
    }
    sure = "" if found.confidence is None else f", with confidence {probability(found.confidence)}"
    screen.result(
        document,
        Text(f"{label} for {'these labels' if image is None else image}{sure}: what adds up to its score\n"),
        columns(("because of", "share"), _rows(found, top), numbers=("share",)),
    )


def _rows(found: Explanation, top: int) -> list[tuple[str, str]]:
    by_labels = [one for one in found.reasons if one.labels]
    rest = [one for one in found.reasons if not one.labels]
    parts = [(named(one), one.share) for one in by_labels[:top]]
    if others := by_labels[top:]:
        parts.append((f"{len(others)} others", sum(one.share for one in others)))
    parts += [(named(one), one.share) for one in rest]
    shares = _rounded([share for _, share in parts])
    rows = [(name, f"{share / 100:+.2f}") for (name, _), share in zip(parts, shares, strict=True)]
    return [*rows, ("score", f"{sum(shares) / 100:+.2f}")]


def _rounded(shares: Sequence[float]) -> list[int]:
    """Shares in hundredths that add up to the rounded sum, since what is rounded is the sum so far."""
    return [
        after - before for before, after in pairwise(round(100 * total) for total in accumulate(shares, initial=0.0))
    ]
