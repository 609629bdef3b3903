"""All benchmarks, in the order in which they run and appear in the report.

The subpackages do not import their modules, so that child processes load only what they measure.
"""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.ablation import ABLATION
from benchmarks.accuracy.audit import AUDIT
from benchmarks.accuracy.audit_rivals import AUDIT_RIVALS
from benchmarks.accuracy.balance import BALANCE
from benchmarks.accuracy.baselines import BASELINES
from benchmarks.accuracy.calibration import CALIBRATION
from benchmarks.accuracy.components import COMPONENTS
from benchmarks.accuracy.confidence import CONFIDENCE
from benchmarks.accuracy.context import CONTEXT
from benchmarks.accuracy.departures import DEPARTURES_BENCHMARK
from benchmarks.accuracy.features import FEATURES
from benchmarks.accuracy.fold_in import FOLD_IN
from benchmarks.accuracy.label_weights import LABEL_WEIGHTS
from benchmarks.accuracy.nearby import NEARBY
from benchmarks.accuracy.partial_fit import PARTIAL_FIT
from benchmarks.accuracy.presets import ACCURACY
from benchmarks.accuracy.rules import RULES
from benchmarks.accuracy.search import SEARCH
from benchmarks.accuracy.time_to_accuracy import TIME_TO_ACCURACY
from benchmarks.accuracy.tune import TUNE
from benchmarks.accuracy.vocabularies import VOCABULARIES
from benchmarks.core.benchmark import Benchmark
from benchmarks.peers.race import PEERS_BENCHMARK
from benchmarks.rivals.run import RIVALS_BENCHMARK
from benchmarks.rivals.weak_spots import WEAK_SPOTS
from benchmarks.robustness.attacks.suite import ATTACKS
from benchmarks.robustness.fuzz import FUZZ
from benchmarks.scale.cluster import CLUSTER
from benchmarks.scale.full_size import FULL_SIZE
from benchmarks.scale.shards import SHARDS
from benchmarks.service.history import HISTORY
from benchmarks.service.inference import INFERENCE
from benchmarks.service.latency import LATENCY
from benchmarks.service.page import PAGE
from benchmarks.service.serving import SERVING
from benchmarks.service.thumbnails import THUMBNAILS
from benchmarks.speed.default import DEFAULT
from benchmarks.speed.evaluation import EVALUATION
from benchmarks.speed.folders import FOLDERS
from benchmarks.speed.labels import LABELS
from benchmarks.speed.portable import PORTABLE
from benchmarks.speed.reading import READING
from benchmarks.speed.samplers import SPEED
from benchmarks.speed.start import START
from benchmarks.speed.warp_tries import WARP_TRIES
from benchmarks.speed.workers import WORKERS

SUITE: dict[str, Benchmark[Any]] = {
    benchmark.name: benchmark
    for benchmark in (
        SPEED,
        DEFAULT,
        WORKERS,
        PORTABLE,
        LABELS,
        LABEL_WEIGHTS,
        START,
        READING,
        FOLDERS,
        FUZZ,
        ATTACKS,
        EVALUATION,
        INFERENCE,
        LATENCY,
        SERVING,
        PAGE,
        THUMBNAILS,
        HISTORY,
        WARP_TRIES,
        TIME_TO_ACCURACY,
        ACCURACY,
        BASELINES,
        CONTEXT,
        PEERS_BENCHMARK,
        RIVALS_BENCHMARK,
        WEAK_SPOTS,
        SEARCH,
        COMPONENTS,
        BALANCE,
        ABLATION,
        VOCABULARIES,
        DEPARTURES_BENCHMARK,
        TUNE,
        FEATURES,
        NEARBY,
        FOLD_IN,
        PARTIAL_FIT,
        AUDIT,
        AUDIT_RIVALS,
        RULES,
        CALIBRATION,
        CONFIDENCE,
        CLUSTER,
        SHARDS,
        FULL_SIZE,
    )
}
