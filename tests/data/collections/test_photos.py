from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.photos import MAKERS, jpeg, packet
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import LabelEdit, OpenOptions, photos, xmp
from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.folder import cache_folder
from vse_ens.data.collections.photos import PhotoFolder
from vse_ens.errors import DataError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "Pictures"
    (folder / "2024").mkdir(parents=True)
    (folder / "a.jpg").write_bytes(jpeg(packet(["beach", "sea"], ["place|beach"])))
    (folder / "2024" / "b.jpg").write_bytes(jpeg(packet(["sea"])))
    return folder


def labels(root: Path) -> dict[str, set[str]]:
    return {item.image: set(item.labels) for item in PhotoFolder(root).items()}


def faults(root: Path) -> dict[str, str]:
    folder = PhotoFolder(root)
    list(folder.items())
    return folder.faults


def changes(root: Path, **edits: LabelEdit) -> dict[str, FileChange]:
    wanted = {name.replace("__", "/").replace("_", "."): edit for name, edit in edits.items()}
    return {change.path.name: change for change in PhotoFolder(root).changes(wanted)}


# --- reading --------------------------------------------------------------------------------------------------------


def test_ids_are_paths_relative_to_the_root(root: Path) -> None:
    assert labels(root) == {"a.jpg": {"place|beach", "sea"}, "2024/b.jpg": {"sea"}}


def test_every_kind_of_image_is_read(tmp_path: Path) -> None:
    for suffix, make in MAKERS.items():
        (tmp_path / f"image.{suffix.upper()}").write_bytes(make(packet([f"in {suffix}"])))
    assert labels(tmp_path) == {f"image.{suffix.upper()}": {f"in {suffix}"} for suffix in MAKERS}


@pytest.mark.parametrize("name", ["a.jpg.xmp", "a.xmp", "a.XMP"])
def test_sidecars_of_both_names_are_read(root: Path, name: str) -> None:
    (root / name).write_bytes(packet(["sun"]))
    assert labels(root)["a.jpg"] == {"place|beach", "sea", "sun"}


def test_a_sidecar_of_a_raw_photograph_is_read(root: Path) -> None:
    (root / "c.cr3").write_bytes(b"\0\0\0\x18ftypcrx ")
    (root / "c.xmp").write_bytes(packet(["sun"]))
    assert labels(root)["c.cr3"] == {"sun"}


def test_sidecars_without_an_image_are_counted(root: Path) -> None:
    (root / "gone.jpg.xmp").write_bytes(packet(["sun"]))
    folder = PhotoFolder(root)
    assert len(list(folder.items())) == 2
    assert folder.notes == ["1 sidecar without an image left out"]


def test_an_image_without_keywords_has_no_labels(root: Path) -> None:
    (root / "c.jpg").write_bytes(jpeg())
    assert labels(root)["c.jpg"] == set()
    data = Annotations.read(root)
    assert "c.jpg" in data.images
    assert data.pairs == 3


def test_progress_counts_files_up_to_all_of_them(root: Path) -> None:
    (root / "a.xmp").write_bytes(packet(["sun"]))
    seen: list[tuple[int, int | None]] = []
    list(PhotoFolder(root).items(lambda done, total: seen.append((done, total))))
    assert seen[-1] == (3, 3)


# --- dirty folders --------------------------------------------------------------------------------------------------


def test_unreadable_files_are_listed_and_the_others_read(root: Path) -> None:
    whole = jpeg(packet(["sun"]))
    (root / "cut.jpg").write_bytes(whole[: whole.index(b"\xff\xdb") + 1])
    (root / "bad.xmp").write_bytes(b"<x subject")
    (root / "bad.jpg").write_bytes(jpeg(packet(["moon"])))
    (root / "empty.jpg").touch()
    found = labels(root)
    assert (found["cut.jpg"], found["bad.jpg"], found["empty.jpg"]) == ({"sun"}, {"moon"}, set())
    assert faults(root).keys() == {"cut.jpg", "bad.xmp", "empty.jpg"}
    data = Annotations.read(root)
    assert "3 files could not be read completely: bad.xmp (has XMP that is not well-formed XML" in data.notes[1]


def test_links_that_loop_and_pipes_end(root: Path) -> None:
    (root / "loop").symlink_to(root)
    (root / "2024" / "up").symlink_to(root.parent)
    (root.parent / "other.jpg").write_bytes(jpeg(packet(["not of this folder"])))
    (root / "1st link").symlink_to("2024")
    (root / "self").symlink_to("self")
    (root / "nowhere.jpg").symlink_to("nothing")
    os.mkfifo(root / "pipe.jpg")
    assert labels(root).keys() == {"a.jpg", "2024/b.jpg"}
    assert faults(root)["nowhere.jpg"] == "the link leads nowhere"


def test_a_linked_folder_outside_the_root_is_read_once(root: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.jpg").write_bytes(jpeg(packet(["sun"])))
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "more")
    assert labels(root).keys() == {"a.jpg", "2024/b.jpg", "one/c.jpg"}


def test_files_that_the_system_refuses_are_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = photos.read_metadata

    def refuse(path: str) -> object:
        if path.endswith("a.jpg"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(photos, "read_metadata", refuse)
    assert labels(root) == {"a.jpg": set(), "2024/b.jpg": {"sea"}}
    assert faults(root) == {"a.jpg": "permission denied"}


def test_a_name_that_is_not_utf8_is_listed(root: Path) -> None:
    (root / os.fsdecode(b"z\xff.jpg")).write_bytes(jpeg(packet(["sun"])))
    assert labels(root).keys() == {"a.jpg", "2024/b.jpg"}
    assert list(faults(root).values()) == ["the name is not UTF-8"]


def test_a_sidecar_of_100_mb_is_listed_and_not_read(root: Path) -> None:
    with (root / "a.jpg.xmp").open("wb") as file:
        file.truncate(100 << 20)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert faults(root) == {"a.jpg.xmp": "is larger than 32 MiB"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used < 80 << 10  # KiB


def test_hidden_files_are_left_out(root: Path) -> None:
    (root / ".trash").mkdir()
    (root / ".trash" / "c.jpg").write_bytes(jpeg(packet(["sun"])))
    (root / "._a.jpg").write_bytes(b"AppleDouble")
    assert labels(root).keys() == {"a.jpg", "2024/b.jpg"}


# --- the cache ------------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened."""
    names: list[str] = []
    real: Callable[[str], object] = photos.read_metadata

    def read(path: str) -> object:
        names.append(Path(path).name)
        return real(path)

    monkeypatch.setattr(photos, "read_metadata", read)
    return names


def test_a_second_read_opens_only_changed_files(root: Path, opened: list[str]) -> None:
    first = labels(root)
    assert sorted(opened) == ["a.jpg", "b.jpg"]
    opened.clear()
    assert labels(root) == first
    assert opened == []
    (root / "a.jpg").write_bytes(jpeg(packet(["another", "keyword"])))
    assert labels(root)["a.jpg"] == {"another", "keyword"}
    assert opened == ["a.jpg"]


def test_a_change_of_the_same_size_is_noticed_by_its_time(root: Path, opened: list[str]) -> None:
    labels(root)
    state = (root / "a.jpg").stat()
    (root / "a.jpg").write_bytes((root / "a.jpg").read_bytes().replace(b"beach", b"BEACH"))
    os.utime(root / "a.jpg", ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert labels(root)["a.jpg"] == {"place|BEACH", "sea"}


def test_a_file_that_is_gone_is_gone_from_a_cached_read(root: Path) -> None:
    labels(root)
    (root / "a.jpg").unlink()
    assert labels(root) == {"2024/b.jpg": {"sea"}}


def test_a_damaged_or_unwritable_cache_is_not_used(root: Path, opened: list[str]) -> None:
    first = labels(root)
    [file] = cache_folder().iterdir()
    file.write_bytes(b"not a database" * 100)
    assert labels(root) == first
    file.unlink()
    file.mkdir()
    assert labels(root) == first
    assert len(opened) == 6


def test_no_cache_is_written_if_it_is_not_wanted(root: Path) -> None:
    assert len(list(PhotoFolder(root, OpenOptions(cache=False)).items())) == 2
    assert not cache_folder().exists()


def test_a_read_that_stops_keeps_the_folders_that_were_read(root: Path, opened: list[str]) -> None:
    items = PhotoFolder(root).items()
    next(items)
    items.close()
    opened.clear()
    labels(root)
    assert "a.jpg" not in opened


# --- writing --------------------------------------------------------------------------------------------------------


def test_a_new_sidecar_has_all_labels_of_its_image(root: Path) -> None:
    [change] = changes(root, a_jpg=LabelEdit(add=("sun",))).values()
    assert (change.path, change.before) == (root / "a.jpg.xmp", None)
    change.path.write_bytes(change.after)
    assert labels(root)["a.jpg"] == {"place|beach", "sea", "sun"}
    (root / "a.jpg").write_bytes(jpeg())
    assert labels(root)["a.jpg"] == {"place|beach", "sea", "sun"}


def keywords_of(change: FileChange) -> tuple[list[str], ...]:
    found: xmp.Keywords = {}
    xmp.read_keywords(change.after, found)
    return tuple(found.get(one, []) for one in (xmp.SUBJECT, xmp.HIERARCHICAL, xmp.TAGS_LIST))


def test_a_new_sidecar_lists_flat_labels_in_all_three_lists(root: Path) -> None:
    [change] = changes(root, **{"2024__b_jpg": LabelEdit(add=("sun",))}).values()
    assert keywords_of(change) == (["sea", "sun"],) * 3


def test_a_new_sidecar_keeps_every_keyword_of_its_image(root: Path) -> None:
    flat = ["Architektur", "Deutschland", "Menschen", "Motive", "München", "Orte", "Stadt", "Straße"]
    paths = ["Motive|Architektur", "Motive|Stadt", "Motive|Straße", "Orte|Deutschland|München", "Menschen"]
    internal = "_Digikam_Internal_Tags_|Pick Label None"
    (root / "c.jpg").write_bytes(jpeg(packet(flat, [*paths, internal])))
    [change] = changes(root, c_jpg=LabelEdit(add=("Orte|Italien|Rom", "Nacht"))).values()
    added = [*paths, "Orte|Italien|Rom", "Nacht", internal]
    # The parents of new labels are flat keywords too, because those of the image are.
    wanted = [*flat, "Italien", "Rom", "Nacht"], added, [path.replace("|", "/") for path in added]
    assert keywords_of(change) == wanted


def test_parents_are_not_flat_keywords_unless_the_image_has_them(root: Path) -> None:
    [change] = changes(root, a_jpg=LabelEdit(add=("animal|dog",))).values()
    assert keywords_of(change)[0] == ["beach", "sea", "dog"]
    (root / "a.jpg.xmp").write_bytes(packet(["beach", "place"], ["place|beach"]))
    [change] = changes(root, a_jpg=LabelEdit(add=("animal|dog",))).values()
    assert keywords_of(change)[0] == ["beach", "place", "animal", "dog"]


def test_a_removed_label_is_not_in_a_new_sidecar(root: Path) -> None:
    [change] = changes(root, a_jpg=LabelEdit(add=("sun",), remove=("place|beach",))).values()
    assert keywords_of(change) == (["sea", "sun"],) * 3


def test_a_sidecar_without_keywords_gets_those_of_its_image(root: Path) -> None:
    (root / "a.jpg.xmp").write_bytes(
        packet(more="   <xmp:Rating xmlns:xmp='http://ns.adobe.com/xap/1.0/'>4</xmp:Rating>")
    )
    [change] = changes(root, a_jpg=LabelEdit(add=("sun",))).values()
    lists = ["place|beach", "sea", "sun"]
    assert keywords_of(change) == (["beach", "sea", "sun"], lists, ["place/beach", "sea", "sun"])
    assert b"<xmp:Rating" in change.after


def test_two_images_that_share_a_new_sidecar_keep_all_keywords(root: Path) -> None:
    (root / "2024" / "b.xmp").write_bytes(packet(["moon"]))  # so new sidecars are named so
    (root / "a.cr2").write_bytes(b"II*\0\x08\0\0\0\0\0\0\0\0\0")
    found = changes(root, a_jpg=LabelEdit(add=("sun",)), a_cr2=LabelEdit(add=("rain",)))
    assert set(keywords_of(found["a.xmp"])[1]) == {"place|beach", "sea", "sun", "rain"}


def test_a_keyword_with_a_slash_stays_one_label(root: Path) -> None:
    [change] = changes(root, a_jpg=LabelEdit(add=("24/7", "note|a/b"))).values()
    change.path.write_bytes(change.after)
    assert labels(root)["a.jpg"] == {"place|beach", "sea", "24/7", "note|a/b"}


def test_the_name_of_a_new_sidecar_follows_the_others(root: Path) -> None:
    (root / "2024" / "b.xmp").write_bytes(packet(["moon"]))
    assert changes(root, a_jpg=LabelEdit(add=("sun",))).keys() == {"a.xmp"}


def test_a_label_goes_to_every_list_that_a_sidecar_has(root: Path) -> None:
    before = packet(["moon"], ["moon"], ["moon"], ["moon"])
    (root / "2024" / "b.jpg.xmp").write_bytes(before)
    [change] = changes(root, **{"2024__b_jpg": LabelEdit(add=("place|sky",))}).values()
    assert change.after == packet(["moon", "sky"], ["moon", "place|sky"], ["moon", "place/sky"], ["moon", "place/sky"])


def test_a_label_is_removed_from_every_list_of_a_sidecar(root: Path) -> None:
    (root / "c.jpg").write_bytes(jpeg())
    full = packet(["moon", "place", "sky"], ["moon", "place|sky"], ["moon", "place/sky"], ["moon", "place/sky"])
    (root / "c.jpg.xmp").write_bytes(full)
    [change] = changes(root, c_jpg=LabelEdit(remove=("place|sky",))).values()
    assert change.after == packet(["moon"], ["moon"], ["moon"], ["moon"])


def test_a_label_inside_an_image_stays_and_is_told(root: Path) -> None:
    content = (root / "a.jpg").read_bytes()
    folder = PhotoFolder(root)
    assert list(folder.changes({"a.jpg": LabelEdit(remove=("sea",))})) == []
    assert "1 label could not be removed, because vse does not change image files" in folder.notes[0]
    assert (root / "a.jpg").read_bytes() == content


def test_labels_that_an_image_has_change_nothing(root: Path) -> None:
    assert changes(root, a_jpg=LabelEdit(add=("sea", "place|beach"), remove=("not there",))) == {}


def test_two_images_that_share_a_sidecar_are_written_once(root: Path) -> None:
    (root / "a.cr2").write_bytes(b"II*\0\x08\0\0\0\0\0\0\0\0\0")
    (root / "a.xmp").write_bytes(packet(["moon"]))
    found = changes(root, a_jpg=LabelEdit(add=("sun",)), a_cr2=LabelEdit(add=("rain",)))
    assert found.keys() == {"a.xmp"}
    (root / "a.xmp").write_bytes(found["a.xmp"].after)
    assert labels(root)["a.jpg"] >= {"moon", "sun", "rain"}


def test_unchangeable_sidecar_is_listed_and_others_written(root: Path) -> None:
    (root / "a.jpg.xmp").write_bytes(b"<broken")
    folder = PhotoFolder(root)
    edits = {"a.jpg": LabelEdit(add=("sun",)), "2024/b.jpg": LabelEdit(add=("sun",))}
    assert [change.path.name for change in folder.changes(edits)] == ["b.jpg.xmp"]
    assert folder.faults["a.jpg.xmp"].endswith("not changed")


def test_unknown_images_and_labels_xml_cannot_hold_are_errors(root: Path) -> None:
    with pytest.raises(DataError, match=r"has no image 'gone\.jpg'"):
        changes(root, gone_jpg=LabelEdit(add=("sun",)))
    with pytest.raises(DataError, match=r"label 'a\\x07' has a character that XMP cannot hold"):
        changes(root, a_jpg=LabelEdit(add=("a\a",)))
