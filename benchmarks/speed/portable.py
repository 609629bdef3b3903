"""What decides the last bits of a model, and what portable arithmetic costs.

This module must not import NumPy before vse_ens, or its child processes could not compute portably.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from statistics import median

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call
from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes
from vse_ens.kernels.target import host_level
from vse_ens.model.cpu import cpu_kind
from vse_ens.portable import VARIABLE

_PORTABLE = {VARIABLE: "1"}
# LLVM's names, each with the instructions that the name stands for.
_AVX2 = ("haswell", "alderlake", "znver3")
_AVX512 = ("skylake-avx512", "sapphirerapids", "znver4")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int
    epochs: int
    turns: int
    few_images: int = 1_000
    """Of the models whose bytes are compared."""
    dimensions: int = 128


def measure(sizes: Sizes) -> Raw:
    """Return a digest of the model under many choices of instructions, and CPU seconds of training in turns."""
    if host_level() not in ("x86-64-v3", "x86-64-v4"):
        return {"skipped": ["Everything: this machine is not an x86-64-v3 one."]}
    choices = _choices(host_level() == "x86-64-v4")
    models = {}
    for name, environment in choices.items():
        log(f"training with {name}")
        models[name] = call(train, sizes.few_images, 3, 32, **environment)
    turns: dict[str, list[float]] = {"as found": [], "portable": []}
    for number in range(sizes.turns):
        log(f"turn {number + 1} of {sizes.turns}")
        for name, environment in (("as found", {}), ("portable", _PORTABLE)):
            turns[name].append(call(train, sizes.images, sizes.epochs, sizes.dimensions, **environment)["seconds"])
    return {
        "images": sizes.images,
        "epochs": sizes.epochs,
        "dimensions": sizes.dimensions,
        "few_images": sizes.few_images,
        "models": models,
        "turns": turns,
        "skipped": [] if host_level() == "x86-64-v4" else ["Kernels for AVX-512: this machine does not have it."],
    }


def _choices(has_avx512: bool) -> dict[str, dict[str, str]]:
    """Return variables of the environment by what they choose."""
    others = {"NUMBA_CPU_NAME": "generic", "OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3"}
    kernels = {
        f"kernels for {name}": {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""}
        for name in (*_AVX2, *(_AVX512 if has_avx512 else ()))
    }
    return {
        "what was found": {},
        **kernels,
        "OpenBLAS for Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "OpenBLAS for Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
        "NumPy with AVX2 at most": {"NPY_ENABLE_CPU_FEATURES": "X86_V3"},
        "NumPy without AVX2": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
        "`--portable`": _PORTABLE,
        "`--portable`, with variables that ask for others": others | _PORTABLE,
    }


def train(images: int, epochs: int, dimensions: int) -> Raw:
    """Train one model of the default preset; return CPU seconds, without compilation, a digest and the kind of CPU."""
    data = scenes(images, seed=0)
    Annotator(epochs=1, dimensions=dimensions, workers=1).fit(scenes(300, seed=0))  # compiles
    began = time.process_time()
    model = Annotator(epochs=epochs, dimensions=dimensions, workers=1).fit(data)
    seconds = time.process_time() - began
    digest = hashlib.blake2b(digest_size=8)
    for _, array in sorted(model.model_.arrays().items()):
        digest.update(array.tobytes())
    return {"seconds": seconds, "digest": digest.hexdigest(), "cpu": cpu_kind()}


def score(raw: Raw) -> Score:
    """Return which choices give equal bytes, and the cost of portable arithmetic by the median of its turns."""
    if "models" not in raw:
        return Score()
    digests = [model["digest"] for model in raw["models"].values()]
    letters = {digest: chr(ord("A") + number) for number, digest in enumerate(dict.fromkeys(digests))}
    rows = [(name, letters[model["digest"]], model["cpu"]) for name, model in raw["models"].items()]
    ratio = median(raw["turns"]["portable"]) / median(raw["turns"]["as found"])
    portable = {model["digest"] for name, model in raw["models"].items() if "portable" in name}
    compared = (
        f"The default preset on {raw['few_images']:,} images of `scenes`, one process each; equal letters are equal "
        "bytes. All on this machine: no second one was tried."
    )
    timed = (
        f"CPU seconds of training {raw['epochs']} epochs with k = {raw['dimensions']} on {raw['images']:,} images, "
        f"{len(raw['turns']['portable'])} turns each, alternately; the median counts."
    )
    checks = [
        Check("`--portable`: different models", len(portable), "at most", 1, digits=0),
        Check("`--portable`: CPU seconds / those without", ratio, "at most", 2.0),
    ]
    return Score(checks, [Table(("instructions", "bytes", "kind of CPU"), rows)], [compared, timed])


PORTABLE = Benchmark(
    "portable",
    "The last bits depend on the CPU; with `--portable` they do not, at a cost in time.",
    Sizes(images=10_000, epochs=4, turns=5),
    Sizes(images=1_000, epochs=2, turns=1, few_images=300, dimensions=16),
    measure,
    score,
    measures=("kernels", "train", "model/cpu", "portable"),
    repetitions=lambda sizes: sizes.turns,
)
