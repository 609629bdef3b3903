"""``vse update``: add new pairs to a trained model."""

from __future__ import annotations

import time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.formatting import duration, plural
from vse_ens.cli.options import ModelDir, Portable, ReadOptions, Workers, load_model, save_model
from vse_ens.cli.train_progress import TrainingProgress
from vse_ens.portable import use_portable_cpu

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations


def update(
    model: ModelDir,
    more: Annotated[
        list[Path],
        typer.Argument(
            metavar="MORE",
            show_default=False,
            help="Files of new pairs, in any format that vse train reads, or feedback files of vse serve.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="NEW_MODEL", show_default=False, help="The model directory to write.")],
    portable: Portable = False,
    workers: Workers = None,
    reading: ReadOptions,
    console: Console,
) -> None:
    """Add new pairs, images and labels to a trained model.

    This takes a fraction of the training time and changes existing suggestions little. Rejected pairs are ignored:
    vse train --feedback removes them.
    """
    if portable:
        use_portable_cpu()
    from vse_ens.model.store import reserve_target

    with reserve_target(out):
        inputs = [_read(path, reading, console) for path in more]
        joined = reduce(lambda left, right: left.joined(right), (item.pairs for item in inputs))
        rejected = sum(item.rejected for item in inputs)
        annotator = load_model(model, console)
        annotator.workers = workers
        before = annotator.known_
        started = time.perf_counter()
        with TrainingProgress(console.err, annotator.config_.metric) as progress:
            annotator.partial_fit(joined, progress=progress)
        seconds = time.perf_counter() - started
        save_model(annotator, out)
    after = annotator.known_
    new = {
        "pair": after.pairs - before.pairs,
        "image": len(after.images) - len(before.images),
        "label": len(after.labels) - len(before.labels),
    }
    if not new["pair"]:
        console.note(f"the model already has the given {plural(joined.pairs, 'pair')}; {out} is the same model")
    if rejected:
        console.note(f"ignored {plural(rejected, 'rejected pair')}; vse train --feedback removes rejected pairs")
    document = {
        "model": str(out),
        "from": str(model),
        "given": joined.pairs,
        "new": {f"{name}s": count for name, count in new.items()},
        "rejected": rejected,
        "seconds": round(seconds, 3),
    }
    rows = [
        ("model", str(out)),
        ("new", ", ".join(plural(count, name) for name, count in new.items())),
        ("data", repr(after).removeprefix("Annotations(").removesuffix(")")),
        ("time", duration(seconds)),
    ]
    console.result(document, facts(rows))
    console.finish(f"{out} has learned {plural(new['pair'], 'new pair')}.", "serve", out)


class _Input(NamedTuple):
    pairs: Annotations
    rejected: int


def _read(path: Path, reading: ReadOptions, console: Console) -> _Input:
    """Read a file of pairs or of feedback, and count the rejected pairs of the latter."""
    from vse_ens.data.feedback.pairs import read_feedback
    from vse_ens.data.feedback.store import is_feedback_file

    if is_feedback_file(path):
        with console.status(f"reading {path}"):
            feedback = read_feedback(path)
        return _Input(feedback.accepted, feedback.rejected.pairs)
    pairs = reading.read(path, console)
    for note in pairs.notes:
        console.note(f"{path}: {note}")
    return _Input(pairs, 0)
