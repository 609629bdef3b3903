"""Files that we write, read by the libraries they are for; skipped where those are not installed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.io.write import write_as

PAIRS = [("i1", "sea"), ("i1", "sand"), ("i2", "sea"), ("i3", "blue sky"), ("i3", "sand"), ("i3", "sea")]


@pytest.fixture
def data() -> Annotations:
    return Annotations.from_pairs(PAIRS)


def test_lenskit_reads_its_data_set(data: Annotations, tmp_path: Path) -> None:
    lenskit = pytest.importorskip("lenskit.data", reason="lenskit is not installed: pip install lenskit")
    write_as(tmp_path / "out", data, "lenskit")
    read = lenskit.Dataset.load(tmp_path / "out")
    table = read.interactions().pandas(ids=True)
    assert sorted(zip(table["user_id"], table["item_id"], strict=True)) == sorted(PAIRS)


RECBOLE = """
import json, sys
from recbole.config import Config
from recbole.data import create_dataset
columns = {"inter": ["user_id", "item_id"]}
read = create_dataset(Config(model="BPR", dataset="out", config_dict={"data_path": sys.argv[1], "load_col": columns}))
users, items = (read.field2id_token[name] for name in ("user_id", "item_id"))
table = read.inter_feat
print(json.dumps([*zip(users[table["user_id"].to_numpy()].tolist(), items[table["item_id"].to_numpy()].tolist())]))
"""


def test_recbole_reads_its_atomic_file(data: Annotations, tmp_path: Path) -> None:
    """RecBole 1.2 needs NumPy 1 and has an environment of its own."""
    python = os.environ.get("VSE_ENS_RECBOLE_PYTHON")
    if not python:
        pytest.skip("VSE_ENS_RECBOLE_PYTHON does not name the Python of an environment with recbole and torch")
    write_as(tmp_path / "out", data, "recbole")
    done = subprocess.run([python, "-c", RECBOLE, str(tmp_path)], check=True, stdout=subprocess.PIPE, cwd=tmp_path)
    assert sorted(map(tuple, json.loads(done.stdout.splitlines()[-1]))) == sorted(PAIRS)
