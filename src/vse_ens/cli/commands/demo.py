"""``vse demo``: the main job, on the built-in data set, in words a person can judge."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from vse_ens.cli.commands.info import as_document
from vse_ens.cli.console import Console, columns, duration, facts
from vse_ens.cli.train_progress import TrainingProgress

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator

_LEAST_KNOWN = 3  # fewer labels say little about a picture


def demo(
    *,
    images: Annotated[int, typer.Option(min=100, metavar="N", help="How many images.")] = 5000,
    shown: Annotated[int, typer.Option(min=1, metavar="N", help="How many images to show.")] = 6,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives other images.")] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then open a page to try it on, at a free port of this machine.")
    ] = False,
    screen: Console,
) -> None:
    """Run the main job on the built-in data set.

    Make everyday scenes, hold one label of each image out, learn from the rest, and suggest labels.
    """
    from vse_ens.annotator import Annotator
    from vse_ens.data.datasets.scenes import scenes

    with screen.busy("making scenes"):
        data = scenes(images=images, seed=seed)
    train, test = data.leave_one_out(seed)
    model = Annotator(seed=seed)
    began = time.perf_counter()
    config = model.config()
    with TrainingProgress(screen.err, config.metric) as progress:
        model.fit(train, progress=progress)
    seconds = time.perf_counter() - began
    figures = model.evaluate(test)
    summary = data.summary()

    chosen = (train.labels_per_image >= _LEAST_KNOWN).nonzero()[0][:shown]
    suggestions = model.annotate(data.images.ids(chosen), top=5)
    examples: list[dict[str, Any]] = [
        {
            "image": data.images.id(image),
            "known": data.labels.ids(train.label_numbers(image)),
            "held_out": data.labels.ids(test.label_numbers(image))[0],
            "suggestions": [asdict(one) for one in suggested],
        }
        for image, suggested in zip(map(int, chosen), suggestions, strict=True)
    ]
    document = {
        "data": as_document(summary),
        "train": train.pairs,
        "test": test.pairs,
        "seconds": round(seconds, 3),
        "metrics": figures.metrics,
        "examples": examples,
    }
    rows = [
        (
            ", ".join(row["known"]),
            ", ".join(
                one["label"] + (" (held out)" if one["label"] == row["held_out"] else "") for one in row["suggestions"]
            ),
        )
        for row in examples
    ]
    screen.result(
        document,
        Text(f"The built-in data set: {images:,} everyday scenes, known only by their labels.\n"),
        Padding(facts(summary.rows()), (0, 0, 1, 2)),
        Text(
            f"One label of each image was held out; the other {train.pairs:,} pairs were learnt from\n"
            f"in {duration(seconds)} (preset {model.preset}). For {figures['recall@10']:.0%} of the images the "
            f"held-out label is\namong the ten best of {summary.labels:,}.\n"
        ),
        Padding(columns(("what is known of an image", "what is suggested"), rows), (0, 0, 0, 2)),
    )
    if serve:
        _serve(model, screen)


def _serve(model: Annotator, screen: Console) -> None:
    from vse_ens.cli.commands.serve import serve

    with TemporaryDirectory(prefix="vse-demo-") as folder:
        path = Path(folder) / "scenes"
        model.save(path)
        screen.say(f"\nThe model, and what you judge, are in {folder} until you stop.")
        serve(path, port=0, open_page=True, screen=screen)
