"""Our own methods: EASE, and the default preset, which tunes itself on held-out labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.core.baseline_tuning import EASE_GRID
from benchmarks.peers.base import Fitted, Peer, Settings, Trained, settings_grid
from vse_ens.baselines.ease import Ease
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.blas import one_thread
from vse_ens.presets import configure
from vse_ens.train.trainer import Trainer

DEFAULT = "`context`, the default"


class EasePeer(Peer):
    """EASE in closed form."""

    name = "EASE"
    module = "vse_ens"
    install = "vse-ens"
    grid = settings_grid(regularization=EASE_GRID)
    epochs = 1

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Fit once; there is nothing random in it."""
        del epochs, seed
        with one_thread():
            fitted = Ease(**settings).fit(data)
            yield 1, Fitted(fitted.scores, fitted.weights.nbytes)

    def prepare(self, data: Annotations) -> None:
        """Compile the kernels."""
        Ease().fit(data)


class DefaultPeer(Peer):
    """The default preset. Its own validation, early stopping and label weights are part of its time."""

    name = DEFAULT
    module = "vse_ens"
    install = "vse-ens"
    grid = ({},)
    epochs = configure("context").epochs

    def __init__(self, config: Config | None = None) -> None:
        self._config = config or configure("context")

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Train to its own end, and yield after every epoch."""
        del epochs
        with one_thread():
            trainer = self.trainer(data, settings, seed)
            for report in trainer.epochs():
                yield report.epoch, fitted(trainer, data)

    def trainer(self, data: Annotations, settings: Settings, seed: int) -> Trainer:
        """Return a training on one core that has not begun."""
        return Trainer(self._config.override(seed=seed, **settings), data, workers=1)

    def prepare(self, data: Annotations) -> None:
        """Compile the kernels, by two epochs: tiny data would not use all of them."""
        for _ in self.train(data, {"epochs": 2}, (), seed=0):
            pass


def fitted(trainer: Trainer, data: Annotations) -> Fitted:
    """Return the model of a training as it is now."""
    model = trainer.model
    return Fitted(partial(model.scores, known=data), sum(array.nbytes for array in model.arrays().values()))
