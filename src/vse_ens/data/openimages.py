"""Open Images, versions 1 to 7: the image-level labels as their owners publish them.

Every version has files with the columns ``ImageID,Source,LabelName,Confidence``, human-verified and machine-generated
labels apart, a file a split. A further file has the names of the labels, which are ids such as ``/m/01g317``.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from vse_ens.data.annotations import Annotations
from vse_ens.data.columns import Chosen
from vse_ens.data.diagnose import text_fault
from vse_ens.data.formats import PairsFile, recognise
from vse_ens.data.gathering import gather
from vse_ens.data.header import Dialect
from vse_ens.data.numbering import is_blank
from vse_ens.data.openimages_files import DOWNLOAD, HEADER, Labels, Split, check_header, choose
from vse_ens.data.openimages_names import LabelNames, find_names
from vse_ens.data.published import LoadedPairs, Meter, Progress, counted, files_of
from vse_ens.data.quoting import WatchedText
from vse_ens.data.source import Batch
from vse_ens.errors import ConfigError, DataError

_DIALECT = Dialect(",", None, header=True, columns=Chosen(0, 2), notes=())
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
    return gather(LoadedPairs(str(path), pairs.batches, pairs.notes, expected_rows=rows))


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
            for batch in self._rows(recognise(path)):
                yield self._kept(batch)
            self._meter.done(path)
        self.notes.append(f"read {', '.join(path.name for path in self._files)}")
        self.notes += [f"left out {counted(count, *what)}" for what, count in self._left_out.items() if count]
        self.notes += self._names.notes()

    def _rows(self, file: PairsFile) -> Iterator[pa.RecordBatch]:
        check_header(file)
        rows = 1  # the header
        with file.open() as stream:
            text = WatchedText(stream, ",", None)
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


def _parse(text: WatchedText) -> Iterator[pa.RecordBatch]:
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
