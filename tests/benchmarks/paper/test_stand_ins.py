from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper.stand_ins import Shape, stand_in
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.errors import ConfigError


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    images = draw(st.integers(1, 60))
    test = draw(st.integers(1, images))
    labels = draw(st.integers(2, min(70, images + test)))  # as many pairs are the fewest there can be
    return Shape(images, labels, draw(st.integers(images, images - test + test * (labels - 1))), test)


@given(shapes(), st.integers(0, 3))
def test_every_count_is_exact(shape: Shape, seed: int) -> None:
    data = stand_in(shape, seed)
    train, test = data.leave_one_out(seed)
    assert (len(data.images), len(data.labels), train.pairs, test.pairs) == (
        shape.images,
        shape.labels,
        shape.train,
        shape.test,
    )
    assert data.images_per_label.min() >= 1
    assert data.labels_per_image.min() >= 1


@pytest.mark.parametrize(
    "shape",
    [
        Shape(1_000, 300, 5_000, 900),  # thinner than it was drawn
        Shape(1_000, 300, 30_000, 1_000),  # much fuller
        Shape(1_000, 2_000, 1_000, 1_000),  # as tight as can be: every pair a label of its own
    ],
)
def test_larger_shapes_are_exact(shape: Shape) -> None:
    train, test = stand_in(shape).leave_one_out(0)
    assert (len(train.images), len(train.labels), train.pairs, test.pairs) == (
        shape.images,
        shape.labels,
        shape.train,
        shape.test,
    )


def test_a_stand_in_depends_on_shape_and_seed_alone() -> None:
    shape = Shape(200, 80, 900, 190)
    assert stand_in(shape, 1) == stand_in(shape, 1)
    assert stand_in(shape, 1) != stand_in(shape, 2)


def test_added_labels_belong_to_the_scene() -> None:
    """Labels of a fuller stand-in keep each other's company: some pairs of labels are far commoner than by chance."""
    data = stand_in(Shape(2_000, 100, 18_000, 2_000))
    table = np.zeros((2_000, 100))
    table[data.image_numbers(), data.indices] = 1.0
    together = table.T @ table
    expected = np.outer(table.sum(axis=0), table.sum(axis=0)) / 2_000
    np.fill_diagonal(together, 0.0)
    assert (together[expected > 20] / expected[expected > 20]).max() > 3.0


@pytest.mark.parametrize(
    ("counts", "fault"),
    [
        ((0, 10, 10, 0), "at least 1"),
        ((10, 10, 20, 11), "must not exceed"),
        ((10, 10, 9, 5), "cannot have 9 training pairs"),
        ((10, 3, 21, 10), "cannot have 21 training pairs"),
        ((3, 10, 4, 2), "too few for each of 10 labels"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(counts: tuple[int, int, int, int], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Shape(*counts)


def test_a_smaller_shape_keeps_the_labels() -> None:
    assert Shape(1_000, 50, 4_000, 800).scaled(0.1) == Shape(100, 50, 400, 80)
