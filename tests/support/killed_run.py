"""Runs of a trainer that are killed: a child of this process each, so that ten of them need one start of Python.

    python killed_run.py RUN CHECKPOINT RESULT KILL...

A child continues from the checkpoint and writes one after every second round. A kill is a number of rounds and a
moment, as in ``4:writing``: the child is killed when it has done these rounds, before it writes the checkpoint that is
due (``before``), with half of it written (``writing``), or in a later round (``round``). The last child is left to
finish and writes its arrays to RESULT. Prints where the checkpoint is after each kill. Without a kill there is no
checkpoint.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.kernel_problems import DIMENSIONS, random_annotations
from vse_ens.config import Config
from vse_ens.model.checkpoint_store import load_state
from vse_ens.presets import PRESETS
from vse_ens.storage.writer import ArtifactWriter
from vse_ens.train import schedule
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.trainer import Trainer

schedule.MIN_ROUND_DRAWS = 20

RUNS = {
    "validated": Config(
        sampler="vse-ens",
        loss="hinge",
        dimensions=DIMENSIONS,
        epochs=6,
        slices=4,
        refresh=0.5,
        validate=True,
        patience=99,
    ),
    # Few epochs, so that kills come in the trial and in the training on all pairs.
    "whole preset": PRESETS["context"].override(dimensions=DIMENSIONS, negatives=4, batch=16, refresh=0.5, epochs=2),
}
DATA = random_annotations(images=200, labels=20, most=6)
# A child that the signal reaches late does not finish: after this many rounds more it waits.
MOST_ROUNDS_AHEAD = 2


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(config: Config, checkpoint: Path, result: Path, kept: bool, kill_after: int, moment: str, told: int) -> None:
    trainer, checkpoints = Trainer(config, DATA, 1), Checkpoints(checkpoint, DATA)
    checkpoints.resume(trainer)
    for done, _ in enumerate(trainer.rounds(), start=1):
        if done == kill_after and moment == "before":
            die()
        if done == kill_after and moment == "writing":
            ArtifactWriter.arrays = lambda *_, **__: die()  # type: ignore[method-assign]
        if kept and done % 2 == 0:
            checkpoints.write(trainer)
        if done == kill_after:
            os.write(told, b"!")
        if kill_after and done == kill_after + MOST_ROUNDS_AHEAD:
            signal.pause()
    np.savez(result, **trainer.model.arrays(), violations=[report.violations for report in trainer.history])


def child(config: Config, checkpoint: Path, result: Path, kept: bool, kill: str = "0:") -> int:
    """Run one child, kill it if asked, and return its status."""
    after, moment = kill.split(":")
    hear, tell = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(hear)
        try:
            run(config, checkpoint, result, kept, int(after), moment, tell)
        finally:
            os._exit(0 if result.exists() else 1)
    os.close(tell)
    if os.read(hear, 1):  # nothing, if the child has ended
        os.kill(number, signal.SIGKILL)
    os.close(hear)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def main(config: Config, checkpoint: Path, result: Path, kills: list[str]) -> None:
    for _ in Trainer(config, DATA, 1).rounds():
        break  # kernels are loaded before the first fork
    for kill in kills:
        if child(config, checkpoint, result, True, kill) != -signal.SIGKILL:
            sys.exit(f"no kill at {kill}")
        done = load_state(checkpoint).state
        print("anew" if done["refitting"] else "trial", done["epoch"], done["round"], flush=True)
    sys.exit(child(config, checkpoint, result, bool(kills)))


if __name__ == "__main__":
    main(RUNS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
