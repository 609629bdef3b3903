"""Runs of a trainer that are killed: a child of this process each, so that ten of them need one start of Python.

    python killed_run.py RUN CHECKPOINT RESULT DELAY...

A child goes on from the checkpoint, writing one every few rounds; it is killed a delay, in seconds, after the first one
it writes. The last child is left to finish and writes its arrays to RESULT. Prints where the checkpoint stands after
each kill. Without a delay there is no checkpoint at all.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.kernel_problems import DIMENSIONS, random_annotations
from vse_ens.config import Config
from vse_ens.model.checkpoint_store import load_state
from vse_ens.presets import PRESETS
from vse_ens.train import checkpoint as checkpoint_module
from vse_ens.train import schedule
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.trainer import Trainer

schedule.MIN_ROUND_DRAWS = 20
checkpoint_module._PAUSE_FACTOR = 1  # as often as can be

RUNS = {
    "validated": Config(
        sampler="vse-ens",
        loss="hinge",
        dimensions=DIMENSIONS,
        epochs=50,
        slices=4,
        refresh=0.5,
        validate=True,
        patience=99,
    ),
    # Few epochs, so that kills come in the trial and in the training on all pairs.
    "whole preset": PRESETS["context"].override(dimensions=DIMENSIONS, negatives=4, batch=16, refresh=0.5, epochs=2),
}
DATA = random_annotations(images=200, labels=20, most=6)


def run(config: Config, checkpoint: Path, result: Path, kept: bool) -> None:
    trainer, checkpoints = Trainer(config, DATA, 1), Checkpoints(checkpoint, DATA, seconds=0.01)
    checkpoints.resume(trainer)
    for _ in trainer.rounds():
        if kept:
            checkpoints.after_round(trainer)
    np.savez(result, **trainer.model.arrays(), violations=[report.violations for report in trainer.history])


def child(config: Config, checkpoint: Path, result: Path, kept: bool) -> int:
    number = os.fork()
    if number == 0:
        try:
            run(config, checkpoint, result, kept)
        finally:
            os._exit(0 if result.exists() else 1)
    return number


def wait_for_another(checkpoint: Path, number: int) -> None:
    """Until the child has written a checkpoint, or is done."""

    def written() -> int:
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    before = written()
    while written() == before and not os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.001)


def main(config: Config, checkpoint: Path, result: Path, delays: list[float]) -> None:
    for _ in Trainer(config, DATA, 1).rounds():
        break  # kernels are loaded before the first fork
    for delay in delays:
        number = child(config, checkpoint, result, kept=True)
        wait_for_another(checkpoint, number)
        time.sleep(delay)
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        done = load_state(checkpoint).state if checkpoint.exists() else {"refitting": False, "epoch": 0, "round": 0}
        print("anew" if done["refitting"] else "trial", done["epoch"], done["round"], flush=True)
    _, status = os.waitpid(child(config, checkpoint, result, kept=bool(delays)), 0)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(RUNS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3]), [float(delay) for delay in sys.argv[4:]])
