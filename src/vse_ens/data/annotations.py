"""Known (image, label) pairs: two vocabularies and the pairs between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.csr import ends_match, rises, rows_ascend, rows_with, take_rows
from vse_ens.data.summary import Summary
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr

if TYPE_CHECKING:
    from vse_ens.data.collections.pictures import Pictures
    from vse_ens.read_options import Layout, ReadOptions

# Keys processed at a time: a copy of all of them would double the RAM.
_CHUNK = 1 << 17


@dataclass(frozen=True)
class Annotations:
    """Known (image, label) pairs in CSR form, by number; the ids are in ``images`` and ``labels``.

    The labels of image ``i`` are ``indices[indptr[i]:indptr[i + 1]]``, sorted and distinct. An image may have no label
    and a label no image: the parts of a split keep all vocabularies.

    >>> data = Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sea")])
    >>> data.labels_of("a")
    ['sand', 'sea']
    """

    images: Vocabulary
    labels: Vocabulary
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    features: Any = None
    """Optional image features, one row per image in the order of ``images``: a 2-d array or a SciPy sparse matrix."""
    feature_names: tuple[str, ...] | None = field(default=None, compare=False)
    """The name of each feature, if they were read from a file that names them; a model keeps them."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What reading guessed, merged, skipped and dropped, one sentence each."""
    pictures: Pictures | None = field(default=None, compare=False)
    """Where the pictures are, if the pairs were read from a collection."""

    def __post_init__(self) -> None:
        self._check_ends()
        images, labels, indptr, indices = len(self.images), len(self.labels), self.indptr, self.indices
        if not rises(indptr):
            raise DataError(f"indptr does not describe {len(indices)} pairs of {images} images")
        if len(indices):
            if indices.min() < 0 or indices.max() >= labels:
                raise DataError(f"indices must lie in 0..{labels - 1}, got {indices.min()}..{indices.max()}")
            if not rows_ascend(indptr, indices):
                raise DataError("the labels of every image must be sorted and distinct")
        if self.features is not None and (self.features.ndim != 2 or self.features.shape[0] != images):
            raise DataError(f"features must have one row for each of {images} images, got {self.features.shape}")

    def _check_ends(self) -> None:
        """Check what can be checked without reading every pair."""
        images, indptr, indices = len(self.images), self.indptr, self.indices
        if indptr.dtype != np.int64 or indices.dtype != np.int32:
            raise DataError(f"indptr must be int64 and indices int32, got {indptr.dtype} and {indices.dtype}")
        if not ends_match(indptr, indices, images):
            raise DataError(f"indptr does not describe {len(indices)} pairs of {images} images")

    # --- construction -------------------------------------------------------------------------------------------

    @classmethod
    def trusted(
        cls,
        images: Vocabulary,
        labels: Vocabulary,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        pictures: Pictures | None = None,
        features: Any = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> Annotations:
        """Return annotations over arrays that were checked when they were written; a memory map stays unread."""
        data = object.__new__(cls)
        given = {"images": images, "labels": labels, "indptr": indptr, "indices": indices}
        more = {"features": features, "feature_names": feature_names, "notes": (), "pictures": pictures}
        for name, value in {**given, **more}.items():
            object.__setattr__(data, name, value)
        data._check_ends()
        return data

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Annotations:
        """Return the annotations of (image id, label id) tuples.

        >>> Annotations.from_pairs([("a", "sea"), ("b", "sea")])
        Annotations(2 images, 1 labels, 2 pairs)
        """
        ids = list(pairs)
        images = Vocabulary.from_ids((image for image, _ in ids), "image")
        labels = Vocabulary.from_ids((label for _, label in ids), "label")
        return cls.from_numbers(
            images, labels, images.numbers([image for image, _ in ids]), labels.numbers([label for _, label in ids])
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
        """Return annotations from the image and label number of each pair, in any order; duplicates are merged."""
        return cls.from_keys(images, labels, pair_keys(image_numbers, label_numbers), notes)

    @classmethod
    def from_keys(
        cls, images: Vocabulary, labels: Vocabulary, keys: NDArray[np.uint64], notes: tuple[str, ...] = ()
    ) -> Annotations:
        """Return annotations from ``image << 32 | label`` keys; their memory is reused for ``indices``."""
        keys.sort()
        pairs = _move_distinct(keys)
        # (image, label 0) is the first key that an image can have: its position is the start of the row.
        firsts = np.arange(len(images) + 1, dtype=np.uint64) << np.uint64(32)
        indptr = np.searchsorted(keys[:pairs], firsts).astype(np.int64, copy=False)
        return cls(images, labels, indptr, _low_halves(keys, pairs), notes=notes)

    @classmethod
    def read(cls, path: str | Path, **options: Unpack[ReadOptions]) -> Annotations:
        """Read a file of pairs or a collection, such as a folder of photos; see `vse_ens.data.io.read.read`.

        `vse_ens.read_options.ReadOptions` documents the keywords.

        >>> Annotations.read("pairs.csv") == data
        True
        """
        from vse_ens.data.io.read import read

        return read(path, **options)

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
        """Return the pairs of a pandas, Polars, Arrow or other frame; see `vse_ens.data.io.frames.from_frame`.

        >>> Annotations.from_frame(data.to_frame("pandas")) == data
        True
        """
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
        """Return the nonzero entries of a SciPy sparse matrix; see `vse_ens.data.io.frames.from_matrix`.

        >>> from scipy.sparse import csr_array
        >>> Annotations.from_matrix(csr_array([[1, 1], [0, 1]]), labels=["sand", "sea"])
        Annotations(2 images, 2 labels, 3 pairs)
        """
        from vse_ens.data.io.frames import from_matrix

        return from_matrix(matrix, images, labels)

    @classmethod
    def of(cls, data: Any) -> Annotations:
        """Return pairs of any kind: annotations, a path, a list of pairs, a sparse matrix or a frame.

        >>> Annotations.of([("a.jpg", "sea"), ("a.jpg", "sand")])
        Annotations(1 images, 2 labels, 2 pairs)
        """
        if isinstance(data, Annotations):
            return data
        if isinstance(data, str | Path):
            return cls.read(data)
        if isinstance(data, list | tuple):
            return cls.from_pairs(data)
        return cls.from_matrix(data) if hasattr(data, "tocsr") else cls.from_frame(data)

    # --- access -------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.indices)

    def __len__(self) -> int:
        return self.pairs

    def __getitem__(self, pair: int) -> tuple[str, str]:
        """Return the image and the label of a pair; the pairs are sorted."""
        index = range(self.pairs)[pair]
        image = int(np.searchsorted(self.indptr, index, side="right")) - 1
        return self.images.id(image), self.labels.id(int(self.indices[index]))

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
        """The number of labels of each image."""
        return np.diff(self.indptr)

    @cached_property
    def images_per_label(self) -> NDArray[np.int64]:
        """The number of images of each label."""
        counts = np.zeros(len(self.labels), np.int64)
        # In blocks: np.bincount converts its input to int64, a copy of twice the size.
        step = max(_CHUNK, 8 * len(self.labels))
        for first in range(0, self.pairs, step):
            counts += np.bincount(self.indices[first : first + step], minlength=len(self.labels))
        return counts

    @property
    def nbytes(self) -> int:
        """The bytes of the pairs and the ids."""
        return self.indptr.nbytes + self.indices.nbytes + self.images.nbytes + self.labels.nbytes

    def label_numbers(self, image_number: int) -> NDArray[np.int32]:
        """Return the numbers of an image's labels, sorted.

        >>> data.labels.ids(data.label_numbers(0)) == data.labels_of(data.images.id(0))
        True
        """
        return self.indices[self.indptr[image_number] : self.indptr[image_number + 1]]

    def rows(self, images: NDArray[np.integer]) -> Csr:
        """Return the labels of ``images`` in CSR form, one row each, in that order.

        >>> import numpy as np
        >>> data.rows(np.array([3, 5])).indptr[0]
        np.int64(0)
        """
        return take_rows(self.indptr, self.indices, images)

    def labels_of(self, image: str) -> list[str]:
        """Return the labels of an image, by id.

        >>> Annotations.from_pairs([("a", "sea"), ("a", "sand")]).labels_of("a")
        ['sand', 'sea']
        """
        return self.labels.ids(self.label_numbers(self.images.number(image)))

    def images_with(self, label_number: int) -> NDArray[np.int64]:
        """Return the numbers of the images that have a label; this reads all pairs.

        >>> len(data.images_with(0)) == int(data.images_per_label[0])
        True
        """
        return rows_with(self.indptr, self.indices, label_number)

    def image_numbers(self) -> NDArray[np.int32]:
        """Return the image number of every pair, in the order of ``indices``.

        >>> Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sea")]).image_numbers()
        array([0, 0, 1], dtype=int32)
        """
        return np.repeat(np.arange(len(self.images), dtype=np.int32), self.labels_per_image)

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return the pairs as a frame with the columns ``image`` and ``label``, sorted.

        >>> data.to_frame("polars").columns
        ['image', 'label']

        ``backend`` is "arrow", "pandas", "polars" or another eager library that narwhals supports.
        """
        from vse_ens.data.io.frames import to_frame

        return to_frame(self, backend)

    def to_matrix(self) -> Any:
        """Return the pairs as a SciPy ``csr_array`` of images by labels, with a 1 for every pair.

        >>> Annotations.from_pairs([("a", "sea"), ("b", "sand")]).to_matrix().toarray()
        array([[0, 1],
               [1, 0]], dtype=int8)
        """
        from scipy import sparse

        shape = (len(self.images), len(self.labels))
        return sparse.csr_array((np.ones(self.pairs, np.int8), self.indices, self.indptr), shape)

    # --- changed copies -----------------------------------------------------------------------------------------

    def with_pairs(self, keep: NDArray[np.bool_]) -> Annotations:
        """Return the pairs where ``keep`` is true, with the same vocabularies.

        >>> data.with_pairs(data.indices == 0).pairs == int(data.images_per_label[0])
        True
        """
        kept = np.zeros(len(keep) + 1, np.int64)
        np.cumsum(keep, out=kept[1:])
        return replace(self, indptr=kept[self.indptr], indices=self.indices[keep], notes=())

    def joined(self, more: Annotations) -> Annotations:
        """Return the pairs and the features of both, with the joined vocabularies; notes are dropped.

        >>> data.joined(Annotations.from_pairs([("new", "sea")])).pairs == data.pairs + 1
        True

        The result has the pictures of ``self``, or of ``more`` if it has none.
        """
        images = self.images.joined(more.images)
        labels = self.labels.joined(more.labels)
        both = Annotations.from_numbers(
            images,
            labels,
            np.concatenate([images.translate(one.images)[one.image_numbers()] for one in (self, more)]),
            np.concatenate([labels.translate(one.labels)[one.indices] for one in (self, more)]),
        )
        from vse_ens.data.features.attach import joined_features

        features, names = joined_features(images, (self, more)), self.feature_names or more.feature_names
        return replace(both, pictures=self.pictures or more.pictures, features=features, feature_names=names)

    def relabeled(self, labels: Vocabulary) -> Annotations:
        """Return the pairs with the label numbers of another vocabulary; labels it does not have are dropped.

        >>> train.relabeled(data.labels) == train
        True
        """
        if labels == self.labels:
            return self
        numbers = labels.translate(self.labels)[self.indices]
        images = self.image_numbers()
        return Annotations.from_numbers(self.images, labels, images[numbers >= 0], numbers[numbers >= 0])

    def with_features(self, features: Any) -> Annotations:
        """Return the pairs with image features, one float32 row per image in the order of ``images``.

        >>> import numpy as np
        >>> data.with_features(np.ones((len(data.images), 3))).features.shape == (len(data.images), 3)
        True
        """
        from vse_ens.data.features.attach import plain_features

        return replace(self, features=plain_features(features), feature_names=None)

    # --- splitting ----------------------------------------------------------------------------------------------

    def leave_one_out(self, seed: int = 0) -> Split:
        """Hold out one random label of every image that has two or more: the paper's protocol.

        >>> train, test = data.leave_one_out(seed=0)
        >>> train.pairs + test.pairs == data.pairs
        True
        """
        from vse_ens.data.splits import leave_one_out

        return leave_one_out(self, seed)

    def random(self, share: float = 0.2, seed: int = 0) -> Split:
        """Hold out a random ``share`` of all pairs.

        >>> train, test = data.random(share=0.2, seed=0)
        """
        from vse_ens.data.splits import random

        return random(self, share, seed)

    def new_images(self, share: float = 0.1, reveal: float = 0.5, seed: int = 0) -> NewImagesSplit:
        """Hold out a ``share`` of the images, and reveal a part of their labels.

        >>> train, revealed, test = data.new_images(share=0.1, seed=0)
        """
        from vse_ens.data.splits import new_images

        return new_images(self, share, reveal, seed)

    # --- summary ------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Annotations({len(self.images):,} images, {len(self.labels):,} labels, {self.pairs:,} pairs)"

    def _repr_html_(self) -> str:
        return Summary.of(self)._repr_html_()

    def __str__(self) -> str:
        return self.summary().text()

    def summary(self) -> Summary:
        """Return counts that describe the data set.

        >>> Annotations.from_pairs([("a", "sea"), ("b", "sea")]).summary().pairs
        2
        """
        return Summary.of(self)


def pair_keys(image_numbers: NDArray[np.integer], label_numbers: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return ``image << 32 | label`` of every pair, as `Annotations.from_keys` takes them."""
    keys = image_numbers.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= label_numbers.astype(np.uint64)
    return keys


def _move_distinct(keys: NDArray[np.uint64]) -> int:
    """Move the distinct ones of sorted keys to the front, in place, and return their number."""
    kept, previous = 0, None
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        distinct = np.empty(len(chunk), dtype=bool)
        distinct[0] = chunk[0] != previous if start else True
        np.not_equal(chunk[1:], chunk[:-1], out=distinct[1:])
        previous = chunk[-1].copy()
        moved = chunk[distinct]
        keys[kept : kept + len(moved)] = moved
        kept += len(moved)
    return kept


def _low_halves(keys: NDArray[np.uint64], count: int) -> NDArray[np.int32]:
    """Return the low 32 bits of the first ``count`` keys, in the memory of the keys; the rest is freed."""
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        keys.view(np.int32)[start:stop] = keys[start:stop].astype(np.uint32).view(np.int32)
    if not keys.flags.owndata:
        return keys.view(np.int32)[:count].copy()
    keys.resize((count + 1) // 2, refcheck=False)
    return keys.view(np.int32)[:count]


class Split(NamedTuple):
    """Pairs to train on and pairs to test on; both have the vocabularies of all pairs."""

    train: Annotations
    test: Annotations


class NewImagesSplit(NamedTuple):
    """A split by images: those of ``train``, and others with ``revealed`` labels and labels to ``test``."""

    train: Annotations
    revealed: Annotations
    test: Annotations
