"""Models on the Hub, with the real client library and a stand-in of the Hub on this machine."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.support.hub_stand_in import TOKEN, HubStandIn, Repo, hub_stand_in, use_hub
from tests.support.saved_models import random_annotator
from tests.support.shell import run_here
from tests.support.stored_models import contents
from tests.test_docs import blocks, run_console, run_python
from vse_ens import Annotator
from vse_ens.data.collections.pictures import Pictures
from vse_ens.errors import ConfigError, DataError, HubError, ModelError
from vse_ens.export.hub import CardFacts, download, pull, push, read_metrics
from vse_ens.model.store import MODEL

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed"),
    # huggingface_hub 2.4 uploads a file in a way that its HTTP library calls outdated.
    pytest.mark.filterwarnings("ignore:Use 'content=<:DeprecationWarning"),
]

REPO = "ann/holiday"
PAGE = Path(__file__).parents[2] / "docs" / "hub.md"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hub") / "model"
    annotator = random_annotator("context with weights", images=30, labels=12)
    annotator.validation_ = {"recall@10": 0.66712345678, "map": 0.39}
    annotator.save(path)
    return path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubStandIn]:
    with hub_stand_in() as running:
        use_hub(monkeypatch, running.url, str(tmp_path / "cache"))
        yield running


def header(hub: HubStandIn) -> Any:
    return yaml.safe_load(hub.files(REPO)["README.md"].decode().split("---\n")[1])


def test_a_model_comes_back_byte_for_byte(hub: HubStandIn, model: Path, tmp_path: Path) -> None:
    pushed = push(model, REPO)
    assert pushed.url == f"{hub.url}/{REPO}/commit/{pushed.commit}"
    assert pushed.files == len(MODEL.files) + 1
    pull(REPO, tmp_path / "pulled")
    assert contents(tmp_path / "pulled") == contents(model)
    assert pushed.size == sum(map(len, contents(model).values())) + len(hub.files(REPO)["README.md"])


def test_from_pretrained_is_the_same_model(hub: HubStandIn, model: Path) -> None:
    push(model, REPO)
    ours, theirs = Annotator.load(model), Annotator.from_pretrained(REPO)
    np.testing.assert_array_equal(theirs.embeddings_.label_vectors, ours.embeddings_.label_vectors)
    assert theirs.known_ == ours.known_
    assert theirs.get_params() == ours.get_params()


def test_one_commit_has_the_model_and_a_page(hub: HubStandIn, model: Path) -> None:
    push(model, REPO, message="First model")
    assert hub.repos[REPO].messages == ["initial commit", "First model"]
    files = hub.files(REPO)
    assert {name for name in files if name.startswith("model/")} == {f"model/{name}" for name in MODEL.files}
    page = files["README.md"].decode()
    assert f'Annotator.from_pretrained("{REPO}")' in page
    assert "Annotator.load(" not in page


def test_the_page_has_metadata(hub: HubStandIn, model: Path) -> None:
    push(model, REPO, facts=CardFacts("cc-by-4.0", "ann/beaches", ("photos",)))
    found = header(hub)
    assert found["library_name"] == "vse-ens"
    assert found["license"] == "cc-by-4.0"
    assert found["datasets"] == ["ann/beaches"]
    assert {"vse-ens", "image-annotation", "context", "photos"} <= set(found["tags"])
    (entry,) = found["model-index"]
    assert entry["name"] == "holiday"
    (result,) = entry["results"]
    assert result["dataset"] == {"name": "ann/beaches", "type": "ann/beaches", "split": "validation"}
    assert {one["type"]: one["value"] for one in result["metrics"]} == {"recall@10": 0.667123, "map": 0.39}


def test_the_client_library_reads_the_metadata(hub: HubStandIn, model: Path) -> None:
    from huggingface_hub import ModelCard

    push(model, REPO)
    card = ModelCard(hub.files(REPO)["README.md"].decode())
    assert {result.metric_value for result in card.data.eval_results or []} == {0.667123, 0.39}


def test_no_license_and_no_data_set_unless_given(hub: HubStandIn, model: Path) -> None:
    push(model, REPO)
    assert not {"license", "datasets"} & header(hub).keys()


def test_a_model_without_metrics_has_none(hub: HubStandIn, tmp_path: Path) -> None:
    random_annotator("id", images=30, labels=12).save(tmp_path / "model")
    push(tmp_path / "model", REPO)
    assert not {"model-index", "metrics", "model_name"} & header(hub).keys()


def test_metrics_of_a_test_set(hub: HubStandIn, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps({"images": 3, "metrics": {"recall@10": 0.5}}))
    push(model, REPO, facts=CardFacts(metrics=read_metrics(file)))
    (result,) = header(hub)["model-index"][0]["results"]
    assert result["dataset"]["split"] == "test"
    assert [(one["type"], one["value"]) for one in result["metrics"]] == [("recall@10", 0.5)]


@pytest.mark.parametrize("content", ["[]", "{}", "not json", '{"metrics": {"map": "high"}}', "[" * 100_000])
def test_a_file_without_metrics(content: str, tmp_path: Path) -> None:
    (tmp_path / "evaluation.json").write_text(content)
    with pytest.raises(DataError, match=r"evaluation\.json has no metrics; give it the output of vse evaluate --json"):
        read_metrics(tmp_path / "evaluation.json")


def test_an_edited_page_does_no_harm(hub: HubStandIn, model: Path, tmp_path: Path) -> None:
    push(model, REPO)
    hub.files(REPO)["README.md"] = b"# My holiday\n"
    pull(REPO, tmp_path / "pulled")
    assert contents(tmp_path / "pulled") == contents(model)


def test_where_the_pictures_are_stays_here(hub: HubStandIn, tmp_path: Path) -> None:
    annotator = random_annotator("context", images=30, labels=12)
    known = replace(annotator.known_, pictures=Pictures("/home/ann/Pictures", "photos", {}))
    annotator.loaded_ = replace(annotator.loaded_, known=known)
    annotator.save(tmp_path / "model")
    push(tmp_path / "model", REPO)
    assert b"/home/ann" in (tmp_path / "model" / "model.json").read_bytes()
    assert not any(b"/home/ann" in content for content in hub.files(REPO).values())
    assert Annotator.from_pretrained(REPO).known_.pictures is None


def test_a_model_in_memory_is_pushed(hub: HubStandIn, model: Path) -> None:
    annotator = random_annotator("context", images=30, labels=12)
    annotator.push_to_hub(REPO, private=True, license="mit")
    assert hub.repos[REPO].private
    assert header(hub)["license"] == "mit"
    assert not hasattr(annotator, "_saved")


def test_a_second_push_adds_a_commit(hub: HubStandIn, model: Path, tmp_path: Path) -> None:
    first = push(model, REPO)
    other = random_annotator("id", images=20, labels=9)
    other.save(tmp_path / "other")
    second = push(tmp_path / "other", REPO)
    assert first.commit != second.commit
    assert len(Annotator.from_pretrained(REPO).known_.images) == len(other.known_.images)
    assert len(Annotator.from_pretrained(REPO, revision=first.commit).known_.images) == 30


def test_a_branch_is_made(hub: HubStandIn, model: Path) -> None:
    push(model, REPO, revision="trial")
    assert "model/model.json" not in hub.files(REPO)
    assert len(Annotator.from_pretrained(REPO, revision="trial").known_.images) == 30
    push(model, REPO, revision="trial")


def test_the_cache_is_enough_without_a_network(
    hub: HubStandIn, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(model, REPO)
    download(REPO)
    use_hub(monkeypatch, "http://127.0.0.1:9", str(tmp_path / "cache"))  # nothing listens there
    assert len(Annotator.from_pretrained(REPO).known_.images) == 30


def test_offline_mode_asks_nobody(
    hub: HubStandIn, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    push(model, REPO)
    download(REPO)
    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    pull(REPO, tmp_path / "pulled")
    assert contents(tmp_path / "pulled") == contents(model)
    with pytest.raises(HubError, match="ann/other is not in the cache, and HF_HUB_OFFLINE forbids to download it"):
        download("ann/other")
    assert hub.requests == []


def test_a_cached_model_is_not_downloaded_again(hub: HubStandIn, model: Path) -> None:
    push(model, REPO)
    download(REPO)
    hub.requests.clear()
    download(REPO)
    assert [request for request in hub.requests if "/cdn/" in request] == []


def test_a_damaged_cache_is_repaired(hub: HubStandIn, model: Path) -> None:
    push(model, REPO)
    file = download(REPO) / "arrays.safetensors"
    content = bytearray(file.read_bytes())
    content[-3] ^= 4
    file.resolve().write_bytes(content)
    assert len(Annotator.from_pretrained(REPO).known_.images) == 30


def test_a_damaged_repository(hub: HubStandIn, model: Path, tmp_path: Path) -> None:
    push(model, REPO)
    hub.flip(REPO, "model/arrays.safetensors")
    fault = r"the model of ann/holiday on the Hub is damaged \(.*arrays\.safetensors is damaged: its contents are not"
    with pytest.raises(ModelError, match=fault):
        pull(REPO, tmp_path / "pulled")
    assert not (tmp_path / "pulled").exists()


def test_a_file_is_missing(hub: HubStandIn, model: Path) -> None:
    push(model, REPO)
    del hub.files(REPO)["model/labels.arrow"]
    with pytest.raises(ModelError, match=r"ann/holiday on the Hub is damaged \(.*labels\.arrow is missing"):
        download(REPO)


def test_a_damaged_model_is_not_pushed(hub: HubStandIn, model: Path, tmp_path: Path) -> None:
    Annotator.load(model).save(tmp_path / "model")
    with (tmp_path / "model" / "arrays.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    with pytest.raises(ModelError, match=r"arrays\.safetensors is damaged"):
        push(tmp_path / "model", REPO)
    assert hub.requests == []


def other_repository(hub: HubStandIn) -> None:
    hub.repos["ann/bert"] = repo = Repo()
    repo.commit("main", {"config.json": b"{}", "pytorch_model.bin": b"\x80\x04."}, "")


def test_a_repository_of_something_else(hub: HubStandIn) -> None:
    other_repository(hub)
    with pytest.raises(HubError, match=r"ann/bert on the Hub is not a model of vse-ens: it has no model/model\.json"):
        download("ann/bert")
    assert not any("pytorch_model" in request for request in hub.requests)


def test_nothing_else_of_a_repository_is_downloaded(hub: HubStandIn, model: Path) -> None:
    push(model, REPO)
    hub.files(REPO)["model/evil.pkl"] = b"\x80\x04."
    assert {file.name for file in download(REPO).iterdir()} == MODEL.files


def refuse(status: int) -> Callable[[HubStandIn], None]:
    return lambda hub: setattr(hub, "status", status)


@pytest.mark.parametrize(
    ("repo", "revision", "prepare", "message"),
    [
        ("ann/none", None, other_repository, "the repository ann/none does not exist, or is private; check the name"),
        ("ann/bert", "v9", other_repository, "the repository ann/bert has no revision 'v9'; name a branch, a tag or"),
        ("ann/none", None, refuse(503), r"the Hub cannot be reached for ann/none \(.*\); check the network"),
    ],
)
def test_failed_downloads_are_errors_in_one_line(
    hub: HubStandIn, repo: str, revision: str | None, prepare: Callable[[HubStandIn], None], message: str
) -> None:
    prepare(hub)
    with pytest.raises(HubError, match=message) as caught:
        download(repo, revision)
    assert "\n" not in str(caught.value)


def test_a_private_repository_needs_a_token(
    hub: HubStandIn, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(model, REPO, private=True)
    use_hub(monkeypatch, hub.url, str(tmp_path / "other"), token=None)
    with pytest.raises(HubError, match="ann/holiday does not exist, or is private; check the name, or log in with hf"):
        download(REPO)


def test_no_network(hub: HubStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    use_hub(monkeypatch, "http://127.0.0.1:9", str(tmp_path / "cache"))
    with pytest.raises(HubError, match=r"the Hub cannot be reached for ann/holiday \(.*\); check the network, or HF_"):
        download(REPO)
    with pytest.raises(HubError, match=r"the Hub cannot be reached for ann/holiday \(.*\); check the network, or HF_"):
        push(model, REPO)


def test_no_token(hub: HubStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    use_hub(monkeypatch, hub.url, str(tmp_path / "cache"), token=None)
    with pytest.raises(HubError, match="pushing to the Hub needs a token; run hf auth login, or set HF_TOKEN"):
        push(model, REPO)
    assert hub.requests == []


def test_a_wrong_token(hub: HubStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    use_hub(monkeypatch, hub.url, str(tmp_path / "cache"), token="hf_wrong")
    with pytest.raises(HubError, match=r"ann/holiday is not open to your token \(Invalid username or password\)"):
        push(model, REPO)


def test_the_namespace_of_somebody_else(hub: HubStandIn, model: Path) -> None:
    with pytest.raises(HubError, match=r"bob/holiday is not open to your token \(You don't have the rights"):
        push(model, "bob/holiday")


@pytest.mark.parametrize("repo", ["a/b/c", "ann/ho--liday", "", "ann/holi day"])
def test_a_name_that_cannot_be(hub: HubStandIn, model: Path, repo: str) -> None:
    with pytest.raises(ConfigError, match="is not the name of a repository; write it as USER/NAME"):
        push(model, repo)
    with pytest.raises(ConfigError, match="is not the name of a repository; write it as USER/NAME"):
        download(repo)


@pytest.mark.docs
def test_code_on_the_page_runs(
    hub: HubStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_environment: dict[str, str]
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if block.language == "console":
            run_console(block, folder, plain_environment | {"HF_TOKEN": TOKEN}, run_here)
        elif block.language == "python":
            run_python(block, names)
    assert set(hub.repos) == {"ann/holiday", "ann/holiday-2"}
