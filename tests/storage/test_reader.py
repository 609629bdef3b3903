"""Reading an artifact whose files are not plain files, or are larger than they may be; and reading during a write."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.saved_models import random_annotator
from tests.support.stored_models import contents, make_model, reseal
from vse_ens.annotator import Annotator
from vse_ens.errors import ModelError
from vse_ens.model.loaded import ModelRef
from vse_ens.model.store import MODEL, load_model, save_model
from vse_ens.storage import reader as reader_module
from vse_ens.storage import tensors
from vse_ens.storage.artifact import MANIFEST, MAX_MANIFEST_BYTES, Entry, canonical_json, manifest_bytes, parse_manifest
from vse_ens.storage.atomic import replaced_name
from vse_ens.storage.reader import ArtifactReader, manifest_digest
from vse_ens.storage.tensors import read_header
from vse_ens.system import OpenFolder

FILES = sorted([*MODEL.parts, MODEL.document, MANIFEST])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", make_model())
    return tmp_path / "model"


def seal_size(folder: Path, name: str, size: int) -> None:
    """Let the manifest state the size that a special file reports."""
    if name == MANIFEST:
        return
    entries = parse_manifest((folder / MANIFEST).read_bytes())
    entries[name] = entries[name]._replace(size=size)
    (folder / MANIFEST).write_bytes(manifest_bytes(entries))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("verify", [True, False])
def test_a_fifo_is_refused_without_waiting_for_a_writer(saved: Path, name: str, verify: bool) -> None:
    (saved / name).unlink()
    os.mkfifo(saved / name)
    seal_size(saved, name, 0)
    with pytest.raises(ModelError, match=rf"{name} cannot be read: it is not a regular file"):
        load_model(saved, verify=verify)
    assert isinstance(ModelRef.of(saved).digest, str)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(saved: Path, name: str, device: str) -> None:
    (saved / name).unlink()
    (saved / name).symlink_to(device)
    seal_size(saved, name, 0)
    with pytest.raises(ModelError, match=rf"{name} cannot be read: it is not a regular file"):
        load_model(saved)


def test_a_folder_in_place_of_a_file_is_refused(saved: Path) -> None:
    (saved / "README.md").unlink()
    (saved / "README.md").mkdir()
    with pytest.raises(ModelError, match=r"README\.md cannot be read: it is not a regular file"):
        load_model(saved)


def test_a_link_to_a_file_is_read(saved: Path) -> None:
    (saved / "README.md").rename(saved.parent / "card.md")
    (saved / "README.md").symlink_to(saved.parent / "card.md")
    assert load_model(saved).card == make_model().card


def test_a_huge_manifest_is_refused_before_it_is_parsed(saved: Path) -> None:
    entries = parse_manifest((saved / MANIFEST).read_bytes())
    many = {f"file-{number}": Entry(0, "0" * 64) for number in range(1000)}
    (saved / MANIFEST).write_bytes(manifest_bytes(entries | many))
    assert (saved / MANIFEST).stat().st_size > MAX_MANIFEST_BYTES
    with pytest.raises(ModelError, match=r"manifest\.json is damaged: it has more than 65,536 bytes"):
        load_model(saved)


@pytest.mark.parametrize("name", ["model.json", "README.md"])
def test_huge_text_is_refused_before_it_is_parsed(saved: Path, name: str) -> None:
    with (saved / name).open("a") as file:
        file.write(" " * MODEL.max_text_bytes)
    reseal(saved)
    with pytest.raises(ModelError, match=rf"{name} is damaged: it has more than 16,777,216 bytes"):
        load_model(saved)


# --- a copy in memory -----------------------------------------------------------------------------------------------

TRUNCATE = """
import os, sys
from pathlib import Path
from vse_ens.annotator import Annotator
model = Annotator.load(sys.argv[1], in_memory=True)
before = model.annotate("image-00007", explain=True)
for file in Path(sys.argv[1]).iterdir():
    os.truncate(file, 0)
assert model.annotate("image-00007", explain=True) == before
assert len(model.annotate([*model.known_.images])) == len(model.known_.images)
print("alive")
"""


def test_a_model_in_memory_survives_its_files_being_truncated(tmp_path: Path) -> None:
    # In a process of its own: a mapped file that is truncated would end it by SIGBUS.
    random_annotator("context with sparse weights").save(tmp_path / "model")
    run = subprocess.run([sys.executable, "-c", TRUNCATE, str(tmp_path / "model")], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "alive\n"), run.stderr


@pytest.mark.parametrize("verify", [True, False])
def test_a_model_in_memory_is_the_same_and_read_only(tmp_path: Path, verify: bool) -> None:
    random_annotator("id and context").save(tmp_path / "model")
    mapped = Annotator.load(tmp_path / "model")
    copied = Annotator.load(tmp_path / "model", verify=verify, in_memory=True)
    assert copied.known_ == mapped.known_
    for name, array in mapped.model_.arrays().items():
        found = copied.model_.arrays()[name]
        np.testing.assert_array_equal(found, array)
        assert not found.flags.writeable
    assert copied.annotate("image-00003") == mapped.annotate("image-00003")


def test_the_bytes_in_memory_are_the_ones_that_are_verified(saved: Path) -> None:
    for name in FILES:
        whole = (saved / name).read_bytes()
        (saved / name).write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        with pytest.raises(ModelError, match=name):
            load_model(saved, in_memory=True)
        (saved / name).write_bytes(whole)
    loaded = load_model(saved, in_memory=True)
    assert contents(saved).keys() == set(FILES)
    assert loaded.card == make_model().card


# --- while a writer is between two renames --------------------------------------------------------------------------


def test_a_reader_finds_a_model_that_moves_between_its_two_names(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer renames model to its other name, then the new one to model, and again, ahead of the reader."""
    replaced = replaced_name(saved)
    looks = 0

    class Moving(OpenFolder):
        def __init__(self, path: Path) -> None:
            nonlocal looks
            looks += 1
            # Each look comes just after the directory has left the name looked at; the sixth finds it.
            here, there = (saved, replaced) if path == saved else (replaced, saved)
            if looks < 6 and here.exists():
                here.rename(there)
            super().__init__(path)

    monkeypatch.setattr(reader_module, "OpenFolder", Moving)
    with ArtifactReader(saved, MODEL) as found:
        assert found.document("settings")["settings"]["seed"] == 7
    assert looks == 6


def test_a_reader_gives_up_on_a_model_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Path] = []

    class Counted(OpenFolder):
        def __init__(self, path: Path) -> None:
            looks.append(path)
            super().__init__(path)

    monkeypatch.setattr(reader_module, "OpenFolder", Counted)
    with pytest.raises(ModelError, match="there is no model"):
        load_model(tmp_path / "model")
    assert looks == [tmp_path / "model", replaced_name(tmp_path / "model")] * 4


def test_the_digest_of_a_manifest_reads_no_more_than_a_manifest(tmp_path: Path) -> None:
    assert manifest_digest(tmp_path) == ""
    save_model(tmp_path / "model", make_model())
    assert len(manifest_digest(tmp_path / "model")) == 64
    (tmp_path / "model" / MANIFEST).unlink()
    os.mkfifo(tmp_path / "model" / MANIFEST)
    assert manifest_digest(tmp_path / "model") == ""


def test_text_that_is_not_utf8_is_refused(saved: Path) -> None:
    (saved / "README.md").write_bytes(b"\xff\xfe")
    reseal(saved)
    with pytest.raises(ModelError, match=r"README\.md is damaged: it is not UTF-8 text"):
        load_model(saved)


def test_a_directory_that_the_system_refuses_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> OpenFolder:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(reader_module, "OpenFolder", refuse)
    with pytest.raises(ModelError, match=r"model cannot be read: Permission denied"):
        load_model(saved)


def test_a_model_is_mapped_unless_a_copy_is_asked_for(saved: Path) -> None:
    with ArtifactReader(saved, MODEL) as mapping, ArtifactReader(saved, MODEL, in_memory=True) as copying:
        for reader in (mapping, copying):
            reader.document("settings", "counts")
        mapped, copied = mapping.map("README.md"), copying.map("README.md")
        with (saved / "README.md").open("r+b") as file:
            file.write(b"changed")
        assert (bytes(mapped[:7]), bytes(copied[:7]) == b"changed") == (b"changed", False)


def test_a_file_that_grows_is_read_to_its_listed_size(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "BLOCK_BYTES", 64)
    with ArtifactReader(saved, MODEL) as reader:
        reader.document("settings", "counts")
        blocks = reader._blocks("images.arrow")
        read = [bytes(next(blocks))]
        with (saved / "images.arrow").open("ab") as file:
            file.write(b"more" * 100)
        read += [bytes(block) for block in blocks]
        assert sum(map(len, read)) == reader._entries["images.arrow"].size
        assert {len(block) for block in read[:-1]} == {64}


DIGEST = "0" * 64


@pytest.mark.parametrize(
    "entry",
    [
        (-1, DIGEST),
        (True, DIGEST),
        (1.0, DIGEST),
        ("1", DIGEST),
        (1, "0" * 63),
        (1, "A" * 64),
        (1, 5),
        (1, DIGEST + "\n"),
    ],
)
def test_a_manifest_states_sizes_and_digests_only(entry: tuple[Any, Any]) -> None:
    assert parse_manifest(manifest_bytes({"a": Entry(0, DIGEST)})) == {"a": Entry(0, DIGEST)}
    with pytest.raises(ValueError, match="not a manifest"):
        parse_manifest(manifest_bytes({"a": Entry(*entry)}))


def test_a_manifest_is_json_that_people_can_read() -> None:
    assert canonical_json({"b": [1], "a": "ü"}).decode() == '{\n  "a": "ü",\n  "b": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize("content", [b"", b"1234567", bytes(7), b"\x01" + bytes(7)])
def test_a_file_shorter_than_its_header_holds_no_arrays(content: bytes) -> None:
    with pytest.raises(ValueError, match="the header is longer than the file"):
        read_header(memoryview(content))


def test_a_huge_header_of_arrays_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    content = (10).to_bytes(8, "little") + b"{}" + b" " * 8
    assert read_header(memoryview(content)) == {}
    monkeypatch.setattr(tensors, "_MAX_HEADER_BYTES", 9)
    with pytest.raises(ValueError, match="the header is longer"):
        read_header(memoryview(content))


@pytest.mark.parametrize(("shape", "fits"), [("1", True), ("2", False), ("0", False), ("1, 1", True)])
def test_arrays_are_as_long_as_their_shape_says(shape: str, fits: bool) -> None:
    header = b'{"a": {"dtype": "F32", "shape": [%b], "data_offsets": [0, 4]}}' % shape.encode()
    header += b" " * (-len(header) % 8)
    content = memoryview(len(header).to_bytes(8, "little") + header + bytes(4))
    if fits:
        assert list(read_header(content)) == ["a"]
    else:
        with pytest.raises(ValueError, match="the offsets of the array 'a' do not match its type and shape"):
            read_header(content)
