"""Every setting is checked where it enters, and told apart by name."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest

from vse_ens.config import LOSSES, RANK_DISTRIBUTIONS, SAMPLERS, TOWERS, Config, Settings
from vse_ens.errors import ConfigError
from vse_ens.presets import PRESETS, preset

BAD: dict[str, list[Any]] = {
    "sampler": ["nearest", "", None, 3, ["uniform"]],
    "loss": ["bpr", None],
    "tower": ["pixels", "features+id", "id+context", "context+"],
    "dimensions": [0, -1, 2.5, True, "100", None],
    "epochs": [0, 1.0, None],
    "learning_rate": [0, -0.1, 11, math.nan, math.inf, "0.1", True, None],
    "learning_rate_decay": [0, 1.01, -1, math.nan],
    "regularization": [-0.1, 11, math.nan, None, "0"],
    "bias_regularization": [-0.1, 11, math.inf],
    "init_scale": [0, -1, 11],
    "label_bias": [1, "yes", None],
    "label_pairs": [-2, 1.5, True, None],
    "label_weights": [1, "yes", None],
    "neighbors": [1, "no", None],
    "balance": [-0.1, 11, math.nan, None],
    "margin": [0, -1, math.nan, math.inf],
    "rank_distribution": ["zipf", None],
    "rank_scale": [-0.5, 11, math.nan, math.inf],
    "negatives": [0, 1.5],
    "candidates": [0, -3],
    "popularity_power": [-1, 11, math.nan],
    "rank_weight": ["median", None],
    "top_n": [0, 2.0],
    "refresh": [0, -1, math.inf],
    "engine": ["slow", None],
    "positives": ["sorted", None],
    "redraw_positives": [1, "no", None],
    "warp_cap": [0, "no", None],
    "slices": [-1, 1.5, False],
    "batch": [-1, 2.0],
    "shards": [0, 1.5, True],
    "exchanges": [-1, 2.0],
    "validate": [1, "no", None],
    "metric": ["accuracy", None],
    "patience": [0, 1.5],
    "refit": [1, "no", None],
    "members": [0, 1.5, True, 65],
    "seed": [-1, 2**64, 0.5, True, None],
}


def test_every_setting_is_tried() -> None:
    assert set(BAD) == {field.name for field in fields(Config)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_value_is_told_with_its_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be ") as told:
        Config(**{name: value})
    assert repr(value) in str(told.value)


def test_settings_are_the_fields_but_for_the_seed() -> None:
    types = {field.name: field.type for field in fields(Config) if field.name != "seed"}
    found = {name: getattr(hint, "__forward_arg__", hint) for name, hint in Settings.__annotations__.items()}
    assert found == types


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_pairs_that_make_sense(sampler: str, loss: str) -> None:
    sense = {
        "hinge": SAMPLERS,
        "logistic": SAMPLERS,
        "warp": ("warp",),
        "softmax": ("uniform", "popularity", "vse-ens", "dns"),
    }
    if sampler in sense[loss]:
        assert Config(sampler=sampler, loss=loss).loss == loss
    else:
        with pytest.raises(ConfigError, match=f"loss {loss} .* sampler {sampler}.* use "):
            Config(sampler=sampler, loss=loss)


def test_settings_that_need_another_say_which() -> None:
    for name in ("label_weights", "refit"):
        with pytest.raises(ConfigError, match=f"{name} needs held-out labels; set validate too"):
            Config(**{name: True})
        assert getattr(Config(validate=True, **{name: True}), name)
    with pytest.raises(ConfigError, match="label_pairs belong to a context tower, not to tower id"):
        Config(label_pairs=5)
    assert Config(tower="context+id", label_pairs=5).label_pairs == 5
    assert Config(label_pairs=-1).label_pairs == -1, "left to the data, which has none for tower id"


def test_a_model_without_validation_holds_no_label_out() -> None:
    config = PRESETS["context"]
    assert config.without_validation() == config.override(
        validate=False, label_weights=False, neighbors=False, refit=False
    )
    assert PRESETS["warp"].without_validation() == PRESETS["warp"]


def test_a_dictionary_goes_out_and_comes_back() -> None:
    config = Config(sampler="dns", loss="logistic", rank_distribution=RANK_DISTRIBUTIONS[1], seed=3)
    assert Config.from_dict(config.to_dict()) == config


def test_unknown_names_are_told() -> None:
    with pytest.raises(ConfigError, match=r"^unknown setting 'dimension'; did you mean dimensions\?$"):
        Config.from_dict({"dimension": 3})
    with pytest.raises(ConfigError, match="unknown setting 'dimension'"):
        Config().override(dimension=3)


def test_override_leaves_out_what_is_none() -> None:
    assert Config().override(dimensions=7, epochs=None) == Config(dimensions=7)
    with pytest.raises(ConfigError, match="dimensions"):
        Config().override(dimensions=0)


def test_towers_are_taken_apart() -> None:
    configs = [Config(tower=tower) for tower in TOWERS]
    found = {config.tower: (config.has_ids, config.has_features, config.has_context) for config in configs}
    assert found == {
        "id": (True, False, False),
        "features": (False, True, False),
        "id+features": (True, True, False),
        "context": (False, False, True),
        "context+id": (True, False, True),
        "context+features": (False, True, True),
    }


def test_presets_of_the_paper() -> None:
    for name in ("vse-ens", "warp", "opt-auc"):
        paper = preset(f"paper-{name}")
        assert (paper.sampler, paper.loss) == (PRESETS[name].sampler, PRESETS[name].loss)
        assert (paper.dimensions, paper.learning_rate, paper.regularization) == (100, 0.01, 0.01)
        assert not paper.label_bias
        assert paper.init_scale == 0.01
    assert (PRESETS["vse-ens"].sampler, PRESETS["vse-ens"].loss) == ("vse-ens", "hinge")
    assert (PRESETS["warp"].sampler, PRESETS["warp"].loss) == ("warp", "warp")
    assert (PRESETS["opt-auc"].sampler, PRESETS["opt-auc"].loss) == ("uniform", "logistic")


def test_an_unknown_preset_is_told() -> None:
    with pytest.raises(ConfigError, match=r"preset must be one of context, quick, .*; got 'best'"):
        preset("best")
