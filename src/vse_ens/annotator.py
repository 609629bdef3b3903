"""The façade: ids in, ids out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.config import Config, Settings
from vse_ens.curate.explain import own_vectors
from vse_ens.curate.suggest import Suggester, Suggestion, SuggestOptions
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.errors import ConfigError, ModelError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.loaded import LoadedModel, ModelRef
from vse_ens.model.model import Model
from vse_ens.model.store import StoredModel, load_model, model_card, save_model
from vse_ens.model.weights import LabelWeights
from vse_ens.presets import configure

if TYPE_CHECKING:
    from vse_ens.curate.audit.audit import Audit
    from vse_ens.curate.explain import Explanation
    from vse_ens.curate.search import FoundImage, Neighbour, Searcher
    from vse_ens.curate.suggest_remote import RemoteSuggester
    from vse_ens.data.partition.store import Partition
    from vse_ens.evaluate.rankings import Rankings
    from vse_ens.evaluate.reliability import Reliability
    from vse_ens.evaluate.report import Report
    from vse_ens.evaluate.scorer import ModelScores
    from vse_ens.export.suggestions import ExportCounts
    from vse_ens.run.pool import Pool
    from vse_ens.train.progress import EpochReport
    from vse_ens.train.ram_estimate import RamEstimate
    from vse_ens.train.trainer import Trainer


# Of a model that is trained on a cluster or from a folder of parts, unless another number is set.
_SHARDS = 8


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
    _saved: tuple[ModelRef, Model]
    """Where the model was saved or loaded, and which one that was."""
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
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
    ) -> Annotator:
        """Learn from `Annotations`, a scipy sparse matrix, any dataframe of pairs, or a folder of Parquet parts.

        ``progress`` is called after every round with a `vse_ens.train.progress.Progress`. With ``checkpoint``, a
        directory, the run is saved there as it goes; ``resume`` goes on from it and ends with the same bytes. Ctrl-C
        stops after the round and keeps the model (``interrupted_`` tells).

        With ``cluster="ray"`` the ``shards`` of the model, 8 where they are not set, train on a Ray cluster: the one
        at ``address``, or one on this machine. Without a cluster they train here, to the same bytes: docs/scale.md. A
        folder of parts, a path or an address that Arrow reads, is always trained by shards, sorted out once beside
        ``checkpoint``; no step holds all pairs.
        """
        from vse_ens.run.interrupt import Interrupt
        from vse_ens.run.pool import open_pool
        from vse_ens.train.checkpoint import Checkpoints
        from vse_ens.train.trainer import Trainer

        pairs = self._pairs(data, checkpoint)
        config = self._config_for(pairs, on_cluster=cluster is not None)
        with open_pool(cluster, address, self.workers) as pool, Interrupt() as interrupt:
            # On a cluster ``workers`` counts its workers; what runs in this process takes all cores.
            trainer = Trainer(config, pairs, None if pool else self.workers, pool)
            checkpoints = Checkpoints(Path(checkpoint), pairs) if checkpoint is not None else None
            self.resumed_ = bool(checkpoints and resume and checkpoints.resume(trainer))
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
            self._take(trainer)
        return self

    def partition(
        self, parts: Any, checkpoint: str | Path, *, progress: Callable[[int], None] | None = None
    ) -> Partition:
        """Partition a folder of Parquet files by shard, beside ``checkpoint``; pass the result to `fit`.

        ``progress`` is called with the number of pairs done.
        """
        from vse_ens.data.partition.build import partition
        from vse_ens.data.partition.parts import PartFiles
        from vse_ens.train.checkpoint import shards_folder
        from vse_ens.train.sharded.sources import check_partitioned

        shards = self.settings.get("shards", _SHARDS)
        check_partitioned(self.config(shards=shards))
        files = parts if isinstance(parts, PartFiles) else PartFiles.find(parts)
        return partition(files, shards_folder(Path(checkpoint)) / "pairs", shards, progress=progress)

    def _pairs(self, data: Any, checkpoint: str | Path | None) -> Annotations | Partition:
        """What to learn from: pairs in memory, or parts sorted out by shard."""
        from vse_ens.data.partition.parts import PartFiles
        from vse_ens.data.partition.store import Partition

        if isinstance(data, Partition):
            return data
        if not isinstance(data, PartFiles | str | Path):
            return _annotations(data)
        if checkpoint is None:
            raise ConfigError("a folder of parts needs checkpoint, a place on storage that all workers share")
        return self.partition(data, checkpoint)

    def _config_for(self, pairs: Annotations | Partition, on_cluster: bool) -> Config:
        """The settings, and what a cluster or a partition decides where they do not."""
        if isinstance(pairs, Annotations):
            unsaid = on_cluster and "shards" not in self.settings
            return self.config(shards=_SHARDS) if unsaid else self.config()
        return self.config(shards=pairs.counts.shards)

    def partial_fit(self, data: Any, *, progress: Callable[[Any], None] | None = None) -> Annotator:
        """Let new pairs join a trained model: new labels of images it knows, new images, new labels.

        The vocabularies grow and all ids stay valid. Only images with new pairs are trained, among some others, so that
        it takes a fraction of `fit` and old suggestions stay close. Where nothing was trained yet, this is `fit`.
        Ctrl-C leaves the model as it was.
        """
        from vse_ens.train.incremental import IncrementalTrainer, update_epochs

        more = _annotations(data)
        if not hasattr(self, "model_"):
            return self.fit(more, progress=progress)
        known = self.known_.joined(more)
        if known.pairs == self.known_.pairs:
            return self
        generation = self.training_["generations"] + 1
        grower = IncrementalTrainer(
            self.config_,
            self.embeddings_,
            self.known_,
            known,
            epochs=update_epochs(self.config_, self.training_["best_epoch"]),
            generation=generation,
            workers=self.workers,
        )
        for step in grower.rounds():
            if progress:
                progress(step)
        self.model_ = Model(grower.embeddings, self._memory_of(known), self.model_.label_weights_scale)
        self.known_ = known
        self.training_ = {**self.training_, "generations": generation}
        return self

    def _memory_of(self, known: Annotations) -> LabelWeights | None:
        from vse_ens.label_weights.learn import learn_label_weights
        from vse_ens.run.pool import LocalPool
        from vse_ens.run.threads import Workers

        if self.model_.label_weights is None:
            return None
        with Workers(self.workers) as workers:
            return learn_label_weights(known, self.training_["memory_regularization"], LocalPool(workers))

    def memory_estimate(self, data: Any) -> RamEstimate:
        """How many bytes `fit` would need for ``data``, part by part, and how many there are."""
        from vse_ens.train.ram_estimate import estimate_ram

        return estimate_ram(self.config(), _annotations(data), self.workers)

    def _take(self, trainer: Trainer) -> None:
        """Keep what a trainer has learnt."""
        self.config_ = trainer.config
        self.known_ = trainer.known
        self.model_ = trainer.model.with_features(trainer.known.features)
        self.calibration_ = trainer.calibration
        self.history_ = trainer.history
        self.training_ = {
            "version": __version__,
            "epochs": len(trainer.history),
            "best_epoch": trainer.best_epoch,
            "complete": trainer.finished,
            "generations": 0,
            "memory_weight": self.model_.label_weights_scale,
            "memory_regularization": trainer.label_weights_regularization,
        }
        self.validation_ = trainer.best_validation

    @property
    def embeddings_(self) -> Embeddings:
        """The trained vectors."""
        return self.model_.embeddings

    def remove_checkpoint(self, checkpoint: str | Path) -> None:
        """Remove the checkpoint of a finished run, and the pairs that were partitioned for it."""
        from vse_ens.train.checkpoint import remove_checkpoint

        remove_checkpoint(Path(checkpoint))

    # --- using ---

    @overload
    def annotate(self, images: str, **how: Unpack[SuggestOptions]) -> list[Suggestion]: ...  # type: ignore[overload-overlap]
    @overload
    def annotate(self, images: Sequence[str], **how: Unpack[SuggestOptions]) -> list[list[Suggestion]]: ...
    @overload
    def annotate(self, *, labels: list[str], **how: Unpack[SuggestOptions]) -> list[Suggestion]: ...
    @overload
    def annotate(self, *, labels: list[list[str]], **how: Unpack[SuggestOptions]) -> list[list[Suggestion]]: ...
    def annotate(
        self,
        images: str | Sequence[str] | None = None,
        *,
        labels: list[str] | list[list[str]] | None = None,
        **how: Unpack[SuggestOptions],
    ) -> list[Suggestion] | list[list[Suggestion]]:
        """The best labels the image is not known to have, best first; of one image or of many.

        ``labels`` instead of ``images``: for an image the model has never seen, by the labels it is known to have. A
        list of such lists is many images. ``top`` (5) is how many; ``allow`` and ``deny`` are lists of labels to
        suggest from or never to suggest; below ``min_confidence`` nothing is suggested; ``explain`` fills ``because``.
        """
        self._check_fitted()
        desk = self._desk(**how)
        if (images is None) == (labels is None):
            raise ConfigError("annotate takes either images or labels, one of the two")
        if labels is not None:
            if isinstance(labels, str):  # type: ignore[unreachable]  # what a caller without types may do
                raise ConfigError(f"labels must be a list of label ids, got the text {labels!r}")
            one = all(isinstance(label, str) for label in labels)
            told = self._annotate_rows(self._label_rows([labels] if one else labels), desk)  # type: ignore[list-item]
            return told[0] if one else told
        if isinstance(images, str):
            return self._annotate_images(np.array([self.known_.images.number(images)]), desk)[0]
        return self._annotate_images(self.known_.images.numbers(images or []), desk)

    def annotate_all(
        self,
        path: str | Path,
        form: str | None = None,
        *,
        prefix: str = "",
        progress: Callable[[int], None] | None = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        **how: Unpack[SuggestOptions],
    ) -> ExportCounts:
        """Write suggestions for all images to a file, block by block, whole or not at all.

        ``form`` is one of `vse_ens.export.suggestions.Format`; the end of the name tells it where it is not given.
        ``progress`` hears how many images are done. With ``cluster="ray"`` the suggestions are made by a Ray cluster,
        as in `fit`, whose workers open the model where it was saved; the file is the same bytes. The other arguments
        are those of `annotate`.
        """
        from vse_ens.export.suggestions import format_of, write_suggestions

        self._check_fitted()
        if how.get("explain"):
            raise ConfigError("explain must be left out: a file of all suggestions has no room for reasons")
        form = form or format_of(path)
        images, labels = self.known_.images, self.known_.labels
        with self._desk_on(cluster, address, **how) as desk:
            return write_suggestions(path, images, labels, desk.images(), form, prefix=prefix, progress=progress)

    def known_labels(self, image: str) -> list[str]:
        """The labels that an image had in training."""
        self._check_fitted()
        return self.known_.labels_of(image)

    @property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model_, self.known_, self.calibration_)

    def _desk(self, **how: Unpack[SuggestOptions]) -> Suggester:
        return Suggester(self._loaded, run=self._run, **how)

    @contextmanager
    def _desk_on(
        self, cluster: str | None, address: str | None, **how: Unpack[SuggestOptions]
    ) -> Iterator[Suggester | RemoteSuggester]:
        """A desk in this process, or one whose answers come from a cluster."""
        from vse_ens.curate.suggest_remote import RemoteSuggester

        desk = self._desk(**how)  # what cannot be asked for is told before a cluster is started
        with self._elsewhere(cluster, address) as elsewhere:
            yield RemoteSuggester(*elsewhere, len(self.known_.images), how) if elsewhere else desk

    @contextmanager
    def _elsewhere(self, cluster: str | None, address: str | None) -> Iterator[tuple[Pool, ModelRef] | None]:
        """The workers of a cluster and where they find this model; None where the work is to be done here."""
        from vse_ens.run.pool import open_pool

        place, saved = getattr(self, "_saved", (None, None))
        if cluster is not None and saved is not self.model_:
            raise ConfigError(
                "workers of a cluster open a model by its path, and this one is not saved as it is now: save it first"
            )
        with open_pool(cluster, address, self.workers) as pool:
            yield (pool, place) if pool and place else None

    def _run(self, tasks: Sequence[Callable[[int], Any]]) -> list[Any]:
        from vse_ens.run.threads import Workers

        with Workers(self.workers if len(tasks) > 1 else 1) as workers:
            return workers.run(tasks)

    def _annotate_images(self, numbers: NDArray[np.int64], desk: Suggester) -> list[list[Suggestion]]:
        found = []
        for best in desk.images(numbers):
            own = own_vectors(self.embeddings_, best.images)
            found += desk.to_suggestions(best, Csr(*self.known_.rows(best.images)), own)
        return found

    def _annotate_rows(self, rows: Csr, desk: Suggester) -> list[list[Suggestion]]:
        folded = self._vectors_by_labels(rows)
        found = []
        for best in desk.rows(folded, rows):
            own = None if self.embeddings_.has_context else folded[best.images]
            found += desk.to_suggestions(best, take_rows(*rows, best.images), own)
        return found

    def _label_rows(self, lists: Sequence[Sequence[str]]) -> Csr:
        numbers = [np.unique(self.known_.labels.numbers(labels)) for labels in lists]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in numbers])]).astype(np.int64)
        return Csr(indptr, np.concatenate([*numbers, np.empty(0, np.int64)]).astype(np.int32))

    def _vectors_by_labels(self, rows: Csr) -> Floats:
        """v_i of images known by their labels alone."""
        if self.embeddings_.has_context:
            return self.embeddings_.context(*rows)
        from vse_ens.run.threads import Workers
        from vse_ens.train.fold_in import FoldIn

        with Workers(self.workers) as workers:
            return FoldIn(self.config_, self.known_, self.embeddings_, workers).vectors(*rows)

    def search(
        self, labels: Sequence[str], top: int = 20, *, tagged: bool = False, index: str | Path | None = None
    ) -> list[FoundImage]:
        """Images for labels, best first; a dash before a label, as in ``-people``, means without it.

        Images that are known to have all wanted labels already are left out unless ``tagged``: what is found are the
        beaches nobody tagged. The first search of a model scores all images once. With ``index``, a file that is made
        where it does not exist, only a part of the images is looked at, and a good one may be missed.
        """
        if isinstance(labels, str):
            raise ConfigError(f"search takes a list of label ids, got the text {labels!r}")
        return self._finder().search(list(labels), top, tagged=tagged, index=None if index is None else Path(index))

    def similar_labels(self, label: str, top: int = 10) -> list[Neighbour]:
        """The labels most like a label, by cosine."""
        return self._finder().similar_labels(label, top)

    def similar_images(self, image: str, top: int = 10) -> list[Neighbour]:
        """The images most like an image, by cosine."""
        return self._finder().similar_images(image, top)

    def _finder(self) -> Searcher:
        """Kept, since a search begins with what all images have in common, until there is another model."""
        from vse_ens.curate.search import Searcher

        self._check_fitted()
        kept: Searcher | None = getattr(self, "_kept_finder", None)
        if kept is None or kept.loaded.model is not self.model_:
            kept = self._kept_finder = Searcher(self._loaded, self._run)
        return kept

    def export_vectors(self, path: str | Path, what: Literal["labels", "images"] = "labels") -> None:
        """Write label or image vectors to a ``.parquet``, ``.npy`` or word2vec ``.txt`` or ``.vec`` file."""
        from vse_ens.export.vectors import write_image_vectors, write_label_vectors

        self._check_fitted()
        if what == "labels":
            write_label_vectors(path, self.embeddings_, self.known_.labels)
        elif what == "images":
            write_image_vectors(path, self.embeddings_, self.known_)
        else:
            raise ConfigError(f"what must be 'labels' or 'images', got {what!r}")

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
        (`vse_ens.curate.audit.audit.audit_rows` in all).
        """
        from vse_ens.curate.audit.audit import audit
        from vse_ens.curate.audit.wrong import total_step_size

        self._check_fitted()
        return audit(
            self.model_,
            self.known_,
            top=top,
            calibration=self.calibration_,
            wrong_share=wrong_share,
            step_size=total_step_size(self.config_, self.training_["best_epoch"]),
            fold_in=None if self.embeddings_.has_context else self._vectors_by_labels,
            progress=progress,
        )

    def evaluate(
        self,
        test: Annotations,
        *,
        known: Annotations | None = None,
        tops: Sequence[int] = (1, 5, 10),
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
    ) -> Report:
        """How well held-out labels are found in the full ranking, with the known labels left out.

        ``test`` may have ids of its own: images and labels the model has never seen count as misses. With ``known``,
        such as the `revealed` part of the new-images protocol, images are scored by these labels instead of what the
        model was trained on. ``tops`` are the N of the metrics at N; docs/metrics.md defines them all. With
        ``cluster="ray"`` images are ranked by a Ray cluster, as in `annotate_all`: the same figures.
        """
        from vse_ens.evaluate.report import summarise

        rankings = self.rankings(test, known=known, top=max(tops, default=1), cluster=cluster, address=address)
        return summarise(rankings, tops=tops, workers=self.workers)

    def rankings(
        self,
        test: Annotations,
        *,
        known: Annotations | None = None,
        top: int = 10,
        memory: int | None = None,
        progress: Callable[[int], None] | None = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
    ) -> Rankings:
        """Where held-out labels stand, to compute metrics from; see `vse_ens.evaluate.rank.rank_held_out`."""
        from vse_ens.evaluate.rank import DEFAULT_MEMORY, evaluate, rank_held_out
        from vse_ens.evaluate.rank_remote import remote_ranker
        from vse_ens.evaluate.scorer import FunctionScorer

        self._check_fitted()
        shown = None if known is None else known.relabelled(self.known_.labels)
        pairs = self.known_ if shown is None else shown
        if cluster is not None and shown is not None and not self.embeddings_.has_context:
            raise ConfigError(
                "a cluster cannot learn vectors for the images of known, which this model has to: leave cluster out"
            )
        with self._elsewhere(cluster, address) as elsewhere:
            if elsewhere:
                rank = remote_ranker(*elsewhere, top, shown)
                return rank_held_out(rank, pairs, test, top=top, memory=memory or DEFAULT_MEMORY, progress=progress)
        return evaluate(
            FunctionScorer(pairs.images, pairs.labels, self._scores(shown)),
            pairs,
            test,
            top=top,
            memory=memory or DEFAULT_MEMORY,
            workers=self.workers,
            progress=progress,
        )

    def reliability(
        self, test: Annotations, *, top: int = 5, cluster: Literal["ray"] | None = None, address: str | None = None
    ) -> list[Reliability]:
        """Whether confidences are what they say: the ``top`` suggestions for images with held-out labels, in piles."""
        from vse_ens.curate.calibration_check import reliability_of

        self._check_fitted()
        with self._desk_on(cluster, address, top=top) as desk:
            return reliability_of(desk, self.known_, test)

    def _scores(self, known: Annotations | None) -> ModelScores:
        """Of the images of the model, or of others by the labels they are known to have."""
        from vse_ens.evaluate.scorer import ModelScores

        if known is None:
            return ModelScores.of_known(self.model_, self.known_, self._run)
        rows = Csr(known.indptr, known.indices)
        if self.embeddings_.has_context:
            return ModelScores.of_labels(self.model_, rows, self._run)
        folded = self._vectors_by_labels(rows)
        return ModelScores(self.model_, lambda images: folded[images], rows, self._run)

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
        self._saved = ModelRef.of(path), self.model_

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Annotator:
        """Load a model directory as a memory map; ``verify=False`` skips reading all contents to check them."""
        place = ModelRef.of(path)
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
        model._saved = place, model.model_
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
