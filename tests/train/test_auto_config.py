"""What is left open is chosen from the data, and nothing else is touched."""

from __future__ import annotations

import pytest

from tests.support.kernel_problems import annotations
from vse_ens.config import TOWERS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.presets import PRESETS
from vse_ens.train import schedule
from vse_ens.train.schedule import resolve_auto
from vse_ens.train.trainer import Trainer

OPEN = Config(tower="context", rank_scale=0.0, label_pairs=-1)


def of_shape(images: int, labels: int, each: int) -> Annotations:
    """``images`` images with the first ``each`` labels each."""
    return annotations([list(range(each))] * images, labels)


@pytest.mark.parametrize(("labels", "scale"), [(2, 0.55), (291, 0.55), (400, 0.5), (10_000, 0.02)])
def test_negatives_are_drawn_200_labels_deep(labels: int, scale: float) -> None:
    assert resolve_auto(OPEN, of_shape(3, labels, 2)).rank_scale == scale


def test_many_labels_an_image_leave_no_room_for_combinations() -> None:
    most = schedule._MAX_LABELS_PER_IMAGE
    assert resolve_auto(OPEN, of_shape(4, 50, most)).label_pairs == schedule._MAX_LABEL_PAIRS
    assert resolve_auto(OPEN, of_shape(4, 50, most + 1)).label_pairs == 0
    # It is the mean that counts.
    mixed = annotations([list(range(most + 5)), list(range(most - 5))], 50)
    assert resolve_auto(OPEN, mixed).label_pairs == schedule._MAX_LABEL_PAIRS


@pytest.mark.parametrize("tower", TOWERS)
def test_only_a_context_tower_has_combinations(tower: str) -> None:
    config = resolve_auto(OPEN.override(tower=tower), of_shape(4, 9, 3))
    assert bool(config.label_pairs) is config.has_context


def test_given_settings_stay() -> None:
    data = of_shape(4, 100, 30)
    said = OPEN.override(rank_scale=0.25, label_pairs=7)
    assert resolve_auto(said, data) == said
    assert resolve_auto(said.override(label_pairs=0), data).label_pairs == 0
    assert resolve_auto(OPEN, data) == OPEN.override(rank_scale=0.55, label_pairs=0)


def test_a_trainer_tells_what_was_chosen() -> None:
    data = of_shape(10, 100, 3)
    config = Trainer(PRESETS["context"], data, 1).config
    assert config == resolve_auto(PRESETS["context"], data)
    assert (config.rank_scale, config.label_pairs) == (0.55, schedule._MAX_LABEL_PAIRS)
