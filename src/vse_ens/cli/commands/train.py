"""``vse train`` and ``vse update``: train a model, and add new pairs to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from vse_ens.cli.console import Console, duration, facts, plural
from vse_ens.cli.errors import INTERRUPTED
from vse_ens.cli.options import (
    ClusterOptions,
    FeaturesOption,
    ModelDir,
    Nearby,
    PairsFile,
    Portable,
    Reading,
    ScoresOption,
    TrainOptions,
    Workers,
    load_model,
    note_unlabeled,
    read_table,
    save_model,
)
from vse_ens.cli.parameters import Argument, Option, misuse
from vse_ens.cli.train_progress import TrainingProgress
from vse_ens.portable import use_portable_cpu

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.features import FeatureTable
    from vse_ens.data.partition.store import Partition


def train(
    pairs: PairsFile,
    out: Annotated[Path, Option("The model directory to write.", "MODEL")],
    *,
    resume: Annotated[
        bool, Option("Continue a stopped or killed run; on one kind of CPU the model is the same.")
    ] = False,
    portable: Portable = False,
    features: FeaturesOption = None,
    scores: ScoresOption = None,
    embed: Annotated[
        str | None,
        Option("Compute features of the pictures with this ONNX network, as vse embed does.", "NETWORK"),
    ] = None,
    nearby: Nearby = False,
    feedback: Annotated[
        Path | None, Option("Feedback file of vse serve: accepted pairs are added, rejected pairs removed.", "FILE")
    ] = None,
    track: Annotated[
        Sequence[str],
        Option("Record the training: mlflow:URI, wandb (offline) or tensorboard:DIR; may be repeated.", "WHERE"),
    ] = (),
    verbose: Annotated[bool, Option("Also show the loss, the violations and the speed.")] = False,
    cluster: ClusterOptions,
    training: TrainOptions,
    reading: Reading,
    console: Console,
) -> None:
    """Train a model on pairs.

    Settings that are not given come from the preset; see docs/training.md. A folder of Parquet files is partitioned
    into MODEL.checkpoint.shards and trained shard by shard, without loading all pairs. MODEL.checkpoint has the state
    of the run. Ctrl-C stops after the current round and saves the model.

    Example: vse train split/train.parquet --out model
    """
    if sum(map(bool, (features, scores, embed, nearby))) > 1:
        raise misuse("--features", "give only one of --features, --scores, --embed and --nearby")
    if portable:
        use_portable_cpu()
    from vse_ens.annotator import Annotator
    from vse_ens.model.store import reserve_target
    from vse_ens.tracking import parse_tracker
    from vse_ens.train.run_files import check_run_files

    model = Annotator(training.preset, seed=training.seed, workers=training.workers, **training.settings())
    config = model.config()  # fails on a wrong setting before the data is read
    trackers = [parse_tracker(text) for text in track]
    checkpoint = out.with_name(out.name + ".checkpoint")
    data: Annotations | Partition
    with reserve_target(out):
        check_run_files(checkpoint)
        if out.exists():
            console.note(f"the model in {out} is replaced when the training ends; give another --out to keep it")
        if reading.is_parts(pairs):
            if nearby or {features, scores, embed, feedback, reading.rules} != {None}:
                raise misuse("PAIRS", "features, --feedback and --rules need all pairs in one file")
            parts = reading.parts(pairs)
            with console.progress("partitioning", parts.rows, "pairs") as progress:
                data = model.partition(parts, checkpoint, progress=progress)
        else:
            data = _read(pairs, feedback, reading, console)
            table = read_table(features, scores, console)
            if embed is not None:
                table = _embedded(pairs, data, embed, console)
            elif nearby:
                table = _nearby(pairs, data, console)
            if table is not None:
                from vse_ens.data.features import attach_features

                data = attach_features(data, table)
            console.notes(data.notes)
            note_unlabeled(data, console)
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
                **vars(cluster),
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
        raise click.exceptions.Exit(INTERRUPTED)


def _read(pairs: Path, feedback: Path | None, reading: Reading, console: Console) -> Annotations:
    """Read pairs and apply feedback."""
    data = reading.read(pairs, console)
    if feedback is None:
        return data
    from vse_ens.data.cleaning import clean
    from vse_ens.data.feedback.pairs import apply_feedback
    from vse_ens.data.rules.store import read_rules

    if reading.rules is None:
        return apply_feedback(data, feedback)
    return clean(data, feedback=feedback, rules=read_rules(reading.rules)).data


def _embedded(pairs: Path, data: Annotations, network: str, console: Console) -> FeatureTable:
    """Return the features of the pictures of a collection."""
    import numpy as np

    from vse_ens.cli.commands.embed import embed_pictures, open_encoder, picture_paths
    from vse_ens.data.features import FeatureTable

    paths = picture_paths(pairs, data, console)
    with embed_pictures(paths, open_encoder(network, console), console) as vectors:
        return FeatureTable(vectors.images, np.concatenate(list(vectors.blocks())), None)


def _nearby(pairs: Path, data: Annotations, console: Console) -> FeatureTable:
    """Return the features of the folders and times of the pictures of a collection."""
    from vse_ens.cli.commands.embed import picture_paths
    from vse_ens.data.features import nearby_features

    with console.status("reading the times of the photos"):
        return nearby_features(picture_paths(pairs, data, console))


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
        "neighbors_scale": model.training_["neighbors_scale"],
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
    if model.training_["neighbors_scale"]:
        rows.append(("neighbors", f"factor {model.training_['neighbors_scale']:g}, chosen on held-out labels"))
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


def update(
    model: ModelDir,
    more: Annotated[
        Sequence[Path],
        Argument(
            "Files of new pairs, in any format that vse train reads, or feedback files of vse serve.", "[MORE]..."
        ),
    ] = (),
    *,
    out: Annotated[Path, Option("The model directory to write.", "NEW_MODEL")],
    features: FeaturesOption = None,
    scores: ScoresOption = None,
    nearby: Nearby = False,
    portable: Portable = False,
    workers: Workers = None,
    reading: Reading,
    console: Console,
) -> None:
    """Add new pairs, images and labels to a trained model.

    This takes a fraction of the training time and changes existing suggestions little. A model that was trained with
    features takes those of new images, also of images without pairs. Rejected pairs are ignored: vse train --feedback
    removes them.

    Example: vse update model model.feedback.sqlite --out model-2
    """
    if portable:
        use_portable_cpu()
    from vse_ens.model.store import reserve_target

    with reserve_target(out):
        if not more and features is scores:
            raise misuse("MORE", "give new pairs, --features or --scores")
        inputs = [_read_new(path, reading, console, nearby=nearby) for path in more]
        annotator = load_model(model, console)
        table = read_table(features, scores, console)
        if table is not None:
            from vse_ens.data.annotations import Annotations
            from vse_ens.data.features import attach_features

            inputs.append((attach_features(Annotations.from_pairs([]), table), 0))
        joined = reduce(lambda left, right: left.joined(right), (pairs for pairs, _ in inputs))
        rejected = sum(count for _, count in inputs)
        annotator.workers = workers
        before = annotator.known_
        for path, (pairs, _) in zip(more, inputs, strict=False):
            _note_removed(path, pairs, before, console)
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
    if not new["pair"] and table is None:
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


def _note_removed(path: Path, pairs: Annotations, known: Annotations, console: Console) -> None:
    """Print a note on labels that a collection, which has all labels of its images, no longer has."""
    from vse_ens.data.filters import pairs_without

    if pairs.pictures is None:  # new pairs alone
        return
    gone = [(image, label) for image, label in pairs_without(known, pairs) if image in pairs.images]
    if gone:
        image, label = gone[0]
        console.note(
            f"{path} lacks {plural(len(gone), 'label')} of the model, such as {label} on {image}; an update only adds: "
            f"vse train {path} forgets them"
        )


def _read_new(path: Path, reading: Reading, console: Console, *, nearby: bool) -> tuple[Annotations, int]:
    """Read a file of pairs or of feedback, and count the rejected pairs of the latter."""
    from vse_ens.data.feedback.pairs import read_feedback
    from vse_ens.data.feedback.store import is_feedback_file

    if is_feedback_file(path):
        with console.status(f"reading {path}"):
            feedback = read_feedback(path)
        return feedback.accepted, feedback.rejected.pairs
    pairs = reading.read(path, console)
    if nearby:
        from vse_ens.data.features import attach_features

        pairs = attach_features(pairs, _nearby(path, pairs, console))
    for note in pairs.notes:
        console.note(f"{path}: {note}")
    return pairs, 0
