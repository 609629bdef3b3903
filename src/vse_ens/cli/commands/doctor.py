"""``vse doctor``: check the installation and this machine."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import click
from rich.table import Table
from rich.text import Text

from vse_ens import __version__
from vse_ens.cli.console import Console
from vse_ens.cli.errors import FAILED
from vse_ens.run.ram import available_memory
from vse_ens.system import available_cores

_PACKAGE = Path(__file__).parents[2]
_STYLES = {"ok": "green", "absent": "dim", "warning": "yellow", "broken": "bold red"}

State = Literal["ok", "absent", "warning", "broken"]


class Finding(NamedTuple):
    """Result of a check: ``absent`` is harmless, ``warning`` may cost speed, ``broken`` prevents vse from working."""

    topic: str
    state: State
    found: str
    advice: str = ""


# The optional parts of vse-ens, by the names of their extras. The other extras are for its development.
OPTIONAL_PARTS = {
    "frames": "for pandas and Polars frames",
    "als": "for the baseline als",
    "sklearn": "for LabelCompleter in scikit-learn",
    "notebook": "for the widget in notebooks",
    "index": "for an approximate index of images",
    "faiss": "for vse export to a Faiss index",
    "hub": "for models on the Hugging Face Hub",
    "pixels": "for vse embed",
    "service": "for vse serve",
    "cluster": "for training on a Ray cluster",
    "tune": "for vse tune",
    "mlflow": "for tracking with MLflow",
    "wandb": "for tracking with Weights & Biases",
    "tensorboard": "for tracking with TensorBoard",
}

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_MIN_FREE_BYTES = 1 << 30


def doctor(console: Console) -> None:
    """Check the installation and this machine.

    Checks versions, cores, thread limits, the kernel cache, memory, disk and optional packages. The exit code is 1 only
    if something that vse needs is broken.

    Example: vse doctor
    """
    with console.status("checking"):
        findings = run_checks()
    broken = [finding for finding in findings if finding.state == "broken"]
    verdict = f"broken: {', '.join(finding.topic for finding in broken)}" if broken else "vse is ready to use"
    document = {"healthy": not broken, "checks": [finding._asdict() for finding in findings]}
    console.result(document, _table(findings), Text(f"\n{verdict}"))
    console.finish("Nothing needs to be repaired." if not broken else "Repair the broken parts first.", "demo")
    if broken:
        raise click.exceptions.Exit(FAILED)


def _table(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        advice = f"; {finding.advice}" if finding.advice else ""
        table.add_row(finding.topic, Text(finding.state, _STYLES[finding.state]), Text(finding.found + advice))
    return table


def run_checks() -> list[Finding]:
    """Run all checks, in the order of display."""
    variables = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return [
        Finding("vse-ens", "ok", f"{__version__} in {_PACKAGE}"),
        Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *(_required(package) for package in required_packages()),
        *(_optional(extra, use) for extra, use in OPTIONAL_PARTS.items()),
        _checked("cpu", _cpu),
        _checked("same bits", _same_bits, failed="the self-test failed: "),
        _cores(),
        Finding("threads", "ok", ", ".join(variables) or "no variable sets a limit"),
        _kernel_cache(),
        _free_space("memory", available_memory(), "free", "close other programs"),
        _free_space("disk", shutil.disk_usage(Path.cwd()).free, f"free in {Path.cwd()}", "free some space"),
        _terminal(),
    ]


def required_packages() -> Iterator[str]:
    """Yield the required packages listed in the metadata of vse-ens."""
    return (package for package, marker in _requirements() if "extra" not in marker)


def packages_of(extra: str) -> list[str]:
    """Return the packages of an optional part."""
    return [package for package, marker in _requirements() if re.search(rf"extra == ['\"]{extra}['\"]", marker)]


def _requirements() -> Iterator[tuple[str, str]]:
    """Yield the packages that the metadata of vse-ens lists, each with its condition."""
    for requirement in importlib.metadata.requires("vse-ens") or ():
        name, _, marker = requirement.partition(";")
        yield re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0], marker


# Modules with another name than their package.
_MODULES = {"pyyaml": "yaml"}


def _checked(topic: str, check: Callable[[], Finding | str], advice: str = "", failed: str = "") -> Finding:
    """Return the finding of a check, or what it found to be well; any error means that the topic is broken."""
    try:
        found = check()
    except Exception as error:  # noqa: BLE001  # as said
        return Finding(topic, "broken", f"{failed}{type(error).__name__}: {error}", advice)
    return Finding(topic, "ok", found) if isinstance(found, str) else found


def _required(package: str) -> Finding:
    def version() -> str:
        # Import it: a wheel for another platform is present but fails here.
        importlib.import_module(_MODULES.get(package, package))
        return importlib.metadata.version(package)

    return _checked(package, version, f"pip install --force-reinstall {package}")


def _optional(extra: str, use: str) -> Finding:
    present, missing = [], []
    for package in packages_of(extra):
        try:
            present.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        advice = f"pip install 'vse-ens[{extra}]'"
        return Finding(extra, "absent", f"without {', '.join(missing)} (optional, {use})", advice)
    return Finding(extra, "ok", f"{', '.join(present)} (optional, {use})")


def _cpu() -> str:
    """Find the kind of CPU, which decides the last bits of a model."""
    from vse_ens.model.cpu import cpu_kind

    return cpu_kind()


def _same_bits() -> Finding | str:
    """Check on this machine that one image and many, and any number of workers, give the same bits."""
    from vse_ens.experiments.self_test import different_bits

    if different := different_bits():
        advice = "report this with the output of vse doctor --json: results depend on the number of images or workers"
        return Finding("same bits", "broken", f"not here: {'; '.join(different)}", advice)
    return "checked here: one image or many, one worker or three"


def _cores() -> Finding:
    present = os.cpu_count() or 1
    usable = available_cores()
    found = f"{usable} usable of {present}"
    limit = cpu_limit()
    if limit is not None and limit < usable:
        return Finding(
            "cores", "warning", f"{found}, and a container limit of {limit:g}", f"use --workers {max(1, int(limit))}"
        )
    return Finding("cores", "ok", found)


def cpu_limit(cgroup: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the CPU limit of the container in cores, if any (cgroup v2, then v1)."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    return None if quota in ("max", "-1") else int(quota) / int(period)


def _kernel_cache() -> Finding:
    """Check the folders for compiled kernels: NUMBA_CACHE_DIR, or with the sources, or the user's cache folder."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    own = _PACKAGE / "kernels" / "__pycache__"
    folders = [Path(given)] if given else [own, Path.home() / ".cache" / "numba"]
    for folder in folders:
        if writable(folder):
            return Finding("kernel cache", "ok", f"{folder} is writable")
    return Finding(
        "kernel cache",
        "warning",
        f"{folders[0]} is not writable, so kernels are compiled in every run",
        "set NUMBA_CACHE_DIR to a writable folder",
    )


def writable(folder: Path) -> bool:
    """Return whether a file can be created in a folder, or in its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _free_space(topic: str, free: int | None, suffix: str, advice: str) -> Finding:
    if free is None:
        return Finding(topic, "ok", "unknown on this system")
    found = f"{free / (1 << 30):,.1f} GiB {suffix}"
    return Finding(topic, "ok", found) if free >= _MIN_FREE_BYTES else Finding(topic, "warning", found, advice)


def _terminal() -> Finding:
    size = shutil.get_terminal_size()
    kind = f"{size.columns} x {size.lines}" if sys.stdout.isatty() else "output goes to a file or a pipe"
    color = "no color (NO_COLOR is set)" if os.environ.get("NO_COLOR") else os.environ.get("TERM", "no TERM")
    return Finding("terminal", "ok", f"{kind}, {color}")
