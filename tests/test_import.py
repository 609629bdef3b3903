"""``import vse_ens`` is quick and light: heavy parts come with the first use of what needs them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import vse_ens
from vse_ens import curate, evaluate, export, model

Python = Callable[..., subprocess.CompletedProcess[str]]

HEAVY = {"numba", "polars", "pyarrow", "pandas", "scipy", "rich", "click"}
LIST_HEAVY = f"import sys; print(*sorted({HEAVY!r} & set(sys.modules)))"


def test_importing_the_package_pulls_in_nothing_heavy(python: Python) -> None:
    assert python(f"import vse_ens; {LIST_HEAVY}").stdout.split() == []


def test_importing_the_command_line_pulls_in_nothing_heavy(python: Python) -> None:
    assert set(python(f"import vse_ens.cli.app; {LIST_HEAVY}").stdout.split()) == {"click"}


@pytest.mark.unhurried
def test_vse_annotate_loads_neither_scipy_nor_unused_modules(python: Python, small_model: Path) -> None:
    code = (
        "import sys; from vse_ens.cli.app import main\n"
        f"try: main(['annotate', {str(small_model)!r}, '--labels', 'sea', '--json'])\n"
        "except SystemExit: pass\n"
        "unused = {'polars', 'pandas', 'scipy.linalg', 'scipy.sparse', 'vse_ens.curate.audit', 'vse_ens.run.ray'}\n"
        "print(*sorted(unused & set(sys.modules)), file=sys.stderr)"
    )
    python(code)  # compiles the kernels where the cache has none
    answer = python(code)
    assert '"suggestions"' in answer.stdout
    assert answer.stderr.split() == []


@pytest.mark.unhurried
def test_compiled_kernels_load_without_the_compilers_registries(python: Python) -> None:
    code = (
        "import sys, numba, numpy as np; from vse_ens.kernels.random import shuffle\n"
        "shuffle(np.arange(9), np.ones(1, np.uint64)); print('numba.np.arraymath' in sys.modules)\n"
        "print(numba.njit(lambda x: np.sqrt(x.sum()))(np.full(4, 4.0)))  # compiling still works"
    )
    python(code)  # compiles the kernel where the cache has none
    assert python(code).stdout.split() == ["False", "4.0"]


def test_importing_the_package_takes_less_than_300_ms(python: Python) -> None:
    # Of the processor, not of the clock: tests run side by side on machines that others use too.
    timed = "import time; start = time.process_time(); import vse_ens; print(time.process_time() - start)"
    assert min(float(python(timed).stdout) for _ in range(5)) < 0.3


def test_help_takes_less_than_two_tenths_of_a_second(python: Python) -> None:
    timed = (
        "import atexit, sys, time; start = time.process_time()\n"
        "atexit.register(lambda: print(time.process_time() - start, file=sys.stderr))\n"
        "sys.argv = ['vse', '--help']\n"
        "from vse_ens.cli.app import main; main()"
    )
    assert min(float(python(timed).stderr) for _ in range(5)) < 0.2


def test_every_public_name_is_found_on_first_use() -> None:
    for name in vse_ens.__all__:
        assert getattr(vse_ens, name) is not None
    assert set(vse_ens.__all__) <= set(dir(vse_ens))


@pytest.mark.parametrize("package", [curate, evaluate, export, model])
def test_a_package_finds_its_names_on_first_use(package: ModuleType) -> None:
    names = dir(package)
    assert names
    assert all(getattr(package, name).__name__ == name for name in names)
    with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'Anotator'"):
        _ = package.Anotator


def test_a_name_that_is_not_there_is_an_attribute_error(python: Python) -> None:
    assert "module 'vse_ens' has no attribute 'Anotator'" in python("import vse_ens; vse_ens.Anotator").stderr
