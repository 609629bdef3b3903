from __future__ import annotations

import gzip
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.published.iaprtc12 import Lexicon, plurals, read_iaprtc12
from scipy import sparse
from scipy.io import loadmat, savemat

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, DataError

WORDS = ["building", "car", "church", "grey", "lady", "shirt", "tee-shirt", "woman"]
TRAIN = np.array([[1, 1, 0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]])
TEST = np.array([[0, 1, 0, 0, 0, 0, 1, 0]])
PAIRS = [
    ("00/25", "building"),
    ("00/25", "car"),
    ("00/25", "woman"),
    ("00/26", "car"),
    ("00/26", "tee-shirt"),
    ("00/28", "church"),
]


def hvecs(matrix: np.ndarray) -> bytes:
    """Rows of 16-bit numbers, each after their count."""
    return np.column_stack([np.full(len(matrix), matrix.shape[1]), matrix]).astype("<u2").tobytes()


def lists(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "iaprtc12_dictionary.txt").write_text("".join(f"{word}\n" for word in WORDS))
    (folder / "iaprtc12_train_list.txt").write_text("00/25\n00/28\n00/32\n")
    (folder / "iaprtc12_test_list.txt").write_text("00/26\n")


@pytest.fixture
def tagprop(tmp_path: Path) -> Path:
    folder = tmp_path / "iaprtc12.20091111"
    lists(folder)
    (folder / "iaprtc12_train_annot.hvecs").write_bytes(hvecs(TRAIN))
    (folder / "iaprtc12_test_annot.hvecs").write_bytes(hvecs(TEST))
    return folder


def save_mat(path: Path, **variables: Any) -> None:
    savemat(path, variables, do_compression=True)


def cell(*matrices: np.ndarray) -> np.ndarray:
    made = np.empty((1, len(matrices)), object)
    for place, matrix in enumerate(matrices):
        made[0, place] = matrix.astype(np.uint8)
    return made


@pytest.fixture
def matlab(tmp_path: Path) -> Path:
    folder = tmp_path / "matlab"
    lists(folder)
    for name in ("train", "test"):
        (folder / f"iaprtc12_{name}_list.txt").rename(folder / f"iapr_{name}_list.txt")
    save_mat(folder / "IAPRTC-12_TrainLabels.mat", I_z_tr=cell(TRAIN, TRAIN))
    save_mat(folder / "IAPRTC-12_TestLabels.mat", I_z_te=cell(TEST, TEST))
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Complete descriptions, and others in a folder beside."""
    folder = tmp_path / "iaprtc12"
    for number, description in (
        (25, "a yellow building; two CARS parked in front of it; women are walking"),
        (26, "a car; a man in a tee-shirt"),
        (28, "two churches and a grey-haired caf\xe9 owner"),
        (40, "nothing of the kind"),
    ):
        for kind, text in (("annotations_complete_eng", description), ("annotations", "a lady")):
            file = folder / kind / "00" / f"{number}.eng"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(eng(number, text))
    return folder


def eng(number: int, description: str) -> bytes:
    return (
        f"<DOC>\n<DOCNO>annotations/00/{number}.eng</DOCNO>\n<TITLE>A lady</TITLE>\n"
        f"<DESCRIPTION>{description}</DESCRIPTION>\n<NOTES></NOTES>\n<LOCATION>La Paz, Bolivia</LOCATION>\n"
        f"<DATE>1 February 2002</DATE>\n<IMAGE>images/00/{number}.jpg</IMAGE>\n"
        f"<THUMBNAIL>thumbnails/00/{number}.jpg</THUMBNAIL>\n</DOC>"
    ).encode("latin-1")


def pairs(path: Path, **options: Any) -> list[tuple[str, str]]:
    return read_iaprtc12(path, **options).to_frame("polars").rows()  # type: ignore[return-value]


# --- matrices -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["tagprop", "matlab"])
def test_both_kinds_of_matrices_give_the_pairs(form: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(form)
    data = read_iaprtc12(folder)
    assert data.to_frame("polars").rows() == PAIRS
    assert data.notes[1:] == ("dropped 1 image without a label",)
    assert pairs(folder, split="test") == [pair for pair in PAIRS if pair[0] == "00/26"]
    assert pairs(folder, split="train") == [pair for pair in PAIRS if pair[0] != "00/26"]


def test_a_file_is_read_alone(tagprop: Path, matlab: Path) -> None:
    test = [pair for pair in PAIRS if pair[0] == "00/26"]
    assert pairs(tagprop / "iaprtc12_test_annot.hvecs") == test
    data = read_iaprtc12(matlab / "IAPRTC-12_TestLabels.mat")
    assert data.to_frame("polars").rows() == test
    assert data.notes[0] == "there is no file of the train split"


def test_a_matrix_may_be_a_variable_of_its_own_and_sparse(matlab: Path) -> None:
    save_mat(matlab / "IAPRTC-12_TrainLabels.mat", labels=TRAIN, features=np.ones((3, 2)))
    save_mat(matlab / "IAPRTC-12_TestLabels.mat", labels=sparse.csc_array(TEST.astype(float)))
    assert pairs(matlab) == PAIRS


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (hvecs(TRAIN)[:-1], "has 53 bytes, but 3 images with 8 labels take 54; it is truncated"),
        (hvecs(TRAIN[:2]), "has 36 bytes, but 3 images with 8 labels take 54"),
        (hvecs(TRAIN)[:18] + b"\x07\x00" + hvecs(TRAIN)[20:], "row 2 has 7 numbers, but the dictionary has 8"),
        (hvecs(TRAIN * 3), "row 1, column 1 has 3 where 0 or 1 should be"),
    ],
)
def test_a_fault_in_hvecs_is_named(content: bytes, fault: str, tagprop: Path) -> None:
    file = tagprop / "iaprtc12_train_annot.hvecs"
    file.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_iaprtc12(tagprop)
    assert str(error.value).startswith(str(file))
    assert fault in str(error.value)


def test_a_fault_in_mat_is_named(matlab: Path) -> None:
    file = matlab / "IAPRTC-12_TrainLabels.mat"
    for variables, fault in (
        ({"a": cell(TRAIN, 1 - TRAIN)}, r"two matrices that differ, a\{1\} and a\{2\}"),
        ({"a": TEST}, "has no matrix of 3 images and 8 labels, only 1 x 8"),
        ({"a": TRAIN * 2}, "row 1, column 1 has 2 where 0 or 1 should be"),
    ):
        save_mat(file, **variables)
        with pytest.raises(DataError, match=fault):
            read_iaprtc12(matlab)
    save_mat(file, a=np.arange(3 * 8).reshape(3, 8))
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"TrainLabels\.mat is a damaged MATLAB file"):
        read_iaprtc12(matlab)


def test_matlab_7_3_is_refused_in_a_sentence(matlab: Path) -> None:
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (matlab / "IAPRTC-12_TrainLabels.mat").write_bytes(head.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(DataError, match=r"is a MATLAB 7\.3 file \(HDF5\); save it in MATLAB with -v7"):
        read_iaprtc12(matlab)


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("iaprtc12_train_list.txt", "00/25\n00/25\n", "line 2 repeats '00/25' of line 1"),
        ("iaprtc12_dictionary.txt", "sky\n\ntree\n", "line 2 is blank"),
        ("iaprtc12_dictionary.txt", "", "is empty"),
    ],
)
def test_a_fault_in_a_list_is_named_by_line(file: str, text: str, fault: str, tagprop: Path) -> None:
    (tagprop / file).write_text(text)
    with pytest.raises(DataError) as error:
        read_iaprtc12(tagprop)
    assert str(error.value).startswith(str(tagprop / file))
    assert fault in str(error.value)


def test_missing_files_are_named_with_their_source(tagprop: Path, tmp_path: Path) -> None:
    (tagprop / "iaprtc12_test_list.txt").unlink()
    with pytest.raises(DataError, match=r"has no iaprtc12_test_list\.txt to name images by; .*guillaumin/data\.php"):
        read_iaprtc12(tagprop)
    (tagprop / "iaprtc12_dictionary.txt").unlink()
    with pytest.raises(DataError, match=r"has no iaprtc12_dictionary\.txt to name labels by; .*guillaumin/data\.php"):
        read_iaprtc12(tagprop)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no iaprtc12_train_annot\.hvecs, no .* from https://www\.imageclef\.org"):
        read_iaprtc12(tmp_path / "empty")
    with pytest.raises(DataError, match=r"has no IAPRTC-12_TrainLabels\.mat of IAPR TC-12; download"):
        read_iaprtc12(tagprop, form="mat")
    (tagprop / "iaprtc12_test_annot.hvecs").unlink()
    lists(tagprop)
    with pytest.raises(DataError, match="has no hvecs file of the test split"):
        read_iaprtc12(tagprop, split="test")
    with pytest.raises(ConfigError, match="form must be one of hvecs, mat, texts, got 'eng'"):
        read_iaprtc12(tagprop, form="eng")  # type: ignore[arg-type]


# --- descriptions -------------------------------------------------------------------------------------------------


def test_words_of_the_dictionary_are_found_in_descriptions(texts: Path, tagprop: Path) -> None:
    data = read_iaprtc12(texts, dictionary=tagprop / "iaprtc12_dictionary.txt")
    assert data.to_frame("polars").rows() == sorted([*PAIRS, ("00/28", "grey")])
    first, second = data.notes
    assert first.startswith("labels are the words of the dictionary that occur in 4 descriptions, also as adj")
    assert second == "dropped 1 image without a label"


def test_descriptions_of_a_split(texts: Path) -> None:
    lists(texts)
    data = read_iaprtc12(texts, split="train")
    assert list(data.images) == ["00/25", "00/28"]
    assert "1 image of the list has no description" in data.notes


def test_one_description_is_one_image(texts: Path, tagprop: Path) -> None:
    file = texts / "annotations_complete_eng" / "00" / "26.eng"
    assert pairs(file, dictionary=tagprop / "iaprtc12_dictionary.txt") == [("00/26", "car"), ("00/26", "tee-shirt")]


@pytest.mark.parametrize("part", ["DOCNO", "DESCRIPTION"])
def test_a_description_that_is_not_one_is_named(part: str, texts: Path) -> None:
    lists(texts)
    file = texts / "annotations_complete_eng" / "00" / "25.eng"
    file.write_text(file.read_text().replace(f"</{part}>", ""))
    with pytest.raises(DataError, match=rf"25\.eng has no <{part}>.*</{part}> in its 10 lines"):
        read_iaprtc12(texts)


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("car", "cars"),
        ("bus", "buses"),
        ("church", "churches"),
        ("potato", "potatoes"),
        ("lady", "ladies"),
        ("boy", "boys"),
        ("leaf", "leaves"),
        ("knife", "knives"),
        ("woman", "women"),
        ("child", "children"),
        ("foot", "feet"),
    ],
)
def test_plurals(word: str, plural: str) -> None:
    assert plural in plurals(word)
    assert Lexicon([word]).indices(f"Two {plural}.") == {0}


def test_a_word_of_the_dictionary_is_never_the_plural_of_another() -> None:
    assert Lexicon(["short", "shorts"]).indices("shorts") == {1}


# --- the real files -----------------------------------------------------------------------------------------------


@pytest.fixture
def real(shared_data: Path) -> Path:
    folder = shared_data / "iaprtc12"
    if not (folder / "raw").is_dir():
        pytest.skip(f"no raw files of IAPR TC-12 in {folder}")
    return folder


def real_pairs(folder: Path) -> Annotations:
    with gzip.open(folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        return Annotations.from_pairs(tuple(line.rstrip("\n").split("\t")) for line in lines)  # type: ignore[misc]


@pytest.mark.shared_data
def test_the_real_matrices_give_the_known_pairs(real: Path) -> None:
    data = read_iaprtc12(real / "raw")
    assert (len(data.images), len(data.labels), data.pairs) == (19_627, 291, 112_241)
    assert data == real_pairs(real)
    assert read_iaprtc12(real / "raw", split="train").pairs == 101_188
    assert read_iaprtc12(real / "raw", split="test").pairs == 11_053


@pytest.mark.shared_data
def test_the_real_pairs_come_back_from_hvecs(real: Path, tmp_path: Path) -> None:
    """The published .hvecs files are not here: the real labels, written in their form."""
    for split in ("train", "test"):
        cells = loadmat(real / "raw" / f"IAPRTC-12_{split.capitalize()}Labels.mat")[f"I_z_{split[:2]}"]
        (tmp_path / f"iaprtc12_{split}_annot.hvecs").write_bytes(hvecs(cells[0, 0]))
        (tmp_path / f"iaprtc12_{split}_list.txt").write_bytes((real / "raw" / f"iapr_{split}_list.txt").read_bytes())
    (tmp_path / "iaprtc12_dictionary.txt").write_bytes((real / "raw" / "iaprtc12_dictionary.txt").read_bytes())
    assert read_iaprtc12(tmp_path, form="hvecs") == real_pairs(real)


@pytest.mark.shared_data
def test_the_real_descriptions_hold_nearly_all_known_pairs(real: Path, tmp_path: Path) -> None:
    """Every tenth folder of them; docs/published-data.md has the figures of all."""
    with tarfile.open(real / "raw" / "annotations_complete_eng.tar.gz") as archive:
        some = [one for one in archive if Path(one.name).parent.name.endswith("0")]
        # Python 3.11.0 to 3.11.3 know no filters yet.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path, some, **safely)
    data = read_iaprtc12(tmp_path, dictionary=real / "raw" / "iaprtc12_dictionary.txt")
    there = {f"{Path(one.name).parent.name}/{Path(one.name).stem}" for one in some}
    known = {pair for pair in real_pairs(real).to_frame("polars").rows() if pair[0] in there}
    images = {image for image, _ in known}
    found = {pair for pair in data.to_frame("polars").rows() if pair[0] in images}
    assert len(known & found) > 0.999 * len(known)
    assert 0.78 * len(found) < len(known & found) < 0.86 * len(found)
