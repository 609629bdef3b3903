"""Autoencoders, a masked-label network, a set transformer and logistic regressions, in PyTorch on one core.

All read a batch of images as label numbers one after another, with the row of each: the first layer adds up the vectors
of an image's labels, which is a product with the row of zeros and ones. ``hide`` says which labels a network does not
see during training.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import Fitted, Settings, Trained, settings_grid
from benchmarks.rivals.base import RIVALS_EXTRA, Rival
from vse_ens.data.annotations import Annotations

# Images per batch: few where there are few, so that an epoch has enough steps.
_BATCH, _LARGE_BATCH, _MANY_IMAGES = 125, 500, 25_000
# Units of a hidden layer as published, and where the output layer has more labels than this: all within the budget.
_WIDE, _NARROW, _MANY_LABELS = 600, 300, 1_000
_SCORED = 2_000


class Batch(NamedTuple):
    """Some images: ``labels`` holds their labels one after another, ``rows`` the image in the batch of each."""

    labels: Any
    rows: Any
    size: int


class _Neural(Rival):
    """A network that scores all labels of an image from those it sees; Adam with a constant learning rate."""

    module = "torch"
    install = RIVALS_EXTRA
    epochs = 120
    grid: ClassVar[Sequence[Settings]]
    least_labels = 1
    """Images with fewer labels are not trained on."""

    @abstractmethod
    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return a network with `loss` (of a batch) and `forward` (scores of a batch)."""

    def load(self, data: Annotations) -> Annotations:
        """Return the pairs as they are."""
        return data

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Train, and yield after each of ``epochs``."""
        torch: Any = import_module("torch")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        numbers = np.random.default_rng(seed)
        network = self.build(data, settings)
        images = np.flatnonzero(data.labels_per_image >= self.least_labels)
        size = _BATCH if len(images) <= _MANY_IMAGES else _LARGE_BATCH
        optimizers = self.optimizers(network, settings)
        for epoch in range(1, epochs[-1] + 1):
            network.train()
            network.begin_epoch(epoch)
            for optimizer in optimizers:
                order = numbers.permutation(images)
                for first in range(0, len(order), size):
                    loss = network.loss(batch_of(data, order[first : first + size]))
                    network.zero_grad()
                    loss.backward()
                    optimizer.step()
                network.end_pass()
            if epoch in epochs:
                yield epoch, _fitted(network, data)

    def optimizers(self, network: Any, settings: Settings) -> list[Any]:
        """Return one optimizer per pass over the images that an epoch has."""
        torch: Any = import_module("torch")
        return [torch.optim.Adam(network.parameters(), settings["rate"], weight_decay=settings.get("decay", 0.0))]


def units(data: Annotations) -> int:
    """Return the number of units of a hidden layer."""
    return _WIDE if len(data.labels) <= _MANY_LABELS else _NARROW


def batch_of(data: Annotations, images: NDArray[np.int64]) -> Batch:
    """Return the labels of some images as tensors."""
    torch: Any = import_module("torch")
    indptr, indices = data.rows(images)
    rows = np.repeat(np.arange(len(images)), np.diff(indptr))
    return Batch(torch.from_numpy(indices.astype(np.int64)), torch.from_numpy(rows), len(images))


def _fitted(network: Any, data: Annotations) -> Fitted:
    torch: Any = import_module("torch")

    def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
        network.eval()
        with torch.inference_mode():
            parts = [
                network(batch_of(data, images[first : first + _SCORED])).numpy()
                for first in range(0, len(images), _SCORED)
            ]
        return np.concatenate(parts)

    return Fitted(scores, sum(4 * one.numel() for one in network.parameters()))


class MultDae(_Neural):
    """Mult-DAE (Liang et al. 2018)."""

    remark = (
        f"Mult-DAE, Mult-VAE and the masked-label MLP have hidden layers of {_WIDE} units, and of {_NARROW} where "
        f"there are more than {_MANY_LABELS:,} labels, so that enough epochs fit into the budget."
    )
    name = "Mult-DAE"
    grid = tuple(
        {"rate": rate, "dropout": dropout} for rate, dropout in ((3e-3, 0.5), (3e-3, 0.3), (1e-3, 0.3), (1e-3, 0.5))
    )

    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return one hidden layer."""
        return import_module("benchmarks.rivals.networks").Autoencoder(
            len(data.labels), units(data), settings["dropout"]
        )


class MultVae(_Neural):
    """Mult-VAE (Liang et al. 2018): 600, 200 and 600 units."""

    name = "Mult-VAE"
    grid = tuple(
        {"rate": rate, "latent": 200, "dropout": dropout, "beta": beta}
        for rate, dropout, beta in ((3e-3, 0.5, 0.2), (2e-3, 0.3, 0.2), (3e-3, 0.3, 0.05), (1e-3, 0.3, 0.2))
    )

    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return an encoder and a decoder of one hidden layer each."""
        return import_module("benchmarks.rivals.networks").VariationalAutoencoder(
            len(data.labels), units(data), settings["latent"], settings["dropout"], settings["beta"]
        )


class RecVae(_Neural):
    """RecVAE (Shenbin et al. 2020), with an encoder of 200 units instead of 600."""

    name = "RecVAE"
    remark = "RecVAE's encoder has 200 units a layer instead of 600, and two passes over the images instead of three."
    grid = tuple(
        {"rate": 1e-3, "hidden": 200, "latent": 200, "dropout": dropout, "gamma": gamma}
        for dropout, gamma in ((0.3, 0.005), (0.5, 0.005), (0.3, 0.02), (0.3, 0.0015))
    )

    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return the encoder with its composite prior, and a linear decoder."""
        return import_module("benchmarks.rivals.networks").RecVaeNetwork(
            len(data.labels), settings["hidden"], settings["latent"], settings["dropout"], settings["gamma"]
        )

    def optimizers(self, network: Any, settings: Settings) -> list[Any]:
        """Return two passes of the encoder, which sees corrupted images, and one of the decoder."""
        torch: Any = import_module("torch")
        encoder = torch.optim.Adam(network.encoder_parameters(), settings["rate"])
        decoder = torch.optim.Adam(network.decoder_parameters(), settings["rate"])
        return [encoder, encoder, decoder]


class MaskedMlp(_Neural):
    """A network of two layers that sees some labels of an image and predicts the others."""

    name = "masked-label MLP"
    least_labels = 2
    grid: ClassVar[Sequence[Settings]] = tuple(
        {"rate": 1e-3, "dropout": dropout, "hide": hide, "decay": decay}
        for dropout, hide, decay in ((0.5, 0.3, 0.01), (0.3, 0.3, 0.01), (0.5, 0.15, 0.1), (0.5, 0.5, 0.01))
    )

    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return the network; the output starts at the frequencies of the labels."""
        return import_module("benchmarks.rivals.networks").MaskedNetwork(
            data.images_per_label, units(data), settings["dropout"], settings["hide"]
        )

    def optimizers(self, network: Any, settings: Settings) -> list[Any]:
        """Return Adam with decoupled weight decay."""
        torch: Any = import_module("torch")
        return [torch.optim.AdamW(network.parameters(), settings["rate"], weight_decay=settings["decay"])]


class SetTransformer(MaskedMlp):
    """Self-attention among the seen labels, then a learned query that reads them."""

    name = "set transformer"
    grid: ClassVar[Sequence[Settings]] = (
        {"rate": 2e-3, "width": 128, "layers": 1, "dropout": 0.3, "hide": 0.3, "decay": 0.01},
        {"rate": 2e-3, "width": 128, "layers": 1, "dropout": 0.1, "hide": 0.3, "decay": 0.1},
        {"rate": 1e-3, "width": 128, "layers": 2, "dropout": 0.2, "hide": 0.3, "decay": 0.01},
        {"rate": 3e-3, "width": 64, "layers": 1, "dropout": 0.2, "hide": 0.4, "decay": 0.01},
    )

    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return the network; the output starts at the frequencies of the labels."""
        return import_module("benchmarks.rivals.networks").AttentionNetwork(
            data.images_per_label, settings["width"], settings["layers"], settings["dropout"], settings["hide"]
        )


class Logistic(_Neural):
    """A logistic regression of every label on the others, all fitted at once."""

    name = "logistic regression"
    remark = "The logistic regressions of all labels are one matrix with a zero diagonal, fitted by Adam."
    grid = settings_grid(rate=(0.01,), decay=(1e-5, 1e-4, 1e-6))

    def build(self, data: Annotations, settings: Settings) -> Any:
        """Return the matrix of weights; the intercepts start at the frequencies of the labels."""
        del settings
        return import_module("benchmarks.rivals.networks").LogisticNetwork(data.images_per_label, len(data.images))
