from __future__ import annotations

import numpy as np
import pytest

from tests.support.random_models import KINDS, label_pairs_of, random_case
from vse_ens.model.image_products import ImageProducts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_the_vectors_plus_the_weights_of_the_labels(kind: str, weighted: bool) -> None:
    (model, known), numbers = random_case(kind), np.random.default_rng(1)
    embeddings = model.embeddings
    vector = numbers.normal(size=6).astype(np.float32)
    weights = numbers.normal(size=40 if weighted else 0).astype(np.float32)
    expected = embeddings.vectors(np.arange(60), known=known) @ vector
    for image in range(60) if weighted else ():
        expected[image] += weights[known.indices[known.indptr[image] : known.indptr[image + 1]]].sum()
    products = ImageProducts(embeddings, known, label_pairs_of(embeddings, known), vector, weights)
    sums = np.full(60, 0.5, np.float32)
    for first, last in ((0, 7), (7, 60)):
        products.add(first, sums[first:last])
    np.testing.assert_allclose(sums, expected + 0.5, atol=1e-5)
