"""The label-label memory: EASE's closed form beside one small regression a label, in time and in accuracy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import real, zipf
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.evaluate.evaluator import evaluate
from vse_ens.evaluate.report import summarise
from vse_ens.evaluate.scorer import FunctionScorer
from vse_ens.kernels.tables import Pairs
from vse_ens.memory.learn import SUPPORT, learn_memory
from vse_ens.model.memory import LabelMemory
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers

_REGULARIZATION = 10.0
_HELD_OUT = 5_000
_METRICS = ("recall@10", "mrr")
_CLOSED = "closed form"
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Sizes:
    """How much is measured: made-up scenes with so many words, and real pairs."""

    words: tuple[int, ...] = (5_000, 10_000, 20_000)
    images: int = 200_000
    real: tuple[str, ...] = ("openimages_v1val_sample", "mirflickr25k")
    supports: tuple[int, ...] = (32, 64, 128, SUPPORT)


def measure(sizes: Sizes) -> Raw:
    """Every form learnt on every data set, and where it ranks held-out labels; its BLAS on one core."""
    command = [sys.executable, "-m", "benchmarks.accuracy.label_weights", json.dumps(asdict(sizes))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | _ONE_THREAD)
    raw: Raw = json.loads(done.stdout)
    return raw


def take_turns(sizes: Sizes) -> Raw:
    """The same, in this process."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    with Workers(1) as workers:
        for support in (2, None):  # compiles: a first call is not what is measured
            _learn(zipf(100, 20).leave_one_out(), support, workers)
        for name, split in _splits(sizes, found):
            known = split.train
            forms: Raw = {}
            # The smallest supports first: where memory is short, what is cheap has been measured.
            for support in (*sizes.supports, None):
                form = _CLOSED if support is None else _form(support)
                say(f"{form} on {name}: {len(known.labels):,} labels")
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
    """Real pairs lose their test labels first: what is held out here is for choosing."""
    for name, data in found.items():
        yield name, _validation(data.leave_one_out(seed=0).train)
    for words in sizes.words:
        yield f"scenes of {words:,} words", _validation(scenes(sizes.images, words))


def _validation(data: Annotations) -> Split:
    return leave_one_out(data, 1, name="validation", most_images=_HELD_OUT)


def _learn(split: Split, support: int | None, workers: Workers) -> Raw:
    """Seconds and metrics of one form; without a support, of the closed form."""
    known = split.train
    forms = {"dense_labels": len(known.labels)} if support is None else {"dense_labels": 0, "support": support}
    started = time.perf_counter()
    memory = learn_memory(known, _REGULARIZATION, LocalPool(workers), **forms)
    seconds = time.perf_counter() - started
    found = summarise(evaluate(memory_scorer(memory, known), known, split.test))
    return {
        "seconds": seconds,
        "nbytes": memory.nbytes,
        "metrics": {metric: found[metric] for metric in _METRICS},
    }


def memory_scorer(memory: LabelMemory, known: Annotations) -> FunctionScorer:
    """Scores by the memory and nothing else."""

    def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
        made = np.zeros((len(images), len(known.labels)), np.float32)
        memory.add_scores(Pairs(*known.rows(images)), np.ones(len(images), np.float32), made)
        return made

    return FunctionScorer(known.images, known.labels, scores)


def score(raw: Raw) -> Score:
    """What the closed form takes over what the sparse one does, and what the sparse one loses."""
    checks, rows = [], []
    largest = max(raw["sets"], key=lambda name: int(raw["sets"][name]["labels"]))
    for name, facts in raw["sets"].items():
        closed = facts["forms"][_CLOSED]
        widest = list(facts["forms"])[-2]
        sparse = facts["forms"][widest]
        if name == largest:
            ratio = closed["seconds"] / sparse["seconds"]
            checks.append(Check(f"{name}: time of the closed form over {widest}", ratio, "at least", 20.0))
        lost = closed["metrics"]["recall@10"] - sparse["metrics"]["recall@10"]
        checks.append(Check(f"{name}: recall@10 that {widest} lose", lost, "at most", 0.012, digits=4))
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
        f"The memory alone, regularisation {_REGULARIZATION:g}, one core; one label of {_HELD_OUT:,} images is held "
        "out of the training part, and every label the image is not known to have is ranked."
    )
    return Score(checks, [Table(("data", "labels", "form", "learning", "size", *_METRICS), rows)], [note])


MEMORY = Benchmark(
    "memory",
    "With many labels, a small regression a label does nearly what EASE's closed form does, at a fraction of the cost.",
    Sizes(),
    Sizes(words=(500, 1_000), images=3_000, real=(), supports=(16, 32)),
    measure,
    score,
)


if __name__ == "__main__":
    print(json.dumps(take_turns(Sizes(**json.loads(sys.argv[1])))))
