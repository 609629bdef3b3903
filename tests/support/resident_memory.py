"""Trainings whose resident memory is measured: a child of this process each, which has kept nothing from others.

Prints a JSON object: for each case, the bytes that were used, and the bound that was estimated.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.presets import configure
from vse_ens.train.ram_estimate import estimate_ram
from vse_ens.train.trainer import Trainer

CASES: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "vectors of images": ("opt-auc", 100_000, 200, {}),
    "validated": ("opt-auc", 30_000, 200, {"validate": True, "refit": True}),
    "label weights": ("context", 4_000, 2_500, {}),
}


def three_labels_each(images: int, labels: int) -> Annotations:
    """Many images, made fast: three labels in a row each."""
    first = np.arange(images, dtype=np.int32) * 7 % (labels - 2)
    return Annotations(
        Vocabulary.from_ids([f"image-{image:06}" for image in range(images)], "image"),
        Vocabulary.from_ids([f"label-{label:05}" for label in range(labels)], "label"),
        np.arange(0, 3 * images + 1, 3),
        (first[:, None] + np.arange(3, dtype=np.int32)).reshape(-1),
    )


def status(name: str) -> int:
    """Bytes of the process, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def train(preset: str, data: Annotations, settings: dict[str, Any]) -> int:
    """Train as `fit` does, and return the bound."""
    config = configure(preset, epochs=2, **settings)
    trainer = Trainer(config, data, 1)
    for _ in trainer.rounds():
        pass
    _ = trainer.model.embeddings
    return estimate_ram(config, data, 1).total


def measure(preset: str, images: int, labels: int, settings: dict[str, Any]) -> tuple[int, int]:
    train(preset, three_labels_each(1_000, labels), settings)  # kernels are compiled
    data = three_labels_each(images, labels)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = status("VmRSS")
    bound = train(preset, data, settings)
    return status("VmHWM") - before, bound


def main() -> None:
    for number, case in enumerate(CASES):
        print("," if number else "{", json.dumps(case), end=": ", flush=True)
        child = os.fork()
        if child == 0:
            print(json.dumps(measure(*CASES[case])), flush=True)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(1)
    print("}")


if __name__ == "__main__":
    main()
