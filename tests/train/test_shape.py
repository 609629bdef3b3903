"""What is left open is chosen from the data, and nothing else is touched."""

from __future__ import annotations

import pytest

from kernels.problems import annotations
from vse_ens.config import PRESETS, TOWERS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.train import shape
from vse_ens.train.shape import suited
from vse_ens.train.trainer import Trainer

OPEN = Config(tower="context", rank_scale=0.0, combinations=-1)


def of_shape(images: int, labels: int, each: int) -> Annotations:
    """So many images with the first labels each."""
    return annotations([list(range(each))] * images, labels)


@pytest.mark.parametrize(("labels", "scale"), [(2, 0.55), (291, 0.55), (400, 0.5), (10_000, 0.02)])
def test_negatives_are_drawn_200_labels_deep(labels: int, scale: float) -> None:
    assert suited(OPEN, of_shape(3, labels, 2)).rank_scale == scale


def test_many_labels_an_image_leave_no_room_for_combinations() -> None:
    most = shape._MOST_LABELS_AN_IMAGE
    assert suited(OPEN, of_shape(4, 50, most)).combinations == shape._MOST_COMBINATIONS
    assert suited(OPEN, of_shape(4, 50, most + 1)).combinations == 0
    # It is the mean that counts.
    mixed = annotations([list(range(most + 5)), list(range(most - 5))], 50)
    assert suited(OPEN, mixed).combinations == shape._MOST_COMBINATIONS


@pytest.mark.parametrize("tower", TOWERS)
def test_only_a_context_tower_has_combinations(tower: str) -> None:
    config = suited(OPEN.override(tower=tower), of_shape(4, 9, 3))
    assert bool(config.combinations) is config.has_context


def test_what_is_said_stays() -> None:
    data = of_shape(4, 100, 30)
    said = OPEN.override(rank_scale=0.25, combinations=7)
    assert suited(said, data) == said
    assert suited(said.override(combinations=0), data).combinations == 0
    assert suited(OPEN, data) == OPEN.override(rank_scale=0.55, combinations=0)


def test_a_trainer_tells_what_was_chosen() -> None:
    data = of_shape(10, 100, 3)
    config = Trainer(PRESETS["context"], data, 1).config
    assert config == suited(PRESETS["context"], data)
    assert (config.rank_scale, config.combinations) == (0.55, shape._MOST_COMBINATIONS)
