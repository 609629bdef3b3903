from __future__ import annotations

import pytest

from vse_ens.baselines.als import Als
from vse_ens.baselines.ease import Ease
from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.experiments.compare.entries import parse_entries
from vse_ens.presets import PRESETS, configure


def test_names_come_in_the_order_asked_for() -> None:
    entries = parse_entries("vse-ens,warp,opt-auc,popularity,cooccurrence,ease")
    assert [entry.name for entry in entries] == ["vse-ens", "warp", "opt-auc", "popularity", "cooccurrence", "ease"]
    assert [entry.kind for entry in entries] == ["model"] * 3 + ["baseline"] * 3
    assert entries[0].method == PRESETS["vse-ens"]


def test_settings_follow_a_colon_up_to_the_next_name() -> None:
    first, second, third, fourth = parse_entries(
        "vse-ens:loss=logistic,epochs=50, warp ,ease:regularization=10,vse-ens:validate=true,label_bias=false"
    )
    assert first.name == "vse-ens:loss=logistic,epochs=50"
    assert first.base_name == "vse-ens"
    assert first.method == configure("vse-ens", loss="logistic", epochs=50)
    assert second.method == PRESETS["warp"]
    assert third.method == Ease(regularization=10)
    assert isinstance(fourth.method, Config)
    assert fourth.method.validate
    assert not fourth.method.label_bias


def test_seed_and_dimensions_are_defaults_of_every_entry() -> None:
    model, own, als, popularity = parse_entries("warp,warp:dimensions=7,seed=8,als,popularity", seed=3, dimensions=5)
    assert model.settings()["seed"] == 3
    assert model.settings()["dimensions"] == 5
    assert own.settings()["seed"] == 8
    assert own.settings()["dimensions"] == 7
    assert als.method == Als(seed=3, factors=5)
    assert popularity.settings() == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "models must name one or more of context, quick, thorough, vse-ens, "),
        (" , ", "models must name one or more of context, quick, thorough, vse-ens, "),
        ("pear", "models must be of context, quick, thorough, vse-ens, .*als; got 'pear'"),
        ("epochs=5", "models has the setting 'epochs=5' with no model before it"),
        ("warp,ease,warp", "models names 'warp' twice"),
        ("warp:epochs", "'epochs' of warp is not a setting such as warp:seed=1"),
        ("warp:epochs=0", "warp:epochs=0: epochs must be an integer of at least 1, got 0"),
        ("warp:pear=1", "warp:pear=1: unknown setting 'pear'"),
        ("ease:pear=1", "ease:pear=1: unknown setting 'pear' of the baseline ease"),
    ],
)
def test_a_wrong_entry_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        parse_entries(text)
