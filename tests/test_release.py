"""The files of a release agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from vse_ens import __version__

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def versions(name: str) -> dict[str, str]:
    """The pinned versions of a file, by normalised name."""
    return {re.sub("[-_.]+", "-", package).lower(): version for package, version in PINNED.findall(read(name))}


def test_the_version_is_the_same_everywhere() -> None:
    assert re.search(r"^version: (.*)$", read("CITATION.cff"), re.MULTILINE)[1] == __version__
    assert re.search(r"version = \{(.*)\}", read("README.md"))[1] == __version__
    newest = re.search(r"^## \[(\d.*?)\] - (\S+)$", read("CHANGELOG.md"), re.MULTILINE)
    assert newest[1] == __version__
    plugin = tomllib.loads(read("plugins/vse-ens-interop/pyproject.toml"))["project"]
    assert plugin["version"] == __version__
    assert re.search(r"^date-released: (.*)$", read("CITATION.cff"), re.MULTILINE)[1] == newest[2]


@pytest.mark.parametrize("name", ["service", "release", "actionlint"])
def test_locks_have_the_tested_versions_and_a_hash_for_each(name: str) -> None:
    tested, locked = versions("constraints.txt"), versions(f"locks/{name}.txt")
    assert locked
    assert {package: version for package, version in locked.items() if tested.get(package, version) != version} == {}
    for requirement in re.split(r"^(?=[\w.-]+==)", read(f"locks/{name}.txt"), flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in requirement, requirement


def test_the_lock_of_the_service_has_all_it_needs() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["service"]]
    names = {re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in needed}
    assert names <= versions("locks/service.txt").keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash_and_permissions_are_given_by_job(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for used in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used
    assert "\npermissions: {}\n" in text
    assert text.count("runs-on:") == text.count("    permissions:\n") == text.count("timeout-minutes:")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_steps_that_exist(path: Path) -> None:
    steps = set(re.findall(r"^([a-z]+)\(\) \{ #", read(".ci/steps"), re.MULTILINE))
    for words in re.findall(r"run: \.ci/steps (.*)", path.read_text(encoding="utf-8")):
        assert set(words.split()) <= steps
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for words in re.findall(r"run: make (.*)", path.read_text(encoding="utf-8")):
        assert set(words.split()) <= targets
