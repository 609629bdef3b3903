"""`Annotator`: fit a model, suggest labels, search, audit and evaluate, all by id."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.config import Config, Settings
from vse_ens.curate.explain import own_vectors
from vse_ens.curate.suggest import Suggester, SuggestionLists, Suggestions, SuggestOptions, check_options
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.base import LabelEdit
from vse_ens.data.csr import take_rows
from vse_ens.display import Shown, Table, rounded
from vse_ens.errors import ConfigError, ModelError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.loaded import LoadedModel, ModelRef
from vse_ens.model.model import Model
from vse_ens.model.store import StoredModel, load_model, model_card, save_model
from vse_ens.model.topk import TaskRunner, run_serial
from vse_ens.model.weights import LabelWeights
from vse_ens.presets import configure, is_preset_file, read_preset_file
from vse_ens.progress import ProgressBar, ProgressOption
from vse_ens.storage.atomic import reserve
from vse_ens.streams import Streams

if TYPE_CHECKING:
    from vse_ens.curate.audit.audit import Audit
    from vse_ens.curate.explain import Explanation
    from vse_ens.curate.label_first import ImageScan, LabelRanker
    from vse_ens.curate.search import FoundImages, Neighbours, Searcher
    from vse_ens.curate.suggest_remote import RemoteSuggester
    from vse_ens.data.partition.store import Partition
    from vse_ens.evaluate.rankings import Rankings
    from vse_ens.evaluate.reliability import Reliability
    from vse_ens.evaluate.report import Report
    from vse_ens.evaluate.scorer import ModelScores
    from vse_ens.export.hub import Pushed
    from vse_ens.export.suggestions import ExportCounts
    from vse_ens.model.topk import TopLabels
    from vse_ens.run.pool import Pool
    from vse_ens.train.callbacks import Callback, CallbackList
    from vse_ens.train.checkpoint import Checkpoints
    from vse_ens.train.progress import EpochReport, Progress
    from vse_ens.train.ram_estimate import RamEstimate
    from vse_ens.train.trainer import Trainer


# Images whose suggestions may be chosen for verdicts.
_MAX_JUDGED = 50_000
# Shards of a model that is trained on a cluster or from a folder of Parquet files, unless set.
_DEFAULT_SHARDS = 8


class Annotator(Shown):
    """Learns which labels belong to which image, and suggests the missing ones.

        model = Annotator(seed=0).fit(train)
        model.annotate("img_0000017", top=5)

    The examples of its methods use a small model of the built-in data set:

    >>> data = scenes(images=1500, seed=0)
    >>> train, test = data.leave_one_out(seed=0)
    >>> model = Annotator(seed=0, epochs=10, dimensions=32).fit(train)

    It follows scikit-learn's conventions: the constructor stores its arguments, `fit` trains, and `get_params`,
    `set_params` and `clone` work as usual. ``preset`` is a name or a preset file such as `vse tune` writes.
    ``settings`` are fields of `vse_ens.config.Config` that override the preset. ``workers`` is the number of threads,
    all cores by default; it does not change the model. Another kind of CPU changes its last bits: docs/training.md.
    """

    config_: Config
    """The complete settings, including those chosen from the data."""
    preset_: str
    """The name of the preset; of a preset file, the preset that it changes."""
    known_: Annotations
    """The pairs the model was trained on."""
    model_: Model
    """The trained vectors and label weights."""
    calibration_: Calibration | None
    """The map from scores to hits and confidences; None where training held out no labels."""
    training_: dict[str, Any]
    """Facts about the training, such as the number of epochs."""
    validation_: dict[str, float] | None
    """Validation metrics of the epoch that was kept."""
    history_: list[EpochReport]
    """One report per epoch."""
    resumed_: bool
    """Whether the last `fit` continued from a checkpoint."""
    interrupted_: bool
    """Whether the last `fit` was stopped by Ctrl-C or by a callback."""
    _saved: tuple[ModelRef, Model]
    """The directory the model was saved to or loaded from, and that model."""

    def __init__(
        self, preset: str = "context", *, seed: int = 0, workers: int | None = None, **settings: Unpack[Settings]
    ) -> None:
        self.preset = preset
        self.seed = seed
        self.workers = workers
        self.settings: Settings = settings

    # --- scikit-learn's conventions ---

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  # scikit-learn's signature
        """Return all arguments of the constructor.

        >>> Annotator(epochs=5).get_params()
        {'preset': 'context', 'seed': 0, 'workers': None, 'epochs': 5}
        """
        return {"preset": self.preset, "seed": self.seed, "workers": self.workers, **self.settings}

    def set_params(self, **values: Any) -> Annotator:
        """Replace arguments of the constructor.

        >>> Annotator().set_params(preset="warp", dimensions=64)
        Annotator(preset='warp', seed=0, dimensions=64)
        """
        changed = Annotator(**{**self.get_params(), **values})
        changed.config()  # raises for an unknown name or a bad value
        self.preset, self.seed, self.workers = changed.preset, changed.seed, changed.workers
        self.settings = changed.settings
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        fitted = f", fitted on {self._size()}, {self.embeddings_.dimensions} dimensions" if self._is_fitted else ""
        return f"Annotator({shown}){fitted}"

    def _size(self) -> str:
        return f"{len(self.known_.images):,} images, {len(self.known_.labels):,} labels, {self.known_.pairs:,} pairs"

    def _tables(self) -> list[Table]:
        rows = [(name, str(value)) for name, value in self.get_params().items() if value is not None]
        if not self._is_fitted:
            return [Table(("", ""), [*rows, ("fitted", "no")], "Annotator")]
        rows += [("fitted on", self._size()), ("best epoch", f"{self.training_['best_epoch']:,}")]
        if "dimensions" not in self.settings:
            rows.append(("dimensions", f"{self.embeddings_.dimensions:,}"))
        rows += [(f"validation {name}", rounded(value)) for name, value in (self.validation_ or {}).items()]
        return [Table(("", ""), rows, "Annotator")]

    @property
    def _is_fitted(self) -> bool:
        return hasattr(self, "model_")

    def config(self, **values: Any) -> Config:
        """Return the settings of the preset, overridden by those of the constructor and by ``values``.

        >>> Annotator(dimensions=64).config().dimensions
        64
        """
        return configure(self.preset, **{**self.settings, **values}, seed=self.seed)

    # --- training ---

    def fit(
        self,
        data: Any,
        y: Any = None,  # noqa: ARG002  # scikit-learn's signature
        *,
        progress: ProgressOption = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | Path | None = None,
        resume: bool = False,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        allow_mixed_cpus: bool = False,
    ) -> Annotator:
        """Train on pairs and return the model itself.

        >>> Annotator("opt-auc", epochs=1, dimensions=32).fit("pairs.csv")
        Annotator(preset='opt-auc', seed=0, epochs=1, dimensions=32), fitted on 1,500 images, 833 labels, ...

        Args:
            data: `Annotations`, a SciPy sparse matrix of images by labels, any data frame or list of pairs, or the path
                of anything that `Annotations.read` reads. A folder of Parquet files, given by a path or an address that
                Arrow reads, is partitioned by shard beside ``checkpoint``; no step holds all pairs in memory.
            y: Ignored: scikit-learn passes one.
            progress: False for no progress bar, True for one also in a script; by default, work over a second shows
                one at a prompt and in a notebook. A function is called after every round with a
                `vse_ens.train.progress.Progress` instead.
            callbacks: Objects of `vse_ens.train.callbacks.Callback`, called at the start, every epoch and the end; they
                may stop the training. Trackers for MLflow, Weights & Biases and TensorBoard: `vse_ens.tracking`.
            checkpoint: A directory in which the state of the run is saved from time to time. One process at a time
                may use it. If it cannot be written later, for example to a full disk, training goes on.
            resume: Continue from the checkpoint. The result is the same bytes as without the interruption, on the kind
                of CPU that the run was started on; another kind is refused.
            cluster: ``"ray"`` trains the shards of the model, 8 by default, on a Ray cluster; see docs/scale.md.
            address: The address of a running cluster; without it, one is started on this machine.
            allow_mixed_cpus: Resume on another kind of CPU, and take nodes of other kinds, which changes the last bits.

        Ctrl-C stops after the current round and keeps the model so far; ``interrupted_`` is then True.
        """
        from vse_ens.model.cpu import cpu_kind
        from vse_ens.run.interrupt import Interrupt
        from vse_ens.run.pool import open_pool
        from vse_ens.train.callbacks import CallbackList
        from vse_ens.train.checkpoint import Checkpoints
        from vse_ens.train.run_files import check_run_files
        from vse_ens.train.trainer import Trainer

        callback_list = CallbackList(callbacks)
        cpus = {cpu_kind()}
        with ExitStack() as stack:
            if checkpoint is not None:
                stack.enter_context(reserve(Path(checkpoint), error=ModelError))
                check_run_files(Path(checkpoint))
            pairs = self._pairs(data, checkpoint)
            config = self._config_for(pairs, on_cluster=cluster is not None)
            # Now: the file may be gone when the model is saved, and a saved model must not refer to it.
            base = read_preset_file(self.preset).base if is_preset_file(self.preset) else self.preset
            pool = stack.enter_context(open_pool(cluster, address, self.workers, allow_mixed_cpus))
            interrupt = stack.enter_context(Interrupt())
            # On a cluster ``workers`` is the number of its workers; this process uses all cores.
            trainer = Trainer(config, pairs, None if pool else self.workers, pool)
            trainer.prepare()
            checkpoints = None
            if checkpoint is not None:
                checkpoints = Checkpoints(Path(checkpoint), pairs, allow_mixed_cpus=allow_mixed_cpus)
            self.resumed_ = bool(checkpoints and resume and checkpoints.resume(trainer))
            report = stack.enter_context(_TrainingBar(progress))
            stopped = False
            try:
                known = trainer.known
                callback_list.start(
                    trainer.config, images=len(known.images), labels=len(known.labels), pairs=known.pairs
                )
                for step in trainer.rounds():
                    report(step)
                    if step.report:
                        stopped = _run_epoch_callbacks(callback_list, trainer, checkpoints)
                    if stopped or interrupt.requested:
                        break
                    if checkpoints:
                        checkpoints.after_round(trainer)
                self.interrupted_ = (stopped or interrupt.requested) and not trainer.finished
                if checkpoints and self.interrupted_:
                    checkpoints.try_write(trainer)
                self.preset_ = base
                cpus.update(checkpoints.cpus if checkpoints else (), pool.cpus if pool else ())
                self._adopt(trainer, cpus)
            except BaseException as error:
                callback_list.error(error)
                raise
        callback_list.end(self)
        return self

    def partition(
        self, parts: Any, checkpoint: str | Path, *, progress: Callable[[int], None] | None = None
    ) -> Partition:
        """Partition a folder of Parquet files by shard, beside ``checkpoint``; pass the result to `fit`.

        >>> pairs = Annotator("vse-ens", shards=2, epochs=1).partition("parts", "run")
        >>> pairs.counts.shards
        2

        ``progress`` is called with the number of pairs done.
        """
        from vse_ens.data.partition.build import partition
        from vse_ens.data.partition.parts import PartFiles
        from vse_ens.train.run_files import check_run_files, shards_folder
        from vse_ens.train.sharded.sources import check_partitioned

        shards = self.settings.get("shards", _DEFAULT_SHARDS)
        check_partitioned(self.config(shards=shards))
        check_run_files(Path(checkpoint))
        files = parts if isinstance(parts, PartFiles) else PartFiles.find(parts)
        return partition(files, shards_folder(Path(checkpoint)) / "pairs", shards, progress=progress)

    def _pairs(self, data: Any, checkpoint: str | Path | None) -> Annotations | Partition:
        """Return the pairs in memory, or partitioned by shard."""
        from vse_ens.data.partition.parts import PartFiles
        from vse_ens.data.partition.store import Partition

        if isinstance(data, Partition):
            return data
        if not isinstance(data, PartFiles) and not _is_parts(data):
            return _annotations(data)
        if checkpoint is None:
            raise ConfigError("a folder of Parquet files needs checkpoint, a folder on storage that all workers share")
        return self.partition(data, checkpoint)

    def _config_for(self, pairs: Annotations | Partition, on_cluster: bool) -> Config:
        """Return the settings; a cluster or a partition sets the number of shards."""
        if isinstance(pairs, Annotations):
            use_default = on_cluster and "shards" not in self.settings
            return self.config(shards=_DEFAULT_SHARDS) if use_default else self.config()
        return self.config(shards=pairs.counts.shards)

    def partial_fit(self, data: Any, y: Any = None, *, progress: ProgressOption = None) -> Annotator:  # noqa: ARG002
        """Add pairs to a trained model: new labels of known images, new images, new labels.

        >>> new = Annotator.load("model").partial_fit([("holiday", "beach"), ("holiday", "parasol")])
        >>> new.known_labels("holiday")
        ['beach', 'parasol']

        The vocabularies grow and all ids stay valid. Only images with new pairs and a sample of the others are trained,
        so this takes a fraction of the time of `fit` and changes old suggestions little. Without a trained model it
        calls `fit`. Ctrl-C leaves the model unchanged.
        """
        from vse_ens.model.cpu import cpu_kind
        from vse_ens.train.incremental import IncrementalTrainer, update_epochs

        cpu = cpu_kind()
        more = _annotations(data)
        if not self._is_fitted:
            return self.fit(more, progress=progress)
        known = self.known_.joined(more)
        if known.pairs == self.known_.pairs:
            return self
        generation = self.training_["generations"] + 1
        trainer = IncrementalTrainer(
            self.config_,
            self.embeddings_,
            self.known_,
            known,
            epochs=update_epochs(self.config_, self.training_["best_epoch"]),
            generation=generation,
            workers=self.workers,
        )
        with _TrainingBar(progress) as report:
            for step in trainer.rounds():
                report(step)
        self.model_ = Model(trainer.embeddings, self._learn_label_weights(known), self.model_.label_weights_scale)
        if self.calibration_ is not None and self.calibration_.completeness is not None:
            completeness = self.calibration_.completeness.for_labels(self.known_.labels, known.labels)
            self.calibration_ = self.calibration_.with_completeness(completeness)
        self.known_ = known
        cpus = sorted({cpu, *self.training_.get("cpus", ())})
        self.training_ = {**self.training_, "generations": generation, "cpus": cpus}
        return self

    def _learn_label_weights(self, known: Annotations) -> LabelWeights | None:
        from vse_ens.label_weights.learn import learn_label_weights
        from vse_ens.run.pool import LocalPool
        from vse_ens.run.threads import Workers

        if self.model_.label_weights is None:
            return None
        with Workers(self.workers) as workers:
            return learn_label_weights(known, self.training_["label_weights_regularization"], LocalPool(workers))

    def memory_estimate(self, data: Any) -> RamEstimate:
        """Return the RAM that `fit` needs at most for ``data``, by purpose, and the RAM available.

        >>> estimate = Annotator(dimensions=256).memory_estimate(data)
        >>> estimate.total == sum(estimate.parts.values())
        True
        """
        from vse_ens.train.ram_estimate import estimate_ram

        return estimate_ram(self.config(), _annotations(data), self.workers)

    def _adopt(self, trainer: Trainer, cpus: set[str]) -> None:
        """Take over the result of a training on CPUs of these kinds."""
        self.config_ = trainer.config
        self.known_ = trainer.known
        self.model_ = trainer.model.with_features(trainer.known.features)
        calibration = trainer.calibration
        self.calibration_ = calibration and calibration.for_pairs(trainer.known)
        self.history_ = trainer.history
        self.training_ = {
            "version": __version__,
            "epochs": len(trainer.history),
            "best_epoch": trainer.best_epoch,
            "model_epochs": trainer.model_epochs,
            "complete": trainer.finished,
            "generations": 0,
            "label_weights_scale": self.model_.label_weights_scale,
            "label_weights_regularization": trainer.label_weights_regularization,
            "cpus": sorted(cpus),
        }
        self.validation_ = trainer.best_validation

    @property
    def embeddings_(self) -> Embeddings:
        """The trained vectors."""
        return self.model_.embeddings

    def remove_checkpoint(self, checkpoint: str | Path) -> None:
        """Remove the checkpoint of a finished run, and the pairs that were partitioned for it, and no other file.

        >>> Annotator().remove_checkpoint("run")
        """
        from vse_ens.train.run_files import remove_checkpoint

        remove_checkpoint(Path(checkpoint))

    # --- suggestions ---

    @overload
    def annotate(  # type: ignore[overload-overlap]
        self, images: str, *, frame: None = None, **how: Unpack[SuggestOptions]
    ) -> Suggestions: ...
    @overload
    def annotate(
        self, images: Iterable[str], *, frame: None = None, **how: Unpack[SuggestOptions]
    ) -> SuggestionLists: ...
    @overload
    def annotate(self, *, labels: list[str], frame: None = None, **how: Unpack[SuggestOptions]) -> Suggestions: ...
    @overload
    def annotate(
        self, *, labels: list[list[str]], frame: None = None, **how: Unpack[SuggestOptions]
    ) -> SuggestionLists: ...
    @overload
    def annotate(
        self,
        images: str | Iterable[str] | None = None,
        *,
        labels: list[str] | list[list[str]] | None = None,
        frame: str,
        **how: Unpack[SuggestOptions],
    ) -> Any: ...
    def annotate(
        self,
        images: str | Iterable[str] | None = None,
        *,
        labels: list[str] | list[list[str]] | None = None,
        frame: str | None = None,
        **how: Unpack[SuggestOptions],
    ) -> Any:
        """Suggest labels that an image is not known to have, best first.

        >>> [suggestion.label for suggestion in model.annotate(labels=["beach", "sand"], top=3)]
        ['sea', 'wave', 'palm tree']
        >>> model.annotate(["img_0000001", "img_0000002"], top=2, frame="pandas").columns.to_list()
        ['image', 'label', 'score', 'confidence', 'hit', 'rank']

        Args:
            images: One image id, or several for a list of lists.
            labels: Instead of ``images``: the labels of an image the model has not seen, or a list of such lists.
            frame: "arrow", "pandas" or "polars" for a frame with one row per suggestion instead of lists. Its columns
                are image, label, score, confidence, hit and rank; with ``labels``, the number of the list stands for
                the image, in the column row. Many images at once are much faster this way.
            top: The number of suggestions per image, 5 by default.
            allow: Suggest only these labels.
            deny: Never suggest these labels.
            only: Suggest only labels that match one of these patterns, such as ``place|*``.
            per_namespace: At most so many suggestions per namespace, such as ``place|`` or ``character:``.
            min_confidence: Leave out suggestions below this confidence.
            explain: Fill ``because`` of each suggestion.

        The ``confidence`` of a suggestion is the probability that the label is right for the image; it depends on how
        complete the labels are, see `calibrate`. Its ``hit`` is the probability that it is the missing label of an
        image that lacks exactly one, as in an evaluation.
        """
        self._check_fitted()
        check_options("annotate", how)
        suggester = self._suggester(**how)
        if (images is None) == (labels is None):
            raise ConfigError("annotate takes images or labels, exactly one of them")
        if frame is not None and how.get("explain"):
            raise ConfigError("explain cannot be used with frame; leave one of them out")
        if labels is not None:
            if isinstance(labels, str):  # type: ignore[unreachable]  # for callers without type checks
                raise ConfigError(f"labels must be a list of label ids, got the text {labels!r}")
            one = all(isinstance(label, str) for label in labels)
            rows = self._label_rows([labels] if one else labels)  # type: ignore[list-item]
            if frame is not None:
                return self._as_frame(suggester.rows(self._vectors_by_labels(rows), rows), frame, by_id=False)
            found = self._annotate_rows(rows, suggester)
            return found[0] if one else SuggestionLists(found)
        if isinstance(images, str):
            numbers = np.array([self.known_.images.number(images)])
        else:
            ids = list(images or ())
            numbers = self.known_.images.numbers(ids)
        if frame is not None:
            return self._as_frame(suggester.images(numbers), frame, by_id=True)
        found = self._annotate_images(numbers, suggester)
        return found[0] if isinstance(images, str) else SuggestionLists(found, ids)

    def _as_frame(self, blocks: Iterable[TopLabels], backend: str, *, by_id: bool) -> Any:
        """Return the suggestions of all blocks as one frame."""
        from vse_ens.data.io.frames import as_backend
        from vse_ens.export.suggestions import suggestion_table

        return as_backend(suggestion_table(blocks, self.known_.labels, self.known_.images if by_id else None), backend)

    def annotate_numbers(self, images: NDArray[np.int64], **how: Unpack[SuggestOptions]) -> list[Suggestions]:
        """Suggest labels as `annotate` does, for images given by their numbers in ``known_.images``.

        >>> number = model.known_.images.numbers(["img_0000001"])
        >>> model.annotate_numbers(number) == model.annotate(["img_0000001"])
        True
        """
        self._check_fitted()
        return self._annotate_images(images, self._suggester(**how))

    def annotate_all(
        self,
        path: str | Path,
        form: str | None = None,
        *,
        prefix: str = "",
        defuse_formulas: bool = False,
        progress: Callable[[int], None] | None = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        allow_mixed_cpus: bool = False,
        **how: Unpack[SuggestOptions],
    ) -> ExportCounts:
        """Write suggestions for all images to a file, atomically and block by block.

        >>> model.annotate_all("suggestions.csv", top=2)
        ExportCounts(images=1500, images_with_suggestions=1500, suggestions=3000)

        ``form`` is one of `vse_ens.export.suggestions.Format`; by default it follows from the suffix of ``path``.
        ``prefix`` and ``defuse_formulas`` are those of `vse_ens.export.suggestions.write_suggestions`. ``progress`` is
        called with the number of images done. With ``cluster="ray"`` the workers of a Ray cluster make
        the suggestions, from the saved model; the file is the same. Nodes with another kind of CPU, which would change
        last bits, are refused without ``allow_mixed_cpus``. The other arguments are those of `annotate`.
        """
        from vse_ens.export.suggestions import format_of, write_suggestions

        self._check_fitted()
        check_options("annotate_all", how)
        if how.get("explain"):
            raise ConfigError("explain cannot be used for a file of all suggestions; leave it out")
        form = form or format_of(path)
        images, labels = self.known_.images, self.known_.labels
        with self._suggester_on(cluster, address, allow_mixed_cpus, **how) as suggester:
            return write_suggestions(
                path,
                images,
                labels,
                suggester.images(),
                form,
                prefix=prefix,
                defuse_formulas=defuse_formulas,
                progress=progress,
            )

    def suggested_edits(
        self, *, progress: Callable[[int], None] | None = None, **how: Unpack[SuggestOptions]
    ) -> dict[str, LabelEdit]:
        """Return the suggestions of all images as edits, for `vse_ens.data.collections.write.write_labels`.

        >>> edits = model.suggested_edits(top=1)
        >>> edits["img_0000001"].add
        ('sand',)

        Images without a suggestion have an empty edit. The arguments are those of `annotate`.
        """
        self._check_fitted()
        check_options("suggested_edits", how)
        images, labels = self.known_.images, self.known_.labels
        edits: dict[str, LabelEdit] = {}
        for block in self._suggester(**how).images():
            for image, row in zip(images.ids(block.images), block.labels, strict=True):
                edits[image] = LabelEdit(tuple(labels.ids(row[row >= 0])))
            if progress:
                progress(len(edits))
        return edits

    def known_labels(self, image: str) -> list[str]:
        """Return the labels that an image had in training.

        >>> model.known_labels("img_0000001")
        ['cactus', 'camel', 'desert', 'lizard', 'rock', 'sand dune', 'sky']
        """
        self._check_fitted()
        return self.known_.labels_of(image)

    @property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model_, self.known_, self.calibration_)

    def _suggester(self, **how: Unpack[SuggestOptions]) -> Suggester:
        return Suggester(self._loaded, run=self._run, **how)

    @contextmanager
    def _suggester_on(
        self, cluster: str | None, address: str | None, allow_mixed_cpus: bool, **how: Unpack[SuggestOptions]
    ) -> Iterator[Suggester | RemoteSuggester]:
        """Yield a suggester in this process, or one that runs on a cluster."""
        from vse_ens.curate.suggest_remote import RemoteSuggester

        suggester = self._suggester(**how)  # bad options are refused before a cluster is started
        with self._remote(cluster, address, allow_mixed_cpus) as remote:
            yield RemoteSuggester(*remote, len(self.known_.images), how) if remote else suggester

    @contextmanager
    def _remote(
        self, cluster: str | None, address: str | None, allow_mixed_cpus: bool
    ) -> Iterator[tuple[Pool, ModelRef] | None]:
        """Yield the workers of a cluster and the saved model they load; None without a cluster."""
        from vse_ens.run.pool import open_pool

        ref, saved = getattr(self, "_saved", (None, None))
        if cluster is not None and saved is not self.model_:
            raise ConfigError(
                "the workers of a cluster load the model from disk, and this one is not saved; call save first"
            )
        with open_pool(cluster, address, self.workers, allow_mixed_cpus) as pool:
            yield (pool, ref) if pool and ref else None

    def _run(self, tasks: Sequence[Callable[[int], Any]]) -> list[Any]:
        from vse_ens.run.threads import Workers

        with Workers(self.workers if len(tasks) > 1 else 1) as workers:
            return workers.run(tasks)

    def _annotate_images(self, numbers: NDArray[np.int64], suggester: Suggester) -> list[Suggestions]:
        found = []
        for best in suggester.images(numbers):
            if suggester.explains:
                own = own_vectors(self.embeddings_, best.images)
                found += suggester.to_suggestions(best, self.known_.rows(best.images), own)
            else:
                found += suggester.to_suggestions(best)
        return found

    def _annotate_rows(
        self, rows: Csr, suggester: Suggester, images: NDArray[np.int64] | None = None
    ) -> list[Suggestions]:
        """Suggest labels for images given by their labels; ``images`` are their numbers if the model knows them."""
        vectors = self._vectors_by_labels(rows)
        own = None if self.embeddings_.has_context else vectors
        if own is None and images is not None:
            own = own_vectors(self.embeddings_, images)
            vectors = vectors if own is None else vectors + own
        found = []
        for best in suggester.rows(vectors, rows):
            block = None if own is None else own[best.images]
            found += suggester.to_suggestions(best, take_rows(*rows, best.images), block)
        return found

    def _label_rows(self, lists: Sequence[Sequence[str]]) -> Csr:
        numbers = [np.unique(self.known_.labels.numbers(labels)) for labels in lists]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in numbers])]).astype(np.int64)
        return Csr(indptr, np.concatenate([*numbers, np.empty(0, np.int64)]).astype(np.int32))

    def _vectors_by_labels(self, rows: Csr) -> Floats:
        """Return the vectors of images that are known by their labels only."""
        if self.embeddings_.has_context:
            return self.embeddings_.context(*rows)
        from vse_ens.run.threads import Workers
        from vse_ens.train.fold_in import FoldIn

        with Workers(self.workers) as workers:
            return FoldIn(self.config_, self.known_, self.embeddings_, workers).vectors(*rows)

    def label_scores(self, labels: list[str], image: str | None = None) -> Floats:
        """Return the scores of all labels for an image with the given labels, in the order of ``known_.labels``.

        >>> scores = model.label_scores(["beach", "sand"])
        >>> scores.shape == (len(model.known_.labels),)
        True

        With ``image``, its own vector counts as well if the model has vectors of images beside a context tower.
        """
        self._check_fitted()
        rows = self._label_rows([labels])
        vectors = self._vectors_by_labels(rows)
        if image is not None and self.embeddings_.has_context:
            own = own_vectors(self.embeddings_, self.known_.images.numbers([image]))
            vectors = vectors if own is None else vectors + own
        return np.asarray(self.model_.scores_of(vectors, *rows)[0])

    def search(
        self, labels: Sequence[str], top: int = 20, *, tagged: bool = False, index: str | Path | None = None
    ) -> FoundImages:
        """Find images for labels, best first; a label with a leading dash, as in ``-people``, is excluded.

        >>> found = model.search(["beach", "-person"], top=1)
        >>> [one.image for one in found]
        ['img_0001449']

        Images that already have all the labels are left out unless ``tagged`` is True. The first search of a model
        scores all images once. With ``index``, the path of an approximate index that is created if missing, only some
        images are scored, and a good one may be missed.
        """
        if isinstance(labels, str):
            raise ConfigError(f"search takes a list of label ids, got the text {labels!r}")
        return self._searcher().search(list(labels), top, tagged=tagged, index=None if index is None else Path(index))

    def similar_labels(self, label: str, top: int = 10) -> Neighbours:
        """Return the labels most similar to a label, by cosine.

        >>> model.similar_labels("beach", top=3)
        id ...
        crab ...
        """
        return self._searcher().similar_labels(label, top)

    def similar_images(self, image: str, top: int = 10) -> Neighbours:
        """Return the images most similar to an image, by cosine.

        >>> len(model.similar_images("img_0000001", top=2))
        2
        """
        return self._searcher().similar_images(image, top)

    def _searcher(self) -> Searcher:
        """Return a cached searcher: it keeps precomputed data of all images until the model changes."""
        from vse_ens.curate.search import Searcher

        self._check_fitted()
        kept: Searcher | None = getattr(self, "_cached_searcher", None)
        if kept is None or kept.loaded.model is not self.model_ or kept.loaded.calibration is not self.calibration_:
            kept = self._cached_searcher = Searcher(self._loaded, self._run)
        return kept

    def label_ranker(self, scan_run: TaskRunner = run_serial, run: TaskRunner = run_serial) -> LabelRanker:
        """Return a ranker of images for single labels. Its scan, which it needs first, runs its tasks by ``scan_run``.

        >>> ranker = model.label_ranker()

        When the scan is done, pass it to `use_scan`, so that the first search does not score all images again.
        """
        from vse_ens.curate.label_first import ImageScan, LabelRanker

        self._check_fitted()
        return LabelRanker(
            ImageScan(self._loaded, scan_run),
            step_size=self._total_step_size(),
            fold_in=None if self.embeddings_.has_context else self._vectors_by_labels,
            run=run,
        )

    def use_scan(self, scan: ImageScan) -> None:
        """Use the finished scan of a `label_ranker` of this model for searches and for similar images.

        >>> ranker = model.label_ranker()
        >>> rows = list(ranker.scan.steps())
        >>> model.use_scan(ranker.scan)
        """
        _, pairs = scan.label_pairs()
        self._searcher().use_scan(scan.log_totals, pairs)

    def export_vectors(self, path: str | Path, what: Literal["labels", "images"] = "labels") -> None:
        """Write label or image vectors to a ``.parquet``, ``.npy``, ``.vec``, ``.faiss`` or ``.usearch`` file.

        >>> model.export_vectors("labels.parquet")
        """
        from vse_ens.export.vectors import write_image_vectors, write_label_vectors

        self._check_fitted()
        if what == "labels":
            write_label_vectors(path, self.embeddings_, self.known_.labels)
        elif what == "images":
            write_image_vectors(path, self.embeddings_, self.known_)
        else:
            raise ConfigError(f"what must be 'labels' or 'images', got {what!r}")

    def explain(self, image: str | None = None, label: str = "", *, labels: list[str] | None = None) -> Explanation:
        """Explain a label's score: how much each known label adds to it, exactly for the context tower.

        >>> model.explain(labels=["beach", "sand"], label="sea")
        sea: score ..., confidence 0...
        reason                 share
        ...
        the label's own bias   0...

        With ``labels`` instead of ``image``: for an image that has these labels. A label that the image has is left
        out of it first, as the audit does, so that its other labels explain it; `Explanation.left_out` is then True.
        """
        from vse_ens.curate.explain import Explanation

        self._check_fitted()
        number = self.known_.labels.number(label)
        if (image is None) == (labels is None):
            raise ConfigError("explain takes an image or labels, exactly one of them")
        suggester = self._suggester(top=1, allow=[label], explain=True)
        if image is not None:
            images = self.known_.images.numbers([image])
            rows = Csr(*self.known_.rows(images))
        else:
            images, rows = None, self._label_rows([labels or []])
        left_out = bool((rows.indices == number).any())
        if images is not None and not left_out:
            [[found]] = self._annotate_images(images, suggester)
        else:
            others = rows.indices[rows.indices != number]
            [[found]] = self._annotate_rows(Csr(np.array([0, len(others)]), others), suggester, images)
        return Explanation(label, found.score, found.confidence, found.because, left_out)

    def audit(self, top: int = 50, *, wrong_share: float = 0.02, progress: ProgressOption = None) -> Audit:
        """Find labels that are likely wrong, likely missing, or duplicates, in the pairs the model knows.

        >>> findings = model.audit(top=2)
        >>> len(findings.wrong), len(findings.missing)
        (2, 2)
        >>> findings.to_frame("pandas").columns.to_list()
        ['kind', 'image', 'label', 'other_label', 'confidence', 'reason']

        ``top`` is the number of findings of each kind. ``wrong_share`` is the expected share of wrong labels; it sets
        the level of their confidence, not their order. ``progress`` is that of `fit`; a function is called with the
        number of rows of scores done since its last call, out of `vse_ens.curate.audit.audit.audit_rows`.
        """
        from vse_ens.curate.audit.audit import audit, audit_rows

        self._check_fitted()
        with ProgressBar("auditing", progress) as bar:
            return audit(
                self.model_,
                self.known_,
                top=top,
                calibration=self.calibration_,
                wrong_share=wrong_share,
                step_size=self._total_step_size(),
                fold_in=None if self.embeddings_.has_context else self._vectors_by_labels,
                progress=bar.adder(audit_rows(self.known_), "rows"),
            )

    def _total_step_size(self) -> float:
        from vse_ens.curate.audit.wrong import total_step_size

        # Models of version 0.2 do not say how many epochs made them.
        return total_step_size(self.config_, self.training_.get("model_epochs", self.training_["best_epoch"]))

    def calibrate(
        self,
        *,
        completeness: float | Mapping[str, float] | None = None,
        verdicts: str | Path | Iterable[tuple[str, str, bool]] = (),
    ) -> Annotator:
        """Set how sure confidences are, by what is known about missing labels, and return the model itself.

        >>> before = model.annotate("img_0000001")[0]
        >>> after = Annotator.load("model").calibrate(completeness=0.5).annotate("img_0000001")[0]
        >>> before.label == after.label, before.hit == after.hit, before.confidence < after.confidence
        (True, True, True)

        The confidence of a suggestion is the probability that it is right for the image. That depends on the
        completeness: the share of all right labels that the data record. Without arguments it is estimated from the
        pairs, as after `fit`; docs/confidence.md states the assumption. Hits, scores and the order of suggestions do
        not change.

        Args:
            completeness: The share of right labels that are recorded, such as 0.7, or one for each label by id; labels
                that are not named get the mean.
            verdicts: Suggestions that people accepted or rejected: a feedback file of `vse serve`, an ``audit.csv``
                with decisions, or tuples of image, label and whether it was accepted. From 50 on they correct the
                confidences.
        """
        from vse_ens.data.suggestion_verdicts import read_suggestion_verdicts
        from vse_ens.model.completeness import Completeness

        self._check_fitted()
        if self.calibration_ is None:
            raise ConfigError(
                "this model has no confidences, since it was trained without held-out labels; train it with validate"
            )
        found = read_suggestion_verdicts(verdicts) if isinstance(verdicts, str | Path) else verdicts
        if completeness is None:
            shares = Completeness.estimated(self.known_)
        else:
            shares = Completeness.given(completeness, self.known_)
        self.calibration_ = self.calibration_.with_completeness(shares)
        self.__dict__.pop("_saved", None)  # the saved model has other confidences
        return self.use_verdicts(found)

    def use_verdicts(self, verdicts: Iterable[tuple[str, str, bool]]) -> Annotator:
        """Correct confidences by verdicts as `calibrate` does, and keep the completeness, given or estimated.

        >>> model.use_verdicts([("img_0000001", "sand", True)]).calibration_.completeness.correction.verdicts
        0

        Fewer than 50 verdicts change nothing.
        """
        from vse_ens.curate.verdict_calibration import with_verdicts

        self._check_fitted()
        fold_in = None if self.embeddings_.has_context else self._vectors_by_labels
        before, self.calibration_ = self.calibration_, with_verdicts(self._loaded, verdicts, fold_in)
        if self.calibration_ is not before:
            self.__dict__.pop("_saved", None)
        return self

    def suggestions_to_judge(
        self, count: int = 200, *, verdicts: str | Path | Iterable[tuple[str, str, bool]] = (), seed: int = 0
    ) -> list[tuple[str, str, float]]:
        """Return the suggestions whose verdicts would tell `calibrate` most: image, label and confidence.

        >>> [(image, label, confidence), *others] = model.suggestions_to_judge(50)
        >>> len(others)
        49

        They are spread over all confidences, the doubtful ones more often, and without those that ``verdicts`` has.
        Ask for them in this order, so that the first ones can be used alone. Another ``seed`` gives other ones.
        """
        from vse_ens.curate.verdict_calibration import Judged, suggestions_to_judge
        from vse_ens.data.suggestion_verdicts import read_suggestion_verdicts

        self._check_fitted()
        found = read_suggestion_verdicts(verdicts) if isinstance(verdicts, str | Path) else verdicts
        images = np.sort(np.argsort(Streams(seed).child("judged").words(len(self.known_.images)))[:_MAX_JUDGED])
        judged = Judged.of(found, self._loaded)
        chosen = suggestions_to_judge(self._suggester(top=5).images(images), count, judged, seed)
        ids = self.known_.images.ids(chosen.images), self.known_.labels.ids(chosen.labels)
        return list(zip(*ids, chosen.confidences.tolist(), strict=True))

    def evaluate(
        self,
        test: Annotations,
        *,
        known: Annotations | None = None,
        tops: Sequence[int] = (1, 5, 10),
        progress: ProgressOption = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        allow_mixed_cpus: bool = False,
    ) -> Report:
        """Measure how well held-out labels rank among all labels that the image does not have in training.

        >>> report = model.evaluate(test)
        >>> 0.4 < report["recall@10"] < 0.8
        True

        Images and labels of ``test`` that the model does not know count as misses. With ``known``, such as the
        ``revealed`` part of the new-images protocol, images are scored by these labels instead of their training
        labels. ``tops`` are the N of the metrics at N; docs/metrics.md defines all metrics. ``progress`` is that of
        `fit`; a function is called with the number of images done. With ``cluster="ray"`` a
        Ray cluster ranks the images, with the same result; ``allow_mixed_cpus`` is that of `fit`.
        """
        from vse_ens.evaluate.report import summarise

        test = _annotations(test)
        rankings = self.rankings(
            test,
            known=known,
            top=max(tops, default=1),
            progress=progress,
            cluster=cluster,
            address=address,
            allow_mixed_cpus=allow_mixed_cpus,
        )
        return summarise(rankings, tops=tops, workers=self.workers)

    def rankings(
        self,
        test: Annotations,
        *,
        known: Annotations | None = None,
        top: int = 10,
        memory: int | None = None,
        progress: ProgressOption = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        allow_mixed_cpus: bool = False,
    ) -> Rankings:
        """Return the ranks of held-out labels, to compute metrics from; see `vse_ens.evaluate.rank.rank_held_out`.

        >>> model.rankings(test).pairs == test.pairs
        True
        """
        from vse_ens.evaluate.rank import DEFAULT_MEMORY, evaluate, rank_held_out
        from vse_ens.evaluate.rank_remote import remote_ranker
        from vse_ens.evaluate.scorer import FunctionScorer

        self._check_fitted()
        shown = None if known is None else known.relabelled(self.known_.labels)
        pairs = self.known_ if shown is None else shown
        if cluster is not None and shown is not None and not self.embeddings_.has_context:
            raise ConfigError("a cluster cannot fold in the images of known, which this tower needs; leave cluster out")
        limit = memory or DEFAULT_MEMORY
        with self._remote(cluster, address, allow_mixed_cpus) as remote, ProgressBar("evaluating", progress) as bar:
            count = bar.counter(len(test.images), "images")
            if remote:
                rank = remote_ranker(*remote, top, shown)
                return rank_held_out(rank, pairs, test, top=top, memory=limit, progress=count)
            scorer = FunctionScorer(pairs.images, pairs.labels, self._scores(shown))
            return evaluate(scorer, pairs, test, top=top, memory=limit, workers=self.workers, progress=count)

    def score(self, data: Any, y: Any = None) -> float:  # noqa: ARG002  # scikit-learn's signature
        """Return the mean reciprocal rank of the labels in ``data``, for scikit-learn: 1 is best.

        Every label is ranked without knowing it, by the other labels that the image had in training. Images the model
        does not know, and the rows of a matrix, are known by their other labels in ``data``. Use `evaluate` for more
        metrics, and to count the image's own vector as well.

        >>> 0.2 < model.score(test) < 1.0
        True
        """
        self._check_fitted()
        return self._score(_annotations(data), by_id=not hasattr(data, "tocsr"))

    def _score(self, data: Annotations, *, by_id: bool) -> float:
        from vse_ens.evaluate.leave_one_out import leave_each_out
        from vse_ens.evaluate.metrics import per_image

        known, test = leave_each_out(data, self.known_, by_id=by_id)
        rankings = self.rankings(test, known=known, top=1, progress=False)
        return float(per_image(rankings, (1,))["mrr"].mean())

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        given = InputTags(two_d_array=False, sparse=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=given)

    def reliability(
        self,
        test: Annotations,
        *,
        top: int = 5,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        allow_mixed_cpus: bool = False,
    ) -> list[Reliability]:
        """Compare hits with the shares of hits, in bins, for the ``top`` suggestions of images with held-out labels.

        >>> sum(one.count for one in model.reliability(test, top=1)) == len([n for n in test.labels_per_image if n])
        True
        """
        from vse_ens.curate.calibration_check import reliability_of

        self._check_fitted()
        with self._suggester_on(cluster, address, allow_mixed_cpus, top=top) as suggester:
            return reliability_of(suggester, self.known_, test)

    def _scores(self, known: Annotations | None) -> ModelScores:
        """Return the scores of the images of the model, or of others by their known labels."""
        from vse_ens.evaluate.scorer import ModelScores

        if known is None:
            return ModelScores.of_known(self.model_, self.known_, self._run)
        rows = Csr(known.indptr, known.indices)
        if self.embeddings_.has_context:
            return ModelScores.of_labels(self.model_, rows, self._run)
        folded = self._vectors_by_labels(rows)
        return ModelScores(self.model_, lambda images: folded[images], rows, self._run)

    # --- saving and loading ---

    def save(self, path: str | Path) -> None:
        """Write the model directory, atomically.

        >>> model.save("model")
        """
        self._save_to(path)
        self._saved = ModelRef.of(path), self.model_

    def _save_to(self, path: str | Path) -> None:
        self._check_fitted()
        settings = {
            "config": self.config_.to_dict(),
            "preset": self.preset_,
            "training": self.training_,
            "validation": self.validation_,
        }
        arrays = self.model_.arrays() | (self.calibration_.arrays() if self.calibration_ else {})
        card = model_card(self.config_.to_dict(), self.known_.summary(), self.training_, self.validation_)
        save_model(path, StoredModel(settings, arrays, self.known_, card))

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True, in_memory: bool = False) -> Annotator:
        """Load a model directory; every fault is a `ModelError`.

        >>> Annotator.load("model").annotate("img_0000001") == model.annotate("img_0000001")
        True

        Args:
            path: The directory.
            verify: Read every byte and compare it with its checksum. Types, shapes, index ranges, IDs and all numbers
                that belong to labels are checked in any case; see docs/model-format.md.
            in_memory: Read all files into RAM instead of mapping them, so that a file changed in place does no harm.
        """
        ref = ModelRef.of(path)
        stored = load_model(path, verify=verify, in_memory=in_memory)
        loaded, config = LoadedModel.of_stored(stored, path)
        name = stored.settings["preset"]
        model = cls(name, seed=config.seed, **_differences(name, config))
        model.config_, model.preset_ = config, name
        model.training_ = dict(stored.settings["training"])
        model.model_, model.known_, model.calibration_ = loaded
        model.validation_ = stored.settings.get("validation")
        model._saved = ref, model.model_
        return model

    @classmethod
    def from_pretrained(cls, repo: str, *, revision: str | None = None) -> Annotator:
        """Load a model from the Hugging Face Hub, verified; the cache of huggingface_hub is enough without a network.

        >>> Annotator.from_pretrained("ann/holiday-labels")  # doctest: +SKIP

        Args:
            repo: The repository, as ``USER/NAME``.
            revision: A branch, a tag or a commit; by default the main branch.
        """
        from vse_ens.export.hub import download

        return cls.load(download(repo, revision), verify=False)  # every byte was read just now

    def push_to_hub(self, repo: str, *, private: bool = False, revision: str | None = None, **facts: Any) -> Pushed:
        """Upload the model to the Hugging Face Hub.

        >>> model.push_to_hub("ann/holiday-labels", private=True)  # doctest: +SKIP

        Args:
            repo: The repository, as ``USER/NAME``; it is created if it is missing.
            private: Create it as a private one.
            revision: The branch to commit to; by default the main one.
            facts: What the page of the model says: the fields of `vse_ens.export.CardFacts`, such as ``license``.
        """
        from vse_ens.export.hub import CardFacts, push

        with tempfile.TemporaryDirectory(prefix="vse-") as folder:
            path = Path(folder) / "model"
            self._save_to(path)
            return push(path, repo, facts=CardFacts(**facts), private=private, revision=revision)

    def _check_fitted(self) -> None:
        if not self._is_fitted:
            raise ConfigError("this Annotator has not been fitted: call fit(data) or Annotator.load(path) first")


def _run_epoch_callbacks(callbacks: CallbackList, trainer: Trainer, checkpoints: Checkpoints | None) -> bool:
    """Tell the callbacks of an epoch; if one raises, first save what was trained."""
    try:
        return callbacks.epoch(trainer.history)
    except BaseException:
        if checkpoints:
            checkpoints.try_write(trainer)
        raise


def _annotations(data: Any) -> Annotations:
    """Return pairs of any kind as `Annotations`."""
    if isinstance(data, Annotations):
        return data
    if isinstance(data, str | Path):
        return Annotations.read(data)
    if isinstance(data, list | tuple):
        return Annotations.from_pairs(data)
    if hasattr(data, "tocsr"):
        return Annotations.from_matrix(data)
    return Annotations.from_frame(data)


def _is_parts(data: Any) -> bool:
    """Return whether data is the path of a folder of Parquet files, or an address such as ``s3://bucket/pairs``."""
    if not isinstance(data, str | Path):
        return False
    if "://" in str(data):
        return True
    from vse_ens.data.collections.detect import find_collection

    return Path(data).is_dir() and find_collection(data) is None


class _TrainingBar(ProgressBar):
    """The progress of a training, called after every round."""

    def __init__(self, progress: ProgressOption) -> None:
        super().__init__("training", progress)

    def __enter__(self) -> _TrainingBar:
        super().__enter__()
        return self

    def __call__(self, step: Progress) -> None:
        """Show the epoch and the time left, or call the function that was given."""
        if self._given:
            return self._given(step)
        done = step.epoch - 1 + step.rounds_done / step.rounds
        phase = "epoch" if step.final else "trial epoch"  # a trial finds out how many epochs are best
        return self.update(done / step.epochs, f"{phase} {step.epoch:,} of {step.epochs:,}")


def _differences(name: str, config: Config) -> Mapping[str, Any]:
    """Return the settings that turn a preset into a configuration."""
    method = {"sampler": config.sampler, "loss": config.loss, "tower": config.tower}
    base = configure(name, **method, seed=config.seed).to_dict()
    return {**method, **{key: value for key, value in config.to_dict().items() if base[key] != value}}
