"""IAPR TC-12: 20,000 holiday pictures with descriptions, and the 291 labels that were derived from them.

The labels are in TagProp's ``.hvecs`` files or in ``.mat`` files, each with a list of images and a dictionary. Or they
are looked up in the descriptions: the words of the dictionary, in the singular or the plural. The labels in the
literature are nouns that a tagger found. Without a tagger, adjectives such as colors count too, so there are more
pairs; see docs/published-data.md.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.published.common import (
    FileProgress,
    Files,
    LoadedPairs,
    Progress,
    count_of,
    distinct_lines,
    find_file,
    list_files,
    matrix_pairs,
    readable,
)
from vse_ens.data.annotations import Annotations
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.source import Batch
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
# If there are several folders of texts, this one is read.
_COMPLETE = "annotations_complete_eng"
_PAGE = "https://www.imageclef.org/photodata"
_TAGPROP_PAGE = "https://lear.inrialpes.fr/people/guillaumin/data.php"
_TAGPROP = f"it is in the archive iaprtc12.20091111.tar.bz2 of {_TAGPROP_PAGE}"
# Descriptions read at a time.
_TEXTS = 1000

_DESCRIPTION = re.compile(r"<DESCRIPTION>(.*?)</DESCRIPTION>", re.DOTALL)
_DOCUMENT = re.compile(r"<DOCNO>annotations/(.*?)\.eng</DOCNO>")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_ENDINGS = (
    (re.compile(r"(s|x|z|ch|sh|o)$"), r"\1es"),
    (re.compile(r"([^aeiou])y$"), r"\1ies"),
    (re.compile(r"fe?$"), "ves"),
    (re.compile(r"man$"), "men"),
    (re.compile(r"^child$"), "children"),
    (re.compile(r"^foot$"), "feet"),
)


def read_iaprtc12(
    path: str | Path,
    *,
    form: Form | None = None,
    split: Split | None = None,
    dictionary: str | Path | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """Read the pairs of a folder or file of IAPR TC-12; images are named as in ``00/25``.

    Args:
        path: The folder with the files, which may be in subfolders; or one ``.hvecs``, ``.mat`` or ``.eng`` file.
        form: ``hvecs``, TagProp's files; ``mat``, MATLAB's; ``texts``, the ``.eng`` descriptions, in which the words of
            the dictionary are looked up. Default: the first of these that exists.
        split: The images of the train or the test list. Default: all.
        dictionary: The file of label names, one per line. Default: ``iaprtc12_dictionary.txt``.
        progress: Called with the bytes read so far and the total.

    The ``notes`` of the result count what was dropped.
    """
    path = Path(path)
    for option, value, allowed in (("form", form, get_args(Form)), ("split", split, get_args(Split))):
        if value is not None and value not in allowed:
            raise ConfigError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
    files = list_files(path)
    candidates = [path] if path.is_file() else list(files)
    form = _form(path, candidates, form)
    chosen = [one for one in candidates if _FILES[form].fullmatch(one.name)]
    pairs = _Pairs(path, files, _words(path, files, dictionary), progress)
    load = pairs.texts(chosen, split) if form == "texts" else pairs.matrices(chosen, form, split)
    return ingest(LoadedPairs(str(path), lambda: load, pairs.notes))


class _Pairs:
    """The pairs of matrices or descriptions; ``notes`` is complete after the last batch."""

    def __init__(self, path: Path, files: Files, words: list[str], progress: Progress | None) -> None:
        self.notes: list[str] = []
        self._path = path
        self._files = files
        self._words = words
        self._progress = progress

    def matrices(self, chosen: Sequence[Path], form: Form, split: Split | None) -> Iterator[Batch]:
        """Yield the pairs at the nonzero entries of the matrices."""
        parts = self._parts(chosen, form, split)
        progress = FileProgress(parts.values(), self._progress)
        unlabeled = 0
        for part, file in parts.items():
            images = self._listed(part)
            read = read_hvecs if form == "hvecs" else read_mat
            matrix = read(file, len(images), len(self._words))
            unlabeled += int(np.count_nonzero(~matrix.any(axis=1)))
            yield matrix_pairs(matrix, images, self._words)
            progress.finish(file)
        self.notes.append(f"read {', '.join(file.name for file in parts.values())}")
        self._note_unlabeled(unlabeled)

    def texts(self, chosen: Sequence[Path], split: Split | None) -> Iterator[Batch]:
        """Yield the words of the dictionary that occur in each description."""
        complete = [file for file in chosen if _COMPLETE in file.parts]
        chosen = complete or chosen
        of_split = None if split is None else set(self._listed(split))
        lexicon = Lexicon(self._words)
        progress = FileProgress(chosen, self._progress)
        seen: set[str] = set()
        unlabeled = 0
        for start in range(0, len(chosen), _TEXTS):
            some = chosen[start : start + _TEXTS]
            images: list[str] = []
            matrix = np.zeros((len(some), len(self._words)), bool)
            for file in some:
                image, description = read_description(file)
                if of_split is None or image in of_split:
                    matrix[len(images), list(lexicon.indices(description))] = True
                    images.append(image)
                progress.finish(file)
            seen.update(images)
            matrix = matrix[: len(images)]
            unlabeled += int(np.count_nonzero(~matrix.any(axis=1)))
            yield matrix_pairs(matrix, images, self._words)
        self.notes.append(
            f"labels are the words of the dictionary that occur in {count_of(len(seen), 'description')}, also as "
            f"adjectives, which colors mostly are"
        )
        self._note_unlabeled(unlabeled)
        if of_split and len(seen) < len(of_split):
            absent = count_of(len(of_split) - len(seen), "image of the list has", "images of the list have")
            self.notes.append(f"{absent} no description")

    def _parts(self, chosen: Sequence[Path], form: Form, split: Split | None) -> dict[Split, Path]:
        """Return the file of each split."""
        parts: dict[Split, Path] = {}
        for name in get_args(Split):
            of_split = [file for file in chosen if _split_of(file, form) == name]
            if len(of_split) > 1:
                raise DataError(f"{of_split[0]} and {of_split[1]} both exist; remove one, or name the other")
            if of_split and split in (None, name):
                parts[name] = of_split[0]
        if not parts:
            raise DataError(f"{self._path} has no {form} file of the {split} split; {_TAGPROP}")
        if split is None and len(parts) < len(get_args(Split)):
            self.notes.append(f"there is no file of the {'test' if 'train' in parts else 'train'} split")
        return parts

    def _listed(self, split: Split) -> list[str]:
        file = find_file(self._files, _LISTS[split])
        if file is None:
            raise DataError(f"{self._path} has no iaprtc12_{split}_list.txt to name images by; {_TAGPROP}")
        return distinct_lines(file)

    def _note_unlabeled(self, count: int) -> None:
        if count:
            self.notes.append(f"dropped {count_of(count, 'image')} without a label")


def _form(path: Path, files: Sequence[Path], requested: Form | None) -> Form:
    existing = [form for form in get_args(Form) if any(_FILES[form].fullmatch(file.name) for file in files)]
    if not existing or requested not in (None, *existing):
        names = {
            "hvecs": "iaprtc12_train_annot.hvecs",
            "mat": "IAPRTC-12_TrainLabels.mat",
            "texts": f"descriptions {_COMPLETE}/*/*.eng",
        }
        missing = names[requested] if requested else ", no ".join(names.values())
        raise DataError(
            f"{path} has no {missing} of IAPR TC-12; download the labels (iaprtc12.20091111.tar.bz2) from "
            f"{_TAGPROP_PAGE} or the descriptions (iaprtc12.tgz) from {_PAGE} and unpack them"
        )
    return requested or existing[0]


def _words(path: Path, files: Files, dictionary: str | Path | None) -> list[str]:
    file = find_file(files, _DICTIONARY) if dictionary is None else Path(dictionary)
    if file is None:
        raise DataError(f"{path} has no iaprtc12_dictionary.txt to name labels by; give a dictionary: {_TAGPROP}")
    return distinct_lines(file)


def _split_of(file: Path, form: Form) -> str:
    match = _FILES[form].fullmatch(file.name)
    return match["split"].lower() if match else ""


# --- label matrices -------------------------------------------------------------------------------------------------


def read_hvecs(path: Path, images: int, labels: int) -> NDArray[np.uint16]:
    """Read a matrix of 16-bit numbers, images by labels, in which every row starts with its length."""
    with readable(path):
        size, numbers = path.stat().st_size, np.fromfile(path, "<u2")
    row = 2 * (labels + 1)
    if size != images * row:
        raise DataError(
            f"{path} has {size:,} bytes, but {images:,} images with {labels:,} labels take {images * row:,}; it is "
            f"truncated, or does not belong to this list and dictionary"
        )
    rows = numbers.reshape(images, labels + 1)
    invalid = np.flatnonzero(rows[:, 0] != labels)
    if len(invalid):
        raise DataError(
            f"{path}, row {invalid[0] + 1:,} has {rows[invalid[0], 0]:,} numbers, but the dictionary has {labels:,} "
            f"labels; download it again"
        )
    return _checked(path, rows[:, 1:])


def read_mat(path: Path, images: int, labels: int) -> NDArray[Any]:
    """Read the matrix, images by labels, of a ``.mat`` file; if there are several, they must be equal."""
    found = [(name, matrix) for name, matrix in _matrices(path) if matrix.shape == (images, labels)]
    if not found:
        shapes = sorted({" x ".join(map(str, matrix.shape)) for _, matrix in _matrices(path)})
        raise DataError(
            f"{path} has no matrix of {images:,} images and {labels:,} labels, only {', '.join(shapes) or 'none'}; it "
            f"does not belong to this list and dictionary"
        )
    name, matrix = found[0]
    for other_name, other in found[1:]:
        if not np.array_equal(matrix, other):
            raise DataError(f"{path} has two matrices that differ, {name} and {other_name}; save the right one alone")
    return _checked(path, matrix)


def _matrices(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        with readable(path):
            variables = loadmat(path)
    except NotImplementedError:
        raise DataError(
            f"{path} is a MATLAB 7.3 file (HDF5); save it in MATLAB with -v7, or use the .hvecs files"
        ) from None
    except (MatReadError, ValueError, TypeError, KeyError, IndexError, zlib.error) as error:
        raise DataError(f"{path} is a damaged MATLAB file ({error}); download it again") from None
    for name, value in variables.items():
        if name.startswith("__"):
            continue
        if isinstance(value, np.ndarray) and value.dtype == object:
            yield from ((f"{name}{{{n}}}", np.asarray(cell)) for n, cell in enumerate(value.ravel(), 1))
        else:
            yield name, value.toarray() if hasattr(value, "toarray") else np.asarray(value)


def _checked(path: Path, matrix: NDArray[Any]) -> NDArray[Any]:
    invalid = np.argwhere((matrix != 0) & (matrix != 1))
    if len(invalid):
        row, column = invalid[0]
        raise DataError(
            f"{path}, row {row + 1:,}, column {column + 1:,} has {matrix[row, column]} where 0 or 1 should be; fix "
            f"or download it again"
        )
    return matrix


# --- descriptions ---------------------------------------------------------------------------------------------------


class Lexicon:
    """A dictionary whose words are found in a text."""

    def __init__(self, words: Sequence[str]) -> None:
        forms = {form: index for index, word in enumerate(words) for form in plurals(word.lower())}
        # A word of the dictionary is never read as the plural of another.
        self._indices = forms | {word.lower(): index for index, word in enumerate(words)}

    def indices(self, text: str) -> set[int]:
        """Return the indices of the words that occur; if ``tee-shirt`` is a word, ``shirt`` does not occur in it."""
        found = set()
        for word in _WORD.findall(text.lower()):
            for form in [word] if word in self._indices else word.split("-"):
                if form in self._indices:
                    found.add(self._indices[form])
        return found


def plurals(word: str) -> list[str]:
    """Return possible plurals of an English noun."""
    return [word + "s", *(pattern.sub(ending, word) for pattern, ending in _ENDINGS if pattern.search(word))]


def read_description(path: Path) -> tuple[str, str]:
    """Return the image of an ``.eng`` file, such as ``00/25``, and its description."""
    with readable(path):
        text = path.read_text(encoding="latin-1")
    document, description = _DOCUMENT.search(text), _DESCRIPTION.search(text)
    if document is None or description is None:
        missing = "<DOCNO>annotations/...eng</DOCNO>" if document is None else "<DESCRIPTION>...</DESCRIPTION>"
        raise DataError(f"{path} has no {missing} in its {len(text.splitlines())} lines; download it again")
    return document[1], description[1]
