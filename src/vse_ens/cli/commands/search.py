"""``vse search``: find images for labels."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from vse_ens.cli.console import Console, columns
from vse_ens.cli.conversion import PlainCommand
from vse_ens.cli.formatting import confidence_text, label_list, plural
from vse_ens.cli.options import ModelDir, load_model, parse_labels


class SearchCommand(PlainCommand):
    """A command in which ``-person`` is no option but a label to exclude, as in the search field of the web page."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line with such labels moved behind ``--``, which ends the options."""
        options: list[Any] = [parameter for parameter in self.params if parameter.param_type_name == "option"]
        names = {name for parameter in options for name in (*parameter.opts, *parameter.secondary_opts)}
        with_value = {name for parameter in options if not parameter.is_flag for name in parameter.opts}
        kept: list[str] = []
        excluded: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                break
            if word.startswith("-") and not word.startswith("--") and word not in {"-h", *names}:
                excluded.append(word)
            else:
                kept.append(word)
            if word in with_value:
                kept += islice(words, 1)
        return super().parse_args(ctx, [*kept, "--", *excluded, *words])


def search(
    model: ModelDir,
    labels: Annotated[
        list[str],
        typer.Argument(
            metavar="LABEL",
            show_default=False,
            help="Labels the images should have; with a dash before it, as in -person, a label they should not have.",
        ),
    ],
    *,
    without: Annotated[
        str, typer.Option(metavar="A,B", show_default=False, help="Labels the images should not have.")
    ] = "",
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Include images that are known to have all the labels.")
    ] = False,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of images.")] = 20,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Use an approximate index, built at first use: for more than a million images; may miss some.",
        ),
    ] = None,
    console: Console,
) -> None:
    """Find images for labels, including images not tagged with them.

    Results are sorted, best first. Images that already have all the labels are excluded unless --tagged is given. After
    --, a word such as -h or --top is a label as well.
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
