"""Our own methods: popularity, EASE, nearest images, and the default preset, which tunes itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.core.baseline_tuning import IMAGE_KNN_GRID
from benchmarks.peers.base import Fitted, Settings, Trained, settings_grid
from benchmarks.peers.ours import DefaultPeer, EasePeer, fitted
from benchmarks.rivals.base import OURS, Rival
from vse_ens.baselines.base import Popularity
from vse_ens.baselines.image_knn import ImageKnn
from vse_ens.data.annotations import Annotations
from vse_ens.model.blas import one_thread


class DefaultRival(DefaultPeer, Rival):
    """The default preset without options. Its own validation and early stopping are part of its time."""

    name = OURS
    measures = ("kernels", "label_weights", "presets", "train")

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Train to its own end, and yield once."""
        del epochs
        with one_thread():
            trainer = self.trainer(data, settings, seed)
            for report in trainer.epochs():
                last = report.epoch
            yield last, fitted(trainer, data)


class EaseRival(EasePeer, Rival):
    """EASE with a tuned regularization."""

    deterministic = True
    measures = ("baselines", "label_weights")


class ImageKnnRival(Rival):
    """Nearest images in label space, with a tuned power."""

    name = "image kNN"
    module = "vse_ens"
    install = "vse-ens"
    grid = settings_grid(power=IMAGE_KNN_GRID)
    epochs = 1
    deterministic = True
    measures = ("baselines",)

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Merge images with equal labels."""
        del epochs, seed
        fitted = ImageKnn(**settings).fit(data)
        matrices = (fitted.rows, fitted.by_label, fitted.without)
        arrays = [array for one in matrices for array in (one.data, one.indices)]
        arrays += [fitted.squares, fitted.norms, fitted.images_per_row, fitted.common, fitted.row_of_fitted]
        yield 1, Fitted(fitted.scores, sum(array.nbytes for array in arrays))


class PopularityRival(Rival):
    """Labels by their number of images."""

    name = "popularity"
    module = "vse_ens"
    install = "vse-ens"
    grid = ({},)
    epochs = 1
    deterministic = True
    measures = ("baselines",)

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Count."""
        del settings, epochs, seed
        yield 1, Fitted(Popularity().fit(data).scores, data.images_per_label.nbytes)
