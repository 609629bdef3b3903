"""Search spaces: those of the presets, and what a file of one's own may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.errors import ConfigError
from vse_ens.experiments.tune.space import SPACES, Choices, Range, check_space, contains, read_space
from vse_ens.presets import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_space_with_its_own_settings(preset: str) -> None:
    check_space(SPACES[preset], preset, {})
    assert contains(SPACES[preset], PRESETS[preset].to_dict())


def test_a_space_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        "[learning_rate]\nlow = 0.01\nhigh = 0.2\nlog = true\n[negatives]\nlow = 4\nhigh = 8\n"
        '[loss]\nchoices = ["softmax", "logistic"]\n'
    )
    space = read_space(path)
    assert space == {
        "learning_rate": Range(0.01, 0.2, log=True),
        "negatives": Range(4, 8),
        "loss": Choices(("softmax", "logistic")),
    }
    check_space(space, "context", {})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[learning_rate\n", r"the space .*space.toml is not TOML: .*line 1"),
        ("", "the space is empty"),
        ("learning_rate = 0.1", "learning_rate needs low and high"),
        ("[learning_rate]\nlow = 0.1", "learning_rate needs low and high"),
        ("[learning_rate]\nlow = 0.1\nhigh = 0.2\nstep = 1", "learning_rate needs low and high"),
        ("[learning_rat]\nlow = 0.1\nhigh = 0.2", "unknown setting 'learning_rat'; did you mean learning_rate?"),
        ("[color]\nlow = 0.1\nhigh = 0.2", "unknown setting 'color'; docs/training.md lists all settings"),
        ("[epochs]\nlow = 1\nhigh = 5", "the space cannot have epochs"),
        ("[seed]\nchoices = [1, 2]", "the space cannot have seed"),
        ("[learning_rate]\nlow = 0.2\nhigh = 0.1", "learning_rate needs low below high, got 0.2 and 0.1"),
        ("[learning_rate]\nlow = 0\nhigh = 0.1\nlog = true", "needs low above 0 for a logarithmic scale"),
        ("[learning_rate]\nlow = 0.1\nhigh = 20.0", "the space allows learning_rate = 20.0, .* up to 10, got 20.0"),
        ("[learning_rate]\nlow = 'a'\nhigh = 'b'", "the range of learning_rate needs numbers, got 'a'"),
        ("[learning_rate]\nlow = 0.1\nhigh = 0.2\nlog = 1", "log of learning_rate must be true or false, got 1"),
        ("[negatives]\nlow = 0.5\nhigh = 8", "the range of negatives needs whole numbers, got 0.5"),
        ("[loss]\nlow = 1\nhigh = 2", "loss is not a number and has no range"),
        ("[loss]\nchoices = []", "the choices of loss must be different values, at least one"),
        ("[negatives]\nchoices = [4, 4]", "the choices of negatives must be different values"),
        ("[negatives]\nchoices = [4, 'x']", "the space allows negatives = 'x', which is not a valid setting"),
        (
            "[loss]\nchoices = ['softmax', 'hinge']\n[sampler]\nchoices = ['uniform', 'warp']",
            "the space allows sampler = 'warp', .* loss softmax needs several negatives",
        ),
        ("[dimensions]\nchoices = [4, 8]", "dimensions is in the space and is also set to 16; leave one of them out"),
    ],
)
def test_a_bad_space_is_told_in_a_sentence(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=fault) as raised:
        check_space(read_space(path), "context", {"dimensions": 16})
    assert "\n" not in str(raised.value)


def test_settings_that_conflict_are_found_before_the_first_trial() -> None:
    space = {"loss": Choices(("hinge", "softmax")), "sampler": Choices(("uniform", "naive"))}
    with pytest.raises(ConfigError, match=r"the space allows loss = 'softmax', sampler = 'naive', .* does not draw"):
        check_space(space, "vse-ens", {})


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the space .*none.toml cannot be read: No such file"):
        read_space(tmp_path / "none.toml")
