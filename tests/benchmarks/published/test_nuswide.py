from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from benchmarks.published.nuswide import read_nuswide

from benchmarks.published import nuswide
from vse_ens.errors import ConfigError, DataError

# Folder and number, Flickr id, split; 702409954 is there twice, and folders have underscores.
IMAGES = [
    ("actor\\0001_2124494179.jpg", "train"),
    ("actor\\0002_174174086.jpg", "test"),
    ("administrative_assistant\\0001_534152430.jpg", "train"),
    ("airport\\0007_702409954.jpg", "test"),
    ("zebra\\0032_702409954.jpg", "train"),
]
TAGS = [
    "2124494179      portrait man flash sunglasses actor ",
    "174174086      sky sky water",
    "534152430      ",
    "702409954      日本 sky",
    "702409954      zebra qwertz",
]
FINAL = ["sky", "water", "zebra", "portrait", "unused"]
MATRIX = ["1\t0\t0\t", "0\t1\t1\t", "0\t0\t0\t", "1\t1\t0\t", "0\t0\t1\t"]
CONCEPTS = {"sun": "10011", "sunset": "01000", "water": "01010"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All files as the archives hold them, five images small."""
    tags, lists = tmp_path / "NUS_WID_Tags", tmp_path / "ImageList"
    concepts, parts = tmp_path / "Groundtruth" / "AllLabels", tmp_path / "Groundtruth" / "TrainTestLabels"
    for one in (tags, lists, concepts, parts):
        one.mkdir(parents=True)
    lines(tags / "All_Tags.txt", TAGS)
    lines(tags / "Final_Tag_List.txt", FINAL, end="\r\n")
    lines(tags / "AllTags1k.txt", MATRIX)
    lines(tags / "TagList1k.txt", ["nature", "sky", "blue"])
    lines(lists / "Imagelist.txt", [entry for entry, _ in IMAGES], end="\r\n")
    for split in ("train", "test"):
        rows = [row for row, (_, of) in enumerate(IMAGES) if of == split]
        name = split.capitalize()
        lines(lists / f"{name}Imagelist.txt", [IMAGES[row][0] for row in rows])
        for concept, values in CONCEPTS.items():
            lines(parts / f"Labels_{concept}_{name}.txt", [values[row] for row in rows])
    for concept, values in CONCEPTS.items():
        lines(concepts / f"Labels_{concept}.txt", values)
    return tmp_path


def lines(path: Path, texts: object, end: str = "\n") -> Path:
    path.write_bytes("".join(f"{text}{end}" for text in texts).encode())  # type: ignore[attr-defined]
    return path


def pairs(path: Path, **options: object) -> list[tuple[str, str]]:
    return read_nuswide(path, **options).to_frame("polars").rows()  # type: ignore[arg-type, return-value]


def test_tags_of_the_list_of_5018(folder: Path) -> None:
    data = read_nuswide(folder)
    assert data.to_frame("polars").rows() == [
        ("174174086", "sky"),
        ("174174086", "water"),
        ("2124494179", "portrait"),
        ("702409954", "sky"),
        ("702409954#2", "zebra"),
    ]
    assert data.notes == (
        "1 image has the id of an earlier one, and got the suffix #2",
        "tags5018 has 5 labels here, 5,018 as published",
        "dropped 6 tags that are not in Final_Tag_List.txt",
        "dropped 1 image without a label",
        "dropped 1 label without an image",
    )


def test_tags_of_the_list_of_1000(folder: Path) -> None:
    assert pairs(folder, labels="tags1k") == [
        ("174174086", "blue"),
        ("174174086", "sky"),
        ("2124494179", "nature"),
        ("702409954", "nature"),
        ("702409954", "sky"),
        ("702409954#2", "blue"),
    ]


def test_concepts_have_the_names_of_their_files(folder: Path) -> None:
    assert pairs(folder, labels="concepts81") == [
        ("174174086", "sunset"),
        ("174174086", "water"),
        ("2124494179", "sun"),
        ("702409954", "sun"),
        ("702409954", "water"),
        ("702409954#2", "sun"),
    ]


@pytest.mark.parametrize("labels", ["tags5018", "tags1k", "concepts81"])
def test_the_splits_make_up_the_whole(labels: str, folder: Path) -> None:
    train, test = (pairs(folder, labels=labels, split=split) for split in ("train", "test"))
    assert {image for image, _ in train} == {"2124494179", "702409954#2"}
    assert sorted(train + test) == pairs(folder, labels=labels)


def test_concepts_of_splits_replace_missing_ones_of_the_whole(folder: Path) -> None:
    whole = {image.partition("#")[0]: label for image, label in pairs(folder, labels="concepts81", split="train")}
    for file in (folder / "Groundtruth" / "AllLabels").iterdir():
        file.unlink()
    data = read_nuswide(folder, labels="concepts81", split="train")
    assert dict(data.to_frame("polars").rows()) == whole
    # Without the order of the whole list, the second of two equal ids is the one in the test list.
    assert pairs(folder, labels="concepts81")[-2:] == [("702409954#2", "sun"), ("702409954#2", "water")]


def test_all_tags_name_the_images_where_there_is_no_list(folder: Path) -> None:
    expected = pairs(folder, labels="tags1k")
    (folder / "ImageList" / "Imagelist.txt").unlink()
    assert pairs(folder, labels="tags1k") == expected
    assert pairs(folder) == pairs(folder / "NUS_WID_Tags" / "All_Tags.txt")
    with pytest.raises(
        DataError, match=r"Imagelist\.txt and TrainImagelist\.txt are needed .* ImageList\.zip from http"
    ):
        read_nuswide(folder, split="train")


def test_a_file_is_enough_where_the_others_are_beside_it(folder: Path) -> None:
    assert pairs(folder / "NUS_WID_Tags" / "All_Tags.txt") == pairs(folder)
    assert pairs(folder / "NUS_WID_Tags" / "AllTags1k.txt") == pairs(folder, labels="tags1k")
    with pytest.raises(DataError, match=r"All_Tags\.txt does not hold concepts81; name All_Tags\.txt for tags5018"):
        read_nuswide(folder / "NUS_WID_Tags" / "All_Tags.txt", labels="concepts81")
    with pytest.raises(DataError, match=r"TagList1k\.txt does not hold a complete set of labels"):
        read_nuswide(folder / "NUS_WID_Tags" / "TagList1k.txt")


def test_tags_in_small_pieces_are_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = pairs(folder)
    monkeypatch.setattr(nuswide, "_LINES", 2)
    told: list[tuple[int, int]] = []
    assert pairs(folder, progress=lambda *at: told.append(at)) == expected
    size = (folder / "NUS_WID_Tags" / "All_Tags.txt").stat().st_size
    assert told[-1] == (size, size)


@pytest.mark.parametrize(
    ("file", "text", "labels", "fault"),
    [
        ("ImageList/Imagelist.txt", "actor\\0001.jpg\n", "tags1k", "line 1 has 'actor"),
        ("ImageList/Imagelist.txt", "\nactor\\0001_1.jpg\n", "tags1k", "line 1 is blank"),
        ("NUS_WID_Tags/All_Tags.txt", "2124494179 sky\nx sky\n", "tags5018", "line 2 starts with 'x' where the number"),
        ("NUS_WID_Tags/All_Tags.txt", "2124494179 sky\n1 sky\n", "tags5018", "line 2 is of image 1 where"),
        ("NUS_WID_Tags/All_Tags.txt", "2124494179 sky\n", "tags5018", "ends after line 1, but"),
        ("NUS_WID_Tags/All_Tags.txt", "\n".join([*TAGS, "1 sky\n"]), "tags5018", "line 6 is of image 1 where"),
        ("NUS_WID_Tags/Final_Tag_List.txt", "sky\nsea\nsky\n", "tags5018", "line 3 repeats 'sky' of line 1"),
        ("NUS_WID_Tags/Final_Tag_List.txt", "\n", "tags5018", "is empty"),
        ("NUS_WID_Tags/AllTags1k.txt", "1 0 0\n0 1\n", "tags1k", "line 2 has 2 values"),
        ("NUS_WID_Tags/AllTags1k.txt", "1 0 0\n0 1 0\n", "tags1k", "ends after line 2, but there are 5 images"),
        (
            "Groundtruth/AllLabels/Labels_sun.txt",
            "0\n1\n1\n",
            "concepts81",
            "ends after line 3, but there are 5 images",
        ),
        ("Groundtruth/AllLabels/Labels_sun.txt", "0\n" * 6, "concepts81", "line 6 is one too many for 5 images"),
        (
            "Groundtruth/AllLabels/Labels_sun.txt",
            "0\n1\n-1130179\n",
            "concepts81",
            "line 3 has '-1130179' where 0 or 1",
        ),
    ],
)
def test_a_fault_is_named_by_file_and_line(file: str, text: str, labels: str, fault: str, folder: Path) -> None:
    (folder / file).write_text(text)
    with pytest.raises(DataError) as error:
        pairs(folder, labels=labels)
    assert fault in str(error.value)
    assert str(error.value).startswith(str(folder / file))


def test_a_byte_that_is_not_utf_8_is_named(folder: Path) -> None:
    (folder / "NUS_WID_Tags" / "All_Tags.txt").write_bytes(b"2124494179 sky\n174174086 caf\xe9\n")
    with pytest.raises(DataError, match=r"All_Tags\.txt, line 2 is not UTF-8 \(byte 0xe9\)"):
        read_nuswide(folder)


def test_a_wrong_folder_says_what_to_download(tmp_path: Path, folder: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for labels, fault in (
        ("tags5018", r"has no All_Tags\.txt of NUS-WIDE; download NUS_WID_Tags\.zip from http"),
        ("tags1k", r"has no AllTags1k\.txt of NUS-WIDE; download NUS_WID_Tags\.zip from http"),
        ("concepts81", r"has no files Labels_\*\.txt of NUS-WIDE; download Groundtruth\.zip from http"),
    ):
        with pytest.raises(DataError, match=fault):
            pairs(empty, labels=labels)
    with pytest.raises(DataError, match=r"has neither Imagelist\.txt nor All_Tags\.txt .* ImageList\.zip from http"):
        read_nuswide(folder / "Groundtruth", labels="concepts81")


def test_a_file_that_is_there_twice_is_not_guessed(folder: Path) -> None:
    copy = folder / "copy"
    copy.mkdir()
    (copy / "All_Tags.txt").write_text("1 sky\n")
    with pytest.raises(DataError, match="both exist; remove one of them"):
        read_nuswide(folder)


def test_a_concept_of_one_split_only_is_refused(folder: Path) -> None:
    for file in (folder / "Groundtruth" / "AllLabels").iterdir():
        file.unlink()
    (folder / "Groundtruth" / "TrainTestLabels" / "Labels_sun_Test.txt").unlink()
    with pytest.raises(DataError, match="has the concept sun of one split only"):
        read_nuswide(folder, labels="concepts81")


def test_a_split_list_that_does_not_fit_is_refused(folder: Path) -> None:
    (folder / "ImageList" / "TestImagelist.txt").write_text("actor\\0009_1.jpg\n")
    with pytest.raises(DataError, match=r"TestImagelist\.txt does not list images of .*Imagelist\.txt once each"):
        read_nuswide(folder, split="test")


def test_options_that_cannot_work_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="labels must be one of tags5018, tags1k, concepts81, got 'tags'"):
        pairs(folder, labels="tags")
    with pytest.raises(ConfigError, match="split must be one of train, test, got 'validation'"):
        pairs(folder, split="validation")


@pytest.mark.shared_data
def test_real_concepts_survive_the_published_form(shared_data: Path, tmp_path: Path) -> None:
    """The first 20,000 images of the real labels, written as the archives have them."""
    with gzip.open(shared_data / "nuswide81" / "split.tsv.gz", "rt", encoding="utf-8") as rows:
        images = [row.split("\t")[0] for row, _ in zip(rows, range(20_000), strict=False)]
    places = {image: place for place, image in enumerate(images)}
    columns: dict[str, bytearray] = {}
    expected = []
    with gzip.open(shared_data / "nuswide81" / "pairs.tsv.gz", "rt", encoding="utf-8") as rows:
        for row in rows:
            image, label = row.rstrip("\n").split("\t")
            column = columns.setdefault(label, bytearray(b"0\n" * len(images)))
            if image in places:
                column[2 * places[image]] = ord("1")
                expected.append((image, label))
    lines(
        tmp_path / "Imagelist.txt",
        (f"some_dir\\{n:04}_{image.partition('#')[0]}.jpg" for n, image in enumerate(images)),
    )
    for label, column in columns.items():
        (tmp_path / f"Labels_{label}.txt").write_bytes(column)
    assert len(columns) == 81
    assert pairs(tmp_path, labels="concepts81") == sorted(expected)
