"""Which images have which labels: two vocabularies and the known pairs between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.csr import take_rows
from vse_ens.data.features.matrix import plain_features
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.kernels.arrays import Csr

if TYPE_CHECKING:
    import polars as pl

    from vse_ens.data.io.formats import FormatName
    from vse_ens.data.io.wide import Layout

# How many keys are worked on at a time, where a copy of all of them would double the memory needed.
_CHUNK = 1 << 17


@dataclass(frozen=True)
class Annotations:
    """Known (image, label) pairs in CSR form, by number; the ids are in ``images`` and ``labels``.

    The labels of image ``i`` are ``indices[indptr[i]:indptr[i + 1]]``, sorted and distinct. An image may have no label
    and a label no image: a split keeps the vocabularies of the whole.

    >>> data = Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sea")])
    >>> data.labels_of("a")
    ['sand', 'sea']
    """

    images: Vocabulary
    labels: Vocabulary
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    features: Any = None
    """Optional image features, one row an image in the order of ``images``: a 2-d array or a scipy sparse matrix."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What reading did that a user should know: duplicates merged, rows filtered, how a header was found."""

    def __post_init__(self) -> None:
        self._check_ends()
        images, labels, indptr, indices = len(self.images), len(self.labels), self.indptr, self.indices
        if np.any(np.diff(indptr) < 0):
            raise DataError(f"indptr does not describe {len(indices)} pairs of {images} images")
        if len(indices):
            if indices.min() < 0 or indices.max() >= labels:
                raise DataError(f"indices must lie in 0..{labels - 1}, got {indices.min()}..{indices.max()}")
            rising = indices[1:] > indices[:-1]
            starts = indptr[1:-1]
            rising[starts[(starts > 0) & (starts < len(indices))] - 1] = True
            if not rising.all():
                raise DataError("the labels of every image must be sorted and distinct")
        if self.features is not None and (self.features.ndim != 2 or self.features.shape[0] != images):
            raise DataError(f"features must have one row for each of {images} images, got {self.features.shape}")

    def _check_ends(self) -> None:
        """What can be checked without touching every pair."""
        images, indptr, indices = len(self.images), self.indptr, self.indices
        if indptr.dtype != np.int64 or indices.dtype != np.int32:
            raise DataError(f"indptr must be int64 and indices int32, got {indptr.dtype} and {indices.dtype}")
        if len(indptr) != images + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
            raise DataError(f"indptr does not describe {len(indices)} pairs of {images} images")

    # --- making -------------------------------------------------------------------------------------------------

    @classmethod
    def trusted(
        cls, images: Vocabulary, labels: Vocabulary, indptr: NDArray[np.int64], indices: NDArray[np.int32]
    ) -> Annotations:
        """From arrays that were checked when they were written: no pair is touched, so a memory map stays unread."""
        data = object.__new__(cls)
        for name, value in (("images", images), ("labels", labels), ("indptr", indptr), ("indices", indices)):
            object.__setattr__(data, name, value)
        object.__setattr__(data, "features", None)
        object.__setattr__(data, "notes", ())
        data._check_ends()
        return data

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Annotations:
        """From (image id, label id) tuples."""
        listed = list(pairs)
        images = Vocabulary.from_ids((image for image, _ in listed), "image")
        labels = Vocabulary.from_ids((label for _, label in listed), "label")
        return cls.from_numbers(
            images,
            labels,
            images.numbers([image for image, _ in listed]),
            labels.numbers([label for _, label in listed]),
        )

    @classmethod
    def from_numbers(
        cls,
        images: Vocabulary,
        labels: Vocabulary,
        image_numbers: NDArray[np.integer],
        label_numbers: NDArray[np.integer],
        notes: tuple[str, ...] = (),
    ) -> Annotations:
        """From the numbers of each pair's image and label, in any order; duplicates are merged."""
        keys = image_numbers.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= label_numbers.astype(np.uint64)
        return cls.from_keys(images, labels, keys, notes)

    @classmethod
    def from_keys(
        cls, images: Vocabulary, labels: Vocabulary, keys: NDArray[np.uint64], notes: tuple[str, ...] = ()
    ) -> Annotations:
        """From ``image << 32 | label`` keys, whose memory becomes that of ``indices``: do not use them afterwards."""
        keys.sort()
        pairs = _squeeze(keys)
        # The key of (image, label 0) is the first that image could have: its place is the row's start.
        firsts = np.arange(len(images) + 1, dtype=np.uint64) << np.uint64(32)
        indptr = np.searchsorted(keys[:pairs], firsts).astype(np.int64, copy=False)
        return cls(images, labels, indptr, _low_halves(keys, pairs), notes=notes)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        image: str | int | None = None,
        label: str | int | None = None,
        header: bool | None = None,
        separator: str | None = None,
        quote: str | None = '"',
        format: FormatName | None = None,  # noqa: A002  # the word users know
        layout: Layout | None = None,
        label_separator: str | None = None,
        min_images_per_label: int = 1,
        min_labels_per_image: int = 1,
    ) -> Annotations:
        """Read a CSV, TSV, JSON Lines or Parquet file, gzipped or not; see `vse_ens.data.io.read.read`."""
        from vse_ens.data.io.read import read

        return read(
            path,
            image=image,
            label=label,
            header=header,
            separator=separator,
            quote=quote,
            format=format,
            layout=layout,
            label_separator=label_separator,
            min_images_per_label=min_images_per_label,
            min_labels_per_image=min_labels_per_image,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        image: str | None = None,
        label: str | None = None,
        layout: Layout | None = None,
        label_separator: str | None = None,
        min_images_per_label: int = 1,
        min_labels_per_image: int = 1,
    ) -> Annotations:
        """From a pandas, Polars or Arrow frame; see `vse_ens.data.io.frames.from_frame`."""
        from vse_ens.data.io.frames import from_frame

        return from_frame(
            frame,
            image=image,
            label=label,
            layout=layout,
            label_separator=label_separator,
            min_images_per_label=min_images_per_label,
            min_labels_per_image=min_labels_per_image,
        )

    @classmethod
    def from_matrix(
        cls, matrix: Any, images: Iterable[str] | None = None, labels: Iterable[str] | None = None
    ) -> Annotations:
        """From a scipy sparse matrix, with or without names; see `vse_ens.data.io.frames.from_matrix`."""
        from vse_ens.data.io.frames import from_matrix

        return from_matrix(matrix, images, labels)

    # --- reading off --------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> int:
        """How many pairs are known."""
        return len(self.indices)

    def __len__(self) -> int:
        return self.pairs

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Annotations)
            and self.images == other.images
            and self.labels == other.labels
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    @cached_property
    def labels_per_image(self) -> NDArray[np.int64]:
        """How many labels each image has."""
        return np.diff(self.indptr)

    @cached_property
    def images_per_label(self) -> NDArray[np.int64]:
        """How many images each label has."""
        counts = np.zeros(len(self.labels), np.int64)
        # In blocks: NumPy counts in a copy of twice the size.
        step = max(_CHUNK, 8 * len(self.labels))
        for first in range(0, self.pairs, step):
            counts += np.bincount(self.indices[first : first + step], minlength=len(self.labels))
        return counts

    @property
    def nbytes(self) -> int:
        """Bytes held by the pairs and the ids."""
        return self.indptr.nbytes + self.indices.nbytes + self.images.nbytes + self.labels.nbytes

    def label_numbers(self, image_number: int) -> NDArray[np.int32]:
        """The numbers of an image's labels, sorted."""
        return self.indices[self.indptr[image_number] : self.indptr[image_number + 1]]

    def rows(self, images: NDArray[np.integer]) -> Csr:
        """The labels of some images in CSR form, a row for each of ``images`` in their order."""
        return take_rows(self.indptr, self.indices, images)

    def labels_of(self, image: str) -> list[str]:
        """The labels of an image, by id."""
        return self.labels.ids(self.label_numbers(self.images.number(image)))

    def image_numbers(self) -> NDArray[np.int32]:
        """The image number of every pair, in the order of ``indices``."""
        return np.repeat(np.arange(len(self.images), dtype=np.int32), self.labels_per_image)

    def to_frame(self) -> pl.DataFrame:
        """The pairs as a Polars frame with the columns ``image`` and ``label``, sorted."""
        import polars as pl

        images = pl.Series("image", pl.from_arrow(self.images.arrow), dtype=pl.String)
        labels = pl.Series("label", pl.from_arrow(self.labels.arrow), dtype=pl.String)
        return pl.DataFrame(
            [images.gather(self.image_numbers()).alias("image"), labels.gather(self.indices).alias("label")]
        )

    # --- changing -----------------------------------------------------------------------------------------------

    def with_pairs(self, keep: NDArray[np.bool_]) -> Annotations:
        """The same vocabularies with only the pairs where ``keep`` is true."""
        kept = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
        return replace(self, indptr=kept[self.indptr], indices=self.indices[keep], notes=())

    def joined(self, more: Annotations) -> Annotations:
        """All pairs of both, in the vocabularies of both; features and notes are left out."""
        images = self.images.joined(more.images)
        labels = self.labels.joined(more.labels)
        return Annotations.from_numbers(
            images,
            labels,
            np.concatenate([images.translate(one.images)[one.image_numbers()] for one in (self, more)]),
            np.concatenate([labels.translate(one.labels)[one.indices] for one in (self, more)]),
        )

    def relabelled(self, labels: Vocabulary) -> Annotations:
        """The same images with the label numbers of another vocabulary; labels it does not have are left out."""
        if labels == self.labels:
            return self
        numbers = labels.translate(self.labels)[self.indices]
        images = self.image_numbers()
        return Annotations.from_numbers(self.images, labels, images[numbers >= 0], numbers[numbers >= 0])

    def with_features(self, features: Any) -> Annotations:
        """The same pairs with image features, one row an image in the order of ``images``; held as float32."""
        return replace(self, features=plain_features(features))

    # --- splitting ----------------------------------------------------------------------------------------------

    def leave_one_out(self, seed: int = 0) -> Split:
        """Hold out one label, at random, of every image that has two or more: the paper's protocol."""
        from vse_ens.data.splits import leave_one_out

        return leave_one_out(self, seed)

    def random(self, share: float = 0.2, seed: int = 0) -> Split:
        """Hold out a random ``share`` of all pairs."""
        from vse_ens.data.splits import random

        return random(self, share, seed)

    def new_images(self, share: float = 0.1, reveal: float = 0.5, seed: int = 0) -> NewImagesSplit:
        """Hold out a ``share`` of the images whole, and reveal a part of their labels."""
        from vse_ens.data.splits import new_images

        return new_images(self, share, reveal, seed)

    # --- telling ------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Annotations({len(self.images):,} images, {len(self.labels):,} labels, {self.pairs:,} pairs)"

    def __str__(self) -> str:
        return self.summary().text()

    def summary(self) -> Summary:
        """Counts a person looks at first."""
        return Summary.of(self)


def _squeeze(keys: NDArray[np.uint64]) -> int:
    """Move the distinct ones of sorted keys to the front, in place; how many they are."""
    kept, previous = 0, None
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        distinct = np.empty(len(chunk), dtype=bool)
        distinct[0] = chunk[0] != previous if start else True
        np.not_equal(chunk[1:], chunk[:-1], out=distinct[1:])
        previous = chunk[-1].copy()
        found = chunk[distinct]
        keys[kept : kept + len(found)] = found
        kept += len(found)
    return kept


def _low_halves(keys: NDArray[np.uint64], count: int) -> NDArray[np.int32]:
    """The low 32 bits of the first ``count`` keys, in the memory of the keys, of which the rest is given back."""
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        keys.view(np.int32)[start:stop] = keys[start:stop].astype(np.uint32).view(np.int32)
    if not keys.flags.owndata:
        return keys.view(np.int32)[:count].copy()
    keys.resize((count + 1) // 2, refcheck=False)
    return keys.view(np.int32)[:count]


class Split(NamedTuple):
    """What to learn from and what to test on; both keep the vocabularies of the whole."""

    train: Annotations
    test: Annotations


class NewImagesSplit(NamedTuple):
    """`train` holds whole images; of the other images `revealed` is what is known of them, `test` what is not."""

    train: Annotations
    revealed: Annotations
    test: Annotations


@dataclass(frozen=True)
class Summary:
    """The size and shape of a data set; prints as a short table."""

    images: int
    labels: int
    pairs: int
    labels_per_image: dict[str, float]
    images_per_label: dict[str, float]
    images_without_labels: int
    labels_without_images: int
    most_used: list[tuple[str, int]]
    least_used: list[tuple[str, int]]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: Annotations, shown: int = 5) -> Summary:
        """Summarise ``data``, naming ``shown`` labels at either end."""
        if shown < 1:
            raise ConfigError(f"shown must be at least 1, got {shown}")
        counts = data.images_per_label
        used = np.flatnonzero(counts)
        # Most used first; equal counts in the order of ids, so that the text is the same on every run.
        order = used[np.argsort(-counts[used], kind="stable")]
        named = [(data.labels.id(int(n)), int(counts[n])) for n in [*order[:shown], *order[shown:][-shown:]]]
        return cls(
            images=len(data.images),
            labels=len(data.labels),
            pairs=data.pairs,
            labels_per_image=_spread(data.labels_per_image),
            images_per_label=_spread(counts),
            images_without_labels=int(np.count_nonzero(data.labels_per_image == 0)),
            labels_without_images=len(counts) - len(used),
            most_used=named[:shown],
            least_used=named[shown:],
            notes=data.notes,
        )

    def rows(self) -> list[tuple[str, str]]:
        """Name and text of every line of the table."""
        rows = [
            ("images", f"{self.images:,}" + _aside(self.images_without_labels, "without a label")),
            ("labels", f"{self.labels:,}" + _aside(self.labels_without_images, "without an image")),
            ("pairs", f"{self.pairs:,}"),
            ("labels per image", _spread_text(self.labels_per_image)),
            ("images per label", _spread_text(self.images_per_label)),
            ("most used labels", ", ".join(f"{label} {count:,}" for label, count in self.most_used)),
            ("least used labels", ", ".join(f"{label} {count:,}" for label, count in self.least_used)),
        ]
        return [row for row in rows if row[1]] + [("note", note) for note in self.notes]

    def text(self) -> str:
        """The table as plain text."""
        return "\n".join(f"{name:<18} {text}" for name, text in self.rows())


def _spread(counts: NDArray[np.int64]) -> dict[str, float]:
    if not len(counts):
        return {"mean": 0.0, "min": 0, "median": 0.0, "max": 0}
    return {
        "mean": round(float(counts.mean()), 3),
        "min": int(counts.min()),
        "median": float(np.median(counts)),
        "max": int(counts.max()),
    }


def _spread_text(spread: dict[str, float]) -> str:
    return f"mean {spread['mean']:,.2f}, min {spread['min']:,}, median {spread['median']:,g}, max {spread['max']:,}"


def _aside(count: int, text: str) -> str:
    return f" ({count:,} {text})" if count else ""
