"""Inference: all images at once, one image, the first answer of a large model, and search with an index."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_context_model, random_embeddings, save_random_model
from benchmarks.core.process import call, peak_bytes
from vse_ens.annotator import Annotator
from vse_ens.curate.suggest import Suggester
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.export.suggestions import write_suggestions
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.ann_index import ImageIndex
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.model import Model
from vse_ens.model.search import ImageSearch, Query
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers

_TOP = 5
# Time from loading to the first answer in a new process, without the import.
_FIRST_ANSWER = """
import sys, time
from vse_ens.annotator import Annotator
start = time.perf_counter()
Annotator.load(sys.argv[1], verify=False).annotate(sys.argv[2])
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int = 112_000
    labels: int = 6_000
    turns: int = 5
    singles: int = 300
    stored_images: int = 9_000_000
    loads: int = 5
    indexed_images: int = 200_000
    trained_images: int = 20_000
    words: int = 1_000
    searches: int = 100


def measure(sizes: Sizes) -> Raw:
    """Measure each part in a child process, so that its peak RAM is its own."""
    raw: Raw = {**asdict(sizes), "skipped": []}
    for name in _PARTS:
        if name == "search" and find_spec("usearch") is None:
            raw["skipped"].append("search: usearch is not installed; install it with pip install 'vse-ens[index]'.")
            continue
        log(name)
        raw[name] = call(measure_part, name, asdict(sizes))
    return raw


def measure_part(name: str, settings: dict[str, Any]) -> Any:
    """Measure one part in this process."""
    return _PARTS[name](Sizes(**settings))


def annotate_context(sizes: Sizes) -> dict[str, Any]:
    """Measure the context tower with label pairs and label weights, k = 128."""
    data = zipf(sizes.images, sizes.labels)
    model = random_context_model(data, 128)
    return {**_annotate_all(model, data, sizes.turns), "one": _singles(model, data, sizes.singles)}


def annotate_ids(sizes: Sizes) -> dict[str, Any]:
    """Measure the id tower, k = 100."""
    data = zipf(sizes.images, sizes.labels)
    model = Model(random_embeddings(data, 100))
    return {**_annotate_all(model, data, sizes.turns), "one": _singles(model, data, sizes.singles)}


def _annotate_all(model: Model, data: Annotations, turns: int) -> dict[str, Any]:
    """Return the seconds of matrix products and of suggestions, measured alternately, and the peak RAM."""
    vectors = model.embeddings.vectors(np.arange(len(data.images)), known=data)
    rows = 16_000_000 // (4 * len(data.labels))
    out = np.empty((rows, len(data.labels)), np.float32)
    seconds: dict[str, list[float]] = {"products": [], "suggestions": [], "suggestions and their file": []}
    with Workers() as team, tempfile.TemporaryDirectory() as folder:
        suggester = Suggester(LoadedModel(model, data), top=_TOP, run=team.run)
        next(suggester.suggest())  # compile first: compilation is not measured

        def products() -> None:
            for first in range(0, len(vectors), rows):
                block = vectors[first : first + rows]
                np.matmul(block, model.embeddings.label_vectors.T, out=out[: len(block)])

        def suggestions() -> None:
            for _ in suggester.suggest():
                pass

        def file() -> None:
            path = Path(folder) / "suggestions.parquet"
            write_suggestions(path, data.images, suggester.suggest(), "parquet")

        for _ in range(turns):
            for name, work in zip(seconds, (products, suggestions, file), strict=True):
                seconds[name].append(_seconds(work))
    return {"seconds": seconds, "peak_bytes": peak_bytes()}


def _singles(model: Model, data: Annotations, count: int) -> list[float]:
    """Return the seconds of `Annotator.annotate` for each of some images alone."""
    with tempfile.TemporaryDirectory() as folder:
        annotator = Annotator.load(save_random_model(Path(folder) / "model", model, data))
        images = data.images.ids(np.arange(0, len(data.images), len(data.images) // count)[:count])
        annotator.annotate(images[0], top=_TOP)
        return [_seconds(partial(annotator.annotate, image, top=_TOP)) for image in images]


def load(sizes: Sizes) -> list[float]:
    """Return the seconds from loading to the first answer, in new processes; k is small to save time."""
    data = zipf(sizes.stored_images, sizes.labels, labels_per_image=2)
    with tempfile.TemporaryDirectory() as folder:
        path = save_random_model(Path(folder) / "model", Model(random_embeddings(data, 4)), data)
        command = [sys.executable, "-c", _FIRST_ANSWER, str(path), data.images.id(len(data.images) // 3)]
        turns = range(sizes.loads + 1)
        done = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in turns]
    return [float(text) for text in done[1:]]  # without the first, which compiles


def search(sizes: Sizes) -> dict[str, Any]:
    """Return the index's recall of the first ten images, and times, for queries of one label and of two."""
    data = scenes(sizes.indexed_images, sizes.words)
    small = _first_images(data, sizes.trained_images)
    fitted = Annotator(seed=0, epochs=4, validate=False).fit(small)
    with Workers() as team:
        model = Model(fitted.embeddings_, learn_label_weights(small, 100.0, LocalPool(team)), 10.0)
        exact = ImageSearch(model, data, run=team.run)
        totals = _seconds(lambda: exact.log_totals)
        built: list[ImageIndex] = []
        building = _seconds(lambda: built.append(ImageIndex.build(exact)))
        numbers = np.random.default_rng(2)
        common = numbers.permutation(np.flatnonzero(data.images_per_label >= min(100, len(data.images) // 20)))
        found: dict[str, Any] = {"totals_seconds": totals, "build_seconds": building, "asked": {}}
        for count in (1, 2):
            asked = [common[n * count : (n + 1) * count] for n in range(min(sizes.searches, len(common) // count))]
            queries = [Query(np.sort(labels), np.empty(0, np.int64)) for labels in asked]
            found["asked"][str(count)] = [_compare(exact, built[0], query) for query in queries]
    return found


def _compare(exact: ImageSearch, index: ImageIndex, query: Query) -> dict[str, float]:
    start = time.perf_counter()
    expected = exact.find(query, 10)
    middle = time.perf_counter()
    found = index.find(query, 10)
    end = time.perf_counter()
    recall = float(np.isin(expected.images, found.images).mean())
    return {"recall": recall, "exact_seconds": middle - start, "index_seconds": end - middle}


def _first_images(data: Annotations, count: int) -> Annotations:
    images = Vocabulary.trusted(data.images.arrow[:count], "image")
    return Annotations(images, data.labels, data.indptr[: count + 1], data.indices[: data.indptr[count]])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def score(raw: Raw) -> Score:
    """Return the best turn of each part, and the medians of single images and searches."""
    checks, rows = [], []
    for name, title in (("context", "context tower with label weights, k = 128"), ("ids", "id tower, k = 100")):
        best = {kind: min(turns) for kind, turns in raw[name]["seconds"].items()}
        ratio = best["suggestions and their file"] / best["products"]
        checks.append(Check(f"{title}: all images, written to a file / matrix products", ratio, "at most", 3.0))
        peak = raw[name]["peak_bytes"] / 1e9
        checks.append(Check(f"{title}: peak RAM, data and model included", peak, "at most", 2.0, unit=" GB"))
        median = 1e3 * float(np.median(raw[name]["one"]))
        checks.append(Check(f"{title}: one image, median", median, "at most", 2.0, unit=" ms"))
        rows.append((title, *(f"{seconds:.2f} s" for seconds in best.values()), f"{median:.2f} ms"))
    checks.append(
        Check(
            f"first answer of a model of {raw['stored_images']:,} images, `verify=False`",
            min(raw["load"]),
            "at most",
            1.0,
            unit=" s",
        )
    )
    tables = [Table(("", "matrix products", "suggestions", "suggestions to a file", "one image"), rows)]
    size = f"{raw['images']:,} images against {raw['labels']:,} labels, top {_TOP} of each with their totals"
    notes = [
        f"{size}; best of {raw['turns']} turns. The matrix products use the same blocks and write to allocated arrays."
    ]
    if "search" in raw:
        found = raw["search"]
        for count, title in (("1", "one label"), ("2", "two labels")):
            recall = float(np.mean([one["recall"] for one in found["asked"][count]]))
            checks.append(Check(f"recall@10 of the index, {title}", recall, "at least", 0.95, digits=3))
        tables.append(
            Table(
                ("search", "exact", "with the index"),
                [
                    (title, *(f"{_median(found, count, kind):.0f} ms" for kind in ("exact_seconds", "index_seconds")))
                    for count, title in (("1", "one label"), ("2", "two labels"))
                ],
            )
        )
        notes.append(
            f"Search: {raw['indexed_images']:,} images of `scenes`, with a context tower and label weights trained on "
            f"{raw['trained_images']:,} of them. Computing the totals of all images took "
            f"{found['totals_seconds']:.1f} s, building the index {found['build_seconds']:.0f} s."
        )
    return Score(checks, tables, notes)


def _median(found: dict[str, Any], count: str, kind: str) -> float:
    return 1e3 * float(np.median([one[kind] for one in found["asked"][count]]))


_PARTS: dict[str, Callable[[Sizes], Any]] = {
    "context": annotate_context,
    "ids": annotate_ids,
    "load": load,
    "search": search,
}

INFERENCE = Benchmark(
    "inference",
    "Suggestions for all images cost little more than the matrix products; those for one image take milliseconds.",
    Sizes(),
    Sizes(2_000, 300, 1, 20, 20_000, 1, 3_000, 500, 60, 10),
    measure,
    score,
    measures=("curate", "export", "kernels", "model"),
    repetitions=lambda sizes: sizes.turns,
)
