"""IAPR TC-12: 20,000 holiday pictures with descriptions, and the 291 labels that were made of them.

The labels are in TagProp's ``.hvecs`` files or in ``.mat`` files, each with a list of images and a dictionary; or they
are looked up in the descriptions themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from vse_ens.data.annotations import Annotations
from vse_ens.data.gathering import gather
from vse_ens.data.iaprtc12_matrices import read_hvecs, read_mat
from vse_ens.data.iaprtc12_texts import Lexicon, read_description
from vse_ens.data.published import (
    Files,
    LoadedPairs,
    Meter,
    Progress,
    as_ids,
    counted,
    distinct_lines,
    files_of,
    named,
    pairs_of,
)
from vse_ens.data.source import Batch
from vse_ens.errors import ConfigError, DataError

Form = Literal["hvecs", "mat", "texts"]
Split = Literal["train", "test"]

_FILES: dict[Form, re.Pattern[str]] = {
    "hvecs": re.compile(r"iapr(?:tc-?12)?_(?P<split>train|test)_annot\.hvecs", re.IGNORECASE),
    "mat": re.compile(r"iapr(?:tc-?12)?_(?P<split>train|test)_?labels\.mat", re.IGNORECASE),
    "texts": re.compile(r".+\.eng"),
}
_LISTS: dict[Split, re.Pattern[str]] = {
    "train": re.compile(r"iapr(?:tc-?12)?_train_list\.txt", re.IGNORECASE),
    "test": re.compile(r"iapr(?:tc-?12)?_test_list\.txt", re.IGNORECASE),
}
_DICTIONARY = re.compile(r"iapr(?:tc-?12)?_dictionary\.txt", re.IGNORECASE)
# Where there are several folders of texts, the one that calls itself complete is read.
_COMPLETE = "annotations_complete_eng"
_PAGE = "https://www.imageclef.org/photodata"
_TAGPROP_PAGE = "https://lear.inrialpes.fr/people/guillaumin/data.php"
_TAGPROP = f"it is in the archive iaprtc12.20091111.tar.bz2 of {_TAGPROP_PAGE}"
_TEXTS = 1000


def read_iaprtc12(
    path: str | Path,
    *,
    form: Form | None = None,
    split: Split | None = None,
    dictionary: str | Path | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """The pairs in a folder or file of IAPR TC-12; images are named as in ``00/25``.

    Args:
        path: The folder with the files, in it or in folders below; or one ``.hvecs``, ``.mat`` or ``.eng`` file.
        form: ``hvecs``, TagProp's files; ``mat``, MATLAB's; ``texts``, the ``.eng`` descriptions, in which the words of
            the dictionary are looked up. Not said: the first of these that is there.
        split: The images of the train or the test list; not said: all.
        dictionary: The file of label names, one a line; not said: the ``iaprtc12_dictionary.txt`` that is there.
        progress: Called with the bytes read so far and the bytes in all.

    What was left out is counted in the ``notes`` of the result.
    """
    path = Path(path)
    for option, value, allowed in (("form", form, get_args(Form)), ("split", split, get_args(Split))):
        if value is not None and value not in allowed:
            raise ConfigError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
    files = files_of(path)
    candidates = [path] if path.is_file() else list(files)
    form = _form(path, candidates, form)
    chosen = [one for one in candidates if _FILES[form].fullmatch(one.name)]
    pairs = _Pairs(path, files, _words(path, files, dictionary), progress)
    load = pairs.texts(chosen, split) if form == "texts" else pairs.matrices(chosen, form, split)
    return gather(LoadedPairs(str(path), lambda: load, pairs.notes))


class _Pairs:
    """The pairs in files of either kind; ``notes`` is complete after the last."""

    def __init__(self, path: Path, files: Files, words: list[str], progress: Progress | None) -> None:
        self.notes: list[str] = []
        self._path = path
        self._files = files
        self._words = words
        self._progress = progress

    def matrices(self, chosen: Sequence[Path], form: Form, split: Split | None) -> Iterator[Batch]:
        """The pairs where a matrix has a 1."""
        parts = self._parts(chosen, form, split)
        meter = Meter(parts.values(), self._progress)
        unlabelled = 0
        for part, file in parts.items():
            images = self._listed(part)
            read = read_hvecs if form == "hvecs" else read_mat
            matrix = read(file, len(images), len(self._words))
            unlabelled += int(np.count_nonzero(~matrix.any(axis=1)))
            yield pairs_of(matrix, as_ids(images), as_ids(self._words))
            meter.done(file)
        self.notes.append(f"read {', '.join(file.name for file in parts.values())}")
        self._note_unlabelled(unlabelled)

    def texts(self, chosen: Sequence[Path], split: Split | None) -> Iterator[Batch]:
        """The words of the dictionary that occur in a description."""
        complete = [file for file in chosen if _COMPLETE in file.parts]
        chosen = complete or chosen
        wanted = None if split is None else set(self._listed(split))
        lexicon = Lexicon(self._words)
        meter = Meter(chosen, self._progress)
        seen: set[str] = set()
        unlabelled = 0
        for start in range(0, len(chosen), _TEXTS):
            some = chosen[start : start + _TEXTS]
            images: list[str] = []
            matrix = np.zeros((len(some), len(self._words)), bool)
            for file in some:
                image, description = read_description(file)
                if wanted is None or image in wanted:
                    matrix[len(images), list(lexicon.places(description))] = True
                    images.append(image)
                meter.done(file)
            seen.update(images)
            matrix = matrix[: len(images)]
            unlabelled += int(np.count_nonzero(~matrix.any(axis=1)))
            yield pairs_of(matrix, as_ids(images), as_ids(self._words))
        self.notes.append(
            f"labels are the words of the dictionary that occur in {counted(len(seen), 'description')}, also where "
            f"they are adjectives, as colours mostly are"
        )
        self._note_unlabelled(unlabelled)
        if wanted and len(seen) < len(wanted):
            absent = counted(len(wanted) - len(seen), "image of the list has", "images of the list have")
            self.notes.append(f"{absent} no description")

    def _parts(self, chosen: Sequence[Path], form: Form, split: Split | None) -> dict[Split, Path]:
        """The file of each split, once."""
        parts: dict[Split, Path] = {}
        for name in get_args(Split):
            of_split = [file for file in chosen if _split_of(file, form) == name]
            if len(of_split) > 1:
                raise DataError(f"{of_split[0]} and {of_split[1]} are both there; remove one, or name the other")
            if of_split and split in (None, name):
                parts[name] = of_split[0]
        if not parts:
            raise DataError(f"{self._path} has no {form} file of the {split} split; {_TAGPROP}")
        if split is None and len(parts) < len(get_args(Split)):
            self.notes.append(f"there is no file of the {'test' if 'train' in parts else 'train'} split")
        return parts

    def _listed(self, split: Split) -> list[str]:
        file = named(self._files, _LISTS[split])
        if file is None:
            raise DataError(f"{self._path} has no iaprtc12_{split}_list.txt to name images by; {_TAGPROP}")
        return distinct_lines(file)

    def _note_unlabelled(self, count: int) -> None:
        if count:
            self.notes.append(f"left out {counted(count, 'image')} without a label")


def _form(path: Path, files: Sequence[Path], asked: Form | None) -> Form:
    there = [form for form in get_args(Form) if any(_FILES[form].fullmatch(file.name) for file in files)]
    if not there or asked not in (None, *there):
        looked_for = {
            "hvecs": "iaprtc12_train_annot.hvecs",
            "mat": "IAPRTC-12_TrainLabels.mat",
            "texts": f"descriptions {_COMPLETE}/*/*.eng",
        }
        what = looked_for[asked] if asked else ", no ".join(looked_for.values())
        raise DataError(
            f"{path} has no {what} of IAPR TC-12; download the labels (iaprtc12.20091111.tar.bz2) from {_TAGPROP_PAGE} "
            f"or the descriptions (iaprtc12.tgz) from {_PAGE} and unpack them"
        )
    return asked or there[0]


def _words(path: Path, files: Files, dictionary: str | Path | None) -> list[str]:
    file = named(files, _DICTIONARY) if dictionary is None else Path(dictionary)
    if file is None:
        raise DataError(f"{path} has no iaprtc12_dictionary.txt to name labels by; give a dictionary: {_TAGPROP}")
    return distinct_lines(file)


def _split_of(file: Path, form: Form) -> str:
    match = _FILES[form].fullmatch(file.name)
    return match["split"].lower() if match else ""
