"""Which files of a folder hold Open Images' image-level labels: the names changed from version to version.

The names of Open Images' label ids.

Open Images, versions 1 to 7: the image-level labels as their owners publish them.

Every version has files with the columns ``ImageID,Source,LabelName,Confidence``, human-verified and machine-generated
labels apart, a file a split. A further file has the names of the labels, which are ids such as ``/m/01g317``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.common import Files, LoadedPairs, Meter, Progress, as_ids, counted, files_of, named
from vse_ens.data.io.columns import ColumnChoice
from vse_ens.data.io.delimited import QuoteCheckedStream
from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import PairsFile, detect_format
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.source import Batch, text_fault
from vse_ens.errors import ConfigError, DataError

Labels = Literal["human", "machine", "both"]
Split = Literal["train", "validation", "test"]

HEADER = ("ImageID", "Source", "LabelName", "Confidence")
DOWNLOAD = (
    "download image-level labels such as validation-annotations-human-imagelabels.csv, and "
    "oidv7-class-descriptions.csv for their names, from https://storage.googleapis.com/openimages/web/download_v7.html "
    "(versions 1 to 3: https://github.com/openimages/dataset)"
)

# Versions 4 to 7, 2 and 3, and 1. The older ones tell the split by their folder, the oldest nothing by its name.
_SINCE_V4 = re.compile(
    r"(?:oidv\d+-)?(?P<split>train|val|validation|test)-annotations-(?P<kind>human|machine)-imagelabels(?:-boxable)?"
    r"\.csv(?:\.gz)?"
)
_V2_AND_V3 = re.compile(r"annotations-(?P<kind>human|machine)\.csv(?:\.gz)?")
_V1 = re.compile(r"labels\.csv(?:\.gz)?")


@dataclass(frozen=True)
class LabelFile:
    """A file of labels, who gave them, and which split they are of as far as its name and folder tell."""

    path: Path
    kind: str
    split: str | None


def choose(folder: Path, files: Iterable[Path], source: Labels, split: Split | None) -> list[Path]:
    """The files that were asked for: one of every kind and split, or an error."""
    found = list(_label_files(files))
    kinds = ("human", "machine") if source == "both" else (source,)
    chosen = [one for one in found if one.kind in kinds and split in (None, one.split)]
    missing = [kind for kind in kinds if kind not in {one.kind for one in chosen}]
    if missing:
        where = f" of the {split} split" if split else ""
        there = f" (only {', '.join(one.path.name for one in found)})" if found else ""
        raise DataError(
            f"{folder} has no file of {' and none of '.join(missing)} labels of Open Images{where}{there}; {DOWNLOAD}"
        )
    paths: dict[tuple[str, str | None], Path] = {}
    for one in chosen:
        other = paths.setdefault((one.kind, one.split), one.path)
        if other != one.path:
            raise DataError(
                f"{other} and {one.path} both hold {one.kind} labels of the {one.split or 'same'} split; name one of "
                f"them, or remove the other"
            )
    return list(paths.values())


def check_header(file: PairsFile) -> None:
    """Refuse a file that does not hold image-level labels."""
    with file.open() as stream:
        first = stream.readline(1000).decode("utf-8-sig", errors="replace").strip()
    if tuple(first.split(",")) != HEADER:
        raise DataError(
            f"{file.path}, line 1 is {first[:80]!r}, but image-level labels of Open Images start with "
            f"{','.join(HEADER)}; {DOWNLOAD}"
        )


def _label_files(files: Iterable[Path]) -> Iterator[LabelFile]:
    for path in files:
        folder = path.parent.name if path.parent.name in get_args(Split) else None
        if match := _SINCE_V4.fullmatch(path.name):
            yield LabelFile(path, match["kind"], "validation" if match["split"] == "val" else match["split"])
        elif match := _V2_AND_V3.fullmatch(path.name):
            yield LabelFile(path, match["kind"], folder)
        elif _V1.fullmatch(path.name):
            yield LabelFile(path, _kind_in(detect_format(path)), folder)


def _kind_in(file: PairsFile) -> str:
    """What the first row of a file says of its source."""
    check_header(file)
    with file.open() as stream:
        stream.readline()
        return "machine" if stream.readline().split(b",")[1:2] == [b"machine"] else "human"


# The latest version first, all labels before the boxable ones.
_FILES = (
    "oidv7-class-descriptions.csv",
    "oidv6-class-descriptions.csv",
    "class-descriptions.csv",
    "dict.csv",
    "oidv7-class-descriptions-boxable.csv",
    "oidv6-class-descriptions-boxable.csv",
    "class-descriptions-boxable.csv",
)


class LabelNames:
    """Ids of labels in, names out; what has no name keeps its id."""

    def __init__(self, names: dict[str, str], note: str = "") -> None:
        self._ids, self._names = as_ids(list(names)), as_ids(list(names.values()))
        self._note = note
        self._nameless: set[str] = set()

    def of(self, labels: pa.LargeStringArray) -> pa.LargeStringArray:
        """The name of each id."""
        if not len(self._ids):
            return labels
        places = pc.index_in(labels, value_set=self._ids)
        if places.null_count:
            self._nameless.update(labels.filter(places.is_null()).unique().to_pylist())
        return pc.coalesce(self._names.take(places), labels)

    def notes(self) -> list[str]:
        """Where the names are from, and how many labels have none."""
        nameless = counted(len(self._nameless), "label has", "labels have")
        return ([self._note] if self._note else []) + ([f"{nameless} no name there"] if self._nameless else [])


def find_names(path: Path, files: Files, asked: bool | None) -> LabelNames:
    """The names in the best of ``files``; none where ids are ``asked`` for, or names are not and there is no file."""
    if asked is False:
        return LabelNames({})
    for name in _FILES:
        found = named(files, re.compile(re.escape(name)))
        if found:
            return LabelNames(read_names(found), f"labels are named as in {found.name}")
    if asked:
        raise DataError(f"{path} has no class-descriptions.csv or dict.csv to name labels by; {DOWNLOAD}")
    return LabelNames({}, "labels are ids: there is no class-descriptions.csv or dict.csv to name them by")


def read_names(path: Path) -> dict[str, str]:
    """The name of every id in a class description file; a name that several ids share is followed by the id."""
    names: dict[str, str] = {}
    with detect_format(path).open() as stream:
        rows = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), strict=True)
        try:
            for row in rows:
                if rows.line_num == 1 and row == ["LabelName", "DisplayName"]:
                    continue
                if len(row) != 2 or not row[0].strip():
                    shown = ",".join(row)[:60]
                    raise DataError(f"{path}, line {rows.line_num} has {shown!r} where an id and a name should be")
                one, name = row[0].strip(), row[1].strip()
                if names.setdefault(one, name) != name:
                    raise DataError(f"{path}, line {rows.line_num} names {one} {name!r}, but before {names[one]!r}")
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read after line {rows.line_num}: {error}; fetch it again") from None
    shared = Counter(names.values())
    return {one: name if shared[name] == 1 else f"{name} [{one}]" for one, name in names.items() if name}


_DIALECT = Dialect(",", None, header=True, columns=ColumnChoice(0, 2), notes=())
_BLOCK = 1 << 20
_BYTES_A_ROW = 40


def read_openimages(
    path: str | Path,
    *,
    source: Labels | None = None,
    split: Split | None = None,
    min_confidence: float = 0.5,
    names: bool | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """The pairs in a folder or file of Open Images' image-level labels.

    Args:
        path: The folder with the files, in it or in folders below, or one such file; each may be gzipped.
        source: Labels verified by humans, given by a machine, or both; not said: human of a folder, all of a file.
        split: One split of a folder; not said: all that are there.
        min_confidence: The least confidence of a label that a machine gave. One that humans verified counts where its
            confidence is 1, and is left out where it is 0: verified as absent.
        names: Labels by name, or by id; not said: by name where a file of names is there. A name that several labels
            share is followed by the id in brackets.
        progress: Called with the bytes read so far and the bytes in all.

    What was left out is counted in the ``notes`` of the result. Memory follows the pairs that are kept, at about 8
    bytes each, and the ids, not the rows.
    """
    path = Path(path)
    for option, value, allowed in (("source", source, get_args(Labels)), ("split", split, get_args(Split))):
        if value is not None and value not in allowed:
            raise ConfigError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
    if not 0 <= min_confidence <= 1:
        raise ConfigError(f"min_confidence must be between 0 and 1, got {min_confidence}")
    if split is not None and path.is_file():
        raise ConfigError(f"split {split} is for a folder, but {path} is a file, which is read whole; leave one out")
    files = files_of(path)
    if path.is_file() and not path.name.endswith((".csv", ".csv.gz")):
        raise DataError(f"{path} is not a .csv file of image-level labels of Open Images; {DOWNLOAD}")
    labels: Labels = source or ("both" if path.is_file() else "human")
    chosen = [path] if path.is_file() else choose(path, files, labels, split)
    pairs = _Pairs(chosen, labels, min_confidence, find_names(path, files, names), progress)
    rows = sum(one.stat().st_size for one in chosen) // _BYTES_A_ROW
    return ingest(LoadedPairs(str(path), pairs.batches, pairs.notes, expected_rows=rows))


class _Pairs:
    """The rows that are pairs, and counts of those that are not."""

    def __init__(
        self,
        files: Sequence[Path],
        labels: Labels,
        min_confidence: float,
        names: LabelNames,
        progress: Progress | None,
    ) -> None:
        self.notes: list[str] = []
        self._files = files
        self._labels = labels
        self._min_confidence = min_confidence
        self._names = names
        self._meter = Meter(files, progress)
        self._left_out: Counter[tuple[str, str]] = Counter()

    def batches(self) -> Iterator[Batch]:
        """The pairs of all files; ``notes`` is complete after the last."""
        for path in self._files:
            for batch in self._rows(detect_format(path)):
                yield self._kept(batch)
            self._meter.done(path)
        self.notes.append(f"read {', '.join(path.name for path in self._files)}")
        self.notes += [f"left out {counted(count, *what)}" for what, count in self._left_out.items() if count]
        self.notes += self._names.notes()

    def _rows(self, file: PairsFile) -> Iterator[pa.RecordBatch]:
        check_header(file)
        rows = 1  # the header
        with file.open() as stream:
            text = QuoteCheckedStream(stream, ",", None)
            try:
                for batch in _parse(text):
                    rows += batch.num_rows
                    if not _are_sound(batch):
                        raise _fault(file)
                    yield batch
                    self._meter.at(stream)
            except pa.ArrowInvalid:
                raise _fault(file) from None
        self._left_out["blank line", "blank lines"] += text.lines - rows

    def _kept(self, batch: pa.RecordBatch) -> Batch:
        images, sources, labels, confidence = batch.columns
        machine = pc.equal(sources, "machine")
        human = pc.invert(machine)
        absent = pc.equal(confidence, 0.0)
        reasons: dict[tuple[str, str], pa.BooleanArray] = {}
        if self._labels == "human":
            reasons["row by a machine", "rows by a machine"] = machine
        else:
            least = f"with confidence below {self._min_confidence:g}"
            faint = pc.less(confidence, self._min_confidence)
            reasons[f"machine label {least}", f"machine labels {least}"] = pc.and_(machine, faint)
        if self._labels == "machine":
            reasons["row by humans", "rows by humans"] = human
        else:
            reasons["label verified as absent", "labels verified as absent"] = pc.and_(human, absent)
            undecided = pc.and_(pc.greater(confidence, 0.0), pc.less(confidence, 1.0))
            what = "with a confidence between 0 and 1"
            reasons[f"human label {what}", f"human labels {what}"] = pc.and_(human, undecided)
        for what_left, where in reasons.items():
            self._left_out[what_left] += pc.sum(where).as_py() or 0
        kept = pc.invert(reduce(pc.or_, reasons.values()))
        return Batch(images.filter(kept), self._names.of(labels.filter(kept)))


def _parse(text: QuoteCheckedStream) -> Iterator[pa.RecordBatch]:
    types = [pa.large_string(), pa.string(), pa.large_string(), pa.float64()]
    yield from pa_csv.open_csv(
        text,
        read_options=pa_csv.ReadOptions(block_size=_BLOCK),
        parse_options=pa_csv.ParseOptions(quote_char=False),
        convert_options=pa_csv.ConvertOptions(
            include_columns=list(HEADER), column_types=dict(zip(HEADER, types, strict=True)), null_values=[]
        ),
    )


def _are_sound(batch: pa.RecordBatch) -> bool:
    images, _, labels, confidence = batch.columns
    in_range = pc.and_(pc.greater_equal(confidence, 0.0), pc.less_equal(confidence, 1.0))  # false of NaN
    return pc.all(in_range).as_py() is not False and not is_blank(images).any() and not is_blank(labels).any()


def _fault(file: PairsFile) -> DataError:
    """The first thing wrong with a file, by its line."""
    fault = text_fault(file, _DIALECT)
    if fault:
        return fault
    with file.open() as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        rows = csv.reader(lines, quoting=csv.QUOTE_NONE)
        next(rows)
        for row in rows:
            where = f"{file.path}, line {rows.line_num}"
            if row and not (row[0].strip() and row[2].strip()):
                return DataError(f"{where} has a blank image or label id; fetch the file again")
            if row and not _is_confidence(row[3]):
                return DataError(f"{where} has the confidence {row[3]!r}, not one from 0 to 1; fetch the file again")
    return DataError(f"{file.path} cannot be read as image-level labels; fetch it again")


def _is_confidence(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
