"""Photos of one folder, day or hour have similar features."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.photos import jpeg, packet
from vse_ens.data.features import group_features, nearby_features
from vse_ens.data.features.nearby import time_taken

XMP_DATE = '   <xmp:CreateDate xmlns:xmp="http://ns.adobe.com/xap/1.0/">2021-05-04T03:02:01+02:00</xmp:CreateDate>\n'


def photo(path: Path, *stamps: tuple[int, str]) -> Path:
    """A JPEG with times in Exif, by the number of the tag."""
    exif = Image.Exif()
    for tag, text in stamps:
        (exif if tag == 0x0132 else exif.get_ifd(0x8769))[tag] = text
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(path, exif=exif)
    return path


@pytest.mark.parametrize(
    ("name", "stamps", "taken"),
    [
        ("a.jpg", ((0x0132, "2024:01:02 10:00:00"), (0x9003, "2023:10:25 12:03:01")), datetime(2023, 10, 25, 12, 3)),
        ("a.jpg", ((0x9003, "2023:13:25 12:03:01"),), None),
        ("a.jpg", ((0x9003, "0000:00:00 00:00:00"),), None),
        ("IMG_20231025_120301.jpg", (), datetime(2023, 10, 25, 12, 3)),
        ("PXL_20231025_120301123.MP.jpg", (), datetime(2023, 10, 25, 12, 3)),
        ("2023-10-25 12.03.01.jpg", (), datetime(2023, 10, 25, 12, 3)),
        ("12345678901234.jpg", (), None),
    ],
)
def test_time_is_the_earliest_in_the_file_or_its_name(
    tmp_path: Path, name: str, stamps: tuple[tuple[int, str], ...], taken: datetime | None
) -> None:
    assert time_taken(str(photo(tmp_path / name, *stamps))) == taken


def test_time_is_read_from_xmp_and_missing_files_have_none(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg(packet(["sea"], more=XMP_DATE)))
    assert time_taken(str(tmp_path / "a.jpg")) == datetime(2021, 5, 4, 3, 2)
    assert time_taken(str(tmp_path / "gone.jpg")) is None


def test_similarity_is_what_photos_share(tmp_path: Path) -> None:
    times = {
        "trip/a.jpg": "2023:10:25 11:55:00",
        "trip/b.jpg": "2023:10:25 11:05:00",  # the same hour
        "trip/c.jpg": "2023:10:25 12:10:00",  # the next hour, but half an hour later
        "trip/d.jpg": "2023:10:25 18:00:00",  # the same day
        "trip/e.jpg": "2023:10:26 11:55:00",  # the same folder
        "home/f.jpg": "2023:10:26 18:00:00",
    }
    paths = {name: str(photo(tmp_path / name, (0x9003, time))) for name, time in times.items()}
    table = nearby_features(paths)
    assert list(table.images) == sorted(times)
    rows = dict(zip(table.images, table.matrix, strict=True))
    # Signs of different groups agree by chance: blocks are compared as a whole.
    blocks = {name: row.reshape(4, -1) for name, row in rows.items()}
    shared = {
        name: [bool((one == two).all()) for one, two in zip(blocks["trip/a.jpg"], blocks[name], strict=True)]
        for name in blocks
    }
    assert shared == {
        "trip/a.jpg": [True, True, True, True],
        "trip/b.jpg": [True, True, True, False],
        "trip/c.jpg": [True, True, False, True],
        "trip/d.jpg": [True, True, False, False],
        "trip/e.jpg": [True, False, False, False],
        "home/f.jpg": [False, False, False, False],
    }


def test_groups_do_not_depend_on_the_other_images() -> None:
    all_images = group_features({"b": ["x", None], "a": ["x", "y"]})
    assert all_images.matrix.tolist() == [
        *group_features({"a": ["x", "y"]}).matrix.tolist(),
        *group_features({"b": ["x", None]}).matrix.tolist(),
    ]
    a, b = all_images.matrix.reshape(2, 2, -1)
    assert (a[0] == b[0]).all()
    assert set(np.unique(a)) == {-1.0, 1.0}
    assert not b[1].any()
    # One name means different groups in different places.
    assert (group_features({"a": ["x", "x"]}).matrix.reshape(2, -1)[0] == a[0]).all()
    assert (group_features({"a": ["x", "x"]}).matrix.reshape(2, -1)[1] != a[0]).any()
