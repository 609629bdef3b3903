"""The C++ reference implementation of the `uniform` update: building it, and running it as a candidate."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.interleaved import Turn
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.streams import Streams

COMPILER = "g++"
FLAGS = ("-O3", "-march=native", "-ffast-math")
_SOURCE = Path(__file__).with_name("reference.cpp")


def compiler() -> str | None:
    """Return the compiler, its version and flags, or None if it is not installed."""
    if shutil.which(COMPILER) is None:
        return None
    shown = subprocess.run([COMPILER, "--version"], check=True, capture_output=True, text=True).stdout
    return f"{shown.splitlines()[0]}, {' '.join(FLAGS)}"


class Reference:
    """One epoch per turn, in random order. Order and negatives are drawn in advance and not timed."""

    def __init__(self, config: Config, data: Annotations, start: Embeddings) -> None:
        self._train = _build(config.dimensions)
        self._config = config
        self._data = data
        self._tables = start.copy()
        self._epoch = 0

    def __call__(self) -> Turn:
        """Take one turn."""
        streams = Streams(0).child("benchmark", "yardstick", self._epoch)
        self._epoch += 1
        images = np.argsort(streams.child("order").words(len(self._data.images)))
        negatives = uniform_negatives(self._data, images, streams.child("negatives"))
        tables, data = self._tables, self._data
        started = time.perf_counter()
        loss = self._train(
            tables.image_vectors,
            tables.label_vectors,
            tables.label_bias,
            data.indptr,
            data.indices,
            images,
            len(images),
            negatives,
            self._config.learning_rate,
            self._config.regularization,
            self._config.bias_regularization,
        )
        return Turn(len(negatives), time.perf_counter() - started, loss=loss / len(negatives))


def uniform_negatives(data: Annotations, images: NDArray[np.int64], streams: Streams) -> NDArray[np.int32]:
    """Return, for every pair, a label that its image lacks, in the order in which ``images`` are visited."""
    labels = len(data.labels)
    owners = np.repeat(images, data.labels_per_image[images])
    pairs = data.image_numbers() * np.int64(labels) + data.indices
    drawn = streams.below(np.full(len(owners), labels))
    attempt = 0
    while len(known := np.flatnonzero(_contains(owners * labels + drawn, pairs))):
        attempt += 1
        drawn[known] = streams.child(attempt).below(np.full(len(known), labels))
    return drawn.astype(np.int32)


def _contains(keys: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[places] == keys)


def _build(dimensions: int) -> ctypes._NamedFuncPointer:
    with tempfile.TemporaryDirectory() as folder:
        compiled, library = Path(folder, "reference.o"), Path(folder, "reference.so")
        compile_only = [COMPILER, *FLAGS, f"-DDIMENSIONS={dimensions}", "-fPIC", "-c", str(_SOURCE)]
        subprocess.run([*compile_only, "-o", str(compiled)], check=True)
        # Linked without -ffast-math, which would flush denormal numbers to zero in the whole process, other candidates
        # included.
        subprocess.run([COMPILER, "-shared", str(compiled), "-o", str(library)], check=True)
        function = ctypes.CDLL(str(library)).train
    floats, whole, small = (np.ctypeslib.ndpointer(kind, flags="C") for kind in (np.float32, np.int64, np.int32))
    function.restype = ctypes.c_double
    function.argtypes = [
        *(floats, floats, floats),
        *(whole, small, whole, ctypes.c_int64, small),
        *(ctypes.c_float, ctypes.c_float, ctypes.c_float),
    ]
    return function
