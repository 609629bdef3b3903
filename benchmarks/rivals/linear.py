"""Neighbors, linear models and factorizations of irspack, with the ranges and the Optuna search that it brings."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import Fitted, Settings, Trained, ones_matrix
from benchmarks.rivals.base import RIVALS_EXTRA, Rival, Tuned
from vse_ens.data.annotations import Annotations, Split

# Trials of one search at most; where fits are fast, the rest of the budget is not used.
_TRIALS = 30


class _Irspack(Rival):
    """A recommender of irspack: images are its users, labels its items."""

    module = "irspack"
    install = RIVALS_EXTRA
    grid = ({},)
    epochs = 1
    deterministic = True
    class_name: ClassVar[str]
    fixed: ClassVar[Settings] = {"n_threads": 1}

    def load(self, data: Annotations) -> Any:
        """Return a matrix of ones, images by labels."""
        return ones_matrix(data)

    def tune(self, split: Split, budget: float) -> Tuned:
        """Search with irspack's own ranges and Optuna's sampler of trees, one trial after another."""
        optuna: Any = import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        chosen = np.flatnonzero(split.test.labels_per_image)
        train, test = ones_matrix(split.train), ones_matrix(split.test)
        # The evaluator ranks the last rows; the order of images makes no difference to the models.
        order = np.concatenate([np.setdiff1d(np.arange(train.shape[0]), chosen), chosen])
        evaluator = import_module("irspack").Evaluator(
            test[chosen], offset=len(order) - len(chosen), cutoff=10, target_metric="ndcg", n_threads=1
        )
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        began, tried, best = time.process_time(), 0, {}
        while tried < _TRIALS and (tried == 0 or time.process_time() - began < budget):
            with redirect_stdout(io.StringIO()):  # a progress bar
                best, _ = self._class.tune(
                    train[order],
                    evaluator,
                    study=study,
                    n_trials=1,
                    parameter_suggest_function=self.suggest,
                    logger=_silent(),
                    **self.fixed,
                )
            tried += 1
        return Tuned(best, 1, tried)

    def suggest(self, trial: Any) -> Settings:
        """Return the settings of a trial of Optuna, from irspack's own ranges."""
        found: Settings = self._class.default_suggest_parameter(trial, self.fixed)
        return found

    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Fit once, to the end."""
        del epochs, seed
        model = self._class(data, **(self.fixed | settings)).learn()
        weights = model.W

        def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
            found = data[images] @ weights
            return np.asarray(found.toarray() if hasattr(found, "toarray") else found, np.float32)

        yield 1, Fitted(scores, _matrix_bytes(weights))

    @property
    def _class(self) -> Any:
        return getattr(import_module("irspack"), self.class_name)


def _silent() -> Any:
    logger = logging.getLogger("benchmarks.rivals")
    logger.setLevel(logging.ERROR)
    return logger


def _matrix_bytes(matrix: Any) -> int:
    if hasattr(matrix, "indptr"):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


class ItemKnn(_Irspack):
    """Item kNN by cosine."""

    name = "item kNN"
    class_name = "CosineKNNRecommender"


class Rp3Beta(_Irspack):
    """Random walks of three steps, with a penalty of popular labels."""

    name = "RP3beta"
    class_name = "RP3betaRecommender"


class Slim(_Irspack):
    """SLIM, with non-negative weights as published or without that limit."""

    name = "SLIM"
    class_name = "SLIMRecommender"
    remark = "SLIM may have negative weights, if that is better on the held-out labels."

    def suggest(self, trial: Any) -> Settings:
        """Return irspack's ranges, and whether weights are limited."""
        return super().suggest(trial) | {"positive_only": trial.suggest_categorical("positive_only", [True, False])}


class Edlae(_Irspack):
    """EDLAE in closed form."""

    name = "EDLAE"
    class_name = "EDLAERecommender"
    fixed: ClassVar[Settings] = {}


class Ials(_Irspack):
    """iALS with the loss of iALS++."""

    name = "iALS"
    class_name = "IALSRecommender"
    deterministic = False
    remark = (
        "The range of the regularization of iALS goes to 3, not to 0.1 as in irspack, where the best was at the end."
    )

    def suggest(self, trial: Any) -> Settings:
        """Return irspack's ranges, with stronger regularization."""
        return {
            "n_components": trial.suggest_int("n_components", 32, 300),
            "alpha0": trial.suggest_float("alpha0", 3e-3, 1.0, log=True),
            "reg": trial.suggest_float("reg", 3e-3, 3.0, log=True),
        }

    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Fit the number of epochs that the search chose."""
        del epochs
        with redirect_stdout(io.StringIO()):  # a progress bar
            model = self._class(data, **(self.fixed | settings), random_seed=seed).learn()
        images, labels = model.get_user_embedding(), model.get_item_embedding()
        yield 1, Fitted(lambda chosen: np.asarray(images[chosen] @ labels.T, np.float32), images.nbytes + labels.nbytes)
