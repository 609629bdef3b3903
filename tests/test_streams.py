import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vse_ens.errors import ConfigError
from vse_ens.streams import Streams

names = st.lists(st.text(max_size=4) | st.integers(-1000, 1000), max_size=4).map(tuple)
seeds = st.integers(0, 2**64 - 1)

# Seeds are fixed, so a check passes for good or fails for good; a right stream fails with one seed in ten thousand.
LEAST_CHANCE = 1e-4


def test_the_words_of_a_stream_never_change() -> None:
    # If one of these differs, every model, split and data set made so far differs too.
    assert Streams(0).key() == (8603371077270951866, 12492784298220833016)
    assert Streams(0).words(3).tolist() == [14422275619420784592, 6112088029126565058, 871018865792327034]
    assert Streams(7).child("train", 3, "round", 12).words(2).tolist() == [14173420217739583968, 2726255341865928886]
    assert Streams(2**64 - 1).child("übung", -1).words(1).tolist() == [3490225822166785390]


@given(seeds, names, names)
def test_a_child_depends_on_its_path_and_the_seed_only(seed: int, first: tuple, second: tuple) -> None:
    whole = Streams(seed).child(*first, *second)
    parent = Streams(seed).child(*first)
    parent.words(5)
    parent.child("other").words(5)
    in_steps = parent
    for name in second:
        in_steps = in_steps.child(name)
    assert in_steps == whole
    assert np.array_equal(in_steps.words(4), whole.words(4))


@given(seeds, names, names)
def test_different_paths_are_different_streams(seed: int, first: tuple, second: tuple) -> None:
    same = Streams(seed).child(*first).key() == Streams(seed).child(*second).key()
    assert same == (first == second)


def test_paths_that_spell_alike_are_different_streams() -> None:
    paths = [("a", "b"), ("ab",), ("a", "b", ""), ("b", "a"), (1,), ("1",), (11,), (1, 1), ()]
    assert len({Streams(0).child(*path).key() for path in paths}) == len(paths)


def test_different_seeds_are_different_streams() -> None:
    assert len({Streams(seed).key() for seed in [*range(100), 2**32, 2**63, 2**64 - 1]}) == 103


@given(st.integers(0, 50), st.integers(0, 50))
def test_taking_fewer_numbers_gives_the_first_ones(few: int, more: int) -> None:
    few, more = sorted((few, more))
    stream = Streams(1).child("prefix")
    assert np.array_equal(stream.words(few), stream.words(more)[:few])
    assert np.array_equal(stream.uniforms(few), stream.uniforms(more)[:few])


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", True, None])
def test_a_seed_that_cannot_work_is_refused(seed: object) -> None:
    with pytest.raises(ConfigError, match="seed must be an integer from 0 to 2\\*\\*64 - 1, got"):
        Streams(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [1.5, None, True, b"x"])
def test_a_name_that_cannot_work_is_refused(name: object) -> None:
    with pytest.raises(ConfigError, match="a stream name must be a string or an integer, got"):
        Streams(0).child(name)  # type: ignore[arg-type]


def test_uniforms_are_uniform() -> None:
    drawn = Streams(0).child("uniforms").uniforms(100_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert stats.kstest(drawn, "uniform").pvalue > LEAST_CHANCE


def test_neighboring_streams_have_nothing_to_do_with_each_other() -> None:
    table = np.array([Streams(0).child("shard", shard).uniforms(2_000) for shard in range(50)])
    correlations = np.corrcoef(table)[np.triu_indices(50, 1)]
    # Fisher: each is about N(0, 1 / sqrt(n)).
    assert stats.kstest(correlations * np.sqrt(2_000), "norm").pvalue > LEAST_CHANCE


@pytest.mark.parametrize("bound", [2, 7, 291])
def test_below_draws_every_number_under_the_bound_alike(bound: int) -> None:
    drawn = Streams(0).child("below", bound).below(np.full(50_000, bound))
    counts = np.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert stats.chisquare(counts).pvalue > LEAST_CHANCE


@given(seeds, st.lists(st.integers(1, 2**53), max_size=20))
def test_below_keeps_each_number_under_its_own_bound(seed: int, bounds: list[int]) -> None:
    drawn = Streams(seed).below(np.array(bounds, dtype=np.int64))
    assert drawn.dtype == np.int64
    assert all(0 <= pick < bound for pick, bound in zip(drawn.tolist(), bounds, strict=True))


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_normals_come_in_any_number(count: int) -> None:
    drawn = Streams(0).child("normals").normals(count)
    assert len(drawn) == count
    assert np.isfinite(drawn).all()


def test_normals_are_normal() -> None:
    drawn = Streams(0).child("normals").normals(100_001)
    assert stats.kstest(drawn, "norm").pvalue > LEAST_CHANCE
    # The two halves are cosine and sine of the same radius: they must still be independent.
    assert abs(np.corrcoef(drawn[:50_000], drawn[50_001:])[0, 1]) < 4 / np.sqrt(50_000)


@pytest.mark.parametrize("first", [0, 1, 3, 4, 7, 1_000_001])
def test_a_stream_can_be_entered_at_any_place(first: int) -> None:
    stream = Streams(3).child("somewhere")
    bounds = np.arange(1, 12)
    assert stream.words(11, first).tolist() == stream.words(first + 11)[first:].tolist()
    assert (
        stream.below(bounds, first).tolist()
        == stream.below(np.append(np.ones(first, np.int64), bounds))[first:].tolist()
    )
