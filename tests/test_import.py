"""``import vse_ens`` is quick and light: heavy parts come with the first use of what needs them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import vse_ens

Python = Callable[..., subprocess.CompletedProcess[str]]

HEAVY = {"numba", "polars", "pyarrow", "pandas", "scipy", "rich", "typer"}
LIST_HEAVY = f"import sys; print(*sorted({HEAVY!r} & set(sys.modules)))"


def test_importing_the_package_pulls_in_nothing_heavy(python: Python) -> None:
    assert python(f"import vse_ens; {LIST_HEAVY}").stdout.split() == []


def test_importing_the_command_line_pulls_in_nothing_heavy(python: Python) -> None:
    assert set(python(f"import vse_ens.cli.app; {LIST_HEAVY}").stdout.split()) == {"rich", "typer"}


def test_importing_the_package_takes_less_than_three_tenths_of_a_second(python: Python) -> None:
    # Of the processor, not of the clock: tests run side by side on machines that others use too.
    timed = "import time; start = time.process_time(); import vse_ens; print(time.process_time() - start)"
    assert min(float(python(timed).stdout) for _ in range(5)) < 0.3


def test_help_takes_less_than_four_tenths_of_a_second(python: Python) -> None:
    timed = (
        "import atexit, sys, time; start = time.process_time()\n"
        "atexit.register(lambda: print(time.process_time() - start, file=sys.stderr))\n"
        "sys.argv = ['vse', '--help']\n"
        "from vse_ens.cli.app import main; main()"
    )
    assert min(float(python(timed).stderr) for _ in range(5)) < 0.4


def test_every_public_name_is_found_on_first_use() -> None:
    for name in vse_ens.__all__:
        assert getattr(vse_ens, name) is not None
    assert set(vse_ens.__all__) <= set(dir(vse_ens))


def test_a_name_that_is_not_there_is_an_attribute_error(python: Python) -> None:
    assert "module 'vse_ens' has no attribute 'Anotator'" in python("import vse_ens; vse_ens.Anotator").stderr
