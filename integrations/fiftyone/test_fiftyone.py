"""The operators, run by FiftyOne on a dataset of its own; what they compute is tested without FiftyOne too."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from vse_ens.errors import VseError

PLUGIN = Path(__file__).with_name("vse_ens_plugin")
# Every fifth image lacks "sand", which all others by the sea have; image 1 has a label that does not suit it.
LABELS = {
    f"{number}": (["sea", "beach", "boat"] + (["sand"] if number % 5 else []))
    if number % 2 == 0
    else ["street", "car", "house", "shop"]
    for number in range(200)
}
LABELS["1"] = [*LABELS["1"], "boat"]
LABELS["bare"] = []


@pytest.fixture(scope="module")
def core() -> Any:
    sys.path.insert(0, str(PLUGIN))
    try:
        return importlib.import_module("core")
    finally:
        sys.path.remove(str(PLUGIN))


def test_suggestions_are_labels_that_samples_lack(core: Any) -> None:
    found = core.suggest(LABELS, top=1, min_confidence=0.1)
    assert found["10"][0][0] == "sand"
    assert "bare" not in found
    assert all(len(labels) == 1 for labels in found.values())
    with pytest.raises(VseError, match="no sample has a label in this field"):
        core.suggest({"a": [], "b": []}, top=1, min_confidence=0)


def test_findings_are_grouped_by_sample(core: Any) -> None:
    found = core.audit(LABELS, top=10)
    assert found.wrong["1"][0][0] == "boat"
    assert {label for labels in found.missing.values() for label, _ in labels} >= {"sand"}
    assert sum(map(len, found.missing.values())) <= 10


@pytest.fixture(scope="module")
def fiftyone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """FiftyOne with this plug-in. Its database must be running, or be started by it; see README.md."""
    fo = pytest.importorskip("fiftyone", reason="FiftyOne is not installed; README.md says how to test with it")
    folder = tmp_path_factory.mktemp("plugins")
    shutil.copytree(PLUGIN, folder / "vse-ens")
    fo.config.plugins_dir = str(folder)
    return fo


@pytest.fixture
def dataset(fiftyone: Any) -> Any:
    dataset = fiftyone.Dataset()
    samples = []
    for name, labels in LABELS.items():
        found = [fiftyone.Classification(label=label) for label in labels]
        samples.append(fiftyone.Sample(f"/{name}.jpg", truth=fiftyone.Classifications(classifications=found)))
        samples[-1].tags = labels
        samples[-1]["one"] = fiftyone.Classification(label="sea")
    dataset.add_samples(samples)
    yield dataset
    dataset.delete()


def run(operator: str, dataset: Any, **parameters: Any) -> Any:
    import fiftyone.operators as foo

    return foo.execute_operator(f"@vse-ens/vse-ens/{operator}", ctx={"dataset": dataset, "params": parameters})


def shown(dataset: Any, name: str, field: str) -> list[str]:
    labels = dataset[f"/{name}.jpg"][field]
    return [] if labels is None else [one.label for one in labels.classifications]


@pytest.mark.parametrize("field", ["truth", "tags"])
def test_suggest_writes_a_field(dataset: Any, field: str) -> None:
    done = run("suggest", dataset, field=field, top=1, min_confidence=0.1)
    assert done.result["summary"].endswith("of 201 samples; 1 samples without a label were left out")
    assert shown(dataset, "10", "vse_suggested") == ["sand"]
    assert 0.1 <= dataset["/10.jpg"].vse_suggested.classifications[0].confidence <= 1
    assert shown(dataset, "bare", "vse_suggested") == []
    assert shown(dataset, "10", "truth") == LABELS["10"]
    run("suggest", dataset, field=field, top=1, min_confidence=1.0)  # older suggestions are overwritten
    assert shown(dataset, "10", "vse_suggested") == []


def test_audit_writes_two_fields_of_the_view(dataset: Any) -> None:
    done = run("audit", dataset, field="truth", top=10)
    assert "labels may be wrong and 10 missing" in done.result["summary"]
    assert shown(dataset, "1", "vse_wrong") == ["boat"]
    assert dataset.exists("vse_missing").count("vse_missing.classifications") == 10


def test_mistakes_have_messages(dataset: Any) -> None:
    for parameters, message in (
        ({"field": "one"}, "Path: field. Reason: Invalid enum value"),
        ({"field": "truth", "suggested": "truth"}, "truth has other data; choose another field for suggested labels"),
        ({"field": "truth", "suggested": "tags"}, "tags has other data; choose another field for suggested labels"),
    ):
        with pytest.raises(Exception, match=message):
            run("suggest", dataset, **parameters)


def test_the_form_offers_fields_with_several_labels(dataset: Any, fiftyone: Any) -> None:
    import fiftyone.operators as foo

    operator = foo.get_operator("@vse-ens/vse-ens/suggest")
    context = foo.ExecutionContext({"dataset_name": dataset.name, "params": {}})
    form = operator.resolve_input(context).to_json()["type"]["properties"]
    assert form["field"]["type"]["values"] == ["tags", "truth"]
    assert form["field"]["default"] == "truth"
    assert [form[name]["default"] for name in ("suggested", "top", "min_confidence")] == ["vse_suggested", 5, 0.3]
