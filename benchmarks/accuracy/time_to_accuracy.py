"""Training time of each sampler until it is as accurate as the best of `opt-auc`."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.accuracy.fitting import VSE_ENS_LOGISTIC, learning_curve, named_config
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import real

_METRIC = "recall@10"
_REFERENCE = "opt-auc"
_NEAR = 0.99


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run. A learning curve has ``evaluations`` points, evenly spaced over the epochs."""

    real: tuple[str, ...] = ("iaprtc12", "openimages_v1val_sample")
    models: tuple[str, ...] = (_REFERENCE, "vse-ens", VSE_ENS_LOGISTIC, "warp")
    evaluations: int = 25
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Return the learning curve of every model on every data set."""
    found, skipped = real(sizes.real)
    curves: Raw = {}
    for data_set, data in found.items():
        split = data.leave_one_out(seed=0)
        curves[data_set] = {}
        for name in sizes.models:
            log(f"{name} on {data_set}")
            config = named_config(name).override(epochs=sizes.epochs, validate=False)
            curves[data_set][name] = learning_curve(config, split, sizes.evaluations)
    return {"curves": curves, "skipped": skipped}


def score(raw: Raw) -> Score:
    """Return the training time to the best of the reference, and to 99% of it."""
    rows = []
    for data_set, curves in raw["curves"].items():
        target = max(point[_METRIC] for point in curves[_REFERENCE])
        for name, curve in curves.items():
            rows.append(
                (
                    data_set,
                    name,
                    f"{max(point[_METRIC] for point in curve):.4f}",
                    _reached(curve, target),
                    _reached(curve, _NEAR * target),
                    f"{curve[-1]['seconds']:.1f} s, {curve[-1]['epoch']} epochs",
                )
            )
    columns = (
        "data",
        "model",
        f"best {_METRIC}",
        f"to `{_REFERENCE}`'s best",
        f"to {_NEAR:.0%} of that",
        "full run",
    )
    note = (
        "Wall-clock training time on all cores, without compilation and evaluation; leave-one-out, seed 0. "
        "The best epoch is chosen on the same held-out labels, for every model."
    )
    return Score(tables=[Table(columns, rows)], notes=[note])


def _reached(curve: list[Raw], target: float) -> str:
    for point in curve:
        if point[_METRIC] >= target:
            return f"{point['seconds']:.1f} s"
    return "not reached"


TIME_TO_ACCURACY = Benchmark(
    "time-to-accuracy",
    "Negatives from the top of the ranking need fewer epochs to reach the accuracy of uniform ones.",
    Sizes(),
    Sizes(("iaprtc12",), models=(_REFERENCE, "vse-ens"), evaluations=2, epochs=2),
    measure,
    score,
    measures=("kernels", "presets", "train"),
)
