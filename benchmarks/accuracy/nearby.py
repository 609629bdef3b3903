"""Photos without a label: what folder and time, as `vse train --nearby` uses them, say about their labels.

IAPR TC-12 is the data set here whose photos have folders and dates. Its dates have no hour; runs of ten consecutive
numbers of one folder and date stand for one. A part of this benchmark is one way of hiding all labels of photos.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Parts, Raw, Score, Table, log
from benchmarks.core.data_sets import real_files
from benchmarks.core.parts import measure_parts
from benchmarks.core.process import call
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.features import FeatureTable, group_features
from vse_ens.streams import Streams

_NAME = "iaprtc12"
_DATE = re.compile(rb"<DATE>(.*?)</DATE>", re.DOTALL)
_DOCUMENT = re.compile(rb"<DOCNO>annotations/(.*?)\.eng</DOCNO>")
SCATTERED, IN_ROWS, BY_FOLDER, SHUFFLED = "scattered", "rows of 20", "whole folders", "scattered, features shuffled"
_HIDDEN = 0.4
_CONFIDENCE = 0.3  # from which `vse annotate --write` writes


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    ways: tuple[str, ...] = (SCATTERED, IN_ROWS, BY_FOLDER, SHUFFLED)
    images: int | None = None
    epochs: int | None = None


def measure_part(sizes: Sizes, way: str) -> Raw:
    """Measure one way of hiding labels; ``skipped`` is a sentence if the data set is missing."""
    paths, skipped = real_files((_NAME,))
    texts = paths.get(_NAME, Path()).parent / "raw" / "annotations_complete_eng.tar.gz"
    if skipped or not texts.exists():
        return {"skipped": (skipped or [f"{_NAME}: {texts} does not exist"])[0]}
    found: Raw = call(run, str(paths[_NAME]), str(texts), way, sizes.images, sizes.epochs)
    return found


def run(pairs: str, texts: str, way: str, images: int | None, epochs: int | None) -> Raw:
    """Hide all labels of some photos and one label of some others; rank them with and without features."""
    data = Annotations.read(pairs, header=False)
    dates = read_dates(Path(texts))
    groups = {image: _groups(image, dates.get(image, "")) for image in list(data.images)[:images]}
    table = group_features(groups)
    streams = Streams(0).child("benchmark-nearby")
    if way == SHUFFLED:
        order = np.argsort(streams.child("shuffle").words(len(groups)), kind="stable")
        table = FeatureTable(table.images, table.matrix[order], None)
    hidden = _hidden(list(groups), way, streams)
    known, one_out = [], {}
    draws = streams.child("held out").uniforms(2 * len(groups)).reshape(-1, 2)
    for image, hide, (first, second) in zip(groups, hidden, draws, strict=True):
        labels = data.labels_of(image)
        if hide:
            continue
        if first < 0.1 and len(labels) > 1:
            one_out[image] = labels.pop(int(second * len(labels)))
        known += [(image, label) for label in labels]
    train = Annotations.from_pairs(known)
    settings: Any = {} if epochs is None else {"epochs": epochs}
    unlabeled = {image: set(data.labels_of(image)) for image, hide in zip(groups, hidden, strict=True) if hide}
    found: Raw = {"images": len(groups), "hidden": len(unlabeled), "one held out": len(one_out)}
    for name, features in (("labels", None), ("nearby", table)):
        log(f"{way}: {name}")
        model = Annotator(seed=0, **settings).fit(train, features=features)
        top = len(train.labels)
        found[name] = {"one held out": _recall(model, {image: {label} for image, label in one_out.items()})}
        if features is None:
            lists = [model.annotate(labels=[], top=top)] * len(unlabeled)
        else:
            lists = model.annotate(list(unlabeled), top=top)
        found[name] |= _quality(list(unlabeled.values()), lists)
    return found


def read_dates(texts: Path) -> dict[str, str]:
    """Return the date of every photo by its number, such as 00/25, as the descriptions have it."""
    dates = {}
    with tarfile.open(texts) as archive:
        for member in archive:
            content = archive.extractfile(member)
            text = content.read() if content is not None and member.name.endswith(".eng") else b""
            document, date = _DOCUMENT.search(text), _DATE.search(text)
            if document and date:
                dates[document[1].decode()] = date[1].decode("latin-1").strip()
    return dates


def _groups(image: str, date: str) -> list[str | None]:
    """Return the folder, the date and the two overlapping stand-ins for hours of a photo."""
    folder, _, number = image.partition("/")
    tens = [f"{folder} {date} {(int(number) + more) // 10}" for more in (0, 5)]
    return [folder, date or None, *tens]


def _hidden(images: list[str], way: str, streams: Streams) -> NDArray[np.bool_]:
    """Return which photos lose their labels."""
    size = {IN_ROWS: 20, BY_FOLDER: 1 << 30}.get(way, 1)
    keys = [(folder, int(number) // size) for folder, _, number in (image.partition("/") for image in images)]
    distinct = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    chosen = streams.child("hidden").uniforms(len(distinct)) < _HIDDEN
    return chosen[[distinct[key] for key in keys]]


def _recall(model: Annotator, truth: dict[str, set[str]]) -> float:
    lists = model.annotate(list(truth), top=10)
    return float(
        np.mean(
            [bool(labels & {one.label for one in found}) for labels, found in zip(truth.values(), lists, strict=True)]
        )
    )


def _quality(truth: list[set[str]], lists: list[Any]) -> Raw:
    """Return recall@10, the mean reciprocal rank, and what would be written and how much of it is right."""
    recall, ranks, said = [], [], []
    right: list[float] = []
    for labels, found in zip(truth, lists, strict=True):
        names = [one.label for one in found]
        recall.append(len(labels.intersection(names[:10])) / len(labels))
        ranks.append(next((1 / rank for rank, name in enumerate(names, 1) if name in labels), 0.0))
        for one in found[:5]:
            if (one.confidence or 0) >= _CONFIDENCE:
                said.append(one.confidence)
                right.append(one.label in labels)
    written = {
        "written": len(said) / len(truth),
        "said": float(np.mean(said or [0])),
        "right": float(np.mean(right or [0])),
    }
    return {"recall@10": float(np.mean(recall)), "mrr": float(np.mean(ranks)), **written}


def measure(sizes: Sizes) -> Raw:
    """Measure all parts without storing them."""
    return measure_parts(PARTS, sizes).raw


def score(raw: Raw) -> Score:
    """Return the accuracy with and without features."""
    note = (
        "IAPR TC-12 with all labels of 40 % of its photos hidden: scattered, in rows of 20 consecutive photos, or in "
        "whole folders. Labels alone: they get the most frequent labels. Written: suggestions per photo with a "
        "confidence of 0.3 or more, among the first five. Said / right: their mean confidence, and the share that is "
        "right. One held out: recall@10 of one label of each of 10 % of the other photos. Dates have no hour; runs of "
        "ten numbers stand for it."
    )
    return Score(tables=list(tables(raw)), notes=[note])


def tables(raw: Raw) -> Iterator[Table]:
    """Yield one row for each way and model."""
    rows = []
    for part, stored in raw["parts"].items():
        for name, shown in (("labels", "labels alone"), ("nearby", "--nearby")):
            if name not in stored["raw"]:
                continue
            one = stored["raw"][name]
            sure = f"{one['said']:.2f} / {one['right']:.2f}" if one["written"] else "-"
            values = (f"{one['recall@10']:.3f}", f"{one['mrr']:.3f}", f"{one['written']:.2f}", sure)
            rows.append((part, shown, *values, f"{one['one held out']:.3f}"))
    if rows:
        columns = ("hidden", "model", "recall@10", "mrr", "written per photo", "said / right", "one held out")
        yield Table(columns, rows)


_MEASURES = ("data/features/nearby", "kernels", "label_weights", "model", "presets", "train")
PARTS = Parts(lambda sizes: sizes.ways, measure_part, lambda _: _MEASURES)
NEARBY = Benchmark(
    "nearby",
    "Photos without a label get suggestions from their folder and time.",
    Sizes(),
    Sizes((SCATTERED,), images=2000, epochs=2),
    measure,
    score,
    measures=_MEASURES,
    timed=False,
    parts=PARTS,
)
