"""Which files of a folder hold Open Images' image-level labels: the names changed from version to version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from vse_ens.data.formats import PairsFile, recognise
from vse_ens.errors import DataError

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
            yield LabelFile(path, _kind_in(recognise(path)), folder)


def _kind_in(file: PairsFile) -> str:
    """What the first row of a file says of its source."""
    check_header(file)
    with file.open() as stream:
        stream.readline()
        return "machine" if stream.readline().split(b",")[1:2] == [b"machine"] else "human"
