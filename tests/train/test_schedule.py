"""The order of the work: everything once an epoch, cut by the data and the configuration alone."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kernel_problems import annotations
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.streams import Streams
from vse_ens.train.schedule import CHUNKS, EpochPlan, Schedule

degrees = st.lists(st.one_of(st.integers(0, 9), st.sampled_from([0, 200])), min_size=1, max_size=50).filter(sum)
sizes = st.integers(1, 120)


def data_of(counts: list[int]) -> Annotations:
    return annotations([list(range(count)) for count in counts], max(counts))


def plan_of(counts: list[int], round_draws: int, epoch: int = 0) -> EpochPlan:
    return EpochPlan.of(data_of(counts), Schedule(round_draws, 1, 1), Streams(0).child("train", epoch))


@given(degrees, sizes)
def test_rounds_hold_every_image_with_a_label_once(counts: list[int], round_draws: int) -> None:
    plan = plan_of(counts, round_draws)
    starts = plan.round_starts.tolist()
    assert starts[0] == 0
    assert starts[-1] == len(plan.images)
    assert all(a < b for a, b in pairwise(starts))
    assert sorted(plan.images.tolist()) == np.flatnonzero(counts).tolist()
    assert plan.draws_before[-1] == sum(counts)


@given(degrees, sizes)
def test_rounds_are_about_as_long_as_asked_for(counts: list[int], round_draws: int) -> None:
    plan = plan_of(counts, round_draws)
    lengths = np.diff(plan.draws_before[plan.round_starts])
    assert lengths.max() <= 1.5 * round_draws + max(counts)


@given(degrees, sizes, st.integers(1, 9))
def test_slices_partition_the_images_of_a_round(counts: list[int], round_draws: int, slices: int) -> None:
    plan = plan_of(counts, round_draws)
    for number, (first, last) in enumerate(pairwise(plan.round_starts)):
        cut = plan.slices(number, slices)
        assert len(cut) == slices
        assert np.concatenate(cut).tolist() == plan.images[first:last].tolist()
        draws = plan.draws_before[last] - plan.draws_before[first]
        assert all(np.array(counts)[piece].sum() <= draws / slices + max(counts) + 1 for piece in cut)


@given(degrees, sizes, sizes)
def test_batches_partition_the_images_of_a_round(counts: list[int], round_draws: int, batch: int) -> None:
    plan = plan_of(counts, round_draws)
    for number, (first, last) in enumerate(pairwise(plan.round_starts)):
        batches = plan.batches(number, batch)
        assert all(1 < len(edges) <= CHUNKS + 1 and (np.diff(edges) > 0).all() for edges in batches)
        starts, ends = [edges[0] for edges in batches], [edges[-1] for edges in batches]
        assert [first, *ends] == [*starts, last]


def test_epochs_have_orders_of_their_own() -> None:
    first, again, second = (plan_of([2] * 30, 20, epoch).images.tolist() for epoch in (0, 0, 1))
    assert first == again
    assert first != second


def test_pieces_have_random_states_of_their_own() -> None:
    plan = plan_of([2] * 30, 20)
    states = [plan.random_states(number, 4) for number in range(plan.rounds)]
    assert all(len(state) == 4 for state in states)
    assert len({int(state) for block in states for state in block[:, 0]}) == 4 * plan.rounds


@pytest.mark.parametrize("labels", [2, 291, 6_000, 100_000])
def test_a_round_is_the_number_of_labels_times_its_logarithm(labels: int) -> None:
    schedule = Schedule.of(Config(slices=1), labels)
    assert schedule.round_draws == max(2_048, int(labels * math.log(labels)))
    assert Schedule.of(Config(slices=1, refresh=3.0), 6_000).round_draws == int(3 * 6_000 * math.log(6_000))
    assert Schedule.of(Config(slices=2), 6_000).round_draws == int(2 * 6_000 * math.log(6_000))
    assert Schedule.of(Config(slices=2, loss="softmax"), 6_000).round_draws == int(6_000 * math.log(6_000))


def test_settings_come_before_values_chosen_from_the_data() -> None:
    schedule = Schedule.of(Config(slices=3, batch=77), 6_000)
    assert (schedule.slices, schedule.batch) == (3, 77)


def test_small_vocabularies_get_one_slice_and_small_batches() -> None:
    assert Schedule.of(Config(), 81).slices == 1
    assert Schedule.of(Config(), 81).batch == 162
    assert Schedule.of(Config(), 2).batch == 32
    assert 1 < Schedule.of(Config(), 100_000).slices <= 8
    assert Schedule.of(Config(), 100_000).batch == 4_096
