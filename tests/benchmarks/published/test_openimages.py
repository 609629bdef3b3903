from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.published.openimages import read_names, read_openimages

from benchmarks.published import openimages
from vse_ens.errors import ConfigError, DataError

HEADER = "ImageID,Source,LabelName,Confidence\n"
HUMAN = (
    "000026e7ee790996,verification,/m/04hgtk,0\n"
    "000026e7ee790996,verification,/m/07j7r,1\n"
    "000026e7ee790996,crowdsource-verification,/m/01bqvp,1\n"
    "000062a39995e348,verification,/m/07j7r,1\n"
)
MACHINE = (
    "000002b66c9c498e,machine,/m/05_4_,0.7\n"
    "000002b66c9c498e,machine,/m/07j7r,0.4\n"
    "000002b97e5471a0,machine,/m/05_5t0l,0.5\n"
)
NAMES = '/m/04hgtk,Head\n/m/07j7r,Tree\n/m/01bqvp,"Sky, blue"\n/m/05_4_,Sea\n/m/05_5t0l,Landmark\n'

Pairs = set[tuple[str, str]]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def pairs(folder: Path, **options: object) -> Pairs:
    return set(read_openimages(folder, **options).to_frame("polars").rows())  # type: ignore[arg-type]


def v1(folder: Path) -> None:
    write(folder / "human_ann_2016_08/validation/labels.csv", HEADER + HUMAN.replace("crowdsource-", ""))
    write(folder / "machine_ann_2016_08/train/labels.csv", HEADER + MACHINE)
    write(folder / "dict.csv", "".join(f'"{line.partition(",")[0]}",{_quoted(line)}\n' for line in NAMES.splitlines()))


def _quoted(line: str) -> str:
    name = line.partition(",")[2]
    return name if name.startswith('"') else f'"{name}"'


def v3(folder: Path) -> None:
    write(folder / "2017_11/validation/annotations-human.csv", HEADER + HUMAN)
    write(folder / "2017_11/validation/annotations-human-bbox.csv", "ImageID,Source,LabelName,Confidence,XMin\n")
    write(folder / "2017_11/train/annotations-machine.csv", HEADER + MACHINE)
    write(folder / "2017_11/class-descriptions.csv", NAMES)


def v4(folder: Path) -> None:
    write(folder / "validation-annotations-human-imagelabels.csv", HEADER + HUMAN)
    write(folder / "train-annotations-machine-imagelabels.csv", HEADER + MACHINE)
    write(folder / "class-descriptions.csv", NAMES)
    write(folder / "class-descriptions-boxable.csv", "/m/07j7r,Boxed tree\n")


def v7(folder: Path) -> None:
    human = HUMAN.replace(",0\n", ",0.0\n").replace(",1\n", ",1.0\n")
    write(folder / "oidv7-val-annotations-human-imagelabels.csv", HEADER + human)
    write(folder / "oidv7-train-annotations-machine-imagelabels.csv", HEADER + MACHINE)
    write(folder / "oidv7-class-descriptions.csv", "LabelName,DisplayName\n" + NAMES)


@pytest.mark.parametrize("version", [v1, v3, v4, v7])
def test_every_version_gives_the_same_pairs(version: Callable[[Path], None], tmp_path: Path) -> None:
    version(tmp_path)
    verified = {
        ("000026e7ee790996", "Tree"),
        ("000026e7ee790996", "Sky, blue"),
        ("000062a39995e348", "Tree"),
    }
    guessed = {("000002b66c9c498e", "Sea"), ("000002b97e5471a0", "Landmark")}
    assert pairs(tmp_path) == verified
    assert pairs(tmp_path, source="machine") == guessed
    assert pairs(tmp_path, source="both") == verified | guessed
    assert pairs(tmp_path, split="validation") == verified
    assert pairs(tmp_path, source="machine", split="train") == guessed


def test_left_out_rows_are_counted(tmp_path: Path) -> None:
    v4(tmp_path)
    notes = read_openimages(tmp_path, source="both", min_confidence=0.6).notes
    assert "dropped 1 label verified as absent" in notes
    assert "dropped 2 machine labels with confidence below 0.6" in notes
    assert "labels are named as in class-descriptions.csv" in notes


def test_the_confidence_asked_for_is_kept(tmp_path: Path) -> None:
    v4(tmp_path)
    assert len(pairs(tmp_path, source="machine", min_confidence=0.4)) == 3
    assert len(pairs(tmp_path, source="machine", min_confidence=0.7)) == 1


def test_a_human_label_between_0_and_1_is_left_out_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", f"{HEADER}a,verification,/m/1,0.3\na,verification,/m/2,1\n")
    data = read_openimages(file)
    assert data.labels_of("a") == ["/m/2"]
    assert "dropped 1 human label with a confidence between 0 and 1" in data.notes


def test_a_file_is_read_whole_or_by_its_source(tmp_path: Path) -> None:
    v4(tmp_path)
    file = tmp_path / "train-annotations-machine-imagelabels.csv"
    assert pairs(file) == pairs(tmp_path, source="machine")
    mixed = write(tmp_path / "mixed.csv", HEADER + HUMAN + MACHINE)
    assert pairs(mixed, source="human") == pairs(tmp_path)
    assert "dropped 3 rows by a machine" in read_openimages(mixed, source="human").notes
    assert "dropped 4 rows by humans" in read_openimages(mixed, source="machine").notes


def test_a_gzipped_file_is_the_same(tmp_path: Path) -> None:
    v4(tmp_path)
    expected = pairs(tmp_path)
    plain = tmp_path / "validation-annotations-human-imagelabels.csv"
    plain.with_name(f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert pairs(tmp_path) == expected


def test_ids_on_request_and_where_there_are_no_names(tmp_path: Path) -> None:
    v4(tmp_path)
    assert ("000062a39995e348", "/m/07j7r") in pairs(tmp_path, names=False)
    (tmp_path / "class-descriptions.csv").unlink()
    data = read_openimages(tmp_path)
    assert ("000062a39995e348", "Boxed tree") in data.to_frame("polars").rows()
    assert "1 label has no name there" in data.notes
    (tmp_path / "class-descriptions-boxable.csv").unlink()
    assert ("000062a39995e348", "/m/07j7r") in pairs(tmp_path)
    with pytest.raises(DataError, match=r"has no class-descriptions\.csv or dict\.csv .* download .*oidv7-class-desc"):
        read_openimages(tmp_path, names=True)


def test_names_that_clash_are_followed_by_the_id(tmp_path: Path) -> None:
    file = write(tmp_path / "dict.csv", '"/m/1","sailing"\n"/m/2","boat"\n"/m/3","sailing"\n')
    assert read_names(file) == {"/m/1": "sailing [/m/1]", "/m/2": "boat", "/m/3": "sailing [/m/3]"}


@pytest.mark.shared_data
def test_the_names_of_version_1_are_those_of_the_sample(shared_data: Path) -> None:
    folder = shared_data / "openimages_v1val_sample"
    names = read_names(folder / "raw" / "dict.csv")
    with gzip.open(folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        used = {line.rstrip("\n").partition("\t")[2] for line in lines}
    assert len(names) == len(set(names.values())) == 7881
    assert {name.strip() for name in used} <= set(names.values())  # one name ends with a space in dict.csv


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("b,verification,/m/1", "line 3 has 3 fields where line 1 has 4"),
        ("b,verification,/m/1,1,1", "line 3 has 5 fields where line 1 has 4"),
        ("b,verification,/m/1,yes", "line 3 has the confidence 'yes', not one from 0 to 1"),
        ("b,verification,/m/1,", "line 3 has the confidence '', not one from 0 to 1"),
        ("b,verification,/m/1,nan", "line 3 has the confidence 'nan', not one from 0 to 1"),
        ("b,machine,/m/1,1.5", "line 3 has the confidence '1.5', not one from 0 to 1"),
        (",verification,/m/1,1", "line 3 has a blank image or label id"),
        ("b,verification, ,1", "line 3 has a blank image or label id"),
    ],
)
def test_a_fault_is_named_by_file_and_line(row: str, fault: str, tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", f"{HEADER}a,verification,/m/1,1\n{row}\na,verification,/m/2,1\n")
    with pytest.raises(DataError) as error:
        read_openimages(file)
    assert str(error.value).startswith(f"{file}, {fault}")


def test_a_byte_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_bytes(f"{HEADER}a,verification,/m/1,1\n".encode() + b"\xe9,verification,/m/1,1\n")
    with pytest.raises(DataError, match=r"labels\.csv, line 3 is not UTF-8 \(byte 0xe9\)"):
        read_openimages(file)


def test_blank_lines_are_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", f"{HEADER}a,verification,/m/1,1\n\n\nb,verification,/m/1,1\n")
    assert "dropped 2 blank lines" in read_openimages(file).notes


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("/m/1,Tree\n/m/2\n", "line 2 has '/m/2' where an id and a name should be"),
        ("/m/1,Tree\n,Sea\n", "line 2 has ',Sea' where an id and a name should be"),
        ("/m/1,Tree\n/m/1,Sea\n", "line 2 names /m/1 'Sea', but an earlier line 'Tree'"),
    ],
)
def test_a_fault_of_the_names_is_named_by_line(text: str, fault: str, tmp_path: Path) -> None:
    file = write(tmp_path / "class-descriptions.csv", text)
    with pytest.raises(DataError) as error:
        read_names(file)
    assert str(error.value) == f"{file}, {fault}"


def test_another_file_is_refused_by_its_header(tmp_path: Path) -> None:
    file = write(tmp_path / "train-annotations-bbox.csv", "ImageID,Source,LabelName,Confidence,XMin\n")
    with pytest.raises(DataError, match=r"line 1 is 'ImageID,Source,LabelName,Confidence,XMin', but .* start with"):
        read_openimages(file)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.mat is not a \.csv file of image-level labels of Open Images; download"):
        read_openimages(write(tmp_path / "a.mat", "x"))


def test_a_wrong_folder_says_what_to_download(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no file of human labels of Open Images; download .*download_v7\.html"):
        read_openimages(tmp_path)
    v4(tmp_path)
    with pytest.raises(DataError, match=r"human labels of Open Images of the test split \(only train-.*validation-"):
        read_openimages(tmp_path, split="test")
    with pytest.raises(DataError, match="nowhere does not exist"):
        read_openimages(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is an archive; unpack it"):
        read_openimages(write(tmp_path / "human_ann_2016_08_v3.tar.gz", "x"))


def test_two_files_of_one_split_are_refused(tmp_path: Path) -> None:
    v4(tmp_path)
    write(tmp_path / "validation-annotations-human-imagelabels-boxable.csv", HEADER + HUMAN)
    with pytest.raises(DataError, match="both hold human labels of the validation split; name one of them"):
        read_openimages(tmp_path)


def test_options_that_cannot_work_are_refused(tmp_path: Path) -> None:
    v4(tmp_path)
    for options, fault in (
        ({"source": "crowd"}, "source must be one of human, machine, both, got 'crowd'"),
        ({"split": "dev"}, "split must be one of train, validation, test, got 'dev'"),
        ({"min_confidence": 2.0}, "min_confidence must be between 0 and 1"),
    ):
        with pytest.raises(ConfigError, match=fault):
            pairs(tmp_path, **options)
    with pytest.raises(ConfigError, match="split train is for a folder"):
        read_openimages(tmp_path / "train-annotations-machine-imagelabels.csv", split="train")


def test_rows_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small blocks give what one block gives, and progress ends with all bytes."""
    rows = "".join(f"{image:016x},machine,/m/{image * 7 % 31:02x},0.{5 + image % 5}\n" for image in range(3000))
    file = write(tmp_path / "labels.csv", HEADER + rows)
    told: list[tuple[int, int]] = []
    whole = read_openimages(file, min_confidence=0.7)
    monkeypatch.setattr(openimages, "_BLOCK", 4096)
    assert read_openimages(file, min_confidence=0.7, progress=lambda *at: told.append(at)) == whole
    assert len(told) > 10
    assert told == sorted(told)
    assert told[-1] == (file.stat().st_size, file.stat().st_size)


def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", HEADER + "a,machine,/m/1,0.9\n" + "x" * (18 << 20))
    with pytest.raises(DataError, match=r"labels\.csv, line 3 is longer than 16,777,216 bytes"):
        read_openimages(file)
