"""Label weights: time and accuracy of EASE's closed form and of one sparse regression per label."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real, zipf
from benchmarks.core.process import call
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.evaluate.report import summarize
from vse_ens.kernels.arrays import Csr
from vse_ens.label_weights.learn import SUPPORT, learn_label_weights
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers

_REGULARIZATION = 10.0
_HELD_OUT = 5_000
_METRICS = ("recall@10", "mrr")
_CLOSED = "closed form"
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run: synthetic scenes for each vocabulary of ``words``, and real data sets."""

    words: tuple[int, ...] = (5_000, 10_000, 20_000)
    images: int = 200_000
    real: tuple[str, ...] = ("openimages_v1val_sample", "mirflickr25k")
    supports: tuple[int, ...] = (32, 64, 128, SUPPORT)


def measure(sizes: Sizes) -> Raw:
    """Learn every form on every data set and rank held-out labels, in a child process with one BLAS thread."""
    raw: Raw = call(learn_all, asdict(sizes), **_ONE_THREAD)
    return raw


def learn_all(settings: dict[str, Any]) -> Raw:
    """Learn every form on every data set in this process."""
    sizes = Sizes(**settings)
    found, skipped = real(sizes.real)
    sets: Raw = {}
    with Workers(1) as workers:
        for support in (2, None):  # compile first: compilation is not measured
            _learn(zipf(100, 20).leave_one_out(), support, workers)
        for name, split in _splits(sizes, found):
            known = split.train
            forms: Raw = {}
            # Smallest first, so that the cheap forms are measured even if RAM is short.
            for support in (*sizes.supports, None):
                form = _CLOSED if support is None else _form(support)
                log(f"{form} on {name}: {len(known.labels):,} labels")
                forms[form] = _learn(split, support, workers)
            sets[name] = {
                "images": len(known.images),
                "labels": len(known.labels),
                "pairs": known.pairs,
                "forms": forms,
            }
    return {"sets": sets, "skipped": skipped}


def _form(support: int) -> str:
    return f"{support} partners"


def _splits(sizes: Sizes, found: dict[str, Annotations]) -> Iterator[tuple[str, Split]]:
    """Yield validation splits; test labels of real data sets are removed first."""
    for name, data in found.items():
        yield name, _validation(data.leave_one_out(seed=0).train)
    for words in sizes.words:
        yield f"scenes of {words:,} words", _validation(scenes(sizes.images, words))


def _validation(data: Annotations) -> Split:
    return leave_one_out(data, 1, name="validation", max_images=_HELD_OUT)


def _learn(split: Split, support: int | None, workers: Workers) -> Raw:
    """Return time, size and metrics of one form; a ``support`` of None is the closed form."""
    known = split.train
    forms = {"dense_labels": len(known.labels)} if support is None else {"dense_labels": 0, "support": support}
    started = time.perf_counter()
    weights = learn_label_weights(known, _REGULARIZATION, LocalPool(workers), **forms)
    seconds = time.perf_counter() - started
    found = summarize(evaluate(weights_scorer(weights, known), known, split.test))
    return {
        "seconds": seconds,
        "nbytes": sum(array.nbytes for array in weights.arrays().values()),
        "metrics": {metric: found[metric] for metric in _METRICS},
    }


def weights_scorer(weights: LabelWeights, known: Annotations) -> FunctionScorer:
    """Return a scorer that uses label weights only."""

    def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
        made = np.zeros((len(images), len(known.labels)), np.float32)
        weights.add_scores(Csr(*known.rows(images)), np.ones(len(images), np.float32), made)
        return made

    return FunctionScorer(known.images, known.labels, scores)


def score(raw: Raw) -> Score:
    """Return the time of the closed form relative to the sparse form, and the sparse form's loss of accuracy."""
    checks, rows = [], []
    largest = max(raw["sets"], key=lambda name: int(raw["sets"][name]["labels"]))
    for name, facts in raw["sets"].items():
        closed = facts["forms"][_CLOSED]
        widest = list(facts["forms"])[-2]
        sparse = facts["forms"][widest]
        if name == largest:
            ratio = closed["seconds"] / sparse["seconds"]
            checks.append(Check(f"{name}: time of the closed form / {widest}", ratio, "at least", 20.0))
        lost = closed["metrics"]["recall@10"] - sparse["metrics"]["recall@10"]
        checks.append(Check(f"{name}: loss of recall@10 with {widest}", lost, "at most", 0.012, digits=4))
        for form, taken in facts["forms"].items():
            rows.append(
                (
                    name,
                    f"{facts['labels']:,}",
                    form,
                    f"{taken['seconds']:.2f} s",
                    f"{taken['nbytes'] / 1e6:,.0f} MB",
                    *(f"{taken['metrics'][metric]:.4f}" for metric in _METRICS),
                )
            )
    note = (
        f"Label weights alone, regularization {_REGULARIZATION:g}, one core. One label of {_HELD_OUT:,} images is held "
        "out of the training part; all labels except the known ones of an image are ranked."
    )
    return Score(checks, [Table(("data", "labels", "form", "time", "size", *_METRICS), rows)], [note])


LABEL_WEIGHTS = Benchmark(
    "label-weights",
    "With many labels, a sparse regression per label is nearly as accurate as EASE's closed form, and much faster.",
    Sizes(),
    Sizes(words=(500, 1_000), images=3_000, real=(), supports=(16, 32)),
    measure,
    score,
    measures=("kernels", "label_weights"),
)
