"""``vse train``: train a model on pairs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.errors import INTERRUPTED
from vse_ens.cli.formatting import duration, plural
from vse_ens.cli.options import ClusterOptions, PairsFile, Portable, ReadOptions, TrainOptions, save_model
from vse_ens.cli.train_progress import TrainingProgress
from vse_ens.portable import use_portable_cpu

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.partition.store import Partition


def train(
    pairs: PairsFile,
    out: Annotated[Path, typer.Option(metavar="MODEL", show_default=False, help="The model directory to write.")],
    *,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue a stopped or killed run; on one kind of CPU the model is the same."),
    ] = False,
    portable: Portable = False,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Image features for towers that use them: parquet or csv, the image ID first, then numbers.",
        ),
    ] = None,
    feedback: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Feedback file of vse serve: accepted pairs are added, rejected pairs removed.",
        ),
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHERE",
            show_default=False,
            help="Record the training: mlflow:URI, wandb (offline) or tensorboard:DIR; may be repeated.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also show the loss, the violations and the speed.")
    ] = False,
    cluster: ClusterOptions,
    training: TrainOptions,
    reading: ReadOptions,
    console: Console,
) -> None:
    """Train a model on pairs.

    Settings that are not given come from the preset; see docs/training.md. A folder of Parquet files is partitioned
    into MODEL.checkpoint.shards and trained shard by shard, without loading all pairs. MODEL.checkpoint has the state
    of the run. Ctrl-C stops after the current round and saves the model.
    """
    if portable:
        use_portable_cpu()
    from vse_ens.annotator import Annotator
    from vse_ens.model.store import reserve_target
    from vse_ens.tracking import parse_tracker
    from vse_ens.train.run_files import check_run_files

    model = Annotator(training.preset, seed=training.seed, workers=training.workers, **training.settings())
    config = model.config()  # fails on a wrong setting before the data is read
    trackers = [parse_tracker(text) for text in track or ()]
    checkpoint = out.with_name(out.name + ".checkpoint")
    data: Annotations | Partition
    with reserve_target(out):
        check_run_files(checkpoint)
        if reading.is_parts(pairs):
            if features is not None or feedback is not None or reading.rules is not None:
                raise typer.BadParameter(
                    "--features, --feedback and --rules need all pairs in one file", param_hint="'PAIRS'"
                )
            parts = reading.parts(pairs)
            with console.progress("partitioning", parts.rows, "pairs") as progress:
                data = model.partition(parts, checkpoint, progress=progress)
        else:
            data = _read(pairs, features, feedback, reading, console)
        if checkpoint.exists() and not resume:
            console.note(f"replacing {checkpoint} of an earlier run; use --resume to continue it")
        started = time.perf_counter()
        with TrainingProgress(console.err, config.metric, verbose=verbose) as training_progress:
            model.fit(
                data,
                progress=training_progress,
                callbacks=trackers,
                checkpoint=checkpoint,
                resume=resume,
                cluster=cluster.cluster,
                address=cluster.address,
                allow_mixed_cpus=cluster.allow_mixed_cpus,
            )
        seconds = time.perf_counter() - started
        if resume and not model.resumed_:
            console.note(f"{checkpoint} has nothing to resume; trained from the start")
        save_model(model, out)
        if model.interrupted_:
            resuming = f", and --resume continues from {checkpoint}" if checkpoint.exists() else ""
            console.log(f"stopped; the model is saved as it is{resuming}")
        else:
            model.remove_checkpoint(checkpoint)
    _show(model, out, seconds, console)
    if model.interrupted_:
        raise typer.Exit(INTERRUPTED)


def _read(
    pairs: Path, features: Path | None, feedback: Path | None, reading: ReadOptions, console: Console
) -> Annotations:
    """Read pairs, apply feedback and attach image features."""
    data = reading.read(pairs, console)
    if feedback is not None:
        from vse_ens.data.cleaning import clean
        from vse_ens.data.feedback.pairs import apply_feedback
        from vse_ens.data.rules.store import read_rules

        if reading.rules is None:
            data = apply_feedback(data, feedback)
        else:
            data = clean(data, feedback=feedback, rules=read_rules(reading.rules)).data
    for note in data.notes:
        console.note(note)
    if features is not None:
        from vse_ens.data.features.attach import read_features

        table = read_features(features, data.images)
        data = data.with_features(table.matrix)
        if table.ignored:
            console.note(f"ignored {plural(table.ignored, 'image')} of {features} without pairs")
    return data


def _show(model: Annotator, out: Path, seconds: float, console: Console) -> None:
    draws = sum(report.draws for report in model.history_)
    training_seconds = sum(report.seconds for report in model.history_)
    speed = draws / training_seconds if training_seconds else 0.0
    document: dict[str, Any] = {
        "model": str(out),
        "preset": model.preset,
        "epochs": model.training_["epochs"],
        "best_epoch": model.training_["best_epoch"],
        "label_weights_scale": model.training_["label_weights_scale"],
        "complete": model.training_["complete"],
        "resumed": model.resumed_,
        "cpus": model.training_["cpus"],
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
        ("time", f"{duration(seconds)}, {speed / 1e6:.2f} M draws/s"),
    ]
    if model.validation_:
        rows.append(("validation", ", ".join(f"{name} {value:.4f}" for name, value in model.validation_.items())))
    if model.training_["label_weights_scale"]:
        rows.append(("label weights", f"factor {model.training_['label_weights_scale']:g}, chosen on held-out labels"))
    given_up = sum(report.given_up for report in model.history_)
    if given_up:
        rows.append(("skipped", f"{given_up:,} of {draws:,} draws found no negative"))
    console.result(document, facts(rows))
    found = (model.validation_ or {}).get("recall@10")
    quality = f": {found:.0%} of held-out labels were among its first 10 suggestions" if found is not None else ""
    console.finish(f"The model is in {out}{quality}.", "serve", out)


def _epochs(model: Annotator) -> str:
    epochs, best = model.training_["epochs"], model.training_["best_epoch"]
    if not model.validation_:
        return f"{epochs}"
    validated = sum(report.validation is not None for report in model.history_)
    if validated == epochs:
        return f"{epochs} (best: {best})"
    start = (
        f"after {validated} validation epochs" if model.config_.has_ids else f"from the best of {validated} epochs on"
    )
    return f"{epochs - validated} on all pairs, {start} (best: {best})"
