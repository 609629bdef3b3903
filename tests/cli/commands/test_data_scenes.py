from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Vse = Callable[..., Any]


def test_file_is_written_and_its_counts_shown(vse: Vse, tmp_path: Path) -> None:
    out = tmp_path / "scenes.parquet"
    answer = vse("data", "scenes", "--images", 300, "--out", out, "--json")
    assert (answer.status, answer.err) == (0, "")
    frame = pl.read_parquet(out)
    assert answer.document == {
        "file": str(out),
        "images": 300,
        "labels": frame["label"].n_unique(),
        "pairs": frame.height,
        "seed": 0,
    }
    assert f"pairs   {frame.height:,}" in vse("data", "scenes", "--images", 300, "--out", out).out


def test_the_seed_and_the_number_of_labels_decide(vse: Vse, tmp_path: Path) -> None:
    for name, options in (("a", []), ("b", []), ("c", ["--seed", 1]), ("d", ["--labels", 60])):
        assert vse("data", "scenes", "--images", 200, "--out", tmp_path / f"{name}.csv", *options).status == 0
    a, b, c, d = ((tmp_path / f"{name}.csv").read_bytes() for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3
    assert pl.read_csv(tmp_path / "d.csv")["label"].n_unique() <= 60


def test_a_suffix_it_cannot_write_is_refused(vse: Vse, tmp_path: Path) -> None:
    answer = vse("data", "scenes", "--out", tmp_path / "scenes.xlsx")
    assert (answer.status, answer.out) == (1, "")
    assert "scenes.xlsx must end in one of" in answer.err


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    # A shell's background jobs ignore Ctrl-C, and so would their children: the test may be in one.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from vse_ens.cli.app import main; main(sys.argv[1:])"
    )
    # Enough for some ten seconds, not for hours: a child that does not stop ends by itself, and the test fails.
    command = [sys.executable, "-c", code, "data", "scenes", "--images", "2000000", "--out", "scenes.parquet"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 600
        # Until something is written: a library may drop an exception that comes while it is imported.
        while not _has_rows(tmp_path) and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (child.returncode, out, err) == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def _has_rows(folder: Path) -> bool:
    # Parquet starts with four bytes that say what it is.
    return any(path.stat().st_size > 4 for path in folder.iterdir())
