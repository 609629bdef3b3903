"""The presets, and the page that tells about them."""

from __future__ import annotations

import pytest
from benchmarks.presets import DOCUMENT, filled

from vse_ens.config import PRESETS, preset
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
