"""Hydrus: pictures by their hash, and answers of its API; tests/data/collections/test_catalogs.py has its databases."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import dataset_files as made

from vse_ens.data.collections import open_collection


def test_hydrus_pictures_are_found_by_their_hash(tmp_path: Path) -> None:
    made.hydrus(tmp_path, {"0a" * 32: ["solo"]})
    items = list(open_collection(tmp_path / "client.db").items())
    assert items[0].picture == f"client_files/f0a/{'0a' * 32}.jpg"


def test_an_answer_of_hydrus_api_is_read(tmp_path: Path) -> None:
    services = {
        "6c": {"name": "my tags", "type": 5, "storage_tags": {"0": ["character:alice", "solo"], "2": ["deleted"]}},
        "61": {"name": "all known tags", "type": 10, "storage_tags": {"0": ["everything"]}},
    }
    answer = {"metadata": [{"file_id": 1, "hash": "0a" * 32, "tags": services}, {"file_id": 2}], "version": 64}
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(answer))
    collection = open_collection(path)
    assert collection.format == "hydrus"
    assert [tuple(item) for item in collection.items()] == [("0a" * 32, ("character:alice", "solo"), None)]
    assert collection.notes == ["skipped 1 file without a hash or with one that occurred before"]
