"""Tests that every format passes, for authors of plug-ins: subclass `FormatContract` in a test of yours.

The module needs pytest to run and does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.base import Collection, LabelEdit, OpenOptions, PairTable, WritableCollection
from vse_ens.data.collections.detect import Glance, find_collection, find_format, open_collection
from vse_ens.errors import VseError

_OPTIONS = OpenOptions(cache=False)


class FormatContract:
    """What a format promises. A subclass sets ``name`` and ``expected`` and defines `make`; pytest finds its tests."""

    name: ClassVar[str]
    """The name for ``--format``."""
    expected: ClassVar[Mapping[str, Sequence[str]]]
    """The labels of every image that `make` writes, without repetitions."""
    read_written: ClassVar[Mapping[str, Any]] = {}
    """Options of `Annotations.read` with which the result of the format's ``write`` has the same ids."""

    def make(self, folder: Path) -> Path:
        """Write a small collection to an empty folder, and return the path that a user would name."""
        raise NotImplementedError

    def test_a_source_is_recognized(self, tmp_path: Path) -> None:
        """``detect`` knows a source, and no other format claims it first."""
        found = find_collection(self.make(tmp_path), options=_OPTIONS)
        _equal(found and found.format, self.name, "find_collection(path).format")

    def test_other_sources_are_left_alone(self, tmp_path: Path) -> None:
        """``detect`` claims neither an empty folder, nor a table of pairs, nor text, nor bytes."""
        module = find_format(self.name).load()
        others = {"pairs.csv": b"image,label\na,sea\n", "a.txt": b"some text\n", "a.json": b"{}", "bytes": bytes(99)}
        for name, content in others.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / "empty").mkdir()
        for name in (*others, "empty", "missing"):
            _equal(bool(module.detect(Glance(tmp_path / name))), False, f"detect of {name}")

    def test_items_are_as_expected(self, tmp_path: Path) -> None:
        """``items`` yields every image, the same on every call, and reading changes no file."""
        path = self.make(tmp_path)
        before = _files(tmp_path)
        collection = self._open(path)
        _equal(collection.format, self.name, "format")
        _equal(collection.path, path, "path")
        _equal(isinstance(collection.root, Path), True, "root is a Path")
        _equal(_labels(collection), {image: sorted(labels) for image, labels in self.expected.items()}, "items")
        _equal(list(collection.items()), list(collection.items()), "items, read twice")
        _equal(all(isinstance(note, str) for note in collection.notes), True, "notes are text")
        _equal(_files(tmp_path), before, "files after reading")

    def test_progress_is_reported(self, tmp_path: Path) -> None:
        """``on_progress`` receives numbers that never fall."""
        done: list[int] = []
        list(self._open(self.make(tmp_path)).items(lambda number, _total: done.append(number)))
        _equal(done, sorted(done), "progress")

    def test_pairs_are_read(self, tmp_path: Path) -> None:
        """`Annotations.read` gives the expected pairs, recognized and forced."""
        path = self.make(tmp_path)
        pairs = {(image, label) for image, labels in self.expected.items() for label in labels}
        for name in (None, self.name):
            data = Annotations.read(path, format=name, cache=False)
            _equal({(image, label) for image in data.images for label in data.labels_of(image)}, pairs, "pairs")
            _equal(any(note == f"read {path} as {self.name}" for note in data.notes), True, "a note names the format")

    def test_a_damaged_file_is_an_error_in_one_line(self, tmp_path: Path) -> None:
        """Whatever a file contains: it is read, or a `VseError` with a message of one line is raised."""
        path = self.make(tmp_path)
        for file, content in _files(tmp_path).items():
            for damaged in (b"", content[: len(content) // 2], b"\xff\x00[{<" * 40):
                file.write_bytes(damaged)
                try:
                    list(self._open(path).items())
                except VseError as error:
                    _equal("\n" in str(error), False, f"a line end in {str(error)!r}")
            file.write_bytes(content)

    def test_a_missing_path_is_an_error(self, tmp_path: Path) -> None:
        """A path that does not exist raises a `VseError`."""
        try:
            list(find_format(self.name).load().open(tmp_path / "missing", _OPTIONS).items())
        except VseError:
            return
        raise AssertionError("open and items take a path that does not exist")

    def test_labels_are_written(self, tmp_path: Path) -> None:
        """A `WritableCollection` adds a label once, leaves the rest alone, and writes nothing itself."""
        path = self.make(tmp_path)
        collection = self._open(path)
        if not isinstance(collection, WritableCollection):
            return
        image = min(self.expected)
        before = _files(tmp_path)
        _equal(list(collection.changes({})), [], "changes of no edits")
        changes = list(collection.changes({image: LabelEdit(("brand new",))}))
        _equal(_files(tmp_path), before, "files after `changes`")
        for change in changes:
            _equal(change.before, before.get(change.path), f"before of {change.path}")
            change.path.write_bytes(change.after)
        expected = {name: sorted(labels) for name, labels in self.expected.items()}
        expected[image] = sorted([*expected[image], "brand new"])
        again = self._open(path)
        _equal(_labels(again), expected, "items after the change")
        _equal(isinstance(again, WritableCollection), True, "still writable")
        _equal(list(collection.changes({image: LabelEdit(("brand new",))})), [], "changes of the same edit")

    def test_pairs_are_written(self, tmp_path: Path) -> None:
        """If the module has ``write``, its files are read back as the same pairs."""
        write = getattr(find_format(self.name).load(), "write", None)
        if write is None:
            return
        data = Annotations.from_pairs([("a b.jpg", "sea"), ("a b.jpg", "Zürich, lake"), ("c", "sea")])
        files = write(tmp_path / "written", data, None)
        _equal(
            [file for file in files if not Path(file).is_file()], [], "files that `write` returns and that are missing"
        )
        _equal(Annotations.read(tmp_path / "written", **self.read_written), data, "pairs after `write`")

    def _open(self, path: Path) -> Collection:
        return open_collection(path, self.name, _OPTIONS)


def _labels(collection: Collection) -> dict[str, list[str]]:
    """Return the labels of every image; the rows of a table are joined."""
    found: dict[str, set[str]] = {}
    for item in collection.items():
        if item.image in found and not isinstance(collection, PairTable):
            raise AssertionError(f"the image {item.image!r} comes twice")
        if not all(isinstance(label, str) and label.strip() for label in item.labels):
            raise AssertionError(f"the image {item.image!r} has the labels {item.labels!r}")
        found.setdefault(item.image, set()).update(item.labels)
    return {image: sorted(labels) for image, labels in found.items()}


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _equal(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {found!r}")
