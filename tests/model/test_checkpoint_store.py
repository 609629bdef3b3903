"""Checkpoints: any array and any JSON state comes back, and a torn one is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.stored_models import make_model
from vse_ens.errors import ModelError
from vse_ens.model.checkpoint_store import load_state, save_state
from vse_ens.model.store import save_model

STATE = {"epoch": 3, "counter": 2**64 - 1, "rate": 0.1, "best": None, "history": [0.5, 0.25]}


def test_a_state_comes_back_to_the_bit(tmp_path: Path) -> None:
    arrays = {"label": np.array([[1.5, -0.0], [np.inf, np.nan]], np.float32), "order": np.arange(5, dtype=np.uint32)}
    save_state(tmp_path / "checkpoint", arrays, STATE)
    found, state = load_state(tmp_path / "checkpoint")
    assert state == STATE
    assert {name: array.tobytes() for name, array in found.items()} == {n: a.tobytes() for n, a in arrays.items()}


@pytest.mark.parametrize("name", ["state.json", "arrays.safetensors", "manifest.json"])
def test_a_torn_checkpoint_is_told(tmp_path: Path, name: str) -> None:
    save_state(tmp_path / "checkpoint", {"a": np.ones(100)}, STATE)
    file = tmp_path / "checkpoint" / name
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[-9] ^= 1
    for harmed in (bytes(flipped), whole[:-1], b""):
        file.write_bytes(harmed)
        with pytest.raises(
            ModelError, match=rf"{name} is damaged: .*; delete the checkpoint and start without --resume"
        ):
            load_state(tmp_path / "checkpoint")


def test_a_state_must_be_plain_json(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"the state of a checkpoint must be plain JSON .* 'best' is not"):
        save_state(tmp_path / "checkpoint", {}, {"best": float("-inf")})


def test_a_model_is_no_checkpoint(tmp_path: Path) -> None:
    save_model(tmp_path / "model", make_model())
    with pytest.raises(ModelError, match=r"is not a checkpoint directory: it has no state\.json"):
        load_state(tmp_path / "model")
    with pytest.raises(ModelError, match=r"there is no checkpoint .*none; check the path"):
        load_state(tmp_path / "none")
