"""The presets, and the page that tells about them."""

from __future__ import annotations

import pytest
from benchmarks.presets import DOCUMENT, filled

from vse_ens.config import PRESETS, configure, preset
from vse_ens.errors import ConfigError


def test_the_table_of_presets_is_true() -> None:
    text = DOCUMENT.read_text()
    assert filled(text) == text, "run: python -m benchmarks.presets"


def test_the_papers_settings_are_the_papers() -> None:
    for name in ("paper-vse-ens", "paper-warp", "paper-opt-auc"):
        config = PRESETS[name]
        assert (config.dimensions, config.learning_rate, config.regularization) == (100, 0.01, 0.01)
        assert (config.init_scale, config.label_bias) == (0.01, False)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="preset must be one of vse-ens, warp, opt-auc"):
        preset("bpr")


def test_with_another_loss_come_the_steps_that_suit_it() -> None:
    config = configure("vse-ens", loss="logistic", epochs=160)
    assert (config.sampler, config.loss, config.epochs) == ("vse-ens", "logistic", 160)
    assert config.regularization == PRESETS["opt-auc"].regularization
    assert configure("paper-vse-ens", loss="logistic").regularization == 0.01
    assert configure("vse-ens", loss="hinge") == PRESETS["vse-ens"]
