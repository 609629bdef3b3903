from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.service.pictures.conftest import save
from vse_ens.service.errors import ApiError
from vse_ens.service.pictures import folder as folder_module
from vse_ens.service.pictures.folder import PictureFolder


def test_files_are_found_by_any_path_and_without_their_suffix(folder: Path) -> None:
    pictures = PictureFolder(folder)
    for location in ("red.jpg", "./red.jpg", "sub/blue.png", "stem", str(folder / "red.jpg")):
        with pictures.open(location) as file:
            assert len(file.read()) > 100


def test_a_moved_folder_has_the_files_of_absolute_locations(folder: Path) -> None:
    with PictureFolder(folder, "/home/else/photos").open("/home/else/photos/sub/blue.png") as file:
        assert file.read(4) == b"\x89PNG"


@pytest.mark.parametrize(
    "location",
    ["../outside.jpg", "sub/../red.jpg", "..", "", "red.jpg\0.png", "/etc/passwd", "/", "sub/../../outside.jpg"],
)
def test_nothing_outside_the_folder_is_opened(folder: Path, location: str) -> None:
    with pytest.raises(ApiError) as refused:
        PictureFolder(folder).open(location)
    assert refused.value.status == 404


def test_links_that_lead_out_are_refused_and_others_are_followed(folder: Path) -> None:
    (folder / "out.jpg").symlink_to(folder.parent / "outside.jpg")
    (folder / "outdir").symlink_to(folder.parent)
    (folder / "inside.jpg").symlink_to(folder / "red.jpg")
    (folder / "loop.jpg").symlink_to(folder / "loop.jpg")
    pictures = PictureFolder(folder)
    for location in ("out.jpg", "outdir/outside.jpg", "loop.jpg"):
        with pytest.raises(ApiError) as refused:
            pictures.open(location)
        assert refused.value.status == 404
    pictures.open("inside.jpg").close()


def test_a_root_that_is_a_link_is_followed(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    PictureFolder(folder.parent / "link").open("red.jpg").close()


def test_a_folder_exchanged_for_a_link_late_is_not_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    save(elsewhere / "blue.png", "white", (10, 10))
    is_inside = folder_module._is_inside

    def exchange(path: str, root: str) -> bool:
        inside = is_inside(path, root)
        (folder / "sub").rename(folder / "old")
        (folder / "sub").symlink_to(elsewhere)
        return inside

    monkeypatch.setattr(folder_module, "_is_inside", exchange)
    with pytest.raises(ApiError, match="cannot be opened"):
        PictureFolder(folder).open("sub/blue.png")


def test_only_regular_files_are_opened_and_a_pipe_does_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jpg")
    pictures = PictureFolder(folder)
    for location in ("pipe.jpg", "sub", "."):
        with pytest.raises(ApiError) as refused:
            pictures.open(location)
        assert refused.value.status == 404


def test_an_endless_name_is_an_answer(folder: Path) -> None:
    with pytest.raises(ApiError, match="cannot be opened: File name too long"):
        PictureFolder(folder).open("x" * 900)
