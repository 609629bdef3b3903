"""`Annotator`: fit a model, suggest labels, search, audit and evaluate, all by id."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from vse_ens import curate, export
from vse_ens import evaluate as evaluation
from vse_ens.config import Config, Settings
from vse_ens.curate.suggest import Suggester, SuggestionLists, Suggestions, SuggestOptions, check_options
from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import attach_features
from vse_ens.display import Table, TableRepr, rounded
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.loaded import LoadedModel, ModelRef
from vse_ens.model.model import Model
from vse_ens.model.store import load_model
from vse_ens.model.topk import TaskRunner, run_serial
from vse_ens.presets import configure, is_preset_file, read_preset_file, settings_of
from vse_ens.progress import ProgressBar, ProgressOption

if TYPE_CHECKING:
    from vse_ens.curate.verdict_calibration import Verdicts
    from vse_ens.data.partition.store import Partition
    from vse_ens.run.pool import Pool
    from vse_ens.train.callbacks import Callback
    from vse_ens.train.progress import EpochReport
    from vse_ens.train.ram_estimate import RamEstimate


_Images = str | Iterable[str] | None
_Labels = list[str] | list[list[str]] | None

# Shards of a model that is trained on a cluster or from a folder of Parquet files, unless set.
_DEFAULT_SHARDS = 8


class Annotator(TableRepr):
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
    loaded_: LoadedModel
    """The trained model, the pairs it was trained on, and its calibration."""
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
    _saved: tuple[ModelRef, LoadedModel]
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
        if not self.__sklearn_is_fitted__():
            return f"Annotator({shown})"
        return f"Annotator({shown}), fitted on {self._size()}, {self.embeddings_.dimensions} dimensions"

    def _size(self) -> str:
        return f"{len(self.known_.images):,} images, {len(self.known_.labels):,} labels, {self.known_.pairs:,} pairs"

    def _tables(self) -> list[Table]:
        rows = [(name, str(value)) for name, value in self.get_params().items() if value is not None]
        if not self.__sklearn_is_fitted__():
            return [Table(("", ""), [*rows, ("fitted", "no")], "Annotator")]
        rows += [("fitted on", self._size()), ("best epoch", f"{self.training_['best_epoch']:,}")]
        if "dimensions" not in self.settings:
            rows.append(("dimensions", f"{self.embeddings_.dimensions:,}"))
        rows += [(f"validation {name}", rounded(value)) for name, value in (self.validation_ or {}).items()]
        return [Table(("", ""), rows, "Annotator")]

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
        features: Any = None,
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
            features: Vectors of images, such as those of an image network: a path, a `FeatureTable`, a mapping from
                image ids to vectors, a data frame, or a matrix with a row per image of ``data``. Images may lack a
                vector, and others may have nothing else; see docs/features.md.
            progress: False for no progress bar, True for one also in a script; by default, work over a second shows
                one at a prompt and in a notebook. A function is called after every round with a
                `vse_ens.train.progress.Progress` instead.
            callbacks: Objects of `vse_ens.train.callbacks.Callback`, called at the start, every epoch and the end; they
                may stop the training. Trackers for MLflow, Weights & Biases and TensorBoard: `vse_ens.tracking`.
            checkpoint: A directory in which the state of the run is saved from time to time. One process at a time
                may use it. If it cannot be written later, for example to a full disk, training continues.
            resume: Continue from the checkpoint. The result is the same bytes as without the interruption, on the kind
                of CPU that the run was started on; another kind is refused.
            cluster: ``"ray"`` trains the shards of the model, 8 by default, on a Ray cluster; see docs/scale.md.
            address: The address of a running cluster; without it, one is started on this machine.
            allow_mixed_cpus: Resume on another kind of CPU, and take nodes of other kinds, which changes the last bits.

        Ctrl-C stops after the current round and keeps the model so far; ``interrupted_`` is then True.
        """
        from vse_ens.train.training_run import TrainingRun, training_pairs

        with TrainingRun(callbacks, checkpoint, progress, resume=resume, allow_mixed_cpus=allow_mixed_cpus) as run:
            partitioned = None if checkpoint is None else partial(self.partition, checkpoint=checkpoint)
            pairs = training_pairs(data, features, partitioned)
            # Now: the file may be gone when the model is saved, and a saved model must not refer to it.
            base = read_preset_file(self.preset).base if is_preset_file(self.preset) else self.preset
            shards = self.settings.get("shards", _DEFAULT_SHARDS if cluster else None)
            config = self.config(shards=shards if isinstance(pairs, Annotations) else pairs.counts.shards)
            run.start(config, pairs, self.workers, cluster, address)
            self.resumed_, trainer = run.resumed, run.trainer
            for step in trainer.rounds():
                if run.after_round(step):
                    break
            self.interrupted_ = run.finish()
            model, calibration, known = trainer.model, trainer.calibration, trainer.known
            self.config_, self.preset_, self.history_ = trainer.config, base, trainer.history
            self._adopt(model.with_features(known.features), known, calibration and calibration.for_pairs(known))
            self.training_, self.validation_ = run.facts(model), trainer.best_validation
        run.callbacks.end(self)
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
        from vse_ens.train.training_run import partition_parts

        shards = self.settings.get("shards", _DEFAULT_SHARDS)
        return partition_parts(parts, self.config(shards=shards), checkpoint, progress)

    def partial_fit(
        self,
        data: Any,
        y: Any = None,  # noqa: ARG002  # scikit-learn's signature
        *,
        features: Any = None,
        progress: ProgressOption = None,
    ) -> Annotator:
        """Add pairs to a trained model: new labels of known images, new images, new labels.

        >>> new = Annotator.load("model").partial_fit([("holiday", "beach"), ("holiday", "parasol")])
        >>> new.known_labels("holiday")
        ['beach', 'parasol']

        The vocabularies grow and all ids stay valid. Only images with new pairs and a sample of the others are trained,
        so this takes a fraction of the time of `fit` and changes old suggestions little. Without a trained model it
        calls `fit`. Ctrl-C leaves the model unchanged. ``features``: as in `fit`, of new or known images.
        """
        from vse_ens.train.training_run import train_added_pairs

        more = Annotations.of(data)
        more = more if features is None else attach_features(more, features)
        if not self.__sklearn_is_fitted__():
            return self.fit(more, progress=progress)
        if self.known_.features is None and (more.features is not None or self.config_.has_features):
            raise ConfigError("the model has no features of its images; train it again with fit(data, features=...)")
        known = self.known_.joined(more)
        if more.features is None and known.pairs == self.known_.pairs and known.images == self.known_.images:
            return self
        model, calibration, self.training_ = train_added_pairs(
            self.loaded_, known, self.config_, self.training_, workers=self.workers, progress=progress
        )
        self._adopt(model, known, calibration)
        return self

    def memory_estimate(self, data: Any) -> RamEstimate:
        """Return the RAM that `fit` needs at most for ``data``, by purpose, and the RAM available.

        >>> estimate = Annotator(dimensions=256).memory_estimate(data)
        >>> estimate.total == sum(estimate.parts.values())
        True
        """
        from vse_ens.train.ram_estimate import estimate_ram

        return estimate_ram(self.config(), Annotations.of(data), self.workers)

    def _adopt(self, model: Model, known: Annotations, calibration: Calibration | None) -> None:
        """Use a model from now on."""
        fold_in = None if model.embeddings.has_context else partial(self._fold_in, known, model.embeddings)
        self.loaded_ = LoadedModel(model, known, calibration, fold_in)

    def _fold_in(self, known: Annotations, embeddings: Embeddings, rows: Csr) -> Floats:
        from vse_ens.run.threads import Workers
        from vse_ens.train.fold_in import FoldIn

        with Workers(self.workers) as workers:
            return FoldIn(self.config_, known, embeddings, workers).vectors(*rows)

    @property
    def model_(self) -> Model:
        """The trained vectors and label weights."""
        return self.loaded_.model

    @property
    def known_(self) -> Annotations:
        """The pairs the model was trained on."""
        return self.loaded_.known

    @property
    def calibration_(self) -> Calibration | None:
        """The map from scores to hits and confidences; None where training held out no labels."""
        return self.loaded_.calibration

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
    def annotate(self, images: str, **how: Unpack[SuggestOptions]) -> Suggestions: ...  # type: ignore[overload-overlap]
    @overload
    def annotate(self, images: Iterable[str], **how: Unpack[SuggestOptions]) -> SuggestionLists: ...
    @overload
    def annotate(self, *, labels: list[str], **how: Unpack[SuggestOptions]) -> Suggestions: ...
    @overload
    def annotate(self, *, labels: list[list[str]], **how: Unpack[SuggestOptions]) -> SuggestionLists: ...
    @overload
    def annotate(
        self,
        images: _Images = None,
        *,
        labels: _Labels = None,
        features: Any = None,
        frame: str | None = None,
        **how: Unpack[SuggestOptions],
    ) -> Any: ...
    def annotate(
        self,
        images: _Images = None,
        *,
        labels: _Labels = None,
        features: Any = None,
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
            features: Instead of ``images``: the vector of an image the model has not seen, a matrix with a row per
                image, or any features that `fit` takes; with ``labels``, one list per row, which may be empty. A row of
                zeros stands for an image without features.
            frame: "arrow", "pandas" or "polars" for a frame with one row per suggestion instead of lists. Its columns
                are image, label, score, confidence, hit and rank; with ``labels``, the number of the list stands for
                the image, in the column row. Many images at once are much faster this way.
            top: The number of suggestions per image, 5 by default.
            allow: Suggest only these labels.
            deny: Never suggest these labels.
            only: Suggest only labels that match one of these patterns, such as ``place|*``.
            per_namespace: The most suggestions per namespace, such as ``place|`` or ``character:``.
            min_confidence: Leave out suggestions below this confidence.
            explain: Fill ``because`` of each suggestion.

        The ``confidence`` of a suggestion is the probability that the label is right for the image; it depends on how
        complete the labels are, see `calibrate`. Its ``hit`` is the probability that it is the missing label of an
        image that lacks exactly one, as in an evaluation.
        """
        suggester = self._suggester("annotate", **how)
        if frame is not None and how.get("explain"):
            raise ConfigError("explain cannot be used with frame; leave one of them out")
        asked = curate.Asked.of(self.loaded_, images, labels, features)
        if frame is not None:
            names, asked = asked.named(self.known_.images)
            return export.suggestion_frame(suggester.suggest(*asked[:3]), names, frame)
        found = suggester.lists(*asked[:3])
        return found[0] if asked.is_one else SuggestionLists(found, asked.ids)

    def annotate_numbers(
        self, images: NDArray[np.int64], labels: list[list[str]] | None = None, **how: Unpack[SuggestOptions]
    ) -> list[Suggestions]:
        """Suggest labels as `annotate` does, for images given by their numbers in ``known_.images``.

        ``labels`` are those that the images have now, if they have changed since the training.

        >>> number = model.known_.images.numbers(["img_0000001"])
        >>> model.annotate_numbers(number) == model.annotate(["img_0000001"])
        True
        """
        rows = None if labels is None else self.loaded_.label_rows(labels)
        return self._suggester("annotate_numbers", **how).lists(images, rows)

    def annotate_all(
        self,
        path: str | Path,
        form: str | None = None,
        *,
        features: Any = None,
        prefix: str = "",
        defuse_formulas: bool = False,
        progress: Callable[[int], None] | None = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
        allow_mixed_cpus: bool = False,
        **how: Unpack[SuggestOptions],
    ) -> export.ExportCounts:
        """Write suggestions for all images to a file, atomically and block by block.

        >>> model.annotate_all("suggestions.csv", top=2)
        ExportCounts(images=1500, images_with_suggestions=1500, suggestions=3000)

        ``form`` is one of `vse_ens.export.suggestions.Format`; by default it follows from the suffix of ``path``.
        With ``features`` that name their images, as in `fit`, the images are those instead, by the features given and
        by the labels that the model knows of them.
        ``prefix`` and ``defuse_formulas``: as in `vse_ens.export.suggestions.write_suggestions`. ``progress`` is called
        with the number of images done. With ``cluster="ray"`` the workers of a Ray cluster make the suggestions, from
        the saved model; the file is the same. Nodes with another kind of CPU, which would change last bits, are refused
        without ``allow_mixed_cpus``. The other arguments: as in `annotate`.
        """
        suggester = self._suggester("annotate_all", **how)
        if how.get("explain"):
            raise ConfigError("explain cannot be used for a file of all suggestions; leave it out")
        form = form or export.format_of(path)
        with self._remote(cluster, address, allow_mixed_cpus) as remote:
            if remote and features is not None:
                raise ConfigError("features cannot be used with cluster; leave one of them out")
            images, asked = curate.Asked.all_of(self.loaded_, features)
            far = curate.RemoteSuggester(*remote, self.known_, how) if remote else None
            blocks = far.suggest() if far else suggester.suggest(*asked[:3])
            options: dict[str, Any] = {"prefix": prefix, "defuse_formulas": defuse_formulas, "progress": progress}
            return export.write_suggestions(path, images, blocks, form, **options)

    def suggested_edits(
        self,
        *,
        features: Any = None,
        progress: Callable[[int], None] | None = None,
        **how: Unpack[SuggestOptions],
    ) -> export.SuggestedEdits:
        """Return the suggestions of all images as edits, for `vse_ens.data.collections.write.write_labels`.

        >>> edits = model.suggested_edits(top=1)
        >>> edits["img_0000001"].add
        ('sand',)

        Images without a suggestion have an empty edit. ``features``: as in `annotate_all`. The other arguments: as in
        `annotate`.
        """
        suggester = self._suggester("suggested_edits", **how)
        images, asked = curate.Asked.all_of(self.loaded_, features)
        return export.label_edits(suggester.suggest(*asked[:3]), images, progress)

    def known_labels(self, image: str) -> list[str]:
        """Return the labels that an image had in training.

        >>> model.known_labels("img_0000001")
        ['cactus', 'camel', 'desert', 'lizard', 'rock', 'sand dune', 'sky']
        """
        return self._fitted.known.labels_of(image)

    def _suggester(self, method: str, **how: Unpack[SuggestOptions]) -> Suggester:
        loaded = self._fitted
        check_options(method, how)
        return Suggester(loaded, run=self._run, **how)

    @contextmanager
    def _remote(
        self, cluster: str | None, address: str | None, allow_mixed_cpus: bool
    ) -> Iterator[tuple[Pool, ModelRef] | None]:
        """Yield the workers of a cluster and the saved model they load; None without a cluster."""
        from vse_ens.run.pool import open_pool

        ref, saved = getattr(self, "_saved", (None, None))
        if cluster is not None and saved is not self.loaded_:
            raise ConfigError(
                "the workers of a cluster load the model from disk, and this one is not saved; call save first"
            )
        with open_pool(cluster, address, self.workers, allow_mixed_cpus) as pool:
            yield (pool, ref) if pool and ref else None

    def _run(self, tasks: Sequence[Callable[[int], Any]]) -> list[Any]:
        from vse_ens.run.threads import Workers

        with Workers(self.workers if len(tasks) > 1 else 1) as workers:
            return workers.run(tasks)

    def label_scores(self, labels: list[str], image: str | None = None) -> Floats:
        """Return the scores of all labels for an image with the given labels, in the order of ``known_.labels``.

        >>> scores = model.label_scores(["beach", "sand"])
        >>> scores.shape == (len(model.known_.labels),)
        True

        With ``image``, its own vector counts as well if the model has vectors of images beside a context tower.
        """
        loaded = self._fitted
        rows = loaded.label_rows([labels])
        images = None if image is None else loaded.known.images.numbers([image])
        return np.asarray(loaded.model.scores_of(loaded.vectors_by_labels(rows, images), rows, images)[0])

    def search(
        self, labels: Sequence[str], top: int = 20, *, tagged: bool = False, index: str | Path | None = None
    ) -> curate.FoundImages:
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

    def similar_labels(self, label: str, top: int = 10) -> curate.Neighbors:
        """Return the labels most similar to a label, by cosine.

        >>> model.similar_labels("beach", top=3)
        id ...
        crab ...
        """
        return self._searcher().similar_labels(label, top)

    def similar_images(self, image: str, top: int = 10) -> curate.Neighbors:
        """Return the images most similar to an image, by cosine.

        >>> len(model.similar_images("img_0000001", top=2))
        2
        """
        return self._searcher().similar_images(image, top)

    def _searcher(self) -> curate.Searcher:
        """Return a cached searcher: it keeps precomputed data of all images until the model changes."""
        loaded = self._fitted
        kept: curate.Searcher | None = getattr(self, "_cached_searcher", None)
        if kept is None or kept.loaded is not loaded:
            kept = self._cached_searcher = curate.Searcher(loaded, self._run)
        return kept

    def label_ranker(self, scan_run: TaskRunner = run_serial, run: TaskRunner = run_serial) -> curate.LabelRanker:
        """Return a ranker of images for single labels. Its scan, which it needs first, runs its tasks by ``scan_run``.

        >>> ranker = model.label_ranker()

        When the scan is done, pass it to `use_scan`, so that the first search does not score all images again.
        """
        scan = curate.ImageScan(self._fitted, scan_run)
        return curate.LabelRanker(scan, step_size=curate.total_step_size(self.config_, self.training_), run=run)

    def use_scan(self, scan: curate.ImageScan) -> None:
        """Use the finished scan of a `label_ranker` of this model for searches and for similar images.

        >>> ranker = model.label_ranker()
        >>> rows = list(ranker.scan.steps())
        >>> model.use_scan(ranker.scan)
        """
        self._searcher().use_scan(scan.log_totals, scan.neighbor_terms(), scan.label_pairs()[1])

    def export_vectors(self, path: str | Path, what: Literal["labels", "images"] = "labels") -> None:
        """Write label or image vectors to a ``.parquet``, ``.npy``, ``.vec``, ``.faiss`` or ``.usearch`` file.

        >>> model.export_vectors("labels.parquet")
        """
        export.write_model_vectors(path, self._fitted, what)

    def explain(
        self, image: str | None = None, label: str = "", *, labels: list[str] | None = None
    ) -> curate.Explanation:
        """Explain a label's score: how much each known label adds to it, exactly for the context tower.

        >>> model.explain(labels=["beach", "sand"], label="sea")
        sea: score ..., confidence 0...
        reason                 share
        ...
        the label's own bias   0...

        With ``labels`` instead of ``image``: for an image that has these labels. A label that the image has is left
        out of it first, as the audit does, so that its other labels explain it; `Explanation.left_out` is then True.
        """
        return curate.explain_label(self._fitted, label, image, labels)

    def audit(self, top: int = 50, *, wrong_share: float = 0.02, progress: ProgressOption = None) -> curate.Audit:
        """Find labels that are likely wrong, likely missing, or duplicates, in the pairs the model knows.

        >>> findings = model.audit(top=2)
        >>> len(findings.wrong), len(findings.missing)
        (2, 2)
        >>> findings.to_frame("pandas").columns.to_list()
        ['kind', 'image', 'label', 'other_label', 'confidence', 'reason']

        ``top`` is the number of findings of each kind. ``wrong_share`` is the expected share of wrong labels; it sets
        the level of their confidence, not their order. ``progress``: as in `fit`; a function is called with the
        number of rows of scores done since its last call, out of `vse_ens.curate.audit.audit.audit_rows`.
        """
        loaded = self._fitted
        with ProgressBar("auditing", progress) as bar:
            count = bar.adder(curate.audit_rows(loaded.known), "rows")
            size = curate.total_step_size(self.config_, self.training_)
            return curate.audit_labels(loaded, top=top, wrong_share=wrong_share, step_size=size, progress=count)

    def calibrate(
        self, *, completeness: float | Mapping[str, float] | None = None, verdicts: Verdicts = ()
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
        self.loaded_ = curate.calibrated(self._fitted, completeness, verdicts)
        return self

    def use_verdicts(self, verdicts: Iterable[tuple[str, str, bool]]) -> Annotator:
        """Correct confidences by verdicts as `calibrate` does, and keep the completeness, given or estimated.

        >>> model.use_verdicts([("img_0000001", "sand", True)]).calibration_.completeness.correction.verdicts
        0

        Fewer than 50 verdicts change nothing.
        """
        self.loaded_ = curate.with_verdicts(self._fitted, verdicts)
        return self

    def suggestions_to_judge(
        self, count: int = 200, *, verdicts: Verdicts = (), seed: int = 0
    ) -> list[tuple[str, str, float]]:
        """Return the suggestions whose verdicts would tell `calibrate` most: image, label and confidence.

        >>> [(image, label, confidence), *others] = model.suggestions_to_judge(50)
        >>> len(others)
        49

        They are spread over all confidences, the doubtful ones more often, and without those that ``verdicts`` has.
        Ask for them in this order, so that the first ones can be used alone. Another ``seed`` gives other ones.
        """
        return curate.suggestions_to_judge(self._fitted, count, verdicts, seed, self._run)

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
    ) -> evaluation.Report:
        """Measure how well held-out labels rank among all labels that the image does not have in training.

        >>> report = model.evaluate(test)
        >>> 0.4 < report["recall@10"] < 0.8
        True

        Images and labels of ``test`` that the model does not know count as misses. With ``known``, such as the
        ``revealed`` part of the new-images protocol, images are scored by these labels instead of their training
        labels. ``tops`` are the N of the metrics at N; docs/metrics.md defines all metrics. ``progress``: as in `fit`;
        a function is called with the number of images done. With ``cluster="ray"`` a Ray cluster ranks the images, with
        the same result; ``allow_mixed_cpus``: as in `fit`.
        """
        test = Annotations.of(test)
        where: dict[str, Any] = {"cluster": cluster, "address": address, "allow_mixed_cpus": allow_mixed_cpus}
        rankings = self.rankings(test, known=known, top=max(tops, default=1), progress=progress, **where)
        return evaluation.summarize(rankings, tops=tops, workers=self.workers)

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
    ) -> evaluation.Rankings:
        """Return the ranks of held-out labels, to compute metrics from; see `vse_ens.evaluate.rank.rank_held_out`.

        >>> model.rankings(test).pairs == test.pairs
        True
        """
        loaded = self._fitted
        if cluster is not None and known is not None and not self.embeddings_.has_context:
            raise ConfigError("a cluster cannot fold in the images of known, which this tower needs; leave cluster out")
        with self._remote(cluster, address, allow_mixed_cpus) as remote, ProgressBar("evaluating", progress) as bar:
            count = bar.counter(len(test.images), "images")
            return evaluation.rank_by_model(
                loaded, test, known, remote, top=top, memory=memory, workers=self.workers, progress=count
            )

    def score(self, data: Any, y: Any = None) -> float:  # noqa: ARG002  # scikit-learn's signature
        """Return the mean reciprocal rank of the labels in ``data``, for scikit-learn: 1 is best.

        Every label is ranked without knowing it, by the other labels that the image had in training. Images the model
        does not know, and the rows of a matrix, are known by their other labels in ``data``. Use `evaluate` for more
        metrics, and to count the image's own vector as well.

        >>> 0.2 < model.score(test) < 1.0
        True
        """
        loaded, by_id = self._fitted, not hasattr(data, "tocsr")
        return evaluation.mean_reciprocal_rank(loaded, Annotations.of(data), by_id=by_id, workers=self.workers)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "loaded_")

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
    ) -> list[evaluation.Reliability]:
        """Compare hits with the shares of hits, in bins, for the ``top`` suggestions of images with held-out labels.

        >>> sum(one.count for one in model.reliability(test, top=1)) == len([n for n in test.labels_per_image if n])
        True
        """
        suggester = self._suggester("reliability", top=top)
        with self._remote(cluster, address, allow_mixed_cpus) as remote:
            chosen = curate.RemoteSuggester(*remote, self.known_, {"top": top}) if remote else suggester
            return curate.reliability_of(chosen, self.known_, test)

    # --- saving and loading ---

    def save(self, path: str | Path) -> None:
        """Write the model directory, atomically.

        >>> model.save("model")
        """
        self._fitted.save(path, self.config_, self.preset_, self.training_, self.validation_)
        self._saved = ModelRef.of(path), self.loaded_

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
        model = cls(name, seed=config.seed, **settings_of(name, config))
        model.config_, model.preset_ = config, name
        model.training_, model.validation_ = dict(stored.settings["training"]), stored.settings.get("validation")
        model._adopt(loaded.model, loaded.known, loaded.calibration)
        model._saved = ref, model.loaded_
        return model

    @classmethod
    def from_pretrained(cls, repo: str, *, revision: str | None = None) -> Annotator:
        """Load a model from the Hugging Face Hub, verified; the cache of huggingface_hub is enough without a network.

        >>> Annotator.from_pretrained("ann/holiday-labels")  # doctest: +SKIP

        Args:
            repo: The repository, as ``USER/NAME``.
            revision: A branch, a tag or a commit; by default the main branch.
        """
        return cls.load(export.download(repo, revision), verify=False)  # every byte was read just now

    def push_to_hub(
        self, repo: str, *, private: bool = False, revision: str | None = None, **facts: Any
    ) -> export.Pushed:
        """Upload the model to the Hugging Face Hub.

        >>> model.push_to_hub("ann/holiday-labels", private=True)  # doctest: +SKIP

        Args:
            repo: The repository, as ``USER/NAME``; it is created if it is missing.
            private: Create it as a private one.
            revision: The branch to commit to; by default the main one.
            facts: What the page of the model says: the fields of `vse_ens.export.CardFacts`, such as ``license``.
        """
        with tempfile.TemporaryDirectory(prefix="vse-") as folder:
            path = Path(folder) / "model"
            self._fitted.save(path, self.config_, self.preset_, self.training_, self.validation_)
            return export.push(path, repo, facts=export.CardFacts(**facts), private=private, revision=revision)

    @property
    def _fitted(self) -> LoadedModel:
        if not self.__sklearn_is_fitted__():
            raise ConfigError("this Annotator has not been fitted: call fit(data) or Annotator.load(path) first")
        return self.loaded_
