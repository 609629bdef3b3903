"""Open Images, versions 1 to 7: the image-level labels as their owners publish them.

Every version has files with the columns ``ImageID,Source,LabelName,Confidence``, for each split one with human-verified
and one with machine-generated labels; their names differ between versions. A further file has the names of the labels,
which are ids such as ``/m/01g317``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from benchmarks.published.common import FileProgress, Files, LoadedPairs, Progress, count_of, find_file, list_files
from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import strings_to_arrow
from vse_ens.data.io.columns import ColumnChoice
from vse_ens.data.io.delimited import WholeRecords
from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import PairsFile, detect_format
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.records import RecordError, find_text_error
from vse_ens.data.io.source import Batch
from vse_ens.errors import ConfigError, DataError

Labels = Literal["human", "machine", "both"]
Split = Literal["train", "validation", "test"]

HEADER = ("ImageID", "Source", "LabelName", "Confidence")
DOWNLOAD = (
    "download image-level labels such as validation-annotations-human-imagelabels.csv, and "
    "oidv7-class-descriptions.csv for their names, from https://storage.googleapis.com/openimages/web/download_v7.html "
    "(versions 1 to 3: https://github.com/openimages/dataset)"
)

# Versions 4 to 7, 2 and 3, and 1. In the older ones the folder is the split; in version 1 the name says nothing.
_SINCE_V4 = re.compile(
    r"(?:oidv\d+-)?(?P<split>train|val|validation|test)-annotations-(?P<kind>human|machine)-imagelabels(?:-boxable)?"
    r"\.csv(?:\.gz)?"
)
_V2_AND_V3 = re.compile(r"annotations-(?P<kind>human|machine)\.csv(?:\.gz)?")
_V1 = re.compile(r"labels\.csv(?:\.gz)?")


@dataclass(frozen=True)
class LabelFile:
    """A file of labels: human or machine, and the split if the name or folder has it."""

    path: Path
    kind: str
    split: str | None


def choose_files(folder: Path, files: Iterable[Path], source: Labels, split: Split | None) -> list[Path]:
    """Return the requested files, one for each kind and split."""
    found = list(_label_files(files))
    kinds = ("human", "machine") if source == "both" else (source,)
    chosen = [one for one in found if one.kind in kinds and split in (None, one.split)]
    missing = [kind for kind in kinds if kind not in {one.kind for one in chosen}]
    if missing:
        where = f" of the {split} split" if split else ""
        existing = f" (only {', '.join(one.path.name for one in found)})" if found else ""
        raise DataError(
            f"{folder} has no file of {' and none of '.join(missing)} labels of Open Images{where}{existing}; "
            f"{DOWNLOAD}"
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
    """Raise if a file does not hold image-level labels."""
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
    """Return the source in the first row of a file."""
    check_header(file)
    with file.open() as stream:
        stream.readline(1000)
        return "machine" if stream.readline(1000).split(b",")[1:2] == [b"machine"] else "human"


# The latest version first, all labels before the boxable ones.
_NAME_FILES = (
    "oidv7-class-descriptions.csv",
    "oidv6-class-descriptions.csv",
    "class-descriptions.csv",
    "dict.csv",
    "oidv7-class-descriptions-boxable.csv",
    "oidv6-class-descriptions-boxable.csv",
    "class-descriptions-boxable.csv",
)


class LabelNames:
    """The names of label ids; an id without a name stays."""

    def __init__(self, names: dict[str, str], note: str = "") -> None:
        self._ids, self._names = strings_to_arrow(list(names)), strings_to_arrow(list(names.values()))
        self._note = note
        self._nameless: set[str] = set()

    def of(self, labels: pa.LargeStringArray) -> pa.LargeStringArray:
        """Return the name of each id."""
        if not len(self._ids):
            return labels
        indices = pc.index_in(labels, value_set=self._ids)
        if indices.null_count:
            self._nameless.update(labels.filter(indices.is_null()).unique().to_pylist())
        return pc.coalesce(self._names.take(indices), labels)

    def notes(self) -> list[str]:
        """Return the origin of the names, and the number of labels without one."""
        nameless = count_of(len(self._nameless), "label has", "labels have")
        return ([self._note] if self._note else []) + ([f"{nameless} no name there"] if self._nameless else [])


def find_names(path: Path, files: Files, requested: bool | None) -> LabelNames:
    """Return the label names in the best of ``files``; ``requested`` False means ids, True that names are required."""
    if requested is False:
        return LabelNames({})
    for name in _NAME_FILES:
        found = find_file(files, re.compile(re.escape(name)))
        if found:
            return LabelNames(read_names(found), f"labels are named as in {found.name}")
    if requested:
        raise DataError(f"{path} has no class-descriptions.csv or dict.csv to name labels by; {DOWNLOAD}")
    return LabelNames({}, "labels are ids: there is no class-descriptions.csv or dict.csv to name them by")


def read_names(path: Path) -> dict[str, str]:
    """Return the name of every id in a class description file; a name that several ids share is followed by the id."""
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
                    raise DataError(
                        f"{path}, line {rows.line_num} names {one} {name!r}, but an earlier line {names[one]!r}"
                    )
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read after line {rows.line_num}: {error}; download it again") from None
    shared = Counter(names.values())
    return {one: name if shared[name] == 1 else f"{name} [{one}]" for one, name in names.items() if name}


_DIALECT = Dialect(",", None, header=True, columns=ColumnChoice(0, 2), notes=())
_BLOCK = 1 << 20
_BYTES_PER_ROW = 40


def read_openimages(
    path: str | Path,
    *,
    source: Labels | None = None,
    split: Split | None = None,
    min_confidence: float = 0.5,
    names: bool | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """Read the pairs of a folder or file of Open Images' image-level labels.

    Args:
        path: The folder with the files, which may be in subfolders, or one such file; each may be gzipped.
        source: Labels verified by humans, given by a machine, or both. Default: human for a folder, all for a file.
        split: One split of a folder. Default: all that exist.
        min_confidence: The minimum confidence of a machine label. A human label counts if its confidence is 1, and is
            dropped if it is 0, which means verified as absent.
        names: Whether labels are names or ids. Default: names if there is a file of names. A name that several labels
            share is followed by the id in brackets.
        progress: Called with the bytes read so far and the total.

    The ``notes`` of the result count what was dropped. RAM grows with the kept pairs, about 8 bytes each, and the ids.
    """
    path = Path(path)
    for option, value, allowed in (("source", source, get_args(Labels)), ("split", split, get_args(Split))):
        if value is not None and value not in allowed:
            raise ConfigError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
    if not 0 <= min_confidence <= 1:
        raise ConfigError(f"min_confidence must be between 0 and 1, got {min_confidence}")
    if split is not None and path.is_file():
        raise ConfigError(
            f"split {split} is for a folder, but {path} is a file, which is read completely; leave one out"
        )
    files = list_files(path)
    if path.is_file() and not path.name.endswith((".csv", ".csv.gz")):
        raise DataError(f"{path} is not a .csv file of image-level labels of Open Images; {DOWNLOAD}")
    labels: Labels = source or ("both" if path.is_file() else "human")
    chosen = [path] if path.is_file() else choose_files(path, files, labels, split)
    pairs = _Pairs(chosen, labels, min_confidence, find_names(path, files, names), progress)
    rows = sum(one.stat().st_size for one in chosen) // _BYTES_PER_ROW
    return ingest(LoadedPairs(str(path), pairs.batches, pairs.notes, expected_rows=rows))


class _Pairs:
    """The rows that are pairs, and counts of the others."""

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
        self._progress = FileProgress(files, progress)
        self._dropped: Counter[tuple[str, str]] = Counter()

    def batches(self) -> Iterator[Batch]:
        """Yield the pairs of all files; ``notes`` is complete after the last batch."""
        for path in self._files:
            for batch in self._rows(detect_format(path)):
                yield self._kept(batch)
            self._progress.finish(path)
        self.notes.append(f"read {', '.join(path.name for path in self._files)}")
        self.notes += [f"dropped {count_of(count, *nouns)}" for nouns, count in self._dropped.items() if count]
        self.notes += self._names.notes()

    def _rows(self, file: PairsFile) -> Iterator[pa.RecordBatch]:
        check_header(file)
        rows = 0
        with file.open_text() as stream:
            stream.readline()  # the header
            blocks = WholeRecords(stream, ",", None, _BLOCK)
            try:
                for batch in chain.from_iterable(map(_parse, blocks)):
                    rows += batch.num_rows
                    if not _is_valid(batch):
                        raise _find_error(file)
                    yield batch
                    self._progress.update(stream)
            except (pa.ArrowInvalid, RecordError):
                raise _find_error(file) from None
        self._dropped["blank line", "blank lines"] += blocks.lines - rows

    def _kept(self, batch: pa.RecordBatch) -> Batch:
        images, sources, labels, confidence = batch.columns
        machine = pc.equal(sources, "machine")
        human = pc.invert(machine)
        absent = pc.equal(confidence, 0.0)
        reasons: dict[tuple[str, str], pa.BooleanArray] = {}
        if self._labels == "human":
            reasons["row by a machine", "rows by a machine"] = machine
        else:
            below = f"with confidence below {self._min_confidence:g}"
            uncertain = pc.less(confidence, self._min_confidence)
            reasons[f"machine label {below}", f"machine labels {below}"] = pc.and_(machine, uncertain)
        if self._labels == "machine":
            reasons["row by humans", "rows by humans"] = human
        else:
            reasons["label verified as absent", "labels verified as absent"] = pc.and_(human, absent)
            undecided = pc.and_(pc.greater(confidence, 0.0), pc.less(confidence, 1.0))
            between = "with a confidence between 0 and 1"
            reasons[f"human label {between}", f"human labels {between}"] = pc.and_(human, undecided)
        for nouns, rows in reasons.items():
            self._dropped[nouns] += pc.sum(rows).as_py() or 0
        kept = pc.invert(reduce(pc.or_, reasons.values()))
        return Batch(images.filter(kept), self._names.of(labels.filter(kept)))


def _parse(block: bytes) -> Sequence[pa.RecordBatch]:
    if not block.strip(b"\r\n"):
        return ()
    types = [pa.large_string(), pa.string(), pa.large_string(), pa.float64()]
    table = pa_csv.read_csv(
        pa.BufferReader(block),
        read_options=pa_csv.ReadOptions(column_names=HEADER, block_size=len(block) + 1, use_threads=False),
        parse_options=pa_csv.ParseOptions(quote_char=False),
        convert_options=pa_csv.ConvertOptions(column_types=dict(zip(HEADER, types, strict=True)), null_values=[]),
    )
    batches: Sequence[pa.RecordBatch] = table.to_batches()
    return batches


def _is_valid(batch: pa.RecordBatch) -> bool:
    images, _, labels, confidence = batch.columns
    in_range = pc.and_(pc.greater_equal(confidence, 0.0), pc.less_equal(confidence, 1.0))  # false for NaN
    return pc.all(in_range).as_py() is not False and not is_blank(images).any() and not is_blank(labels).any()


def _find_error(file: PairsFile) -> DataError:
    """Return the first error in a file, with its line."""
    found = find_text_error(file, _DIALECT)
    if found:
        return found
    with file.open() as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        rows = csv.reader(lines, quoting=csv.QUOTE_NONE)
        next(rows)
        for row in rows:
            where = f"{file.path}, line {rows.line_num}"
            if row and not (row[0].strip() and row[2].strip()):
                return DataError(f"{where} has a blank image or label id; download the file again")
            if row and not _is_confidence(row[3]):
                return DataError(f"{where} has the confidence {row[3]!r}, not one from 0 to 1; download the file again")
    return DataError(f"{file.path} cannot be read as image-level labels; download it again")


def _is_confidence(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
