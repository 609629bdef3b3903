"""The façade: ids in, ids out, and scikit-learn's conventions."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.support.brute_force import on_order
from vse_ens.annotator import Annotator
from vse_ens.curate.suggest import Suggestion
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError, DataError, InsufficientMemoryError, ModelError, UnknownIdError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.cpu import cpu_kind
from vse_ens.presets import PRESETS
from vse_ens.train import ram_estimate

SMALL: dict[str, Any] = {"sampler": "uniform", "dimensions": 8, "epochs": 3, "workers": 1}
WORDS = ["Meer", "sable", "海", "été", "🏖️ beach", "a/b", "007", "x y"]


@pytest.fixture(scope="module")
def data() -> Annotations:
    rng = np.random.default_rng(5)
    return Annotations.from_pairs(
        (f"bild {i:03}/ß", WORDS[a])
        for i in range(60)
        for a in rng.choice(len(WORDS), rng.integers(2, 5), replace=False)
    )


@pytest.fixture(scope="module")
def features(data: Annotations) -> np.ndarray:
    return np.random.default_rng(6).normal(size=(len(data.images), 6)).astype(np.float32)


@pytest.fixture(scope="module")
def fitted(data: Annotations) -> Annotator:
    return Annotator("opt-auc", **SMALL).fit(data)


def test_the_estimate_of_memory_is_the_limit_that_fit_keeps(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Annotator("opt-auc", dimensions=8, epochs=1, workers=1)
    estimate = model.memory_estimate(data)
    assert estimate.total == sum(estimate.parts.values()) > 0
    assert model.memory_estimate(data.to_frame("pandas")).parts == estimate.parts
    assert Annotator("opt-auc", dimensions=80, workers=1).memory_estimate(data).total > estimate.total
    assert "needed" in str(estimate)
    for available, enough in ((estimate.total, True), (estimate.total - 1, False)):
        monkeypatch.setattr(ram_estimate, "available_memory", lambda available=available: available)
        assert model.memory_estimate(data).available == available
        if enough:
            model.fit(data)
        else:
            with pytest.raises(InsufficientMemoryError, match=r"training needs at most .* of RAM"):
                model.fit(data)


def test_suggestions_are_labels_the_image_lacks_best_first(fitted: Annotator, data: Annotations) -> None:
    for image in data.images:
        suggestions = fitted.annotate(image, top=100)
        assert {one.label for one in suggestions} == set(WORDS) - set(data.labels_of(image))
        scores = [one.score for one in suggestions]
        assert scores == sorted(scores, reverse=True)


def test_scores_are_those_of_the_vectors(fitted: Annotator, data: Annotations) -> None:
    image = data.images.id(7)
    table = fitted.embeddings_
    for one in fitted.annotate(image, top=3):
        label = data.labels.number(one.label)
        expected = table.image_vectors[7] @ table.label_vectors[label] + table.label_bias[label]
        assert one.score == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_many_at_once_equal_one_at_a_time(data: Annotations) -> None:
    # Large vectors, so that products that round in another way would show.
    model = Annotator("opt-auc", **{**SMALL, "epochs": 1}, init_scale=1.0).fit(data)
    images = list(data.images)[::-1]
    together = model.annotate(images, top=4)
    assert together == [model.annotate(image, top=4) for image in images]
    assert together[3:6] == model.annotate(images[3:6], top=4)
    assert together[3] == model.annotate([images[3], images[3]], top=4)[1]
    assert model.annotate([], top=4) == []


def test_an_unknown_image_is_told_with_the_nearest(fitted: Annotator) -> None:
    with pytest.raises(UnknownIdError, match=r"unknown image 'bild 007'; did you mean .*'bild 007/ß'"):
        fitted.annotate("bild 007")
    with pytest.raises(UnknownIdError, match="unknown image 'nie'"):
        fitted.annotate(["bild 007/ß", "nie"])


def test_top_must_be_positive(fitted: Annotator) -> None:
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        fitted.annotate("bild 007/ß", top=0)


@pytest.mark.parametrize("verb", ["annotate", "save", "evaluate"])
def test_an_annotator_that_was_not_fitted_says_so(verb: str, data: Annotations, tmp_path: Path) -> None:
    arguments = {"annotate": "bild 007/ß", "save": tmp_path / "model", "evaluate": data}
    with pytest.raises(ConfigError, match=r"has not been fitted: call fit\(data\) or Annotator.load"):
        getattr(Annotator(), verb)(arguments[verb])


# --- images known by their labels ---

TOWERS = ("context", "context+id", "context+features", "id", "features", "id+features")


@pytest.fixture(scope="module")
def models(data: Annotations, features: np.ndarray) -> dict[str, Annotator]:
    """One of each tower, with a memory where the preset has one; large vectors, so that rounding would show."""
    made = {}
    for tower in TOWERS:
        settings = SMALL if "context" not in tower else {**SMALL, "negatives": 4, "label_pairs": 12}
        preset = "context" if "context" in tower else "opt-auc"
        given = data.with_features(features) if "features" in tower else data
        made[tower] = Annotator(preset, **settings, tower=tower, init_scale=1.0).fit(given)
    made["id with weights"] = Annotator("context", **{**SMALL, "negatives": 4}, tower="id", init_scale=1.0).fit(data)
    return made


each_model = pytest.mark.parametrize("tower", [*TOWERS, "id with weights"])
ROWS = [["Meer", "sable"], ["007"], [], ["a/b", "海", "été", "x y"], ["x y", "007"], *([word] for word in WORDS)] * 3


@pytest.mark.unhurried
@each_model
def test_labels_alone_suggest_the_others_best_first(tower: str, models: dict[str, Annotator]) -> None:
    for labels in ROWS[:13]:
        found = models[tower].annotate(labels=labels, top=100)
        assert {one.label for one in found} == set(WORDS) - set(labels)
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert found[:3] == models[tower].annotate(labels=labels, top=3)


@each_model
def test_many_lists_at_once_equal_one_at_a_time(tower: str, models: dict[str, Annotator]) -> None:
    model = models[tower]
    together = model.annotate(labels=ROWS, top=4)
    assert together == [model.annotate(labels=labels, top=4) for labels in ROWS]
    assert together[2:5] == model.annotate(labels=ROWS[2:5], top=4)


@each_model
def test_the_order_of_labels_and_saying_one_twice_do_not_matter(tower: str, models: dict[str, Annotator]) -> None:
    labels = ["a/b", "海", "été", "x y"]
    expected = models[tower].annotate(labels=labels)
    assert models[tower].annotate(labels=labels[::-1]) == expected
    assert models[tower].annotate(labels=[*labels, "海"]) == expected


@each_model
def test_with_no_label_the_frequency_alone_speaks(tower: str, models: dict[str, Annotator], data: Annotations) -> None:
    shares = np.log(data.images_per_label / np.count_nonzero(data.labels_per_image))
    scores = models[tower].embeddings_.label_bias if "features" in tower else shares  # such a tower maps no features
    found = models[tower].annotate(labels=[], top=8)
    assert sorted(one.label for one in found) == sorted(data.labels)
    expected = np.sort(scores)[::-1]
    assert [one.score for one in found] == pytest.approx(expected, abs=1e-5)
    by_label = dict(zip(data.labels, scores, strict=True))
    assert [by_label[one.label] for one in found] == pytest.approx(expected, abs=1e-5)
    assert models[tower].annotate(labels=[[], []], top=8) == [found, found]


@each_model
def test_a_label_that_an_image_has_is_explained_by_the_others(
    tower: str, models: dict[str, Annotator], data: Annotations
) -> None:
    model, image = models[tower], data.images.id(7)
    label, *others = data.labels_of(image)
    found = model.explain(image, label)
    assert found.left_out
    assert sum(reason.share for reason in found.reasons) == pytest.approx(found.score, rel=1e-4, abs=1e-4)
    assert not any(label in reason.labels for reason in found.reasons)
    assert {one for reason in found.reasons for one in reason.labels} <= set(others)
    [[twin]] = model.annotate_numbers(np.array([7]), [others], allow=[label])
    assert found.score == pytest.approx(twin.score)


def test_context_suggestions_by_labels_equal_those_by_id(models: dict[str, Annotator], data: Annotations) -> None:
    model, images = models["context"], list(data.images)
    assert model.model_.label_weights is not None
    assert model.model_.neighbors is not None
    labels = [data.labels_of(image) for image in images]
    assert model.annotate_numbers(np.arange(len(images)), labels, top=8) == model.annotate(images, top=8)
    # An image is not its own neighbor; another image with the same labels has it as one.
    assert model.annotate(labels=labels[0], top=8) != model.annotate(images[0], top=8)


def test_scores_are_those_of_the_vectors_and_the_memory(models: dict[str, Annotator], data: Annotations) -> None:
    model = models["context"].model_
    assert model.label_weights is not None
    assert model.label_weights_scale > 0.0
    labels = ["Meer", "海"]
    numbers = np.sort(data.labels.numbers(labels)).astype(np.int32)
    vector = model.embeddings.context(np.array([0, 2]), numbers)[0]
    expected = model.embeddings.label_vectors @ vector + model.embeddings.label_bias
    expected += model.label_weights_scale * model.label_weights.values[numbers].sum(axis=0)
    assert model.neighbors is not None
    model.neighbors.add_scores(Csr(np.array([0, 2]), numbers), None, expected[None])
    for one in models["context"].annotate(labels=labels, top=8):
        assert one.score == pytest.approx(expected[data.labels.number(one.label)], rel=1e-4)


def test_an_unknown_label_is_told_by_its_name(models: dict[str, Annotator]) -> None:
    for labels in (["sable", "Mer"], [["sable"], ["Mer"]]):
        for tower in ("context", "id"):
            with pytest.raises(UnknownIdError, match=r"unknown label 'Mer'; did you mean .*'Meer'"):
                models[tower].annotate(labels=labels)


def test_images_or_labels_one_of_the_two(fitted: Annotator) -> None:
    with pytest.raises(ConfigError, match="annotate takes images or labels, exactly one of them"):
        fitted.annotate()  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="annotate takes images or labels, exactly one of them"):
        fitted.annotate("bild 007/ß", labels=["Meer"])  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="labels must be a list of label ids, got the text 'Meer'"):
        fitted.annotate(labels="Meer")  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        fitted.annotate(labels=["Meer"], top=0)


@each_model
def test_new_images_are_measured_by_the_labels_that_are_known(
    tower: str, models: dict[str, Annotator], data: Annotations
) -> None:
    _, revealed, test = data.new_images(share=0.5, seed=1)
    report = models[tower].evaluate(test, known=revealed, tops=(1, 3))

    def suggested(image: str) -> list[str]:
        model, labels = models[tower], [revealed.labels_of(image)]
        if model.model_.neighbors is None or tower == "context+id":  # an evaluation leaves the own vector out
            [found] = model.annotate(labels=labels, top=8)
        else:
            [found] = model.annotate_numbers(data.images.numbers([image]), labels, top=8)
        return [one.label for one in found]

    twins = [
        on_order(
            suggested(image),
            set(test.labels_of(image)),
            (1, 3),
        )
        for image in test.images
        if test.labels_of(image)
    ]
    assert report.images == len(twins) == 30
    for name in twins[0]:
        assert report[name] == pytest.approx(np.mean([twin[name] for twin in twins])), name


def test_known_labels_may_have_ids_of_their_own(models: dict[str, Annotator]) -> None:
    known = Annotations.from_pairs([("neu", "x y"), ("neu", "nie gehört"), ("neu", "007"), ("leer", "nie gehört")])
    test = Annotations.from_pairs([("neu", "Meer"), ("leer", "Meer"), ("fremd", "Meer")])
    report = models["context"].evaluate(test, known=known, tops=(8,))
    expected = [
        [one.label for one in models["context"].annotate(labels=labels, top=8)].index("Meer") + 1
        for labels in (["x y", "007"], [])
    ]
    assert report["mrr"] == pytest.approx((1 / expected[0] + 1 / expected[1] + 0) / 3)
    assert report.unknown_images == 1


def test_a_label_both_known_and_held_out_is_told(models: dict[str, Annotator], data: Annotations) -> None:
    with pytest.raises(DataError, match="is both held out and known"):
        models["context"].evaluate(data, known=data)


# --- saving ---


def test_a_saved_model_comes_back_the_same(fitted: Annotator, data: Annotations, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    for verify in (True, False):
        loaded = Annotator.load(tmp_path / "model", verify=verify)
        assert loaded.config_ == fitted.config_
        assert loaded.config() == fitted.config()
        assert loaded.known_ == data
        assert loaded.annotate(list(data.images), top=3) == fitted.annotate(list(data.images), top=3)


@each_model
def test_a_saved_model_has_its_memory_and_suggests_the_same(
    tower: str, models: dict[str, Annotator], data: Annotations, tmp_path: Path
) -> None:
    model = models[tower]
    model.save(tmp_path / "model")
    loaded = Annotator.load(tmp_path / "model")
    assert loaded.training_ == model.training_
    assert loaded.model_.label_weights_scale == model.model_.label_weights_scale
    ours, theirs = model.model_.arrays(), loaded.model_.arrays()
    assert {name: array.tobytes() for name, array in ours.items()} == {
        name: array.tobytes() for name, array in theirs.items()
    }
    assert ("label_weights_values" in theirs) is (model.model_.label_weights_scale > 0.0)
    assert model.model_.label_weights_scale > 0.0 or tower != "context"
    assert loaded.annotate(list(data.images), top=8) == model.annotate(list(data.images), top=8)
    assert loaded.annotate(labels=ROWS, top=8) == model.annotate(labels=ROWS, top=8)


@pytest.mark.unhurried
@pytest.mark.parametrize("settings", [{}, {"tower": "context+id"}])
def test_the_preset_gives_equal_bytes_on_any_number_of_workers(
    settings: dict[str, Any], data: Annotations, tmp_path: Path
) -> None:
    for workers in (1, 2, 3):
        model = Annotator(dimensions=8, epochs=3, negatives=4, workers=workers, **settings).fit(data)
        model.save(tmp_path / str(workers))
    one, two, three = (
        {file.name: file.read_bytes() for file in (tmp_path / str(workers)).iterdir()} for workers in (1, 2, 3)
    )
    assert one == two == three


def test_equal_runs_are_saved_as_equal_bytes(fitted: Annotator, data: Annotations, tmp_path: Path) -> None:
    fitted.save(tmp_path / "one")
    Annotator("opt-auc", **{**SMALL, "workers": 2}).fit(data).save(tmp_path / "two")
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("tower", ["features", "id+features"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_model_of_features_needs_none_once_it_is_saved(
    tower: str, kind: str, data: Annotations, features: np.ndarray, tmp_path: Path
) -> None:
    matrix: Any = features if kind == "dense" else sparse.csr_array(features)
    model = Annotator("opt-auc", **SMALL, tower=tower, loss="hinge").fit(data.with_features(matrix))
    images = list(data.images)
    expected = model.annotate(images, top=4)
    model.save(tmp_path / "model")
    assert Annotator.load(tmp_path / "model").annotate(images, top=4) == expected


def test_a_model_of_a_preset_that_is_gone_is_told(fitted: Annotator, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(PRESETS, "mine", PRESETS["opt-auc"])
    model = Annotator("mine", **SMALL).fit(fitted.known_)
    model.save(tmp_path / "model")
    monkeypatch.delitem(PRESETS, "mine")
    with pytest.raises((ConfigError, ModelError), match="preset"):
        Annotator.load(tmp_path / "model")


# --- data of any kind ---


def test_fits_whatever_holds_pairs(data: Annotations, fitted: Annotator) -> None:
    expected = fitted.embeddings_.label_vectors.tobytes()
    rows = [(image, label) for image in data.images for label in data.labels_of(image)]
    frame = pd.DataFrame(rows, columns=["image", "label"]).sample(frac=1.0, random_state=1)
    assert Annotator("opt-auc", **SMALL).fit(frame).embeddings_.label_vectors.tobytes() == expected
    matrix = sparse.csr_array((np.ones(data.pairs), data.indices, data.indptr), (len(data.images), len(WORDS)))
    assert Annotator("opt-auc", **SMALL).fit(matrix).known_.pairs == data.pairs


def test_evaluates_the_other_half_of_a_split(data: Annotations) -> None:
    train, test = data.leave_one_out(seed=0)
    model = Annotator("opt-auc", **SMALL).fit(train)
    found = model.evaluate(test)
    assert all(0.0 <= found[name] <= 1.0 for name in ("recall@10", "map", "auc"))


# --- scikit-learn's conventions ---


def clone(model: Annotator) -> Annotator:
    """As `sklearn.base.clone` does it: the class called with the parameters, which must then be the same objects."""
    parameters = model.get_params(deep=False)
    copy = type(model)(**parameters)
    assert all(copy.get_params(deep=False)[name] is value for name, value in parameters.items())
    return copy


def test_a_clone_has_the_parameters_and_nothing_learnt(fitted: Annotator) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert repr(fitted) == f"{copy!r}, fitted on 60 images, 8 labels, {fitted.known_.pairs} pairs, 8 dimensions"
    assert not hasattr(copy, "embeddings_")


def test_parameters_are_set_by_name() -> None:
    model = Annotator("vse-ens", epochs=3)
    assert model.set_params(epochs=5, seed=2, workers=1) is model
    assert model.get_params() == {"preset": "vse-ens", "seed": 2, "workers": 1, "epochs": 5}
    assert model.config().epochs == 5
    # Together they make sense, one by one they would not.
    model.set_params(preset="warp", loss="warp", sampler="warp")
    assert model.config().loss == "warp"


@pytest.mark.parametrize("bad", [{"epoch": 3}, {"epochs": 0}, {"preset": "best"}, {"loss": "warp"}, {"seed": -1}])
def test_a_bad_parameter_is_told_and_nothing_is_changed(bad: dict[str, Any]) -> None:
    model = Annotator("opt-auc", epochs=3)
    with pytest.raises(ConfigError):
        model.set_params(**bad)
    assert model.get_params() == {"preset": "opt-auc", "seed": 0, "workers": None, "epochs": 3}


def test_the_constructor_does_no_work(data: Annotations) -> None:
    model = Annotator("no such preset", epochs=-1)
    with pytest.raises(ConfigError, match="preset must be one of"):
        model.fit(data)
    assert repr(Annotator(seed=3, loss="hinge")) == "Annotator(preset='context', seed=3, loss='hinge')"


def test_members_are_saved_and_updated(data: Annotations, tmp_path: Path) -> None:
    Annotator("thorough", dimensions=8, epochs=2, members=3).fit(data).save(tmp_path / "model")
    model = Annotator.load(tmp_path / "model")
    assert model.embeddings_.dimensions == 24
    model.partial_fit([("new", data.labels.id(0))])
    assert model.embeddings_.dimensions == 24
    assert model.annotate("new")
    with pytest.raises(ConfigError, match="members 3 needs refit and tower context"):
        Annotator("thorough", members=3, tower="id").fit(data)


# --- kinds of CPU ---


def test_a_model_names_the_kinds_of_cpu_that_trained_it(
    data: Annotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Annotator("opt-auc", **SMALL).fit(data).save(tmp_path / "model")
    model = Annotator.load(tmp_path / "model")
    assert model.training_["cpus"] == [cpu_kind()]
    monkeypatch.setattr("vse_ens.train.training_run.cpu_kind", lambda: "elbrus")
    model.partial_fit([("new", data.labels.id(0))])
    assert model.training_["cpus"] == sorted([cpu_kind(), "elbrus"])


def test_resuming_on_another_kind_of_cpu_needs_a_word(
    data: Annotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(step: Any) -> None:
        if step.epoch == 2:
            os.kill(os.getpid(), signal.SIGINT)

    Annotator("opt-auc", **SMALL).fit(data, progress=stop, checkpoint=tmp_path / "run")
    monkeypatch.setattr("vse_ens.train.checkpoint.cpu_kind", lambda: "elbrus")
    again = Annotator("opt-auc", **SMALL)
    with pytest.raises(ConfigError, match="add --allow-mixed-cpus"):
        again.fit(data, checkpoint=tmp_path / "run", resume=True)
    again.fit(data, checkpoint=tmp_path / "run", resume=True, allow_mixed_cpus=True)
    assert again.resumed_
    assert again.training_["cpus"] == sorted([cpu_kind(), "elbrus"])


# --- stopping and resuming ---


def test_ctrl_c_stops_after_the_round_and_keeps_the_model(data: Annotations, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run"

    def stop(step: Any) -> None:
        if step.epoch == 2:
            os.kill(os.getpid(), signal.SIGINT)

    model = Annotator("opt-auc", **SMALL).fit(data, progress=stop, checkpoint=checkpoint)
    assert model.interrupted_
    assert not model.training_["complete"]
    assert len(model.history_) == 2
    assert isinstance(model.annotate("bild 007/ß")[0], Suggestion)

    resumed = Annotator("opt-auc", **SMALL).fit(data, checkpoint=checkpoint, resume=True)
    whole = Annotator("opt-auc", **SMALL).fit(data)
    assert resumed.resumed_
    assert not resumed.interrupted_
    assert resumed.embeddings_.label_vectors.tobytes() == whole.embeddings_.label_vectors.tobytes()
    assert resumed.embeddings_.image_vectors.tobytes() == whole.embeddings_.image_vectors.tobytes()
    assert resumed.training_ == whole.training_


def test_progress_is_told_after_every_round(data: Annotations) -> None:
    steps: list[Any] = []
    model = Annotator("opt-auc", **SMALL).fit(data, progress=steps.append)
    assert [step.report.epoch for step in steps if step.report] == [1, 2, 3]
    assert [report.epoch for report in model.history_] == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"shards": 1}, "shards must be at least 2 for a folder of Parquet files, got 1"),
        ({"tower": "features"}, "tower features needs"),
    ],
)
def test_limits_of_parts_are_errors_before_they_are_partitioned(
    settings: dict[str, Any], told: str, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    scenes(50, 60).to_frame("polars").write_parquet(tmp_path / "parts" / "all.parquet")
    with pytest.raises(ConfigError, match=told):
        Annotator("vse-ens", **settings).fit(tmp_path / "parts", checkpoint=tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
