"""The import rules of docs/architecture.md, and what no module may do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vse_ens"

# From the top down: a package may import any package of a lower layer ...
LAYERS = (
    {"benchmarks"},
    {"cli", "service"},
    {"annotator", "completer", "widget", "experiments"},
    {"train", "evaluate", "baselines", "curate", "export", "report", "tracking", "pixels"},
    {"run", "label_weights"},
    {"model", "data"},
    {"storage", "kernels"},
    {"config", "display", "errors", "exports", "portable", "presets", "progress", "read_options", "streams", "system"},
)
# ... and of its own layer only these: (importer, imported).
WITHIN_LAYER = {
    ("cli", "service"),
    ("completer", "annotator"),
    ("widget", "annotator"),
    ("experiments", "annotator"),
    ("train", "evaluate"),
    ("tracking", "train"),
    ("curate", "evaluate"),
    ("curate", "report"),
    ("export", "curate"),
    ("report", "evaluate"),
    ("label_weights", "run"),
    ("model", "data"),
    ("presets", "config"),
    ("presets", "errors"),
    ("presets", "system"),
    ("config", "errors"),
    ("portable", "errors"),
    ("streams", "errors"),
}
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}

# Libraries that only modules under these paths may import.
OWNERS = {
    "numba": ("kernels/",),
    "llvmlite": ("kernels/",),
    "ray": ("run/ray/",),
    "usearch": ("model/ann_index", "export/vectors"),
    "faiss": ("export/vectors",),
    "huggingface_hub": ("export/hub",),
    "httpx2": ("export/hub",),
    "starlette": ("service/",),
    "uvicorn": ("service/",),
    "msgspec": ("service/",),
    "httptools": ("service/",),
    "prometheus_client": ("service/",),
    "click": ("cli/",),
    # In a clone, but not in the wheel.
    "benchmarks": ("benchmarks/",),
    "PIL": ("service/pictures/", "pixels/preprocessing"),
    "onnxruntime": ("pixels/encoder",),
    "rich": ("cli/", "progress", "benchmarks/commands/"),
    "optuna": ("experiments/tune/",),
    "sqlalchemy": ("experiments/tune/",),
    "mlflow": ("tracking",),
    "wandb": ("tracking",),
    "tensorboard": ("tracking",),
    "sklearn": ("annotator", "completer"),
    "anywidget": ("widget",),
    "traitlets": ("widget",),
    # Not on every operating system.
    "fcntl": ("system",),
    "ctypes": ("system",),
    "resource": ("run/ram",),
}
MISSING_ON_SOME_SYSTEMS = {"pwd", "grp", "termios", "tty", "pty", "posix", "nt", "winreg", "syslog", "crypt"}
PICKLERS = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
# Random numbers come from named streams.
GLOBAL_RANDOMNESS = {"np.random.seed", "np.random.default_rng", "np.random.RandomState"}


def violations(path: str, source: str) -> list[str]:
    """Return what a file under src/vse_ens does against the rules, each with its line."""
    package = path.partition("/")[0].removesuffix(".py")
    return [f"{path}:{line}: {fault}" for line, fault in _faults(path, package, ast.parse(source))]


def _faults(path: str, package: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for module, name in _imports(node):
            fault = _import_fault(path, package, module, name)
            if fault:
                yield line, fault
        if isinstance(node, ast.Assert):
            yield line, "assert vanishes under python -O; raise an error"
        if isinstance(node, ast.Attribute) and ast.unparse(node) in GLOBAL_RANDOMNESS:
            yield line, f"{ast.unparse(node)} is not a named stream"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and package != "cli":
            yield line, "only cli may print"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            yield line, "no pickle, anywhere"


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Each module that a statement imports, with the name taken from it."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        # ruff's TID forbids climbing relative imports; the others name a file of the same folder.
        yield from ((node.module or "", alias.name) for alias in node.names if not node.level)


def _import_fault(path: str, package: str, module: str, name: str) -> str | None:
    library, *inner = module.split(".")
    if library in MISSING_ON_SOME_SYSTEMS:
        return f"imports {library}, which not every operating system has"
    if library in PICKLERS:
        return f"imports {library}: no pickle, anywhere"
    if library == "random":
        return "imports random: numbers come from named streams"
    if library in OWNERS and not path.startswith(OWNERS[library]):
        return f"imports {library}, which only {' and '.join(OWNERS[library])} may"
    if library != "vse_ens" or package in ("__init__", "__main__"):
        return None
    other = inner[0] if inner else name
    if other == "__version__":
        return None
    if other not in LAYER:
        return f"imports {other} from vse_ens itself; import it from where it lives"
    if other == package or LAYER[other] > LAYER[package] or (package, other) in WITHIN_LAYER:
        return None
    return f"{package} may not import {other}"


def test_every_module_follows_the_rules() -> None:
    found = [
        fault
        for file in sorted(SOURCE.rglob("*.py"))
        for fault in violations(file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["commands", "paper", "published"])
def test_code_outside_the_wheel_follows_the_rules_too(folder: str) -> None:
    files = sorted((ROOT / "benchmarks" / folder).rglob("*.py"))
    assert files
    for file in files:
        assert violations(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")) == []


def test_our_plugin_follows_the_rules_of_data() -> None:
    files = sorted(ROOT.glob("plugins/*/src/**/*.py"))
    assert files
    assert [fault for file in files for fault in violations(f"data/{file.name}", file.read_text("utf-8"))] == []


def test_every_module_is_in_a_known_package() -> None:
    packages = {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in SOURCE.rglob("*.py")}
    assert packages <= LAYER.keys() | {"__init__", "__main__"}


def test_the_document_names_every_package() -> None:
    document = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert packages
    assert [package for package in sorted(packages) if f"`{package}/`" not in document] == []


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        ("data/x.py", "from vse_ens.model.store import load", "data may not import model"),
        ("data/x.py", "import vse_ens.model.store", "data may not import model"),
        ("data/x.py", "from vse_ens import model", "data may not import model"),
        ("data/x.py", "from vse_ens import Annotator", "imports Annotator from vse_ens itself"),
        ("kernels/x.py", "def f():\n    from vse_ens.data import readers", "kernels may not import data"),
        ("streams.py", "from vse_ens.config import Config", "streams may not import config"),
        ("errors.py", "from vse_ens.streams import Streams", "errors may not import streams"),
        ("evaluate/x.py", "from vse_ens.train.trainer import Trainer", "evaluate may not import train"),
        ("train/x.py", "from vse_ens.annotator import Annotator", "train may not import annotator"),
        ("service/x.py", "from vse_ens.cli.console import Screen", "service may not import cli"),
        ("annotator.py", "from vse_ens.cli.console import Screen", "annotator may not import cli"),
        ("annotator.py", "from vse_ens.experiments.compare.run import compare", "annotator may not import experiments"),
        ("report/x.py", "from vse_ens.experiments.compare.run import compare", "report may not import experiments"),
        ("train/x.py", "import numba", "imports numba, which only kernels/ may"),
        ("run/threads.py", "import ray", "imports ray, which only run/ray/ may"),
        ("cli/commands/serve.py", "from starlette.routing import Route", "imports starlette, which only service/ may"),
        ("cli/commands/tune.py", "from benchmarks.paper.run import QUICK", "imports benchmarks, which only"),
        (
            "train/x.py",
            "from rich.console import Console",
            "imports rich, which only cli/ and progress and benchmarks/commands/ may",
        ),
        ("model/x.py", "import pickle", "no pickle"),
        ("model/x.py", "np.load(path, allow_pickle=True)", "no pickle"),
        ("train/x.py", "import random", "named streams"),
        ("train/x.py", "rng = np.random.default_rng(0)", "not a named stream"),
        ("train/x.py", "assert x > 0", "raise an error"),
        ("train/x.py", "print('epoch 1')", "only cli may print"),
    ],
)
def test_a_violation_is_caught(path: str, source: str, fault: str) -> None:
    (found,) = violations(path, source)
    assert found.startswith(f"{path}:")
    assert fault in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("cli/x.py", "from vse_ens import __version__\nfrom vse_ens.annotator import Annotator\nprint(1)"),
        ("train/x.py", "from vse_ens.evaluate.metrics import recall\nfrom vse_ens.kernels.random import draw"),
        ("train/x.py", "from vse_ens.train.losses import hinge\nfrom vse_ens.errors import VseError"),
        ("model/x.py", "from vse_ens.data.vocabulary import Vocabulary\nnp.load(path, allow_pickle=False)"),
        ("kernels/x.py", "import numba\nfrom vse_ens.kernels import random"),
        ("run/ray/pool.py", "import ray"),
        ("__init__.py", "from vse_ens.data.annotations import Annotations"),
    ],
)
def test_allowed_code_is_not_caught(path: str, source: str) -> None:
    assert violations(path, source) == []
