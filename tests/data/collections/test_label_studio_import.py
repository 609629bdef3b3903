"""Files that were written are imported into a real Label Studio.

Label Studio's pins do not fit into this environment. The test uses the program that VSE_LABEL_STUDIO names, or that is
on the PATH:

    python -m venv /tmp/ls-venv && /tmp/ls-venv/bin/pip install label-studio
    VSE_LABEL_STUDIO=/tmp/ls-venv/bin/label-studio python -m pytest -m label_studio
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_label_studio import PROGRAM, Server, running
from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.label_studio import LabelStudioCollection

CONFIG = """
<View>
  <Image name="image" value="$image"/>
  <Choices name="choice" toName="image" choice="multiple">
    <Choice value="sea"/><Choice value="sand"/><Choice value="dog"/>
  </Choices>
  <RectangleLabels name="label" toName="image"><Label value="ball"/></RectangleLabels>
</View>
"""
FIRST, SECOND = "https://example.com/a.jpg", "https://example.com/b.jpg"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.label_studio,
    pytest.mark.skipif(PROGRAM is None, reason="Label Studio is not installed; see the top of this file"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("label-studio")) as started:
        yield started


def tasks() -> bytes:
    box = {"x": 1, "y": 1, "width": 5, "height": 5, "rotation": 0, "rectanglelabels": ["ball"]}
    results = [
        {"from_name": "choice", "to_name": "image", "type": "choices", "value": {"choices": ["sea"]}},
        {"from_name": "label", "to_name": "image", "type": "rectanglelabels", "value": box,
         "original_width": 10, "original_height": 10},
    ]  # fmt: skip
    return json.dumps(
        [{"data": {"image": FIRST}, "annotations": [{"result": results}]}, {"data": {"image": SECOND}}]
    ).encode()


def choices(results: list[dict[str, Any]]) -> list[str]:
    return [choice for one in results for choice in one["value"].get("choices", ())]


def test_an_export_with_new_labels_is_imported_with_them(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(server.export(server.project(CONFIG, tasks()), "JSON"))
    assert {item.image: item.labels for item in open_collection(path).items()} == {FIRST: ("sea", "ball"), SECOND: ()}
    edits = {FIRST: LabelEdit(("sand",), ("ball",)), SECOND: LabelEdit(("dog", "sea"))}
    (change,) = LabelStudioCollection(path).changes(edits)
    imported = server.tasks(server.project(CONFIG, change.after))
    shown = {task["data"]["image"]: task for task in imported}
    assert [choices(one["result"]) for one in shown[FIRST]["annotations"]] == [["sea", "sand"]]
    assert len(shown[FIRST]["annotations"][0]["result"]) == 1, "the box was to be removed"
    assert shown[SECOND]["annotations"] == []
    assert [choices(one["result"]) for one in shown[SECOND]["predictions"]] == [["dog", "sea"]]
    path.write_text(json.dumps(imported))
    assert {item.image: item.labels for item in open_collection(path).items()} == {
        FIRST: ("sea", "sand"),
        SECOND: ("dog", "sea"),
    }


def test_the_min_form_of_an_export_is_read_and_written(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "export-min.json"
    path.write_bytes(server.export(server.project(CONFIG, tasks()), "JSON_MIN"))
    (change,) = LabelStudioCollection(path).changes({FIRST: LabelEdit(("sand",)), SECOND: LabelEdit(("dog",))})
    path.write_bytes(change.after)
    assert {item.image: item.labels for item in open_collection(path).items()} == {
        FIRST: ("sea", "sand", "ball"),
        SECOND: ("dog",),
    }
