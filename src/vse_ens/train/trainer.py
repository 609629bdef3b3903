"""Epochs of rounds: validation, early stopping, and the final training on all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import METRICS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import Partition
from vse_ens.errors import ModelError, NotFiniteError
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import Pool
from vse_ens.streams import Streams
from vse_ens.train.backend import make_backend, read_embeddings
from vse_ens.train.engines import RoundStats
from vse_ens.train.feature_fit import LearnedFeatures, learn_features, with_labels
from vse_ens.train.progress import EpochReport, Progress
from vse_ens.train.tables import check_finite, divergence
from vse_ens.train.validation import EarlyStopping, ValidationResult, Validator, worth_refitting

# What the names of the arrays of finished members begin with in a checkpoint, before their number.
_MEMBER = "member."
_STOPPING = ("best_value", "best_epoch", "waited")


class Trainer:
    """Trains one model.

        for report in Trainer(config, data).epochs():
            print(report.epoch, report.loss)

    The model depends on the configuration, the data and the seed. It is usable after every round, and the loop may stop
    between any two. With ``validate``, labels are held out to find the best epoch. With ``refit``, the final
    model is then trained on all pairs for the best number of epochs, and so is each of its ``members``.
    """

    def __init__(
        self,
        config: Config,
        data: Annotations | Partition,
        workers: int | None = None,
        pool: Pool | None = None,
        folder: Path | None = None,
    ) -> None:
        self._backend = make_backend(config, data, workers, pool, folder)
        self._workers = workers
        self.config = self._backend.config
        self.history: list[EpochReport] = []
        self._validator: Validator | None = None
        self._stopping = EarlyStopping(self.config.patience)
        self._label_weights_scale = 0.0
        self._label_weights: LabelWeights | None = None
        self._neighbors_by_epoch: dict[int, ValidationResult] = {}
        self._features_by_epoch: dict[int, LearnedFeatures] = {}
        self._prepared = self._refitting = False
        self._members: list[Embeddings] = []
        self._epoch, self._round, self._stats = 0, 0, RoundStats()

    # --- training ---

    def epochs(self) -> Iterator[EpochReport]:
        """Train, and yield a report after every epoch."""
        for progress in self.rounds():
            if progress.report:
                yield progress.report

    def prepare(self) -> None:
        """Hold labels out and draw the start vectors, unless that is done; training and checkpoints do it first."""
        if self._prepared:
            return
        if self.config.validate:
            backend, held_out = self._backend, self._backend.hold_out()
            learn = backend.learn_label_weights
            self._validator = Validator(self.config, held_out, backend.training_pairs, learn, self._workers)
        self._backend.initialize()
        self._prepared = True

    def rounds(self) -> Iterator[Progress]:
        """Train, and yield after every round."""
        self.prepare()
        backend = self._backend
        try:
            while not self.finished:
                stats, rate, epochs = self._stats, self.learning_rate, self._planned_epochs
                epoch = len(self._members) * epochs + self._epoch + 1
                epochs *= self.config.members if self._refitting else 1
                final = self._refitting or not self._will_refit
                rounds = backend.begin_epoch(self._epoch)
                while self._round < rounds:
                    stats.add(backend.run_round(self._round, rate))
                    self._round += 1
                    check_finite(self.config, backend.tables, self._epoch, inputs=self._round == rounds)
                    if self._round < rounds:
                        yield Progress(epoch, self._round, rounds, epochs, final, stats, None, backend.timings)
                report = self._end_epoch(rate)
                if self._phase_done() and not self.finished:
                    self._begin_member()
                yield Progress(epoch, rounds, rounds, epochs, final, stats, report, backend.timings)
        finally:
            backend.close()

    def _begin_member(self) -> None:
        """Begin to train on all pairs, each member of the model with other random numbers."""
        if self._refitting:
            self._members.append(self._backend.tables.copy())
        self._refitting, self._epoch = True, 0
        self._use_seed_of_member()
        self._backend.initialize(all_pairs=True)

    def _use_seed_of_member(self) -> None:
        if number := len(self._members):
            words = Streams(self.config.seed).child("member", number).key()
            self._backend.config = replace(self.config, seed=int(words[0]) % 2**63)

    def _end_epoch(self, learning_rate: float) -> EpochReport:
        self._epoch += 1
        metrics: dict[str, float] | None = None
        if self._validator and not self._refitting:
            embeddings = self._backend.validation_embeddings(self._validator.images)
            try:
                result = self._validator.validate(embeddings)
            except NotFiniteError as error:  # `check_finite` sees neither vectors of images nor scores
                raise divergence(self.config, self._epoch - 1) from error
            metrics = result.metrics
            if self._stopping.update(self._epoch, metrics[self.config.metric]):
                self._label_weights_scale = result.scale
                self._backend.snapshot_best()
        report = EpochReport.of(self._epoch, self._stats, learning_rate, metrics)
        self.history.append(report)
        self._round, self._stats = 0, RoundStats()
        return report

    @property
    def learning_rate(self) -> float:
        """The learning rate of the current epoch."""
        return self.config.learning_rate * self.config.learning_rate_decay**self._epoch

    @property
    def finished(self) -> bool:
        """Whether all epochs are done or early stopping has ended them."""
        if self._refitting and len(self._members) + 1 < self.config.members:
            return False
        return self._phase_done() and (self._refitting or not self._will_refit)

    def _phase_done(self) -> bool:
        """Whether the search for the best epoch is done, or the final training."""
        return self._epoch >= self._planned_epochs or (not self._refitting and self._stopping.exhausted)

    @property
    def _planned_epochs(self) -> int:
        return self._stopping.best_epoch if self._refitting else self.config.epochs

    @property
    def _will_refit(self) -> bool:
        if not self._validator or not self.config.refit:
            return False
        return self.config.members > 1 or worth_refitting(len(self._validator.images), self.known.pairs)

    # --- what was learned ---

    @property
    def known(self) -> Annotations:
        """The pairs that the finished model knows."""
        return self._backend.known

    @property
    def embeddings(self) -> Embeddings:
        """A copy of the vectors: those of the best epoch with validation, else of the last round.

        Once the final training on all pairs is done, those of its last round, with all members side by side.
        """
        self.prepare()
        whole = self._refitting and self.finished
        last = self._backend.export(best=self._stopping.best_epoch > 0 and not whole)
        if not whole or not self._members:
            return last
        return Embeddings.joined([*(member.resized(last.dimensions) for member in self._members), last])

    @property
    def model(self) -> Model:
        """The vectors, the label weights of all pairs, and all images as neighbors."""
        neighbors = self._neighbors
        images = ImageNeighbors(self.known, neighbors.scale) if neighbors and neighbors.scale else None
        model = Model(self.embeddings, self._final_label_weights(), self._label_weights_scale, images)
        learned = self._features.scores.learned if self._features else None
        return model.balanced(self.known, self.config.balance).completed(self.known, self.config.balance, learned)

    @property
    def calibration(self) -> Calibration | None:
        """The map from scores to confidences, learned on held-out labels; None where none were held out."""
        if not self._validator or not self._stopping.best_epoch:
            return None
        found = self._validator.calibration(self._validation_model(self._validator))
        return replace(found, curves={**found.curves, **self._features.curves}) if self._features else found

    def _validation_model(self, validator: Validator) -> Model:
        """Return the model of the best epoch for the validation images, without their held-out labels."""
        embeddings = self._backend.validation_embeddings(validator.images, best=True)
        return validator.model(embeddings, self._label_weights_scale, self._neighbors.scale if self._neighbors else 0.0)

    @property
    def _features(self) -> LearnedFeatures | None:
        """What was learned from features beside the towers; None without features, or if a tower has them."""
        best = self._stopping.best_epoch
        if not self._validator or not best or self.known.features is None or self.config.has_features:
            return None
        if best not in self._features_by_epoch:
            found = next(iter(self._features_by_epoch.values()), None)
            found = found or learn_features(self.known, self.config.balance, self._workers)
            model = self._validation_model(self._validator)
            self._features_by_epoch = {best: with_labels(found, self._validator, model)}
        return self._features_by_epoch[best]

    @property
    def features_regularization(self) -> float | None:
        """Lambda of the map from features to labels; None without it."""
        return self._features.regularization if self._features else None

    @property
    def _neighbors(self) -> ValidationResult | None:
        """The scale of what neighbors add to the best epoch, and its metrics with them; None without neighbors."""
        best = self._stopping.best_epoch
        if not self._validator or not self.config.neighbors or not best:
            return None
        if best not in self._neighbors_by_epoch:
            embeddings = self._backend.validation_embeddings(self._validator.images, best=True)
            found = self._validator.choose_neighbors_scale(embeddings, self._label_weights_scale)
            self._neighbors_by_epoch = {best: found}
        return self._neighbors_by_epoch[best]

    @property
    def label_weights_regularization(self) -> float | None:
        """Lambda of the label weights; None without them."""
        return self._validator.regularization if self._validator and self.config.label_weights else None

    def _final_label_weights(self) -> LabelWeights | None:
        if not self._label_weights_scale or not self.label_weights_regularization:
            return None
        if self._label_weights is None:
            self._label_weights = self._backend.learn_label_weights(self.label_weights_regularization, all_pairs=True)
        return self._label_weights

    @property
    def best_epoch(self) -> int:
        """The epoch that is kept, counted from 1."""
        return self._stopping.best_epoch if self.config.validate else self._epoch

    @property
    def model_epochs(self) -> int:
        """The epochs that made the model: up to the best one, and those of the final training on all pairs."""
        return self._epoch if self._refitting and self.finished else self.best_epoch

    @property
    def best_validation(self) -> dict[str, float] | None:
        """The validation metrics of the epoch that is kept, with what neighbors add."""
        found = self.history[self.best_epoch - 1].validation if self.config.validate and self.history else None
        found = self._neighbors.metrics if self._neighbors else found
        # In a fixed order: a checkpoint sorts names, and the model card shows them.
        return {name: found[name] for name in METRICS} if found else None

    # --- checkpoints ---

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and JSON from which `restore` continues, to the same bytes on one kind of CPU."""
        self.prepare()
        arrays, backend_state = self._backend.state()
        stats, stopping, validator = vars(self._stats), vars(self._stopping), self._validator
        for number, member in enumerate(self._members):
            arrays |= {f"{_MEMBER}{number}.{name}": array for name, array in member.arrays().items()}
        return arrays, {
            "config": self.config.to_dict(),
            "epoch": self._epoch,
            "round": self._round,
            "refitting": self._refitting,
            "members": len(self._members),
            "label_weights": None
            if not validator or not self.config.label_weights
            else {
                "regularization": validator.regularization,
                "scale": self._label_weights_scale,
                "next_scale": validator.scale,
            },
            "stats": {**stats, "counts": self._stats.counts.tolist()},
            # Before the first epoch its best value is infinite, which JSON has no number for.
            "stopping": {name: stopping[name] for name in _STOPPING} if self._stopping.best_epoch else None,
            "history": [report.to_dict() for report in self.history],
            "backend": backend_state,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned, in a trainer of the same configuration and data."""
        self.prepare()
        done = range(state.get("members", 0))  # a checkpoint of version 0.3 does not say
        self._members = [read_embeddings(arrays, f"{_MEMBER}{number}.", self._backend.tables) for number in done]
        self._use_seed_of_member()
        self._backend.restore(arrays, state["backend"])
        self._epoch, self._round, self._refitting = state["epoch"], state["round"], state["refitting"]
        if any(type(number) is not int or number < 0 for number in (self._epoch, self._round)):
            raise ModelError(f"epoch {self._epoch!r} and round {self._round!r} do not belong to a run")
        if self._validator and state["label_weights"]:
            self._validator.regularization = state["label_weights"]["regularization"]
            self._validator.scale = state["label_weights"]["next_scale"]
            self._label_weights_scale = state["label_weights"]["scale"]
        self._stats = RoundStats(**{**state["stats"], "counts": np.array(state["stats"]["counts"], np.int64)})
        if state["stopping"]:
            self._stopping = EarlyStopping(self.config.patience, **state["stopping"])
        names = {field.name for field in fields(EpochReport)}
        self.history = [
            EpochReport(**{name: value for name, value in report.items() if name in names})
            for report in state["history"]
        ]
