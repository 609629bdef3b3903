"""Fold-in: how close folded-in vectors are to trained ones, and accuracy for images not seen in training."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.core.baseline_tuning import tune_ease
from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from benchmarks.core.models import trained_embeddings
from vse_ens.annotator import Annotator
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, NewImagesSplit
from vse_ens.evaluate.rank import FunctionScorer, Scorer, evaluate
from vse_ens.evaluate.report import summarize
from vse_ens.presets import configure
from vse_ens.run.threads import Workers
from vse_ens.train.fold_in import FoldIn

_SOFTMAX = "opt-auc, softmax"
_METRICS = ("recall@10", "mrr", "auc")
_LEAST_COSINE = 0.9


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = ("iaprtc12",)
    methods: tuple[str, ...] = ("vse-ens", "opt-auc", "warp", _SOFTMAX)
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Measure every method on both protocols."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        seen, split = data.leave_one_out(seed=0).train, data.new_images(seed=0)
        log(f"EASE on {name}, regularization tuned on the training part")
        ease = tune_ease(split.train).best.fit(split.train).knowing(split.revealed)
        log(f"context on {name}, without fold-in")
        landing, new = {}, {"EASE": _metrics(ease, split), "context": _context(split, sizes.epochs)}
        for method in sizes.methods:
            log(f"{method} on {name}")
            config = (configure("opt-auc", loss="softmax") if method == _SOFTMAX else configure(method)).override(
                epochs=sizes.epochs
            )
            landing[method] = _compare_with_trained(config, seen)
            new[method] = _rank_new_images(config, split)
        sets[name] = {"images": len(data.images), "labels": len(data.labels), "landing": landing, "new": new}
    return {"sets": sets, "skipped": skipped}


def _compare_with_trained(config: Config, data: Annotations) -> Raw:
    """Fold in all training images with one worker and compare with their trained vectors."""
    embeddings = trained_embeddings(data, config, config.epochs)
    images = np.flatnonzero(data.labels_per_image)
    with Workers(1) as worker:
        # Compile first: compilation is not measured.
        FoldIn(config, data, embeddings, worker).vectors(*data.rows(images[:1]))
        started = time.perf_counter()
        fold_in = FoldIn(config, data, embeddings, worker)
        age = fold_in.visits
        ready = time.perf_counter()
        ours = fold_in.vectors(*data.rows(images))
        ended = time.perf_counter()
    theirs = embeddings.image_vectors[images]
    cosines = (ours * theirs).sum(axis=1) / (np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1))
    return {
        "age": age,
        "start_seconds": ready - started,
        "seconds_an_image": (ended - ready) / len(images),
        "mean": float(cosines.mean()),
        "median": float(np.median(cosines)),
        "5th percentile": float(np.percentile(cosines, 5)),
    }


def _rank_new_images(config: Config, split: NewImagesSplit) -> Raw:
    """Fold in images that were not in training, from their revealed labels, and rank their other labels."""
    embeddings = trained_embeddings(split.train, config, config.epochs)
    with Workers() as workers:
        vectors = FoldIn(config, split.train, embeddings, workers).vectors(
            split.revealed.indptr, split.revealed.indices
        )
    scorer = FunctionScorer(split.train.images, split.train.labels, lambda images: embeddings.scores(vectors[images]))
    return _metrics(scorer, split)


def _context(split: NewImagesSplit, epochs: int | None) -> Raw:
    """Evaluate the preset `context`, which computes image vectors from labels without fold-in."""
    model = Annotator() if epochs is None else Annotator(epochs=epochs)
    found = model.fit(split.train).evaluate(split.test, known=split.revealed)
    return {metric: found[metric] for metric in _METRICS}


def _metrics(scorer: Scorer, split: NewImagesSplit) -> Raw:
    found = summarize(evaluate(scorer, split.revealed, split.test))
    return {metric: found[metric] for metric in _METRICS}


def score(raw: Raw) -> Score:
    """Return checks of the cosines, and accuracy compared with EASE."""
    checks, landing, new = [], [], []
    for data_set, facts in raw["sets"].items():
        for method, found in facts["landing"].items():
            for kind in ("mean", "median"):
                name = f"{data_set}, {method}: {kind} cosine to the trained vector"
                checks.append(Check(name, found[kind], "at least", _LEAST_COSINE, digits=3))
            landing.append(
                (
                    data_set,
                    method,
                    *(f"{found[kind]:.3f}" for kind in ("mean", "median", "5th percentile")),
                    str(found["age"]),
                    f"{1e3 * found['start_seconds']:.0f} ms",
                    f"{1e3 * found['seconds_an_image']:.2f} ms",
                )
            )
        for method, found in facts["new"].items():
            new.append((data_set, method, *(f"{found[metric]:.4f}" for metric in _METRICS)))
    tables = [
        Table(("data", "model", "mean cosine", "median", "5th percentile", "age", "start-up", "per image"), landing),
        Table(("data", "model", *_METRICS), new),
    ]
    note = (
        "First table: images of the leave-one-out training part, folded in by one worker. Age is the equivalent number "
        "of training visits, found at start-up. Second table: `new-images`, seed 0, half of the labels revealed; EASE "
        "with its regularization tuned on the training part."
    )
    return Score(checks, tables, [note])


FOLD_IN = Benchmark(
    "fold-in",
    "Fold-in gives a new image nearly the vector that training would have given it.",
    Sizes(),
    Sizes(("corel5k",), methods=("vse-ens", _SOFTMAX), epochs=3),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
)
