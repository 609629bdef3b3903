"""``vse update``: new pairs join a trained model."""

from __future__ import annotations

import time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from vse_ens.cli.console import Console, duration, facts
from vse_ens.cli.options import ModelFolder, Reading, load
from vse_ens.cli.train_progress import TrainingProgress

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations


def update(
    model: ModelFolder,
    more: Annotated[
        list[Path],
        typer.Argument(
            metavar="MORE",
            show_default=False,
            help="Files of new pairs, as vse train reads them, or feedback files of vse serve.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="NEW_MODEL", show_default=False, help="The model directory to write.")],
    workers: Annotated[int | None, typer.Option(metavar="N", min=1, show_default="all cores", help="Threads.")] = None,
    reading: Reading,
    screen: Console,
) -> None:
    """Let new pairs, images and labels join a trained model.

    This takes a fraction of training, and what the model suggested before stays close. It can only add: pairs that were
    rejected are taken out by vse train --feedback.
    """
    from vse_ens.model.store import check_target

    check_target(out)
    found = [_read(path, reading, screen) for path in more]
    joined = reduce(lambda one, other: one.joined(other), (one.pairs for one in found))
    rejected = sum(one.rejected for one in found)
    annotator = load(model, screen)
    annotator.workers = workers
    before = annotator.known_
    began = time.perf_counter()
    with TrainingProgress(screen.err, annotator.config_.metric) as progress:
        annotator.partial_fit(joined, progress=progress)
    seconds = time.perf_counter() - began
    annotator.save(out)
    after = annotator.known_
    new = {
        "pair": after.pairs - before.pairs,
        "image": len(after.images) - len(before.images),
        "label": len(after.labels) - len(before.labels),
    }
    if not new["pair"]:
        screen.say(f"note: the model knew the {_counted(joined.pairs, 'pair')} given already; {out} is the same model")
    if rejected:
        screen.say(
            f"note: an update can only add, so that {_counted(rejected, 'rejected pair')} had no effect; "
            "vse train --feedback takes such pairs out"
        )
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
        ("new", ", ".join(_counted(count, name) for name, count in new.items())),
        ("data", repr(after).removeprefix("Annotations(").removesuffix(")")),
        ("time", duration(seconds)),
    ]
    screen.result(document, facts(rows))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


class _More(NamedTuple):
    pairs: Annotations
    rejected: int


def _read(path: Path, reading: Reading, screen: Console) -> _More:
    """The pairs of a file of either kind, and how many it says are wrong."""
    from vse_ens.data.feedback.pairs import read_feedback
    from vse_ens.data.feedback.store import is_feedback_file

    if is_feedback_file(path):
        with screen.busy(f"reading {path}"):
            feedback = read_feedback(path)
        return _More(feedback.accepted, feedback.rejected.pairs)
    pairs = reading.read(path, screen)
    for note in pairs.notes:
        screen.say(f"note: {path}: {note}")
    return _More(pairs, 0)
