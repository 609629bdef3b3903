"""What similar images have, against sums over all images written out."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.neighbors import FLOOR, LEAST_SHARE, LEAST_SIMILARITY
from vse_ens.model.neighbors import ImageNeighbors, NeighborTerms
from vse_ens.model.topk import run_serial

SCALE = 1.5


def random_rows(images: int, labels: int, density: float = 0.6) -> Annotations:
    """Rows of labels of very different frequency, some of them equal, some empty."""
    numbers = np.random.default_rng(0)
    shares = density / np.arange(1, labels + 1) ** 0.8
    rows = numbers.random((images, labels)) < shares[numbers.permutation(labels)]
    rows[images // 2 : images // 2 + images // 10] = rows[: images // 10]
    images_of, labels_of = np.nonzero(rows)
    ids = [
        Vocabulary.from_ids((f"{n:05}" for n in range(count)), kind)
        for count, kind in zip(rows.shape, ("image", "label"), strict=True)
    ]
    return Annotations.from_numbers(*ids, images_of, labels_of)


def twin(known: Annotations, given: set[int], own: int | None) -> np.ndarray:
    """What neighbors add to the scores of an image with some labels: one similarity after another."""
    sets = [set(known.rows(np.array([image]))[1].tolist()) for image in range(len(known.images))]
    count = np.maximum(known.images_per_label, 1)
    weight = [math.log(1 + len(sets) / n) for n in count]
    similarities = {}
    for image, labels in enumerate(sets):
        common = sum(weight[a] for a in labels & given)
        if image != own and common:
            lengths = sum(weight[a] for a in labels) * sum(weight[a] for a in given)
            similarities[image] = common / math.sqrt(lengths)
    best = max(similarities.values(), default=0.0)
    weights = {image: s**10 for image, s in similarities.items() if s >= LEAST_SIMILARITY * best}
    terms = np.zeros(len(weight))
    for label in range(len(weight)):
        share = sum(w for image, w in weights.items() if label in sets[image]) / (sum(weights.values()) or 1.0)
        terms[label] = SCALE * math.log(1 + share / FLOOR) if share >= LEAST_SHARE else 0.0
    return terms


def added(neighbors: ImageNeighbors, rows: Csr, images: np.ndarray | None) -> np.ndarray:
    scores = np.zeros((len(rows.indptr) - 1, len(neighbors.known.labels)), np.float32)
    neighbors.add_scores(rows, images, scores)
    return scores


@pytest.mark.parametrize("shape", [(40, 6), (300, 30), (60, 200)])
def test_scores_equal_sums_over_all_images(shape: tuple[int, int]) -> None:
    known = random_rows(*shape)
    neighbors = ImageNeighbors(known, SCALE)
    images = np.arange(0, shape[0], 7)
    rows = Csr(*known.rows(images))
    found = added(neighbors, rows, images)
    for row, image in zip(found, images.tolist(), strict=True):
        given = set(known.rows(np.array([image]))[1].tolist())
        np.testing.assert_allclose(row, twin(known, given, image), rtol=2e-4, atol=1e-5)


def test_images_unknown_to_the_model_and_changed_labels() -> None:
    known = random_rows(200, 25)
    neighbors = ImageNeighbors(known, SCALE)
    rows = Csr(np.array([0, 3, 3, 4, 6]), np.array([2, 5, 11, 7, 0, 24], np.int32))
    images = np.array([-1, -1, -1, 8])  # the last one has other labels now than in the data
    for row, (given, own) in zip(
        added(neighbors, rows, images), [({2, 5, 11}, None), (set(), None), ({7}, None), ({0, 24}, 8)], strict=True
    ):
        np.testing.assert_allclose(row, twin(known, given, own), rtol=2e-4, atol=1e-5)
    without = added(neighbors, rows, None)
    assert (without[:3] == added(neighbors, rows, images)[:3]).all()


def test_terms_are_what_is_added() -> None:
    known = random_rows(300, 40)
    neighbors = ImageNeighbors(known, SCALE)
    whole = added(neighbors, Csr(known.indptr, known.indices), np.arange(300))
    terms = neighbors.all_terms(run_serial)
    dense = np.zeros_like(whole)
    dense[np.repeat(np.arange(300), np.diff(terms.labels.indptr)), terms.labels.indices] = terms.values
    assert dense.tobytes() == whole.tobytes()
    assert (terms.values > 0).all()
    images, values = terms.column(3, 120)
    assert (values == whole[images, 3]).all()
    assert len(images) == np.count_nonzero(whole[:120, 3])
    part = terms.rows(50, 20)
    assert (part.values == terms.values[terms.labels.indptr[50] : terms.labels.indptr[70]]).all()
    joined = NeighborTerms.joined([terms.rows(0, 50), terms.rows(50, 250)])
    assert joined.values.tobytes() == terms.values.tobytes()


def test_room_for_terms_grows() -> None:
    known = random_rows(50, 600, density=20)
    neighbors = ImageNeighbors(known, SCALE)
    rows = Csr(known.indptr[:4], known.indices[: known.indptr[3]])
    terms = neighbors.terms(rows, np.arange(3))
    assert len(terms.values) > 3 * 64
    assert np.count_nonzero(added(neighbors, rows, np.arange(3))) == len(terms.values)


def test_an_image_has_the_same_bits_in_any_company() -> None:
    known = random_rows(400, 30)
    neighbors = ImageNeighbors(known, SCALE)
    whole = added(neighbors, Csr(known.indptr, known.indices), np.arange(400))
    for image in (0, 41, 399):
        alone = added(ImageNeighbors(known, SCALE), Csr(*known.rows(np.array([image]))), np.array([image]))
        assert alone[0].tobytes() == whole[image].tobytes()


def test_threads_have_buffers_of_their_own() -> None:
    from vse_ens.run.threads import Workers

    known = random_rows(400, 30)
    neighbors = ImageNeighbors(known, SCALE)
    rows = Csr(known.indptr, known.indices)
    expected = added(neighbors, rows, np.arange(400)).tobytes()

    def task(_worker: int) -> bytes:
        return added(neighbors, rows, np.arange(400)).tobytes()

    with Workers(4) as workers:
        assert workers.run([partial(task) for _ in range(12)]) == [expected] * 12


def test_long_rows_of_common_labels_are_left_out_only_if_too_far() -> None:
    known = random_rows(2500, 40)  # from 512 rows of a label on, rows are left out by their length
    neighbors = ImageNeighbors(known, SCALE)
    assert known.images_per_label.max() > 1000
    images = np.arange(3, 2500, 125)
    for row, image in zip(added(neighbors, Csr(*known.rows(images)), images), images.tolist(), strict=True):
        given = set(known.rows(np.array([image]))[1].tolist())
        np.testing.assert_allclose(row, twin(known, given, image), rtol=2e-4, atol=1e-5)


def test_a_common_label_does_not_end_the_search_too_early() -> None:
    # Image 0 shares a rare label with image 1, and only the common one with the others, which are as similar.
    pairs = [("a", "rare"), ("a", "common"), ("b", "rare"), ("b", "x"), ("b", "y"), ("b", "z")]
    pairs += [(f"c{n}", "common") for n in range(50)] + [("d", "common"), ("d", "wanted")]
    known = Annotations.from_pairs(pairs)
    image = known.images.numbers(["a"])
    found = added(ImageNeighbors(known, SCALE), Csr(*known.rows(image)), image)[0]
    given = set(known.rows(image)[1].tolist())
    np.testing.assert_allclose(found, twin(known, given, int(image[0])), rtol=2e-4, atol=1e-5)


def test_neighbors_with_a_label_most_similar_first() -> None:
    pairs = [("a", "sea"), ("a", "sand"), ("b", "sea"), ("b", "sand"), ("b", "boat"), ("b", "pier")]
    pairs += [("c", "sea"), ("c", "sand"), ("c", "boat")]
    known = Annotations.from_pairs([*pairs, ("d", "car"), ("e", "sea"), ("e", "sand")])
    neighbors = ImageNeighbors(known, SCALE)
    labels, boat = known.labels.numbers(["sand", "sea"]).astype(np.int32), known.labels.number("boat")
    term, count, images = neighbors.find(np.sort(labels), 0).with_label(boat, 5)
    assert count == 2
    assert known.images.ids(images) == ["c", "b"]
    assert term == pytest.approx(twin(known, set(labels.tolist()), 0)[boat], rel=1e-4)
