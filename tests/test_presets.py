"""The presets, and the page that tells about them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.core.preset_table import DOCUMENT, filled

from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.presets import (
    CONTEXT_SOFTMAX_STEPS,
    CONTEXT_STEPS,
    PRESETS,
    STEPS,
    configure,
    preset,
    preset_text,
    read_preset_file,
)


def test_the_table_of_presets_is_true() -> None:
    text = DOCUMENT.read_text()
    assert filled(text) == text, "run: python -m benchmarks.core.preset_table"


def test_the_papers_settings_are_the_papers() -> None:
    for name, epochs in (("paper-vse-ens", 200), ("paper-warp", 150), ("paper-opt-auc", 800)):
        config = PRESETS[name]
        assert (config.engine, config.epochs, config.learning_rate_decay) == ("serial", epochs, 1.0)
        assert (config.margin, config.refresh, config.rank_distribution) == (1.0, 1.0, "exponential")
        assert (config.dimensions, config.learning_rate, config.regularization) == (100, 0.01, 0.01)
        assert (config.init_scale, config.label_bias) == (0.01, False)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="preset must be one of context, quick, thorough, vse-ens, warp, opt-auc"):
        preset("bpr")


def test_with_another_loss_come_the_steps_that_suit_it() -> None:
    config = configure("vse-ens", loss="logistic", epochs=160)
    assert (config.sampler, config.loss, config.epochs) == ("vse-ens", "logistic", 160)
    assert config.regularization == PRESETS["opt-auc"].regularization
    assert configure("paper-vse-ens", loss="logistic").regularization == 0.01
    assert configure("vse-ens", loss="hinge") == PRESETS["vse-ens"]


def test_with_another_tower_come_the_steps_that_suit_it() -> None:
    assert configure("vse-ens", tower="features") == PRESETS["vse-ens"].override(tower="features")
    for tower in ("context", "context+id"):
        config = configure("vse-ens", tower=tower, epochs=7)
        assert config == PRESETS["vse-ens"].override(tower=tower, **{**CONTEXT_STEPS, "epochs": 7})
    assert configure("context", loss="hinge") == PRESETS["context"].override(loss="hinge", **CONTEXT_STEPS)
    assert configure("vse-ens", tower="context", loss="softmax").epochs == CONTEXT_SOFTMAX_STEPS["epochs"]
    back = configure("context", tower="id", learning_rate=0.2)
    assert (back.learning_rate, back.epochs, back.rank_scale) == (0.2, STEPS["softmax"]["epochs"], 0.3)
    assert back.init_scale == Config().init_scale


def test_none_keeps_the_preset() -> None:
    assert configure("context", tower=None, loss=None, epochs=None) == PRESETS["context"]


def test_an_unknown_tower_or_loss_is_named() -> None:
    for name, bad in (("tower", "pixels"), ("loss", "bpr")):
        with pytest.raises(ConfigError, match=f"{name} must be one of .*; got '{bad}'"):
            configure("context", **{name: bad})


def test_the_default_holds_labels_out_and_trains_anew() -> None:
    config = preset("context")
    assert (config.tower, config.sampler, config.loss) == ("context", "vse-ens", "softmax")
    assert (config.validate, config.label_weights, config.refit, config.metric) == (True, True, True, "overall")
    assert (config.label_pairs, config.rank_scale) == (-1, 0.0), "left to the data"


def test_a_preset_file_changes_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    settings = {"learning_rate": 1e-05, "epochs": 3, "loss": "hinge", "label_bias": False}
    path.write_text(preset_text("opt-auc", settings, "One line,\nand another."), encoding="utf-8")
    assert path.read_text().startswith('# One line,\n# and another.\npreset = "opt-auc"\n\n[settings]\n')
    assert read_preset_file(path) == ("opt-auc", settings)
    assert configure(str(path), epochs=7) == configure("opt-auc", **{**settings, "epochs": 7})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("preset = ", "is not TOML: "),
        ("", "is not a preset file .its preset is None.; it needs preset, one of context"),
        ('preset = "other.toml"', "is not a preset file .its preset is 'other.toml'."),
        ('preset = ["context"]', "is not a preset file"),
        ('preset = "context"\nepochs = 3', "is not a preset file .it has 'epochs'."),
        ('preset = "context"\nsettings = 3', "is not a preset file"),
        ('preset = "context"\n[settings]\nepoch = 3', "tuned.toml: unknown setting 'epoch'; did you mean epochs"),
        ('preset = "context"\n[settings]\nepochs = 0', "tuned.toml: epochs must be an integer of at least 1"),
    ],
)
def test_a_bad_preset_file_is_told_in_a_sentence(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=fault) as raised:
        configure(str(path))
    assert "\n" not in str(raised.value)


def test_a_missing_preset_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the preset file .*none.toml cannot be read: No such file"):
        configure(str(tmp_path / "none.toml"))
    with pytest.raises(ConfigError, match="preset must be one of"):
        preset(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("kind", ["pipe", "device", "nested", "number", "long"])
def test_a_hostile_preset_file_is_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "p.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text("a = " + {"nested": "[" * 9_000, "number": "9" * 9_000, "long": "'" + "x" * (1 << 20)}[kind])
    with pytest.raises(
        ConfigError, match=r"p\.toml (cannot be read: it is not a regular file|is not TOML: )"
    ) as caught:
        configure(str(path))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "line", ["tower = 3", "loss = 3", f"sampler = '{'x' * 9_000}'", f"{'x' * 9_000} = 1", "dimensions = 1e308"]
)
def test_an_odd_setting_of_a_preset_file_is_one_sentence(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.toml"
    for text in (f"preset = 'context'\n[settings]\n{line}\n", f"preset = 'context'\n{line}\n"):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"p\.toml") as caught:
            configure(str(path))
        assert len(str(caught.value)) < 600
