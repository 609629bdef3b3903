"""The model directory: what is saved comes back, equal models are equal bytes, and no damage goes unseen."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load_file

from tests.support.stored_models import contents, make_model, reseal
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ModelError
from vse_ens.model.store import MODEL, StoredModel, load_model, reserve_target, save_model, write_ids
from vse_ens.storage.artifact import MANIFEST, Entry, canonical_json, manifest_bytes, parse_manifest
from vse_ens.storage.tensors import write_tensors

FILES = sorted([*MODEL.parts, MODEL.document, MANIFEST])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    save_model(path, make_model())
    return path


def assert_same(found: StoredModel, expected: StoredModel) -> None:
    assert found.settings == expected.settings
    assert found.card == expected.card
    assert found.known == expected.known
    assert (found.known.images.kind, found.known.labels.kind) == ("image", "label")
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        assert found.arrays[name].dtype == array.dtype.newbyteorder("<")
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


@pytest.mark.parametrize("verify", [True, False])
def test_what_is_saved_comes_back(saved: Path, verify: bool) -> None:
    loaded = load_model(saved, verify=verify)
    assert_same(loaded, make_model())
    assert loaded.known.labels_of("naïve 海.jpg") == ["sea", "Ωmega"]
    assert loaded.known.labels_of("a/b c") == []
    assert sorted(file.name for file in saved.iterdir()) == FILES


@pytest.mark.parametrize("verify", [True, False])
def test_a_model_of_nothing_comes_back(tmp_path: Path, verify: bool) -> None:
    nothing = StoredModel({}, {}, Annotations.from_pairs([]), "")
    save_model(tmp_path / "model", nothing)
    loaded = load_model(tmp_path / "model", verify=verify)
    assert (loaded.settings, dict(loaded.arrays), loaded.card) == ({}, {}, "")
    assert loaded.known == nothing.known


def test_names_of_features_come_back(saved: Path, tmp_path: Path) -> None:
    model = make_model()
    save_model(tmp_path / "named", replace(model, known=replace(model.known, feature_names=("sea", "Ωmega"))))
    loaded = load_model(tmp_path / "named")
    assert loaded.known.feature_names == ("sea", "Ωmega")
    assert loaded.arrays.keys() == load_model(saved).arrays.keys()
    assert load_model(saved).known.feature_names is None


@pytest.mark.parametrize("text", [b"[1]", b"{}", b'["a"', b"\xff"])
def test_damaged_names_of_features_are_refused(tmp_path: Path, text: bytes) -> None:
    arrays = {"feature_names": np.frombuffer(text, np.uint8)}
    save_model(tmp_path / "model", make_model(arrays=arrays))
    with pytest.raises(ModelError, match="the array 'feature_names' is not a JSON array of names"):
        load_model(tmp_path / "model")


def test_any_memory_layout_comes_back(tmp_path: Path) -> None:
    numbers = np.arange(600, dtype=np.float64).reshape(20, 30)
    arrays = {"fortran": np.asfortranarray(numbers), "strided": numbers[::2, ::3], "big-endian": numbers.astype(">f4")}
    save_model(tmp_path / "model", make_model(arrays=arrays))
    assert_same(load_model(tmp_path / "model"), make_model(arrays={**arrays, "big-endian": numbers.astype(np.float32)}))


def test_loaded_arrays_are_read_only(saved: Path) -> None:
    loaded = load_model(saved)
    for array in [*loaded.arrays.values(), loaded.known.indptr, loaded.known.indices]:
        assert not array.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the maps of this process")
def test_loaded_files_are_mapped(saved: Path) -> None:
    loaded = load_model(saved)
    maps = Path("/proc/self/maps").read_text()
    assert loaded.arrays
    assert all(str(saved / name) in maps for name in FILES if name.endswith((".safetensors", ".arrow")))


def test_the_safetensors_library_reads_the_files(saved: Path) -> None:
    expected = make_model()
    found = load_file(saved / "arrays.safetensors")
    assert found.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    np.testing.assert_array_equal(load_file(saved / "pairs.safetensors")["indices"], expected.known.indices)


def test_arrow_reads_the_ids(saved: Path) -> None:
    with pa.memory_map(str(saved / "images.arrow")) as file:
        assert pa.ipc.open_file(file).read_all().column("id").to_pylist() == list(make_model().known.images)


def test_equal_models_are_equal_bytes(tmp_path: Path, saved: Path) -> None:
    model = make_model()
    known = model.known
    # The same model by another road: other key order, other memory layout, ids cut out of longer arrays.
    images = pa.array(["!", *known.images, "🏖️🏖️"], pa.large_string())[1:-1]
    twin = StoredModel(
        dict(reversed(model.settings.items())),
        {
            name: np.asfortranarray(model.arrays[name]).reshape(model.arrays[name].shape)
            for name in sorted(model.arrays)
        },
        replace(known, images=Vocabulary(images, "image"), notes=("read from a file",)),
        model.card,
    )
    save_model(tmp_path / "twin", twin)
    assert contents(tmp_path / "twin") == contents(saved)


def test_a_loaded_model_can_be_saved_over_itself(saved: Path) -> None:
    before = contents(saved)
    loaded = load_model(saved, verify=False)
    save_model(saved, loaded)
    assert contents(saved) == before
    assert_same(loaded, make_model())


def test_the_data_of_a_file_of_arrays_start_on_a_cache_line(saved: Path) -> None:
    raw = (saved / "arrays.safetensors").read_bytes()
    assert (8 + int.from_bytes(raw[:8], "little")) % 64 == 0


# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_names_the_file(saved: Path, name: str) -> None:
    file = saved / name
    whole = file.read_bytes()
    places = {*range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1}
    for place in places:
        harmed = bytearray(whole)
        harmed[place] ^= 1 << (place % 8)
        file.write_bytes(harmed)
        with pytest.raises(ModelError, match=name):
            load_model(saved)
    file.write_bytes(whole)
    load_model(saved)


@pytest.mark.parametrize("name", ["manifest.json", "model.json", "README.md"])
def test_small_files_are_checked_without_verify_too(saved: Path, name: str) -> None:
    raw = bytearray((saved / name).read_bytes())
    raw[len(raw) // 2] ^= 4
    (saved / name).write_bytes(raw)
    with pytest.raises(ModelError, match=name):
        load_model(saved, verify=False)


@pytest.mark.parametrize("name", ["arrays.safetensors", "pairs.safetensors"])
def test_headers_are_checked_without_verify_too(saved: Path, name: str) -> None:
    whole = (saved / name).read_bytes()
    header = whole[8 : 8 + int.from_bytes(whole[:8], "little")].rstrip()
    for place in range(8 + len(header)):
        harmed = bytearray(whole)
        harmed[place] ^= 1 << (place % 7)
        (saved / name).write_bytes(harmed)
        with pytest.raises(ModelError, match=name):
            load_model(saved, verify=False)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_a_missing_or_surplus_byte_names_the_file(saved: Path, name: str, verify: bool) -> None:
    whole = (saved / name).read_bytes()
    for harmed in (whole[:-1], whole[: len(whole) // 2], b"", whole + b"\n"):
        (saved / name).write_bytes(harmed)
        with pytest.raises(ModelError, match=name):
            load_model(saved, verify=verify)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(saved: Path, name: str, verify: bool) -> None:
    (saved / name).unlink()
    with pytest.raises(ModelError, match=rf"{name} is missing; copy the model again"):
        load_model(saved, verify=verify)


def test_an_extra_file_does_no_harm(saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    assert_same(load_model(saved), make_model())


# --- what is sealed, but wrong --------------------------------------------------------------------------------------


def rewrite(saved: Path, **changes: object) -> None:
    document = json.loads((saved / MODEL.document).read_text()) | changes
    (saved / MODEL.document).write_bytes(canonical_json(document))
    reseal(saved)


def test_a_newer_format_asks_for_an_upgrade(saved: Path) -> None:
    (saved / "more.bin").write_bytes(b"which only the newer version knows")
    rewrite(saved, version=3)
    with pytest.raises(ModelError, match=r"written by a newer vse-ens \(format 3\); upgrade"):
        load_model(saved)


def test_an_older_format_says_to_train_again(saved: Path) -> None:
    rewrite(saved, version=1)
    with pytest.raises(
        ModelError, match=r"written by an older vse-ens \(format 1\); copy the model again or retrain it"
    ):
        load_model(saved)


@pytest.mark.parametrize("changes", [{"format": "other"}, {"version": "1"}, {"version": 0}, {"version": True}])
def test_an_unknown_format_is_refused(saved: Path, changes: dict[str, object]) -> None:
    rewrite(saved, **changes)
    with pytest.raises(ModelError, match=r"model\.json has an unknown format"):
        load_model(saved)


@pytest.mark.parametrize("text", ["", "[]", "3", '{"version": 1}', "{" * 100_000])
def test_a_document_that_is_none_is_refused(saved: Path, text: str) -> None:
    (saved / MODEL.document).write_text(text)
    reseal(saved)
    with pytest.raises(ModelError, match=r"model\.json is damaged: it does not say which format this is"):
        load_model(saved)


def test_a_document_without_settings_is_refused(saved: Path) -> None:
    rewrite(saved, settings=None)
    with pytest.raises(ModelError, match=r"model\.json is damaged: it has no 'settings'"):
        load_model(saved)


def test_a_manifest_that_lists_other_files_is_refused(saved: Path) -> None:
    entries = parse_manifest((saved / MANIFEST).read_bytes())
    (saved / MANIFEST).write_bytes(manifest_bytes({**entries, "../x": Entry(0, "0" * 64)}))
    with pytest.raises(ModelError, match=r"manifest\.json is damaged: it lists '\.\./x'"):
        load_model(saved)
    del entries["README.md"]
    (saved / MANIFEST).write_bytes(manifest_bytes(entries))
    with pytest.raises(ModelError, match=r"manifest\.json is damaged: it does not list 'README\.md'"):
        load_model(saved)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    "other",
    [
        {"label": np.zeros((4, 3))},
        {"label": np.zeros((3, 4), np.float32)},
        {"label": np.zeros((4, 3), np.int32)},
        {"label": None, "labels": np.zeros((4, 3), np.float32)},
        {"more": np.zeros(3)},
    ],
)
def test_arrays_of_another_type_shape_or_name_are_refused(saved: Path, other: dict, verify: bool) -> None:
    arrays = {name: array for name, array in {**make_model().arrays, **other}.items() if array is not None}
    with (saved / "arrays.safetensors").open("wb") as file:
        write_tensors(file, arrays, finite=False)
    reseal(saved)
    with pytest.raises(ModelError, match=rf"arrays\.safetensors is damaged: the array '{min(other)}' should be"):
        load_model(saved, verify=verify)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(saved: Path, bad: float) -> None:
    arrays = dict(make_model().arrays)
    arrays["label"] = arrays["label"].copy()
    arrays["label"][3, 2] = bad
    with (saved / "arrays.safetensors").open("wb") as file:
        write_tensors(file, arrays, finite=False)
    reseal(saved)
    with pytest.raises(
        ModelError, match=r"arrays\.safetensors is damaged: the array 'label' contains numbers that are not"
    ):
        load_model(saved)
    load_model(saved, verify=False)


def test_numbers_that_are_not_finite_are_found_in_any_block(tmp_path: Path) -> None:
    size = 700_000  # so that blocks of the file and the ends of arrays do not fall together
    arrays = {"a": np.zeros(size, np.float32), "b": np.zeros(size + 1, np.float32), "c": np.zeros(3, np.float16)}
    for name, place in [("a", 0), ("a", size - 1), ("b", 0), ("b", size), ("c", 2)]:
        harmed = {**arrays, name: arrays[name].copy()}
        harmed[name][place] = np.nan
        with pytest.raises(ModelError, match=f"'{name}' contains numbers that are not finite"):
            save_model(tmp_path / "model", make_model(arrays=harmed))
    save_model(tmp_path / "model", make_model(arrays=arrays))
    for name, place in [("a", 0), ("a", size - 1), ("b", 0), ("b", size), ("c", 2)]:
        harmed = {**arrays, name: arrays[name].copy()}
        harmed[name][place] = np.nan
        with (tmp_path / "model" / "arrays.safetensors").open("wb") as file:
            write_tensors(file, harmed, finite=False)
        reseal(tmp_path / "model")
        with pytest.raises(ModelError, match=f"'{name}' contains numbers that are not finite"):
            load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("indptr", "indices", "seen_without_verify"),
    [
        ([0, 2, 2, 4, 6], [0, 1, 1, 3, 0], True),
        ([1, 2, 2, 4, 5], [0, 1, 1, 3, 0], True),
        ([0, 2, 1, 4, 5], [0, 1, 1, 3, 0], False),
        ([0, 2, 2, 4, 5], [0, 1, 1, 4, 0], False),
        ([0, 2, 2, 4, 5], [-1, 1, 1, 3, 0], False),
        ([0, 2, 2, 4, 5], [1, 0, 1, 3, 0], False),
    ],
)
def test_pairs_that_contradict_each_other_are_refused(
    saved: Path, indptr: list[int], indices: list[int], seen_without_verify: bool
) -> None:
    pairs = {"indptr": np.array(indptr, np.int64), "indices": np.array(indices, np.int32)}
    with (saved / "pairs.safetensors").open("wb") as file:
        write_tensors(file, pairs, finite=True)
    reseal(saved)
    with pytest.raises(ModelError, match=r"pairs\.safetensors is damaged: (ind|the labels of every image)"):
        load_model(saved)
    if seen_without_verify:
        with pytest.raises(ModelError, match=r"pairs\.safetensors is damaged: indptr"):
            load_model(saved, verify=False)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("indptr", "indices", "odd"),
    [
        (np.array([[0], [2], [2], [4], [5]], np.int64), np.zeros(5, np.int32), "indptr"),
        (np.array([0, 2, 2, 4, 5], np.int32), np.zeros(5, np.int32), "indptr"),
        (np.array([0, 2, 2, 4], np.int64), np.zeros(5, np.int32), "indptr"),
        (np.array([0, 2, 2, 4, 5], np.int64), np.zeros(6, np.int32), "indices"),
        (np.array([0, 2, 2, 4, 5], np.int64), np.zeros(5, np.float32), "indices"),
    ],
)
def test_pairs_of_another_type_or_shape_are_refused(
    saved: Path, indptr: np.ndarray, indices: np.ndarray, odd: str, verify: bool
) -> None:
    with (saved / "pairs.safetensors").open("wb") as file:
        write_tensors(file, {"indptr": indptr, "indices": indices}, finite=False)
    reseal(saved)
    with pytest.raises(ModelError, match=rf"pairs\.safetensors is damaged: the array '{odd}' should be"):
        load_model(saved, verify=verify)


@pytest.mark.parametrize("verify", [True, False])
def test_another_number_of_ids_is_refused(saved: Path, verify: bool) -> None:
    with (saved / "labels.arrow").open("wb") as file:
        write_ids(file, Vocabulary.from_ids(["a", "b"]))
    reseal(saved)
    with pytest.raises(ModelError, match=r"labels\.arrow is damaged: it contains 2 ids and should contain 4"):
        load_model(saved, verify=verify)


@pytest.mark.parametrize("ids", [["b", "a", "c", "d"], ["a", "a", "b", "c"]])
def test_unsorted_ids_are_refused(saved: Path, ids: list[str]) -> None:
    with (saved / "labels.arrow").open("wb") as file:
        write_ids(file, Vocabulary.trusted(pa.array(ids, pa.large_string())))
    reseal(saved)
    with pytest.raises(ModelError, match=r"labels\.arrow is damaged: the label ids .* sorted"):
        load_model(saved)


@pytest.mark.parametrize("verify", [True, False])
def test_an_id_file_of_something_else_is_refused(saved: Path, verify: bool) -> None:
    tables = [
        pa.table({"id": pa.array(["a", "b", "c", "d"], pa.string())}),
        pa.table({"name": pa.array(["a", "b", "c", "d"], pa.large_string())}),
        pa.table({"id": pa.array(["a", "b", "c", None], pa.large_string())}),
        pa.table({"id": pa.chunked_array([["a", "b"], ["c", "d"]], pa.large_string())}),
    ]
    for table in tables:
        with pa.OSFile(str(saved / "labels.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        reseal(saved)
        with pytest.raises(ModelError, match=r"labels\.arrow is damaged: it "):
            load_model(saved, verify=verify)


# --- not a model ----------------------------------------------------------------------------------------------------


def test_a_missing_path_suggests_near_names(saved: Path) -> None:
    with pytest.raises(ModelError, match=rf"there is no model .*modle; did you mean {saved}\?"):
        load_model(saved.with_name("modle"))
    with pytest.raises(ModelError, match="there is no directory"):
        load_model(saved.parent / "none" / "model")


def test_what_is_no_model_directory_is_said_so(saved: Path) -> None:
    with pytest.raises(ModelError, match="is a file, not a model directory"):
        load_model(saved / "README.md")
    with pytest.raises(ModelError, match=r"is not a model directory: it has no model\.json"):
        load_model(saved.parent)


def test_settings_must_be_plain_json(tmp_path: Path) -> None:
    for bad in (np.float32(1), (1, 2), {1: "a"}, float("nan"), {"deep": [float("inf")]}, "\ud800", tmp_path):
        with pytest.raises(ModelError, match=r"the settings of a model must be plain JSON .* 'here' is not"):
            save_model(tmp_path / "model", replace(make_model(), settings={"fine": 1, "here": bad}))
    assert list(tmp_path.iterdir()) == []


def test_arrays_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    for bad in (np.array(["text"]), np.array([object()]), np.array([1j])):
        with pytest.raises(ModelError, match=r"the array 'here' of type .* cannot be saved"):
            save_model(tmp_path / "model", make_model(arrays={"here": bad}))
    assert list(tmp_path.iterdir()) == []


# --- size -----------------------------------------------------------------------------------------------------------

LOAD = """
import sys, time
from vse_ens.model.store import load_model
def resident():
    return sum(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) // 1024
before, start = resident(), time.process_time()
model = load_model(sys.argv[1], verify=False)
assert model.arrays["image"][123_456, 7] == 0 and model.known.images.id(3)
print(time.process_time() - start, resident() - before)
"""


def test_a_model_larger_than_memory_loads_at_once_without_verify(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model(arrays={"image": np.zeros((0, 100), np.float32)}))
    rows = 50_000_000  # 20 GB of zeros, which a file system with holes keeps in a few blocks
    arrays = tmp_path / "model" / "arrays.safetensors"
    header = {"image": {"dtype": "F32", "shape": [rows, 100], "data_offsets": [0, rows * 400]}}
    text = json.dumps(header).encode().ljust(120)
    with arrays.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
    rewrite(tmp_path / "model", arrays={"image": {"dtype": "float32", "shape": [rows, 100]}})
    with arrays.open("r+b") as file:
        file.truncate(128 + rows * 400)
    entries = parse_manifest((tmp_path / "model" / MANIFEST).read_bytes())
    entries[arrays.name] = Entry(arrays.stat().st_size, "0" * 64)
    (tmp_path / "model" / MANIFEST).write_bytes(manifest_bytes(entries))

    run = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "model")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    seconds, megabytes = map(float, run.stdout.split())
    assert seconds < 5
    assert megabytes < 100


def test_nothing_is_pickled() -> None:
    files = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
    banned = re.compile(
        r"^\s*(import|from)\s+(pickle|_pickle|cloudpickle|dill|joblib|marshal|shelve)\b|allow_pickle(?!=False\b)", re.M
    )
    assert len(files) > 10
    assert [str(file) for file in files if banned.search(file.read_text(encoding="utf-8"))] == []


def test_a_run_learns_at_its_start_that_its_model_could_not_be_saved(saved: Path, tmp_path: Path) -> None:
    for free in (tmp_path / "new" / "model", saved):
        with reserve_target(free):
            pass
    (saved / "thesis.tex").write_text("precious")
    with (
        pytest.raises(ModelError, match=r"contains 'thesis\.tex', which is not part of a model"),
        reserve_target(saved),
    ):
        pytest.fail("it began")
