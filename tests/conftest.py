"""Fixtures that several packages share, and the order in which tests run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support.build_once import build_once
from tests.support.ray_cluster import start_cluster, stop_cluster

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]
# Tests of these kinds take longest. They start first, so that the workers finish at about the same time.
LONG = ("cluster", "docs", "browser", "slow")
# Files that share a Ray cluster or a browser run in one worker.
SHARING = {
    "cluster": (
        "tests/cli/commands/test_train_on_a_cluster.py",
        "tests/curate/test_on_a_cluster.py",
        "tests/label_weights/test_on_a_cluster.py",
        "tests/run/ray/test_pool.py",
        "tests/train/test_on_a_cluster.py",
    ),
    "browser": ("tests/service/browser/",),
}
# Compile many kernels: those of every sampler and loss, and those of other dimensions.
UNHURRIED = (
    "tests/kernels/",
    "tests/contracts/test_losses.py",
    "tests/contracts/test_samplers.py",
    "tests/benchmarks/",
)
# Documents are independent of each other: workers divide them among themselves. The tests of most other files share
# compiled kernels, and two workers would compile them twice.
DIVISIBLE = ("tests/test_docs.py",)

# Shared machines stall: a slow moment is not a failure, and the same examples are tried on every run.
settings.register_profile("vse", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("vse")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use a browser or compile kernels, before pytest selects by marker, and sort by `LONG`."""
    for item in items:
        if item.nodeid.startswith(UNHURRIED):
            item.add_marker(pytest.mark.unhurried)
        if not {"browser", "firefox"}.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: next((LONG.index(mark.name) for mark in item.iter_markers() if mark.name in LONG), 99))


def pytest_collection_finish() -> None:
    """Tell the garbage collector that modules and tests stay: it would visit millions of objects again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say in one line which tests did not run, and how to have them run."""
    line = skipped_line(report.longrepr for report in terminalreporter.stats.get("skipped", ()))
    if line:
        terminalreporter.write_line(line)


def skipped_line(details: Iterable[object]) -> str:
    """Return the number of skipped tests for each reason; a detail is the file, line and reason of a skip."""
    reasons = Counter(
        str(detail[2]).removeprefix("Skipped: ") if isinstance(detail, tuple) else str(detail) for detail in details
    )
    return "not run: " + "; ".join(f"{count} tests, {reason}" for reason, count in reasons.items()) if reasons else ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Give the tests of a file to one worker, with the exceptions above; files start in the order of collection."""
    if config.getoption("dist") != "load":  # the default; anything else was asked for
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(DIVISIBLE):
                return nodeid
            shared = (name for name, files in SHARING.items() if nodeid.startswith(files))
            return next(shared, super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return ByFile(config, log)  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Stop the Ray cluster after the last test that uses it."""
    try:
        return (yield)
    finally:
        if item.get_closest_marker("cluster") and not (nextitem and nextitem.get_closest_marker("cluster")):
            stop_cluster()


@pytest.fixture
def cluster() -> Any:
    """A Ray cluster of three nodes on this machine, which all tests share."""
    return start_cluster()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, or a skip where there is none."""
    folder = Path(os.environ.get("VSE_ENS_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data sets in {folder} (set VSE_ENS_SHARED_DATA to their folder)")
    return folder


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model of 300 scenes with confidences, for tests that need any model. Tests must not change it."""

    def train(path: Path) -> None:
        from vse_ens.annotator import Annotator
        from vse_ens.data.datasets.scenes import scenes

        Annotator(epochs=2, dimensions=8, negatives=4).fit(scenes(images=300, labels=60, seed=0)).save(path)

    return build_once(tmp_path_factory, "small-model", train)


@pytest.fixture(scope="session")
def plain_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a child process whose output is compared: 80 columns, no color, own caches and journals."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    home = tmp_path_factory.mktemp("home")
    kept |= {"XDG_CACHE_HOME": str(home / "cache"), "XDG_STATE_HOME": str(home / "state")}
    return {**kept, "COLUMNS": "80", "NO_COLOR": "1", "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}"}


@pytest.fixture(scope="session")
def python(plain_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run code in a fresh interpreter."""

    def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=plain_environment | environment,
            timeout=900,  # for hangs only
        )

    return run
