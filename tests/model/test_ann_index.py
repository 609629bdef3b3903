"""The index proposes most of what the exact search finds, and never another score."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.random_models import random_case, warm
from vse_ens.errors import MissingPartError, ModelError
from vse_ens.model import ann_file, ann_index
from vse_ens.model.ann_index import ImageIndex
from vse_ens.model.search import ImageSearch, Query


def query(wanted: list[int], unwanted: list[int]) -> Query:
    return Query(np.array(wanted, np.int64), np.array(unwanted, np.int64))


@pytest.mark.parametrize("kind", ["id", "context", "context with weights"])
def test_most_of_the_exact_answer_is_found_with_the_same_scores(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(ann_index, "_MIN_CANDIDATES", 100)
    monkeypatch.setattr(ann_index, "_CANDIDATES", 10)
    case = random_case(kind, images=2_000)
    exact = ImageSearch(case.model, case.known, temperature=warm)
    ImageIndex.build(exact, threads=1).save(tmp_path / "images.index")
    loaded = ImageIndex.load(tmp_path / "images.index", ImageSearch(case.model, case.known, temperature=warm))
    shares = []
    for asked in [query([label], [39]) for label in range(12)] + [query([label, 20], []) for label in range(12)]:
        expected, found = exact.find(asked, 10), loaded.find(asked, 10)
        shares.append(np.isin(expected.images, found.images).mean())
        scores = dict(zip(expected.images.tolist(), expected.scores, strict=True))
        for image, score in zip(found.images.tolist(), found.scores, strict=True):
            assert score == pytest.approx(scores.get(image, score), rel=1e-4)
    assert np.mean(shares) > 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["images.index"]


def test_where_candidates_do_not_do_all_images_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usearch")
    case = random_case("context")
    search = ImageSearch(case.model, case.known)
    made = ImageIndex.build(search, threads=1)
    for asked in (query([3], []), query([], [3])):
        np.testing.assert_array_equal(made.find(asked, 5).images, search.find(asked, 5).images)
    # Few candidates are known to lack the label, so that there must be more and more of them.
    monkeypatch.setattr(ann_index, "_MIN_CANDIDATES", 2)
    monkeypatch.setattr(ann_index, "_CANDIDATES", 0)
    assert len(made.find(query([3], []), 20).images) == 20


def test_another_models_index_and_no_index_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("usearch")
    case, other = random_case("id"), random_case("id", images=61)
    ImageIndex.build(ImageSearch(case.model, case.known), threads=1).save(tmp_path / "index")
    search = ImageSearch(other.model, other.known)
    with pytest.raises(ModelError, match=r"is not an image index of this model \(it is the index of another model\)"):
        ImageIndex.load(tmp_path / "index", search)
    with pytest.raises(ModelError, match="there is no image index"):
        ImageIndex.load(tmp_path / "nothing", search)
    (tmp_path / "text").write_text("no index at all, and long enough to be looked at as one" * 10)
    with pytest.raises(ModelError, match="is not an image index"):
        ImageIndex.load(tmp_path / "text", search)


IMAGES = 300


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[ImageSearch, bytes]:
    """A search, and the index file of its images, with nodes on two levels."""
    pytest.importorskip("usearch")
    case = random_case("id", images=IMAGES)
    search = ImageSearch(case.model, case.known)
    path = tmp_path_factory.mktemp("index") / "index"
    ImageIndex.build(search, threads=1).save(path)
    return search, path.read_bytes()


class Parts:
    """Where the parts of an index file are, found by a slow reader of it."""

    def __init__(self, content: bytes) -> None:
        self.vectors, width = struct.unpack_from("<II", content)
        self.head = 8 + self.vectors * width
        self.graph = self.head + 64
        _, connectivity, base, self.top, self.entry = struct.unpack_from("<5Q", content, self.graph)
        self.levels = self.graph + 40
        self.level_of = struct.unpack_from(f"<{self.vectors}h", content, self.levels)
        self.nodes, place = [], self.levels + 2 * self.vectors
        for level in self.level_of:
            self.nodes.append(place)
            place += 10 + 4 * (1 + base) + level * 4 * (1 + connectivity)
        assert place == len(content)
        self.base = base
        self.upper = next(self.nodes[n] for n, level in enumerate(self.level_of) if level) + 10 + 4 * (1 + base)
        self.on_level_0 = self.level_of.index(0)


def number(form: str, place: Callable[[Parts], int], value: int | Callable[[Parts], int]) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        parts, changed = Parts(content), bytearray(content)
        struct.pack_into(form, changed, place(parts), value if isinstance(value, int) else value(parts))
        return bytes(changed)

    return change


HOSTILE = {
    "more vectors": number("<I", lambda parts: 0, 2**32 - 1),
    "wider vectors": number("<I", lambda parts: 4, 2**31),
    "a vector that is not a number": number("<H", lambda parts: 8, 0x7E00),
    "another format": number("<B", lambda parts: parts.head, ord("x")),
    "another metric": number("<B", lambda parts: parts.head + 13, ord("h")),
    "other keys": number("<B", lambda parts: parts.head + 15, 99),
    "other slots": number("<B", lambda parts: parts.head + 16, 0),
    "more images": number("<Q", lambda parts: parts.head + 17, 2**60),
    "deleted images": number("<Q", lambda parts: parts.head + 25, 5),
    "more dimensions": number("<Q", lambda parts: parts.head + 33, 2**40),
    "several vectors a key": number("<B", lambda parts: parts.head + 41, 1),
    "more nodes": number("<Q", lambda parts: parts.graph, 2**62),
    "more neighbors": number("<Q", lambda parts: parts.graph + 8, 2**61),
    "no neighbors": number("<Q", lambda parts: parts.graph + 16, 0),
    "a higher top": number("<Q", lambda parts: parts.graph + 24, 40),
    "a lower top": number("<Q", lambda parts: parts.graph + 24, 0),
    "an entry beyond": number("<Q", lambda parts: parts.graph + 32, IMAGES),
    "a low entry": number("<Q", lambda parts: parts.graph + 32, lambda parts: parts.on_level_0),
    "a negative level": number("<h", lambda parts: parts.levels, -1),
    "a high level": number("<h", lambda parts: parts.levels, 32_767),
    "two levels": number("<h", lambda parts: parts.nodes[7] + 8, 5),
    "a key beyond": number("<Q", lambda parts: parts.nodes[-1], IMAGES),
    "a negative key": number("<q", lambda parts: parts.nodes[7], -1),
    "a key twice": number("<Q", lambda parts: parts.nodes[7], 8),
    "a long list": number("<I", lambda parts: parts.nodes[7] + 10, lambda parts: parts.base + 1),
    "a neighbor beyond": number("<I", lambda parts: parts.nodes[7] + 14, IMAGES),
    "a far neighbor": number("<I", lambda parts: parts.nodes[-1] + 14, 2**32 - 1),
    "a long list above": number("<I", lambda parts: parts.upper, 2**31),
    "a neighbor above that is not there": number("<I", lambda parts: parts.upper + 4, lambda parts: parts.on_level_0),
    "truncated": lambda content: content[:-1],
    "longer": lambda content: content + bytes(1),
    "a head only": lambda content: content[:100],
    "empty": lambda content: b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_index_is_refused_before_it_is_followed(
    name: str, indexed: tuple[ImageSearch, bytes], tmp_path: Path
) -> None:
    search, content = indexed
    (tmp_path / "index").write_bytes(content)
    ImageIndex.load(tmp_path / "index", search)
    (tmp_path / "hostile").write_bytes(HOSTILE[name](content))
    with pytest.raises(ModelError, match=r"hostile is not an image index of this model .*; build it again"):
        ImageIndex.load(tmp_path / "hostile", search)


def test_a_pipe_is_no_index(indexed: tuple[ImageSearch, bytes], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="not a regular file"):
        ImageIndex.load(tmp_path / "pipe", indexed[0])


def test_a_check_in_blocks_finds_a_key_that_two_blocks_have(
    indexed: tuple[ImageSearch, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ann_file, "_BLOCK", 7)
    search, content = indexed
    (tmp_path / "index").write_bytes(content)
    ImageIndex.load(tmp_path / "index", search)
    (tmp_path / "index").write_bytes(number("<Q", lambda parts: parts.nodes[200], 8)(content))
    with pytest.raises(ModelError, match="not one of every image"):
        ImageIndex.load(tmp_path / "index", search)


def test_without_the_library_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    case = random_case("id")
    with pytest.raises(MissingPartError, match=r"pip install 'vse-ens\[index\]'"):
        ImageIndex.build(ImageSearch(case.model, case.known))
