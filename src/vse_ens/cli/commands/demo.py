"""``vse demo``: train on the built-in data set and show suggestions."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from rich.padding import Padding
from rich.text import Text

from vse_ens.cli.commands.data import summary_json
from vse_ens.cli.console import Console, columns, duration
from vse_ens.cli.parameters import Option
from vse_ens.cli.train_progress import TrainingProgress

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.annotations import Annotations

_MIN_KNOWN_LABELS = 3  # images with fewer make poor examples


def demo(
    *,
    images: Annotated[int, Option("Number of images.", "N", min=100)] = 5000,
    shown: Annotated[int, Option("Number of example images to show.", "N", min=1)] = 6,
    seed: Annotated[int, Option("Random seed; another seed gives other images.", "N")] = 0,
    serve: Annotated[bool, Option("Then serve the model and open its web page, on a free port.")] = False,
    console: Console,
) -> None:
    """Train on the built-in data set and show suggestions.

    Generates everyday scenes, holds out one label per image, trains on the other pairs, and suggests labels.

    Example: vse demo
    """
    from vse_ens.annotator import Annotator
    from vse_ens.data.datasets.scenes import scenes

    with console.status("generating scenes"):
        data = scenes(images=images, seed=seed)
    train, test = data.leave_one_out(seed)
    summary = data.summary()
    console.text(
        Text(
            f"Built-in data set: {images:,} everyday scenes, known only by their labels\n"
            f"({summary.labels:,} labels, {summary.pairs:,} pairs). One label per image is held out.\n"
        )
    )
    model = Annotator(seed=seed)
    started = time.perf_counter()
    with TrainingProgress(console.err, model.config().metric) as progress:
        model.fit(train, progress=progress)
    seconds = time.perf_counter() - started
    report = model.evaluate(test)
    examples = _examples(model, train, test, shown)
    document = {
        "data": summary_json(summary),
        "train": train.pairs,
        "test": test.pairs,
        "seconds": round(seconds, 3),
        "metrics": report.metrics,
        "examples": examples,
    }
    rows = [
        (
            ", ".join(example["known"]),
            ", ".join(
                suggestion["label"] + (" (held out)" if suggestion["label"] == example["held_out"] else "")
                for suggestion in example["suggestions"]
            ),
        )
        for example in examples
    ]
    console.result(
        document,
        Text(
            f"Trained on the other {train.pairs:,} pairs in {duration(seconds)} (preset {model.preset}).\n"
            f"For {report['recall@10']:.0%} of the images, the held-out label is among the top 10 "
            f"of {summary.labels:,}.\n"
        ),
        Padding(columns(("known labels", "suggested labels"), rows), (0, 0, 0, 2)),
    )
    if serve:
        from vse_ens.cli.commands.serve import serve as serve_model

        with TemporaryDirectory(prefix="vse-demo-") as folder:
            path = Path(folder) / "scenes"
            model.save(path)
            console.log(f"\nThe model and your feedback are in {folder} until you stop the server.")
            serve_model(path, port=0, open_page=True, console=console)
    else:
        console.finish("Labels alone predict labels; the same demo in a browser:", "demo", "--serve")


def _examples(model: Annotator, train: Annotations, test: Annotations, count: int) -> list[dict[str, Any]]:
    """Return the known, held-out and suggested labels of the first images with enough known labels."""
    chosen = (train.labels_per_image >= _MIN_KNOWN_LABELS).nonzero()[0][:count]
    suggestion_lists = model.annotate(train.images.ids(chosen), top=5)
    return [
        {
            "image": train.images.id(image),
            "known": train.labels.ids(train.label_numbers(image)),
            "held_out": test.labels.ids(test.label_numbers(image))[0],
            "suggestions": [asdict(suggestion) for suggestion in suggestions],
        }
        for image, suggestions in zip(map(int, chosen), suggestion_lists, strict=True)
    ]
