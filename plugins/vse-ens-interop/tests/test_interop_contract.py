"""The formats of this distribution pass the tests of every format."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.support import dataset_files as made
from tests.support.collection_samples import HASHES

from vse_ens.data.collections.testing import FormatContract

PAIRS = {"1": ["10", "20"], "2": ["10"]}
RATINGS = [("1", "10"), ("1", "20"), ("2", "10")]


class TestRecBole(FormatContract):
    name = "recbole"
    expected = PAIRS

    def make(self, folder: Path) -> Path:
        rows = ["user_id:token\titem_id:token", *("\t".join(row) for row in RATINGS)]
        (folder / "x.inter").write_text("\n".join(rows) + "\n")
        return folder / "x.inter"


class TestMovieLens(FormatContract):
    name = "movielens"
    expected = PAIRS
    read_written = {"label": "title"}  # noqa: RUF012

    def make(self, folder: Path) -> Path:
        (folder / "u.data").write_text("".join(f"{user}\t{film}\t4\t0\n" for user, film in RATINGS))
        return folder


class TestLensKit(FormatContract):
    name = "lenskit"
    expected = PAIRS

    def make(self, folder: Path) -> Path:
        for name, ids in (("user", ["1", "2"]), ("item", ["10", "20"])):
            pq.write_table(pa.table({f"{name}_id": ids}), folder / f"{name}.parquet")
        pq.write_table(pa.table({"user_num": [0, 0, 1], "item_num": [0, 1, 0]}), folder / "rating.parquet")
        relation = {"entities": {"user": None, "item": None}, "interaction": True}
        schema = {"entities": {"user": {}, "item": {}}, "relationships": {"rating": relation}}
        (folder / "schema.json").write_text(json.dumps(schema))
        return folder


class TestXmc(FormatContract):
    name = "xmc"
    expected = PAIRS

    def make(self, folder: Path) -> Path:
        (folder / "X_Y.txt").write_text("2 30\n10:1 20:1\n10:1\n")
        return folder / "X_Y.txt"


class TestCvat(FormatContract):
    name = "cvat"
    expected = made.IMAGES

    def make(self, folder: Path) -> Path:
        return made.cvat(folder, self.expected)


class TestImagefolder(FormatContract):
    name = "imagefolder"
    expected = made.IMAGES

    def make(self, folder: Path) -> Path:
        return made.imagefolder(folder, self.expected)


class TestHydrus(FormatContract):
    name = "hydrus"
    expected = HASHES

    def make(self, folder: Path) -> Path:
        return made.hydrus(folder, self.expected)


class TestVoc(FormatContract):
    name = "voc"
    expected = made.IMAGES

    def make(self, folder: Path) -> Path:
        return made.voc(folder, self.expected)


class TestYolo(FormatContract):
    name = "yolo"
    expected = {"images/train/a.jpg": ["beach", "sea"], "images/train/d/b.jpg": ["sea"]}  # noqa: RUF012

    def make(self, folder: Path) -> Path:
        return made.yolo(
            folder, {image.removeprefix("images/train/"): labels for image, labels in self.expected.items()}
        )
