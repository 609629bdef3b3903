import pytest

from vse_ens.errors import ConfigError, DataError, MissingPartError, UnknownIdError, VseError


@pytest.mark.parametrize("kind", [ConfigError, DataError, MissingPartError])
def test_every_error_is_a_vse_error_that_prints_its_sentence(kind: type[VseError]) -> None:
    error = kind("pairs.csv has no column 'label'; it has: a, b")
    assert isinstance(error, VseError)
    assert str(error) == "pairs.csv has no column 'label'; it has: a, b"


def test_errors_are_caught_by_what_python_calls_them() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(DataError, ValueError)
    assert issubclass(MissingPartError, ImportError)
    assert issubclass(UnknownIdError, KeyError)


def test_an_unknown_id_names_the_nearest_known_ones() -> None:
    error = UnknownIdError("beech", "label", ["beach", "bench"])
    assert str(error) == "unknown label 'beech'; did you mean 'beach', 'bench'?"
    assert (error.unknown, error.kind, error.nearest) == ("beech", "label", ("beach", "bench"))


def test_an_unknown_id_like_no_other_comes_with_an_example() -> None:
    assert str(UnknownIdError("x", "image")) == "unknown image 'x'"
    assert str(UnknownIdError("x", "image", [], "img_1")) == "unknown image 'x'; there are images such as 'img_1'"
