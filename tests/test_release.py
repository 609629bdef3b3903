"""The files of a release agree with each other."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from vse_ens import __version__

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def versions(name: str) -> dict[str, str]:
    """The pinned versions of a file, by normalized name."""
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


def test_pinned_versions_allow_every_python_of_the_classifiers() -> None:
    """Of the packages that are installed here; `.ci/steps resolve` asks the index for all of them."""
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', read("pyproject.toml"))
    pythons = [f"{version}.0" for version in named]
    assert pythons[0] == "3.11.0"
    pins = [Requirement(line) for line in read("constraints.txt").splitlines() if not line.startswith("#")]
    installed = {(canonicalize_name(one.name), one.version): one for one in importlib.metadata.distributions()}
    for name in {canonicalize_name(pin.name) for pin in pins}:
        for python in pythons:
            environment = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
            (pin,) = (
                pin
                for pin in pins
                if canonicalize_name(pin.name) == name and (not pin.marker or pin.marker.evaluate(environment))
            )
            (version,) = (one.version for one in pin.specifier)
            found = installed.get((name, version))
            needed = found.metadata.get("Requires-Python") if found else None
            assert SpecifierSet(needed or "").contains(python), f"{pin} needs Python {needed}"


def test_the_lock_of_the_service_has_all_it_needs() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["service"]]
    names = {re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in needed}
    assert names <= versions("locks/service.txt").keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_are_per_job(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for used in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used
    assert "\npermissions: {}\n" in text
    assert text.count("runs-on:") == text.count("    permissions:\n") == text.count("timeout-minutes:")


def test_readme_workflows_and_classifiers_name_the_same_platforms() -> None:
    workflow, platforms = read(".github/workflows/tests.yml"), read("README.md").partition("## Platforms")[2]
    first, last = re.search(r"Python 3\.(\d+) to 3\.(\d+)", platforms).groups()
    pythons = [f"3.{minor}" for minor in range(int(first), int(last) + 1)]
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"])) == pythons
    assert project["requires-python"] == f">={pythons[0]}"
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]) == pythons
    runners = re.search(r"os: \[(.*)\]", workflow)[1].split(", ")
    assert runners == ["ubuntu-latest", "ubuntu-24.04-arm"]
    assert platforms.strip().startswith("Linux on x86-64 or ARM")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_steps_that_exist(path: Path) -> None:
    steps = set(re.findall(r"^([a-z]+)\(\) \{ #", read(".ci/steps"), re.MULTILINE))
    for words in re.findall(r"run: \.ci/steps (.*)", path.read_text(encoding="utf-8")):
        assert set(words.split()) <= steps
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for words in re.findall(r"run: make (.*)", path.read_text(encoding="utf-8")):
        assert set(words.split()) <= targets
