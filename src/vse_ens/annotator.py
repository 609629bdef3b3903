"""The façade: ids in, ids out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.config import Config, Settings, configure
from vse_ens.data.annotations import Annotations
from vse_ens.data.rows import Rows, take_rows
from vse_ens.errors import ConfigError, ModelError
from vse_ens.evaluate.calibration import Calibration
from vse_ens.model.card import model_card
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.memory import LabelMemory
from vse_ens.model.model import Model
from vse_ens.model.ranking import top_labels
from vse_ens.model.store import StoredModel, load_model, save_model

if TYPE_CHECKING:
    from vse_ens.curate.audit import Audit
    from vse_ens.curate.explain import Explanation, Reason
    from vse_ens.evaluate.rankings import Rankings
    from vse_ens.evaluate.report import Report
    from vse_ens.train.footprint import Footprint
    from vse_ens.train.report import EpochReport
    from vse_ens.train.trainer import Trainer

# Images scored at a time, always so many: products of fewer rows round in another way, and one image would get other
# scores alone than in company.
_BLOCK = 16


@dataclass(frozen=True)
class Suggestion:
    """A label for an image, and how strongly."""

    label: str
    score: float
    confidence: float | None = None
    """The probability that it is right, as learnt on held-out labels; None where training held none out."""
    because: tuple[Reason, ...] = ()
    """What adds up to the score, where it was asked for."""


class Wanted(TypedDict, total=False):
    """What `Annotator.annotate` may be asked for."""

    top: int
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    min_confidence: float
    explain: bool


class _Wish(NamedTuple):
    """The same, checked."""

    top: int
    allowed: NDArray[np.bool_]
    min_confidence: float
    explain: bool


class Annotator:
    """Learns which labels belong to which image, and suggests the ones that are missing.

        model = Annotator(seed=0).fit(train)
        model.annotate("img_0000017", top=5)

    Follows scikit-learn's conventions: the constructor stores, `fit` works, `get_params`, `set_params` and `clone` do
    what they do there. ``settings`` are those of `vse_ens.config.Config`, in place of the preset's.
    """

    config_: Config
    """After `fit`: all settings, those chosen from the data included."""
    known_: Annotations
    model_: Model
    calibration_: Calibration | None
    training_: dict[str, Any]
    validation_: dict[str, float] | None
    history_: list[EpochReport]
    resumed_: bool
    interrupted_: bool

    def __init__(
        self, preset: str = "context", *, seed: int = 0, workers: int | None = None, **settings: Unpack[Settings]
    ) -> None:
        self.preset = preset
        self.seed = seed
        self.workers = workers
        self.settings: Settings = settings

    # --- scikit-learn's conventions ---

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  # scikit-learn's signature
        """All arguments of the constructor."""
        return {"preset": self.preset, "seed": self.seed, "workers": self.workers, **self.settings}

    def set_params(self, **values: Any) -> Annotator:
        """Replace arguments of the constructor."""
        changed = Annotator(**{**self.get_params(), **values})
        changed.config()  # an unknown name or a bad value is told now
        self.preset, self.seed, self.workers = changed.preset, changed.seed, changed.workers
        self.settings = changed.settings
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"Annotator({shown})"

    def config(self, **values: Any) -> Config:
        """The complete settings: the preset's, with the constructor's and ``values`` in their place."""
        return configure(self.preset, **{**self.settings, **values}, seed=self.seed)

    # --- learning ---

    def fit(
        self,
        data: Any,
        *,
        progress: Callable[[Any], None] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> Annotator:
        """Learn from `Annotations`, a scipy sparse matrix or any dataframe of pairs.

        ``progress`` is called after every round with a `vse_ens.train.trainer.Progress`. With ``checkpoint``, a
        directory, the run is saved there as it goes; ``resume`` goes on from it and ends with the same bytes. Ctrl-C
        stops after the round and keeps the model (``interrupted_`` tells).
        """
        from vse_ens.run.interrupt import Interrupt
        from vse_ens.train.checkpoint import Checkpoints
        from vse_ens.train.footprint import check_footprint
        from vse_ens.train.trainer import Trainer

        known = _annotations(data)
        check_footprint(self.config(), known, self.workers)
        trainer = Trainer(self.config(), known, self.workers)
        checkpoints = Checkpoints(Path(checkpoint), known) if checkpoint is not None else None
        self.resumed_ = bool(checkpoints and resume and checkpoints.resume(trainer))
        with Interrupt() as interrupt:
            for step in trainer.rounds():
                if progress:
                    progress(step)
                if interrupt.requested:
                    break
                if checkpoints:
                    checkpoints.after_round(trainer)
        self.interrupted_ = interrupt.requested and not trainer.finished
        if checkpoints and self.interrupted_:
            checkpoints.write(trainer)
        self._take(trainer, known)
        return self

    def partial_fit(self, data: Any, *, progress: Callable[[Any], None] | None = None) -> Annotator:
        """Let new pairs join a trained model: new labels of images it knows, new images, new labels.

        The vocabularies grow and all ids stay valid. Only images with new pairs are trained, among some others, so that
        it takes a fraction of `fit` and old suggestions stay close. Where nothing was trained yet, this is `fit`.
        Ctrl-C leaves the model as it was.
        """
        from vse_ens.train.growing import Grower, epochs_to_grow

        more = _annotations(data)
        if not hasattr(self, "model_"):
            return self.fit(more, progress=progress)
        known = self.known_.joined(more)
        if known.pairs == self.known_.pairs:
            return self
        generation = self.training_["generations"] + 1
        grower = Grower(
            self.config_,
            self.embeddings_,
            self.known_,
            known,
            epochs=epochs_to_grow(self.config_, self.training_["best_epoch"]),
            generation=generation,
            workers=self.workers,
        )
        for step in grower.rounds():
            if progress:
                progress(step)
        self.model_ = Model(grower.embeddings, self._memory_of(known), self.model_.memory_weight)
        self.known_ = known
        self.training_ = {**self.training_, "generations": generation}
        return self

    def _memory_of(self, known: Annotations) -> LabelMemory | None:
        from vse_ens.memory.learn import learn_memory
        from vse_ens.run.threads import Workers

        if self.model_.memory is None:
            return None
        with Workers(self.workers) as workers:
            return learn_memory(known, self.training_["memory_regularization"], workers)

    def memory_estimate(self, data: Any) -> Footprint:
        """How many bytes `fit` would need for ``data``, part by part, and how many there are."""
        from vse_ens.train.footprint import footprint

        return footprint(self.config(), _annotations(data), self.workers)

    def _take(self, trainer: Trainer, known: Annotations) -> None:
        """Keep what a trainer has learnt."""
        self.config_ = trainer.config
        self.known_ = known
        self.model_ = trainer.model.settled(known.features)
        self.calibration_ = trainer.calibration
        self.history_ = trainer.history
        self.training_ = {
            "version": __version__,
            "epochs": len(trainer.history),
            "best_epoch": trainer.best_epoch,
            "complete": trainer.finished,
            "generations": 0,
            "memory_weight": self.model_.memory_weight,
            "memory_regularization": trainer.memory_regularization,
        }
        self.validation_ = trainer.best_validation

    @property
    def embeddings_(self) -> Embeddings:
        """The trained vectors."""
        return self.model_.embeddings

    def forget(self, checkpoint: str | Path) -> None:
        """Remove the checkpoint of a run that has ended: its model is saved."""
        from vse_ens.train.checkpoint import remove_checkpoint

        remove_checkpoint(Path(checkpoint))

    # --- using ---

    @overload
    def annotate(self, images: str, **how: Unpack[Wanted]) -> list[Suggestion]: ...  # type: ignore[overload-overlap]
    @overload
    def annotate(self, images: Sequence[str], **how: Unpack[Wanted]) -> list[list[Suggestion]]: ...
    @overload
    def annotate(self, *, labels: list[str], **how: Unpack[Wanted]) -> list[Suggestion]: ...
    @overload
    def annotate(self, *, labels: list[list[str]], **how: Unpack[Wanted]) -> list[list[Suggestion]]: ...
    def annotate(
        self,
        images: str | Sequence[str] | None = None,
        *,
        labels: list[str] | list[list[str]] | None = None,
        **how: Unpack[Wanted],
    ) -> list[Suggestion] | list[list[Suggestion]]:
        """The best labels the image is not known to have, best first; of one image or of many.

        ``labels`` instead of ``images``: for an image the model has never seen, by the labels it is known to have. A
        list of such lists is many images. ``top`` (5) is how many; ``allow`` and ``deny`` are lists of labels to
        suggest from or never to suggest; below ``min_confidence`` nothing is suggested; ``explain`` fills ``because``.
        """
        self._check_fitted()
        wish = self._wish(**how)
        if (images is None) == (labels is None):
            raise ConfigError("annotate takes either images or labels, one of the two")
        if labels is not None:
            if isinstance(labels, str):  # type: ignore[unreachable]  # what a caller without types may do
                raise ConfigError(f"labels must be a list of label ids, got the text {labels!r}")
            one = all(isinstance(label, str) for label in labels)
            found = self._annotate_rows(self._label_rows([labels] if one else labels), wish)  # type: ignore[list-item]
            return found[0] if one else found
        if isinstance(images, str):
            return self._annotate_images(np.array([self.known_.images.number(images)]), wish)[0]
        return self._annotate_images(self.known_.images.numbers(images or []), wish)

    def _wish(
        self,
        top: int = 5,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        min_confidence: float = 0.0,
        explain: bool = False,
    ) -> _Wish:
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        if not 0.0 <= min_confidence <= 1.0:
            raise ConfigError(f"min_confidence must lie between 0 and 1, got {min_confidence}")
        if min_confidence and self.calibration_ is None:
            raise ConfigError(
                "this model has no confidence to ask for, since it was trained without held-out labels; "
                "train it with validate, or leave min_confidence out"
            )
        allowed = np.full(len(self.known_.labels), allow is None)
        allowed[self.known_.labels.numbers(list(allow or []))] = True
        allowed[self.known_.labels.numbers(list(deny or []))] = False
        return _Wish(top, allowed, min_confidence, explain)

    def _annotate_images(self, numbers: NDArray[np.int64], wish: _Wish) -> list[list[Suggestion]]:
        from vse_ens.curate.explain import own_parts

        def vectors(places: NDArray[np.int64]) -> Floats:
            return self.embeddings_.vectors(numbers[places], known=self.known_)

        own = own_parts(self.embeddings_, numbers) if wish.explain else None
        return self._suggest(Rows(*self.known_.rows(numbers)), vectors, own, wish)

    def _annotate_rows(self, rows: Rows, wish: _Wish) -> list[list[Suggestion]]:
        folded = self._vectors_by_labels(rows)
        own = None if self.embeddings_.has_context else folded
        return self._suggest(rows, lambda places: folded[places], own, wish)

    def _label_rows(self, lists: Sequence[Sequence[str]]) -> Rows:
        numbers = [np.unique(self.known_.labels.numbers(labels)) for labels in lists]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in numbers])]).astype(np.int64)
        return Rows(indptr, np.concatenate([*numbers, np.empty(0, np.int64)]).astype(np.int32))

    def _vectors_by_labels(self, rows: Rows) -> Floats:
        """v_i of images known by their labels alone."""
        if self.embeddings_.has_context:
            return self.embeddings_.context(*rows)
        from vse_ens.run.threads import Workers
        from vse_ens.train.fold_in import FoldIn

        with Workers(self.workers) as workers:
            return FoldIn(self.config_, self.known_, self.embeddings_, workers).vectors(*rows)

    def _suggest(
        self, known: Rows, vectors: Callable[[NDArray[np.int64]], Floats], own: Floats | None, wish: _Wish
    ) -> list[list[Suggestion]]:
        found = []
        count = len(known.indptr) - 1
        for first in range(0, count, _BLOCK):
            places = np.arange(first, min(first + _BLOCK, count))
            block = np.resize(places, _BLOCK)
            owned = take_rows(*known, block)
            scores = self.model_.scores_of(vectors(block), *owned)
            scores[np.repeat(np.arange(_BLOCK), np.diff(owned.indptr)), owned.indices] = -np.inf
            counts = np.diff(owned.indptr)
            # What may not be suggested still takes its share of the probability.
            totals = self.calibration_.log_totals(scores, counts) if self.calibration_ else None
            scores[:, ~wish.allowed] = -np.inf
            labels, best = top_labels(scores, wish.top)
            confidences: Sequence[Sequence[float | None]] = [[None] * labels.shape[1]] * _BLOCK
            if self.calibration_ and totals is not None:
                confidences = self.calibration_.confidences(best, totals[:, None], counts[:, None]).tolist()
            for row, place in enumerate(places):
                chosen = zip(labels[row].tolist(), best[row].tolist(), confidences[row], strict=True)
                kept = [one for one in chosen if one[1] > -np.inf and (one[2] is None or one[2] >= wish.min_confidence)]
                found.append(
                    self._suggestions(kept, take_rows(*known, places[row : row + 1]), own, place, wish.explain)
                )
        return found

    def _suggestions(
        self,
        found: list[tuple[int, float, float | None]],
        known: Rows,
        own: Floats | None,
        place: np.int64,
        explain: bool,
    ) -> list[Suggestion]:
        ids = self.known_.labels.ids([label for label, _, _ in found])
        because: Sequence[tuple[Reason, ...]] = [()] * len(found)
        if explain:
            from vse_ens.curate.explain import shares

            rows = take_rows(*known, np.zeros(len(found), np.int64))
            part = None if own is None else np.repeat(own[place][None], len(found), axis=0)
            numbers = np.array([label for label, _, _ in found], np.int64)
            because = [one.reasons(self.known_.labels) for one in shares(self.model_, rows, numbers, part)]
        return [
            Suggestion(name, score, confidence, reasons)
            for name, (_, score, confidence), reasons in zip(ids, found, because, strict=True)
        ]

    def explain(self, image: str | None = None, label: str = "", *, labels: list[str] | None = None) -> Explanation:
        """Why a label is suggested: what each label the image has adds to the score, exactly for the context tower.

        ``labels`` instead of ``image``: of an image that has these.
        """
        self._check_fitted()
        number = self.known_.labels.number(label)
        if (image is None) == (labels is None):
            raise ConfigError("explain takes either an image or labels, one of the two")
        [found] = (
            self.annotate([image], top=1, allow=[label], explain=True)
            if image is not None
            else self.annotate(labels=[labels or []], top=1, allow=[label], explain=True)
        )
        if not found:
            raise ConfigError(
                f"the image has the label {self.known_.labels.id(number)!r} already: nothing is to explain"
            )
        from vse_ens.curate.explain import Explanation

        return Explanation(label, found[0].score, found[0].confidence, found[0].because)

    def audit(
        self, top: int = 50, *, wrong_share: float = 0.02, progress: Callable[[int], None] | None = None
    ) -> Audit:
        """Labels likely wrong, labels likely missing and labels that could be one, in the pairs the model knows.

        ``top`` findings of each kind; ``wrong_share`` is how many of all labels are expected to be wrong: it sets the
        level of that confidence, not the order. ``progress`` hears of rows of scores done
        (`vse_ens.curate.audit.audit_rows` in all).
        """
        from vse_ens.curate.audit import audit
        from vse_ens.curate.wrong import steps_of

        self._check_fitted()
        return audit(
            self.model_,
            self.known_,
            top=top,
            calibration=self.calibration_,
            wrong_share=wrong_share,
            steps=steps_of(self.config_, self.training_["best_epoch"]),
            fold_in=None if self.embeddings_.has_context else self._vectors_by_labels,
            progress=progress,
        )

    def evaluate(
        self, test: Annotations, *, known: Annotations | None = None, tops: Sequence[int] = (1, 5, 10)
    ) -> Report:
        """How well held-out labels are found in the full ranking, with the known labels left out.

        ``test`` may have ids of its own: images and labels the model has never seen count as misses. With ``known``,
        such as the `revealed` part of the new-images protocol, images are scored by these labels instead of what the
        model was trained on. ``tops`` are the N of the metrics at N; docs/metrics.md defines them all.
        """
        from vse_ens.evaluate.report import summarise

        rankings = self.rankings(test, known=known, top=max(tops, default=1))
        return summarise(rankings, tops=tops, workers=self.workers)

    def rankings(
        self,
        test: Annotations,
        *,
        known: Annotations | None = None,
        top: int = 10,
        memory: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Rankings:
        """Where held-out labels stand, to compute metrics from; see `vse_ens.evaluate.evaluator.evaluate`."""
        from vse_ens.evaluate.evaluator import DEFAULT_MEMORY, evaluate
        from vse_ens.evaluate.scorer import FunctionScorer

        self._check_fitted()
        shown = self.known_ if known is None else known.relabelled(self.known_.labels)
        return evaluate(
            FunctionScorer(shown.images, shown.labels, self._scores if known is None else self._scores_by(shown)),
            shown,
            test,
            top=top,
            memory=memory or DEFAULT_MEMORY,
            workers=self.workers,
            progress=progress,
        )

    def _scores(self, images: NDArray[np.int64]) -> Floats:
        return self.model_.scores(images, self.known_)

    def _scores_by(self, known: Annotations) -> Callable[[NDArray[np.int64]], Floats]:
        folded = self._vectors_by_labels(Rows(known.indptr, known.indices))
        return lambda images: self.model_.scores_of(folded[images], *known.rows(images))

    # --- keeping ---

    def save(self, path: str | Path) -> None:
        """Write the model directory, whole or not at all."""
        self._check_fitted()
        settings = {
            "config": self.config_.to_dict(),
            "preset": self.preset,
            "training": self.training_,
            "validation": self.validation_,
        }
        arrays = self.model_.arrays() | (self.calibration_.arrays() if self.calibration_ else {})
        card = model_card(self.config_.to_dict(), self.known_.summary(), self.training_, self.validation_)
        save_model(path, StoredModel(settings, arrays, self.known_, card))

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Annotator:
        """Load a model directory as a memory map; ``verify=False`` skips reading all contents to check them."""
        stored = load_model(path, verify=verify)
        try:
            config = Config.from_dict(stored.settings["config"])
            model = cls(stored.settings["preset"], seed=config.seed, **_differences(stored.settings["preset"], config))
            model.config_ = config
            model.training_ = dict(stored.settings["training"])
            model.model_ = Model.from_arrays(stored.arrays, model.training_["memory_weight"])
            model.calibration_ = Calibration.from_arrays(stored.arrays)
            model.validation_ = stored.settings["validation"]
        except (KeyError, TypeError) as error:
            raise ModelError(f"{path}: model.json lacks or misnames {error}; train the model again") from error
        model.known_ = stored.known
        return model

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise ConfigError("this Annotator has not been fitted: call fit(data) or Annotator.load(path) first")


def _annotations(data: Any) -> Annotations:
    if isinstance(data, Annotations):
        return data
    if hasattr(data, "tocsr"):
        return Annotations.from_matrix(data)
    return Annotations.from_frame(data)


def _differences(name: str, config: Config) -> Mapping[str, Any]:
    """The settings that, given with a preset, make a configuration."""
    method = {"sampler": config.sampler, "loss": config.loss, "tower": config.tower}
    base = configure(name, **method, seed=config.seed).to_dict()
    return {**method, **{key: value for key, value in config.to_dict().items() if base[key] != value}}
