"""``vse explain``: explain the score of a label for an image."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from vse_ens.cli.console import Console, columns
from vse_ens.cli.formatting import confidence_text, reasons_json
from vse_ens.cli.options import LabelsOption, ModelDir, load_model, parse_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vse_ens.curate.explain import Explanation


def explain(
    model: ModelDir,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="[IMAGE] LABEL", show_default=False, help="An image of the model and a label."),
    ],
    *,
    labels: LabelsOption = None,
    top: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of reasons to list; the others are summed.")
    ] = 10,
    console: Console,
) -> None:
    """Explain the score of a label for an image.

    Lists what each known label of the image, and each pair of known labels, adds to the score. A label that the image
    has, such as one that the audit doubts, is explained by its other labels.
    """
    if len(ids) != (1 if labels is not None else 2):
        needed = "one LABEL with --labels" if labels is not None else "an IMAGE and a LABEL, or --labels and a LABEL"
        raise typer.BadParameter(f"give {needed}; put IDs with spaces in quotes", param_hint="'[IMAGE] LABEL'")
    annotator = load_model(model, console)
    if labels is None:
        image, label = ids
        known = annotator.known_.labels_of(image)
        explanation = annotator.explain(image, label)
    else:
        image, [label] = None, ids
        known = parse_labels(labels)
        explanation = annotator.explain(labels=known, label=label)
    document = {
        "image": image,
        "labels": known,
        "label": label,
        "score": explanation.score,
        "confidence": explanation.confidence,
        "left_out": explanation.left_out,
        "reasons": reasons_json(explanation.reasons),
    }
    confidence = "" if explanation.confidence is None else f", confidence {confidence_text(explanation.confidence)}"
    known_to_have = ", which has it: explained by its other labels" if explanation.left_out else ""
    console.result(
        document,
        Text(f"Score of {label} for {'these labels' if image is None else image}{known_to_have}{confidence}\n"),
        columns(("because of", "share"), _rows(explanation, top), numbers=("share",)),
    )
    console.finish("The shares add up to the score; a higher score is a better match.", "similar", model, label)


def _rows(explanation: Explanation, top: int) -> list[tuple[str, str]]:
    from_labels = [reason for reason in explanation.reasons if reason.labels]
    others = [reason for reason in explanation.reasons if not reason.labels]
    parts = [(reason.name, reason.share) for reason in from_labels[:top]]
    if unlisted := from_labels[top:]:
        parts.append((f"{len(unlisted)} others", sum(reason.share for reason in unlisted)))
    parts += [(reason.name, reason.share) for reason in others]
    shares = _rounded([share for _, share in parts])
    rows = [(name, f"{share / 100:+.2f}") for (name, _), share in zip(parts, shares, strict=True)]
    return [*rows, ("score", f"{sum(shares) / 100:+.2f}")]


def _rounded(shares: Sequence[float]) -> list[int]:
    """Return shares in hundredths that add up to the rounded sum: the running sum is rounded, not each share."""
    return [
        after - before for before, after in pairwise(round(100 * total) for total in accumulate(shares, initial=0.0))
    ]
