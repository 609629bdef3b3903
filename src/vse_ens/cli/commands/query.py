"""``vse search``, ``vse similar`` and ``vse explain``: questions about a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from rich.text import Text

from vse_ens.cli.console import Console, columns, confidence_text, label_list, plural, reasons_json
from vse_ens.cli.options import LabelsOption, ModelDir, load_model, parse_labels
from vse_ens.cli.parameters import Argument, Command, Option, misuse

if TYPE_CHECKING:
    from vse_ens.curate.explain import Explanation


def search(
    model: ModelDir,
    labels: Annotated[
        Sequence[str],
        Argument(
            "Labels the images should have; with a dash before it, as in -person, a label they should not have.",
            "LABEL...",
        ),
    ],
    *,
    without: Annotated[str, Option("Labels the images should not have.", "A,B")] = "",
    tagged: Annotated[bool, Option("Include images that are known to have all the labels.")] = False,
    top: Annotated[int, Option("Maximum number of images.", "N", min=1)] = 20,
    index: Annotated[
        Path | None,
        Option("Use an approximate index, built at first use: for more than a million images; may miss some.", "FILE"),
    ] = None,
    console: Console,
) -> None:
    """Find images for labels, including images not tagged with them.

    Results are sorted, best first. Images that already have all the labels are excluded unless --tagged is given. After
    --, a word such as -h or --top is a label as well.

    Example: vse search model beach -person
    """
    annotator = load_model(model, console)
    with_dash = [label for label in labels if label.startswith("-") and label not in annotator.known_.labels]
    included = [label for label in labels if label not in with_dash]
    excluded = [*(label[1:] for label in with_dash), *parse_labels(without)]
    terms = [*included, *(f"-{label}" for label in excluded)]
    with console.status("searching"):
        hits = annotator.search(terms, top, tagged=tagged, index=index)
    known_labels = [annotator.known_labels(hit.image) for hit in hits]
    document = {
        "labels": included,
        "without": excluded,
        "images": [{**asdict(hit), "labels": known} for hit, known in zip(hits, known_labels, strict=True)],
    }
    rows = [
        (hit.image, confidence_text(hit.confidence), label_list(known, first=included))
        for hit, known in zip(hits, known_labels, strict=True)
    ]
    console.result(document, columns(("image", "confidence", "known labels"), rows, numbers=("confidence",)))
    found = f"{plural(len(hits), 'image')} found, the most likely first."
    console.finish(found, *(("explain", model, hits[0].image, included[0]) if hits and included else ()))


class _SearchCommand(Command):
    """A command in which ``-person`` is a label to exclude, as in the search field of the web page."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line with such labels moved behind ``--``, which ends the options."""
        options = [parameter for parameter in self.params if isinstance(parameter, click.Option)]
        with_value = {name for option in options if not option.is_flag for name in option.opts}
        kept: list[str] = []
        excluded: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                break
            # All options of this command have two dashes, except -h.
            is_label = word.startswith("-") and not word.startswith("--") and word != "-h"
            (excluded if is_label else kept).append(word)
            if word in with_value:
                kept += islice(words, 1)
        return super().parse_args(ctx, [*kept, "--", *excluded, *words])


SEARCH = _SearchCommand(search, "search")


def similar(
    model: ModelDir,
    label: Annotated[str | None, Argument("A label of the model.", "[LABEL]")] = None,
    *,
    image: Annotated[str | None, Option("An image of the model, instead of LABEL.", "IMAGE")] = None,
    top: Annotated[int, Option("Number of results.", "N", min=1)] = 10,
    console: Console,
) -> None:
    """Find labels similar to a label, or images similar to an image.

    Labels are similar if they fit the same images and predict the same other labels. The similarity is at most 1.

    Example: vse similar model beach
    """
    if (label is None) == (image is None):
        raise misuse("LABEL", "give either LABEL or --image IMAGE")
    annotator = load_model(model, console)
    if label is not None:
        kind, query, neighbors = "label", label, annotator.similar_labels(label, top)
    else:
        kind, query, neighbors = "image", image or "", annotator.similar_images(image or "", top)
    document = {
        kind: query,
        "similar": [{kind: neighbor.id, "similarity": neighbor.similarity} for neighbor in neighbors],
    }
    names = [kind, "similarity"]
    rows = [[neighbor.id, f"{neighbor.similarity:.3f}"] for neighbor in neighbors]
    if kind == "image":
        names.append("known labels")
        rows = [[*row, label_list(annotator.known_labels(row[0]))] for row in rows]
    console.result(document, columns(names, rows, numbers=("similarity",)))
    following = ("search", model, query) if kind == "label" else ("annotate", model, query)
    console.finish(f"{plural(len(neighbors), kind)} similar to {query}, the most similar first.", *following)


def explain(
    model: ModelDir,
    ids: Annotated[Sequence[str], Argument("An image of the model and a label.", "[IMAGE] LABEL")],
    *,
    labels: LabelsOption = None,
    top: Annotated[int, Option("Number of reasons to list; the others are summed.", "N", min=1)] = 10,
    console: Console,
) -> None:
    """Explain the score of a label for an image.

    Lists what each known label of the image, and each pair of known labels, adds to the score. A label that the image
    has, such as one that the audit doubts, is explained by its other labels.

    Example: vse explain model img_0000001 sand
    """
    if len(ids) != (1 if labels is not None else 2):
        needed = "one LABEL with --labels" if labels is not None else "an IMAGE and a LABEL, or --labels and a LABEL"
        raise misuse("[IMAGE] LABEL", f"give {needed}; put IDs with spaces in quotes")
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
    parts += [(reason.described, reason.share) for reason in others]
    shares = _rounded([share for _, share in parts])
    rows = [(name, f"{share / 100:+.2f}") for (name, _), share in zip(parts, shares, strict=True)]
    return [*rows, ("score", f"{sum(shares) / 100:+.2f}")]


def _rounded(shares: Sequence[float]) -> list[int]:
    """Return shares in hundredths that add up to the rounded sum: the running sum is rounded, not each share."""
    return [
        after - before for before, after in pairwise(round(100 * total) for total in accumulate(shares, initial=0.0))
    ]
