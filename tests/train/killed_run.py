"""Runs of a trainer that are killed: a child of this process each, so that ten of them need one start of Python.

    python killed_run.py CHECKPOINT RESULT DELAY...

A child goes on from the checkpoint, writing one every few rounds; after each delay, in seconds, it is killed. The last
child is left to finish and writes its arrays to RESULT. Prints where the checkpoint stands after each kill. Without a
delay there is no checkpoint at all.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from kernels.problems import DIMENSIONS, random_annotations
from vse_ens.config import Config
from vse_ens.model.state import load_state
from vse_ens.train import rounds
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.trainer import Trainer

rounds._SHORTEST_ROUND = 20

CONFIG = Config(
    sampler="vse-ens", loss="hinge", dimensions=DIMENSIONS, epochs=50, slices=4, refresh=0.5, validate=True, patience=99
)
DATA = random_annotations(images=200, labels=20, most=6)


def run(checkpoint: Path, result: Path, kept: bool) -> None:
    trainer, checkpoints = Trainer(CONFIG, DATA, 1), Checkpoints(checkpoint, DATA, seconds=0.01)
    checkpoints.resume(trainer)
    for _ in trainer.rounds():
        if kept:
            checkpoints.after_round(trainer)
    np.savez(result, **trainer.embeddings.arrays(), violations=[report.violations for report in trainer.history])


def child(checkpoint: Path, result: Path, kept: bool) -> int:
    number = os.fork()
    if number == 0:
        try:
            run(checkpoint, result, kept)
        finally:
            os._exit(0 if result.exists() else 1)
    return number


def main(checkpoint: Path, result: Path, delays: list[float]) -> None:
    for _ in Trainer(CONFIG, DATA, 1).rounds():
        break  # kernels are loaded before the first fork
    for delay in delays:
        number = child(checkpoint, result, kept=True)
        time.sleep(delay)
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        done = load_state(checkpoint).state if checkpoint.exists() else {"epoch": 0, "round": 0}
        print(done["epoch"], done["round"], flush=True)
    _, status = os.waitpid(child(checkpoint, result, kept=bool(delays)), 0)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [float(delay) for delay in sys.argv[3:]])
