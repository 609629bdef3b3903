"""Portable arithmetic: the same bytes on every x86-64-v3 machine, whatever CPU the libraries find."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from vse_ens.errors import ConfigError
from vse_ens.kernels import target
from vse_ens.model import cpu
from vse_ens.portable import VARIABLE, portable_environment, use_portable_cpu

Python = Callable[..., subprocess.CompletedProcess[str]]

on_v3 = pytest.mark.skipif(
    target.host_level() not in ("x86-64-v3", "x86-64-v4"), reason="portable arithmetic needs an x86-64-v3 CPU"
)

# A host is faked where Numba asks LLVM for it. The other libraries ask the CPU itself and cannot be deceived.
FAKE_HOST = """
import sys
import llvmlite.binding as llvm
name, features = sys.argv[1], dict.fromkeys(sys.argv[2].split(), True)
class Features(dict):
    def flatten(self):
        return ",".join(f"+{feature}" for feature in self)
llvm.get_host_cpu_name, llvm.get_host_cpu_features = lambda: name, lambda: Features(features)
"""
SHOW_TARGET = FAKE_HOST + (
    "import vse_ens\n"
    "if len(sys.argv) > 3: vse_ens.use_portable_cpu()\n"
    "from numba.core.registry import cpu_target\n"
    "from vse_ens.model.cpu import cpu_kind\n"
    "import json; print(json.dumps([cpu_target.target_context.codegen().magic_tuple()[1:], cpu_kind()]))"
)
TRAIN = FAKE_HOST + (
    "import vse_ens; vse_ens.use_portable_cpu()\n"
    "from vse_ens import Annotator\n"
    "from vse_ens.data.datasets.scenes import scenes\n"
    "from vse_ens.storage.reader import manifest_digest\n"
    "import pathlib, tempfile\n"
    "with tempfile.TemporaryDirectory() as folder:\n"
    "    model = pathlib.Path(folder) / 'model'\n"
    "    Annotator(epochs=2, dimensions=8).fit(scenes(images=300, seed=0)).save(model)\n"
    "    print(manifest_digest(model), end='')\n"
)
V3 = "sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 fma f16c bmi bmi2 lzcnt movbe"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"
HOSTS = {"haswell": V3, "sapphirerapids": V4}


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that asks for nothing, restored afterwards."""
    for name in portable_environment():
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.unhurried
@on_v3
@pytest.mark.skipif(bool(os.environ.get("NUMBA_CPU_NAME")), reason="NUMBA_CPU_NAME names a CPU, whatever the host")
def test_portable_kernels_are_compiled_alike_on_every_host(python: Python) -> None:
    told = [json.loads(python(SHOW_TARGET, name, features, "portable").stdout) for name, features in HOSTS.items()]
    assert [target for target, _ in told] == [["x86-64-v3", ""]] * len(HOSTS)
    assert len({kind for _, kind in told}) == 1
    found = [json.loads(python(SHOW_TARGET, name, features).stdout) for name, features in HOSTS.items()]
    assert [target[0] for target, _ in found] == list(HOSTS)
    assert len({kind for _, kind in found}) == len(HOSTS)


@on_v3
@pytest.mark.slow
def test_a_model_is_the_same_bytes_on_faked_hosts(python: Python) -> None:
    here = python(TRAIN, "haswell", V3)
    assert here.returncode == 0, here.stderr
    others = {
        "NUMBA_CPU_NAME": "znver4",
        "NUMBA_CPU_FEATURES": "+avx512f",
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3",
        # The C library chooses its exponential function by the CPU too: without AVX-512, as on an older machine.
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ",
    }
    assert python(TRAIN, "sapphirerapids", V4, **others).stdout == here.stdout


@on_v3
@pytest.mark.slow
def test_the_command_line_trains_portably(python: Python, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("image,label\n" + "".join(f"i{n},{label}\n" for n in range(40) for label in ("sea", f"l{n % 7}")))
    code = "from vse_ens.cli.app import main; main()"
    settings = ("--epochs", "1", "--dimensions", "8", "--portable", "--json")
    answer = python(code, "train", str(pairs), "--out", str(tmp_path / "model"), *settings)
    assert answer.returncode == 0, answer.stderr
    (kind,) = json.loads(answer.stdout)["cpus"]
    assert kind.startswith("x86-64-v3, ")
    assert json.loads((tmp_path / "model" / "model.json").read_text())["settings"]["training"]["cpus"] == [kind]


@on_v3
def test_an_environment_variable_does_the_same_as_the_function(python: Python) -> None:
    code = "import vse_ens; from vse_ens.model.cpu import cpu_kind; print(cpu_kind())"
    kind = python(code, **{VARIABLE: "1"}).stdout
    assert re.fullmatch(r"x86-64-v3, NumPy [^,]*(X86_V3|AVX2), OpenBLAS Haswell\n", kind)


@pytest.mark.usefixtures("clean_environment")
def test_portable_cannot_be_chosen_once_numpy_is_loaded() -> None:
    with pytest.raises(ConfigError, match="has no effect once numpy is imported: import vse_ens first"):
        use_portable_cpu()
    assert VARIABLE not in os.environ


def test_portable_may_be_chosen_again_where_it_is_in_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in portable_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    use_portable_cpu()


def test_another_kind_of_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with pytest.raises(ConfigError, match="needs an x86-64 CPU, and this one is arm64"):
        use_portable_cpu()


@pytest.mark.parametrize(
    ("level", "said"), [("x86-64-v2", "one with AVX2 and FMA"), ("x86-64-v4", "is not in effect: kernels are compiled")]
)
def test_a_cpu_without_the_instructions_is_refused(level: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(cpu, "host_level", lambda: level)
    monkeypatch.setattr(cpu, "compilation_target", lambda: "znver9")
    with pytest.raises(ConfigError, match=said):
        cpu.cpu_kind.__wrapped__()


@pytest.mark.parametrize(
    ("libraries", "name"),
    [
        ([], "another BLAS"),
        ([("mkl", "/lib/libmkl_rt.so", None)], "mkl"),
        ([("openblas", "/scipy.libs/a.so", "Zen"), ("openblas", "/numpy.libs/b.so", "Haswell")], "OpenBLAS Haswell"),
    ],
)
def test_the_matrix_library_is_that_of_numpy(
    libraries: list[tuple[str, str, str | None]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        {"user_api": "blas", "internal_api": api, "filepath": path, "architecture": core}
        for api, path, core in libraries
    ]
    openmp = {"user_api": "openmp", "internal_api": "openmp", "filepath": "/numpy/libgomp.so"}
    monkeypatch.setattr(cpu, "threadpool_info", lambda: [openmp, *found])
    monkeypatch.delenv(VARIABLE, raising=False)
    assert cpu.cpu_kind.__wrapped__().endswith(f", {name}")
