"""``vse train``: a model from pairs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vse_ens.cli.console import Console, duration, facts
from vse_ens.cli.errors import INTERRUPTED
from vse_ens.cli.options import ClusterOptions, PairsFile, Reading, Training, is_folder
from vse_ens.cli.train_progress import TrainingProgress

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.partition.store import Partition


def train(
    pairs: PairsFile,
    out: Annotated[Path, typer.Option(metavar="MODEL", show_default=False, help="The model directory to write.")],
    *,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from where an earlier run was stopped or killed, to the same bytes.")
    ] = False,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Image features for the towers that use them: parquet or csv, the image id first, then numbers.",
        ),
    ] = None,
    feedback: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="What people judged in vse serve: accepted pairs are added, rejected ones taken out.",
        ),
    ] = None,
    place: ClusterOptions,
    training: Training,
    reading: Reading,
    screen: Console,
) -> None:
    """Train a model on pairs.

    What is not given is the preset's: docs/training.md lists what that is. A folder of Parquet parts is sorted out into
    MODEL.checkpoint.shards and trained shard by shard: no step holds all pairs.
    While it runs, MODEL.checkpoint beside the model holds its state; Ctrl-C stops after the round and keeps the model.
    """
    from vse_ens.annotator import Annotator
    from vse_ens.model.store import check_target

    model = Annotator(training.preset, seed=training.seed, workers=training.workers, **training.settings())
    config = model.config()  # a wrong setting or place is told before the work
    check_target(out)
    checkpoint = out.with_name(out.name + ".checkpoint")
    data: Annotations | Partition
    if is_folder(pairs):
        if features is not None or feedback is not None:
            raise typer.BadParameter("--features and --feedback need all pairs in one file", param_hint="'PAIRS'")
        parts = reading.parts(pairs)
        with screen.progress("sorting out", parts.rows, "pairs") as progress:
            data = model.sort_out(parts, checkpoint, progress=progress)
    else:
        data = _read(pairs, features, feedback, reading, screen)
    if checkpoint.exists() and not resume:
        screen.say(f"note: {checkpoint} of an earlier run is replaced; --resume would have gone on from it")
    began = time.perf_counter()
    with TrainingProgress(screen.err, config.metric) as training_progress:
        model.fit(
            data,
            progress=training_progress,
            checkpoint=checkpoint,
            resume=resume,
            cluster=place.cluster,
            address=place.address,
        )
    seconds = time.perf_counter() - began
    if resume and not model.resumed_:
        screen.say(f"note: there was nothing to resume at {checkpoint}; trained from the start")
    model.save(out)
    if model.interrupted_:
        screen.say(f"stopped; the model is kept as it is, and --resume goes on from {checkpoint}")
    else:
        model.forget(checkpoint)
    _show(model, out, seconds, screen)
    if model.interrupted_:
        raise typer.Exit(INTERRUPTED)


def _read(pairs: Path, features: Path | None, feedback: Path | None, reading: Reading, screen: Console) -> Annotations:
    """The pairs of a file, with what else is known of its images."""
    data = reading.read(pairs, screen)
    if feedback is not None:
        from vse_ens.data.feedback.pairs import apply_feedback

        data = apply_feedback(data, feedback)
    for note in data.notes:
        screen.say(f"note: {note}")
    if features is not None:
        from vse_ens.data.features.attach import read_features

        table = read_features(features, data.images)
        data = data.with_features(table.matrix)
        if table.ignored:
            ignored = f"{table.ignored:,} image{'s' if table.ignored > 1 else ''}"
            screen.say(f"note: passed over {ignored} of {features} that no pair has")
    return data


def _show(model: Annotator, out: Path, seconds: float, screen: Console) -> None:
    draws = sum(report.draws for report in model.history_)
    working = sum(report.seconds for report in model.history_)
    speed = draws / working if working else 0.0
    document: dict[str, Any] = {
        "model": str(out),
        "preset": model.preset,
        "epochs": model.training_["epochs"],
        "best_epoch": model.training_["best_epoch"],
        "memory_weight": model.training_["memory_weight"],
        "complete": model.training_["complete"],
        "resumed": model.resumed_,
        "seconds": round(seconds, 3),
        "draws": draws,
        "draws_per_second": round(speed, 1),
        "validation": model.validation_ or {},
        "config": model.config_.to_dict(),
        "history": [report.to_dict() for report in model.history_],
    }
    rows = [
        ("model", str(out)),
        ("data", repr(model.known_).removeprefix("Annotations(").removesuffix(")")),
        ("epochs", _epochs(model)),
        ("time", f"{duration(seconds)}, {speed / 1e6:.2f} M draws a second"),
    ]
    if model.validation_:
        rows.append(("validation", ", ".join(f"{name} {value:.4f}" for name, value in model.validation_.items())))
    if model.training_["memory_weight"]:
        rows.append(("label memory", f"weight {model.training_['memory_weight']:g}, found on the held-out labels"))
    given_up = sum(report.given_up for report in model.history_)
    if given_up:
        rows.append(("given up", f"{given_up:,} of {draws:,} draws found no negative"))
    screen.result(document, facts(rows))


def _epochs(model: Annotator) -> str:
    epochs, best = model.training_["epochs"], model.training_["best_epoch"]
    if not model.validation_:
        return f"{epochs}"
    tried = sum(report.validation is not None for report in model.history_)
    if tried == epochs:
        return f"{epochs}, the best was {best}"
    return f"{epochs - tried} on all pairs, after {tried} with labels held out, of which {best} was best"
