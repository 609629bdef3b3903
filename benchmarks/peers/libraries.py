"""The other libraries, with one thread each and the grids they are tuned on. All models have 128 dimensions.

The grids were chosen on Corel5k, which the benchmark does not use.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import DIMENSIONS, Peer, Scores, Settings, Trained, ones_matrix, settings_grid
from vse_ens.data.annotations import Annotations

_PEERS = '"vse-ens[peers]"'


class LightFm(Peer):
    """LightFM with the WARP loss and no features: LightFM's own choice for rankings."""

    name = "LightFM, WARP"
    module = "lightfm"
    install = _PEERS
    grid = settings_grid(learning_rate=(0.02, 0.05), alpha=(0.0, 1e-6, 1e-5))
    epochs = 64

    def load(self, data: Annotations) -> Any:
        """Return a matrix of ones, images by labels, in COO form."""
        return ones_matrix(data).tocoo()

    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Train with AdaGrad; ``alpha`` is the L2 penalty of images and labels."""
        model = import_module("lightfm").LightFM(
            no_components=DIMENSIONS,
            loss="warp",
            learning_rate=settings["learning_rate"],
            item_alpha=settings["alpha"],
            user_alpha=settings["alpha"],
            random_state=seed,
        )
        for epoch, count in zip(epochs, np.diff(epochs, prepend=0).tolist(), strict=True):
            model.fit_partial(data, epochs=count, num_threads=1)
            _, images = model.get_user_representations()  # an image's bias is the same for all labels
            bias, labels = model.get_item_representations()
            yield epoch, _products(images, labels, bias)


class _Implicit(Peer):
    """A model of implicit, which continues training if it is fitted again."""

    install = _PEERS
    class_name: ClassVar[str]

    def load(self, data: Annotations) -> Any:
        """Return a matrix of ones, images by labels, in CSR form."""
        return ones_matrix(data)

    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Fit between the points; a generator as the random state continues, while a number would start again."""
        model = getattr(import_module(self.module), self.class_name)(
            factors=DIMENSIONS, num_threads=1, random_state=np.random.default_rng(seed), **settings
        )
        for epoch, count in zip(epochs, np.diff(epochs, prepend=0).tolist(), strict=True):
            model.iterations = count
            model.fit(data, show_progress=False)
            yield epoch, _products(model.user_factors, model.item_factors)


class ImplicitAls(_Implicit):
    """Alternating least squares."""

    name = "implicit, ALS"
    module = "implicit.cpu.als"
    class_name = "AlternatingLeastSquares"
    grid = settings_grid(alpha=(10.0, 40.0), regularization=(30.0, 100.0, 300.0))
    epochs = 16


class ImplicitBpr(_Implicit):
    """Bayesian personalized ranking, with a label bias as one more dimension."""

    name = "implicit, BPR"
    module = "implicit.cpu.bpr"
    class_name = "BayesianPersonalizedRanking"
    grid = settings_grid(learning_rate=(0.02, 0.1), regularization=(0.003, 0.01, 0.03))
    epochs = 256


class CornacBpr(Peer):
    """Bayesian personalized ranking."""

    name = "Cornac, BPR"
    module = "cornac.models"
    install = _PEERS
    grid = settings_grid(learning_rate=(0.05, 0.2), lambda_reg=(0.001, 0.003, 0.01))
    epochs = 256

    def load(self, data: Annotations) -> Any:
        """Return a data set of Cornac, and its numbers of our images and labels: it counts them by their first pair."""
        owners = np.repeat(np.arange(len(data.images)), data.labels_per_image)
        triples = zip(owners.tolist(), data.indices.tolist(), repeat(1.0), strict=False)
        pairs = import_module("cornac.data").Dataset.from_uir(triples)
        return pairs, _numbers(pairs.uid_map, len(data.images)), _numbers(pairs.iid_map, len(data.labels))

    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Fit between the points; a fitted model continues from its vectors."""
        pairs, image_numbers, label_numbers = data
        model = import_module(self.module).BPR(k=DIMENSIONS, seed=seed, **settings)  # a seed means one thread
        for epoch, count in zip(epochs, np.diff(epochs, prepend=0).tolist(), strict=True):
            model.max_iter = count
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that it is fitted again
                model.fit(pairs)
            # A label without a pair has the number -1, the last, with the lowest score.
            bias = np.append(model.i_biases, np.finfo(np.float32).min)[label_numbers]
            labels = np.append(model.i_factors, np.zeros((1, DIMENSIONS), np.float32), axis=0)[label_numbers]
            yield epoch, _products(model.u_factors[image_numbers], labels, bias)


def _numbers(given: dict[int, int], count: int) -> NDArray[np.int64]:
    numbers = np.full(count, -1, np.int64)
    numbers[list(given.keys())] = list(given.values())
    return numbers


def _products(images: NDArray[Any], labels: NDArray[Any], bias: NDArray[Any] | float = 0.0) -> Scores:
    return lambda chosen: np.asarray(images[chosen] @ labels.T + bias, np.float32)
