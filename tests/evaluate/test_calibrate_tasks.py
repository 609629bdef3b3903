from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.random_models import random_case
from tests.support.saved_models import KINDS, one_held_out
from vse_ens.data.annotations import Split
from vse_ens.evaluate import calibrate as calibrate_module
from vse_ens.evaluate.calibrate import calibrate, expected_shares, mask_known
from vse_ens.kernels.arrays import Csr
from vse_ens.model.model import Model


def bytes_of(model: Model, split: Split, features: Any = None) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in calibrate(model, split, features).arrays().items()}


def test_expected_shares_are_means_over_what_may_be_held_out() -> None:
    shares = np.array([[0.5, 0.3, 0.2, 0.0]], "f4")
    expected = [
        sum(shares[0, x] / (1 - shares[0, a]) * shares[0, a] / (1 - shares[0, x]) for x in range(4) if x != a)
        for a in range(4)
    ]
    assert expected_shares(shares)[0] == pytest.approx(expected, rel=1e-5)
    assert expected_shares(np.array([[1.0, 0.0], [1.0, 1e-30]], "f4"))[:, 0].tolist() == [1.0, 1.0]
    # Left over is 0.3, in small pieces.
    assert expected_shares(np.array([[0.5, 0.2]], "f4"))[0] == pytest.approx([0.25 + 0.3, 0.25 + 0.075], rel=1e-5)


def test_known_labels_are_taken_out() -> None:
    rows = Csr(np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32))
    found = mask_known(np.ones((3, 3), np.float32), rows)
    assert np.isneginf(found).tolist() == [[True, False, True], [False] * 3, [False, True, False]]


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_change_a_byte(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, known = random_case(kind, images=600)
    split = one_held_out(known)
    expected = bytes_of(model, split)
    monkeypatch.setattr(calibrate_module, "_BLOCK_SCORES", 50 * 40)
    assert bytes_of(model, split) == expected


def test_mapped_features_count() -> None:
    model, known = random_case("id", images=200)
    numbers = np.random.default_rng(0)
    features = numbers.normal(size=(200, 5)).astype(np.float32)
    embeddings = model.embeddings
    mapped = Model(
        type(embeddings)(
            embeddings.label_vectors,
            embeddings.label_bias,
            embeddings.image_vectors,
            numbers.normal(size=(5, 6)).astype(np.float32),
        )
    )
    split = one_held_out(known)
    assert bytes_of(mapped, split, features) != bytes_of(model, split)
