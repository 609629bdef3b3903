from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.photos import jpeg, packet
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import open_collection
from vse_ens.data.collections.detect import Glance, find_collection
from vse_ens.errors import ConfigError, DataError


def images(folder: Path, *names: str, content: bytes = b"") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def test_photos_are_recognized_by_a_keyword_or_a_sidecar(tmp_path: Path) -> None:
    images(tmp_path / "one", "2020/a.jpg", content=jpeg(packet(["sea"])))
    images(tmp_path / "two", "a.jpg", "a.jpg.xmp")
    assert open_collection(tmp_path / "one").format == "photos"
    assert open_collection(tmp_path / "two").format == "photos"


@pytest.mark.parametrize(
    ("text", "is_tags"),
    [
        ("1girl, solo, long hair", True),
        ("solo", True),
        ("0 0.5 0.5 0.1 0.2\n3 0.1 0.2 0.3 0.4\n", False),
        ("a photo of a woman who stands in front of a large window and looks at the camera", False),
    ],
    ids=["tags", "one tag", "boxes", "caption"],
)
def test_files_of_tags_are_recognized_by_what_they_hold(tmp_path: Path, text: str, is_tags: bool) -> None:
    images(tmp_path, "a.png", "b.png")
    (tmp_path / "a.txt").write_text(text)
    from vse_ens.data.collections import txt_tags

    assert txt_tags.detect(Glance(tmp_path)) is is_tags


def test_images_without_keywords_are_told_and_can_be_forced(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", content=jpeg())
    with pytest.raises(
        DataError, match="a sample of them has no keywords and no files of tags; add some, or set --format photos"
    ):
        find_collection(tmp_path)
    assert open_collection(tmp_path, "photos").format == "photos"


def test_a_folder_of_parquet_files_is_no_collection(tmp_path: Path) -> None:
    images(tmp_path, "part-0.parquet", "part-1.parquet")
    assert find_collection(tmp_path) is None


def test_a_file_of_pairs_is_no_collection(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("image,label\na,sea\n")
    assert find_collection(tmp_path / "pairs.csv") is None


def test_an_unknown_format_is_refused_with_the_names_of_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"format must be one of csv, .*photos.*, got 'foto'"):
        Annotations.read(tmp_path, format="foto")


def test_a_file_is_not_a_folder_of_photos(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    with pytest.raises(DataError, match=r"a\.jpg is not a folder; name a folder of images"):
        open_collection(tmp_path / "a.jpg", "photos")
    with pytest.raises(DataError, match="does not exist"):
        open_collection(tmp_path / "gone")


def test_a_glance_sees_upper_folders_first_and_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vse_ens.data.collections.detect._NAMES", 3)
    images(tmp_path, "deep/down/c.jpg", "a.jpg", "b.jpg", "deep/d.jpg")
    assert Glance(tmp_path).names == {"a.jpg", "b.jpg", "deep/d.jpg"}
