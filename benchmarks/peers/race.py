"""CPU time of other libraries, of EASE and of the default until they reach the same recall@10, on one core.

The settings and the number of epochs of a method are those with the best recall@10 on labels held out of the training
part. It is then trained on all of the training part with three seeds, and ranks the test labels at some epochs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from benchmarks.core.process import call
from benchmarks.peers.base import Peer, Scores, Settings
from benchmarks.peers.libraries import CornacBpr, ImplicitAls, ImplicitBpr, LightFm
from benchmarks.peers.ours import DefaultPeer, EasePeer
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.splits import leave_one_out
from vse_ens.evaluate.rank import mean_metrics

PEERS: dict[str, Peer] = {
    peer.name: peer for peer in (DefaultPeer(), EasePeer(), ImplicitAls(), ImplicitBpr(), LightFm(), CornacBpr())
}
METRIC = "recall@10"
_METRICS = (METRIC, "mrr")
_HELD_OUT = 5_000
# The ratio of the epochs of two points of a curve.
_STEP = 1.3
# Points without a new best after which a curve is left, where time is limited.
_PATIENCE = 3
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run; ``epochs`` limits those of every method that does not stop by itself."""

    real: tuple[str, ...] = ("iaprtc12", "mirflickr25k", "openimages_v1val_sample")
    peers: tuple[str, ...] = tuple(PEERS)
    seeds: tuple[int, ...] = (0, 1, 2)
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Tune, train and rank with every method on every data set, each in a process of its own."""
    found, skipped = real(sizes.real)
    present = []
    for name in sizes.peers:
        sentence = PEERS[name].missing()
        if sentence:
            skipped.append(sentence)
        else:
            present.append(name)
    sets: Raw = {}
    for data_set, data in found.items():
        methods = {}
        for name in present:
            log(f"{name} on {data_set}")
            methods[name] = call(run, data_set, name, sizes.seeds, sizes.epochs, **ONE_THREAD)
        sets[data_set] = {"images": len(data.images), "labels": len(data.labels), "methods": methods}
    return {"sets": sets, "skipped": skipped}


def run(data_set: str, name: str, seeds: Sequence[int], epochs: int | None) -> Raw:
    """Return the curves of one method on one data set, by name."""
    return tune_and_train(PEERS[name], real((data_set,))[0][data_set], seeds, epochs)


def tune_and_train(peer: Peer, data: Annotations, seeds: Sequence[int], epochs: int | None = None) -> Raw:
    """Return the chosen settings, the CPU seconds of choosing them, and one curve per seed on the test labels."""
    split = data.leave_one_out(seed=0)
    peer.prepare(split.train)
    most = min(peer.epochs, epochs or peer.epochs)
    began = time.process_time()
    settings, best = peer.grid[0], most
    if len(peer.grid) > 1:
        held_out = leave_one_out(split.train, 0, name="tune-peer", max_images=_HELD_OUT)
        settings, best, _ = tune(peer, held_out, most)
    tuning = time.process_time() - began
    runs = [list(curve(peer, split, settings, points(best), seed)) for seed in seeds]
    return {
        "settings": settings,
        "epochs": best,
        "tried": len(peer.grid),
        "tuning_seconds": tuning if len(peer.grid) > 1 else 0.0,
        "runs": runs,
    }


def tune(
    peer: Peer, split: Split, epochs: int, *, budget: float = math.inf, metric: str = METRIC
) -> tuple[Settings, int, int]:
    """Return the settings and epochs with the best metric on the held-out labels, and the number of settings tried.

    The budget is in CPU seconds, ranking included. With one, a curve that has fallen for some points is left.
    """
    began = time.process_time()
    best, chosen, tried = -1.0, (peer.grid[0], epochs), 0
    for settings in peer.grid:
        tried += 1
        own, falling = -1.0, 0
        # Without a budget to the end: a curve may stay flat for many epochs before it rises.
        for point in curve(peer, split, settings, points(epochs), seed=0):
            if point[metric] > best:
                best, chosen = point[metric], (settings, point["epoch"])
            falling = 0 if point[metric] > own else falling + 1
            own = max(own, point[metric])
            if time.process_time() - began > budget or (falling >= _PATIENCE and budget < math.inf):
                break
        if time.process_time() - began > budget:
            break
    return *chosen, tried


def curve(peer: Peer, split: Split, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Raw]:
    """Yield the metrics after each of ``epochs``, with the CPU seconds of training until then.

    The curve ends where scores are no longer finite.
    """
    data = peer.load(split.train)
    began, seconds = time.process_time(), 0.0
    for epoch, scores in peer.train(data, settings, epochs, seed):
        seconds += time.process_time() - began
        if not _finite(scores):
            return
        metrics = mean_metrics(scores, *split, workers=1)
        yield {"epoch": epoch, "seconds": seconds, **{name: metrics[name] for name in (*_METRICS, "ndcg@10")}}
        began = time.process_time()


def _finite(scores: Scores) -> bool:
    return bool(np.isfinite(scores(np.zeros(1, np.int64))).all())


def points(epochs: int) -> list[int]:
    """Return the epochs at which a curve has points: spaced by a factor, up to the last."""
    found = [1]
    while found[-1] < epochs:
        found.append(min(epochs, max(found[-1] + 1, round(found[-1] * _STEP))))
    return found


def median_run(method: Raw) -> list[Raw]:
    """Return the curve of the seed with the median recall@10 at the end."""
    runs: list[list[Raw]] = sorted((one for one in method["runs"] if one), key=lambda one: one[-1][METRIC])
    return runs[(len(runs) - 1) // 2] if runs else []


def seconds_to(curve: Sequence[Raw], target: float) -> float | None:
    """Return the CPU seconds until the recall@10 is at least ``target``; None if it never is."""
    return next((float(point["seconds"]) for point in curve if point[METRIC] >= target), None)


def score(raw: Raw) -> Score:
    """Return the end of every curve, and the time of every method to the recall@10 of every other."""
    curves = {
        data_set: {name: ran for name, method in facts["methods"].items() if (ran := median_run(method))}
        for data_set, facts in raw["sets"].items()
    }
    ends = [
        (
            data_set,
            name,
            ", ".join(f"{key} {value:g}" for key, value in method["settings"].items()),
            *(f"{curves[data_set][name][-1][metric]:.4f}" for metric in _METRICS),
            f"{curves[data_set][name][-1]['seconds']:.3g} s",
            f"{method['tuning_seconds']:.0f} s, {method['tried']} settings" if method["tried"] > 1 else "-",
        )
        for data_set, facts in raw["sets"].items()
        for name, method in facts["methods"].items()
        if name in curves[data_set]
    ]
    how = (
        "CPU seconds on one core, without reading, compilation and ranking; leave-one-out, seed 0; the seed with the "
        f"median {METRIC}. Settings and epochs were chosen by {METRIC} on labels of up to {_HELD_OUT:,} images held "
        "out of the training part; that time, ranking included, is listed as tuning and is not part of the training. "
        "The default validates and stops by itself, which is part of its training."
    )
    targets = (
        f"Second table: CPU seconds of each method until its {METRIC} is at least that of the method in the second "
        'column; "-" if it never is. A training does not know when it has got there.'
    )
    columns = ("data", "method", "settings", *_METRICS, "training", "tuning")
    return Score(tables=[Table(columns, ends), _targets(curves)], notes=[how, targets])


def _targets(curves: dict[str, dict[str, list[Raw]]]) -> Table:
    names = list(dict.fromkeys(name for methods in curves.values() for name in methods))
    rows: list[tuple[str, ...]] = []
    for data_set, methods in curves.items():
        for name in sorted(methods, key=lambda one: methods[one][-1][METRIC]):
            target = methods[name][-1][METRIC]
            times = [seconds_to(methods[other], target) if other in methods else None for other in names]
            shown = ["-" if seconds is None else f"{seconds:.3g} s" for seconds in times]
            rows.append((data_set, f"{target:.4f}: {name}", *shown))
    return Table(("data", METRIC, *names), rows)


PEERS_BENCHMARK = Benchmark(
    "peers",
    "The CPU time of other libraries, of EASE and of the default to the same accuracy.",
    Sizes(),
    Sizes(("corel5k",), seeds=(0,), epochs=2),
    measure,
    score,
    measures=("baselines", "kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
)
