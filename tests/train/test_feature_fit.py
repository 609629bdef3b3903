"""Learning from features, against slow twins: refits without an image, and neighbors by brute force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vse_ens import Annotations, Annotator
from vse_ens.curate.explain import Explanation
from vse_ens.data.features import FeatureTable, attach_features
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.model import ann_index, feature_scores
from vse_ens.model.calibration import BOTH, FEATURES, KIND_SHIFT
from vse_ens.model.feature_scores import Factors, FeatureMap, FeatureScores, label_factors, unit_rows
from vse_ens.train import feature_fit
from vse_ens.train.feature_fit import Ridge, images_with_both, learn_features

IMAGES, LABELS, COLUMNS = 240, 12, 10


def make_data(seed: int = 0, images: int = IMAGES) -> tuple[Annotations, np.ndarray]:
    """Labels that follow from features, with noise; every eighth image has no label, every ninth no features."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(images, COLUMNS)).astype(np.float32)
    wanted = features @ random.normal(size=(COLUMNS, LABELS)) + random.normal(size=(images, LABELS))
    limits = [
        np.quantile(column, 1 - share) for column, share in zip(wanted.T, np.linspace(0.08, 0.45, LABELS), strict=True)
    ]
    has = wanted > np.array(limits)
    has[::8], features[::9] = False, 0
    image, label = np.nonzero(has)
    names = Vocabulary.from_ids([f"i{n:04d}" for n in range(images)], "image")
    vocabulary = Vocabulary.from_ids([f"l{n:02d}" for n in range(LABELS)], "label")
    return Annotations.from_numbers(names, vocabulary, image, label), features


def as_kind(features: np.ndarray, kind: str) -> Any:
    return sparse.csr_array(np.where(features > 0.3, features, 0)) if kind == "sparse" else features


def dense(features: Any) -> np.ndarray:
    return features if isinstance(features, np.ndarray) else features.toarray()


@pytest.fixture(scope="module", params=["dense", "sparse"])
def data(request: Any) -> Annotations:
    pairs, features = make_data()
    return attach_features(pairs, as_kind(features, request.param))


@pytest.fixture(scope="module")
def fitted(data: Annotations) -> Annotator:
    return Annotator(epochs=4, dimensions=16, workers=2).fit(data)


# --- the mathematics ----------------------------------------------------------------------------------------------


def test_predictions_left_out_are_those_of_refits(data: Annotations) -> None:
    both = images_with_both(data)
    ridge = Ridge(data, both)
    lam = 0.7 * ridge.unit
    rows, labels = dense(unit_rows(data.features)).astype(np.float64), data.to_matrix().toarray().astype(np.float64)
    found = ridge.left_out(ridge.rotated(both), both, 0.7)
    for place in (0, 7, 50, len(both) - 1):
        others = np.delete(both, place)
        x, y = rows[others], labels[others]
        weights = np.linalg.solve(
            (x - x.mean(0)).T @ (x - x.mean(0)) + lam * np.eye(COLUMNS), (x - x.mean(0)).T @ (y - y.mean(0))
        )
        expected = (rows[both[place]] - x.mean(0)) @ weights + y.mean(0)
        assert found[place] == pytest.approx(expected * label_factors(data), rel=1e-4, abs=1e-5)


def test_scores_of_images_of_the_model_are_left_out_too(data: Annotations) -> None:
    both = images_with_both(data)
    ridge = Ridge(data, both)
    scores = FeatureScores(data, ridge.solve(0.7))
    expected = ridge.left_out(ridge.rotated(both), both, 0.7)
    assert scores.map_scores(both) == pytest.approx(expected, abs=2e-5)
    some = np.array([5, 2])
    assert scores.map_scores(both, labels=some) == pytest.approx(expected[:, some], abs=2e-5)


def test_new_images_are_mapped_by_the_fit_on_all(data: Annotations) -> None:
    both = images_with_both(data)
    ridge = Ridge(data, both)
    new = as_kind(make_data(1)[1][1:9], "dense" if isinstance(data.features, np.ndarray) else "sparse")
    rows, labels = dense(unit_rows(data.features)).astype(np.float64)[both], data.to_matrix().toarray()[both]
    centered = rows - rows.mean(0)
    weights = np.linalg.solve(centered.T @ centered + 0.7 * ridge.unit * np.eye(COLUMNS), centered.T @ labels)
    expected = ((dense(unit_rows(new)) - rows.mean(0)) @ weights + labels.mean(0)) * label_factors(data)
    assert FeatureScores(data, ridge.solve(0.7)).map_scores(None, new) == pytest.approx(expected, abs=2e-5)


def test_neighbors_are_those_of_brute_force(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_scores, "NEIGHBORS", 9)
    scores = FeatureScores(data, Ridge(data, images_with_both(data)).solve(1.0))
    pool, labels = images_with_both(data), data.to_matrix().toarray()
    rows = dense(unit_rows(data.features)).astype(np.float64)
    centered = rows - rows[pool].mean(0)
    values, vectors = np.linalg.eigh(centered[pool].T @ centered[pool])
    whitened = centered @ vectors * (np.maximum(values, 0) + np.maximum(values, 0).mean()) ** -0.25
    shares = labels.sum(0) / np.count_nonzero(labels.sum(1))
    predicted = scores.map_scores(np.arange(IMAGES)) - shares**0.8
    keys = np.concatenate([part / np.linalg.norm(part, axis=1)[:, None] for part in (whitened, predicted)], axis=1)
    keys *= np.repeat([1, 0.7], [COLUMNS, LABELS]) / np.hypot(1, 0.7)
    for image in (int(pool[0]), int(pool[40]), 16):  # 16 has no label
        others = pool[pool != image]
        cosines = keys[others] @ keys[image]
        best = np.argsort(-cosines)[:9]
        weights = np.exp(20 * (cosines[best] - cosines.max()))
        shares = weights @ labels[others[best]] / weights.sum()
        expected = np.where(shares >= 0.003, np.log1p(shares / 0.03), 0)
        terms = scores.neighbor_terms(np.array([image]))
        found = np.zeros(LABELS)
        found[terms.labels.indices] = terms.values
        assert found == pytest.approx(expected, abs=1e-4)


def test_main_directions_are_those_of_the_largest_singular_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_fit, "DIRECTIONS", 4)
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 8)) * 2.0 ** -np.arange(8) @ random.normal(size=(8, 8))
    found = feature_fit._main_directions(rows)
    assert found @ found.T == pytest.approx(np.eye(4), abs=1e-12)
    kept = np.linalg.svd(rows)[0][:, :4].T
    assert np.linalg.svd(found @ kept.T)[1] == pytest.approx(np.ones(4), abs=1e-3)
    assert feature_fit._main_directions(rows[:3]) == pytest.approx(np.eye(3))


def test_wide_features_are_summed_into_fewer_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_scores, "MAX_COLUMNS", 6)
    feature_scores._signs.cache_clear()
    rows = make_data()[1]
    reduced, given = unit_rows(rows), unit_rows(sparse.csr_array(rows))
    feature_scores._signs.cache_clear()
    assert reduced.shape == (IMAGES, 6)
    assert given.toarray() == pytest.approx(reduced, abs=1e-6)
    assert np.linalg.norm(reduced[1]) == pytest.approx(1)


def test_lambda_is_chosen_by_predictions_left_out() -> None:
    pairs, features = make_data()
    noise = np.random.default_rng(5).normal(size=features.shape).astype(np.float32)
    strong = learn_features(attach_features(pairs, noise)).regularization
    assert learn_features(attach_features(pairs, features)).regularization < strong


def test_the_bytes_do_not_depend_on_workers(data: Annotations, tmp_path: Path) -> None:
    for workers in (1, 3):
        Annotator(epochs=2, dimensions=8, workers=workers).fit(data).save(tmp_path / str(workers))
    files = sorted(path.name for path in (tmp_path / "1").iterdir())
    for name in files:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes(), name


# --- each kind of image -------------------------------------------------------------------------------------------


def test_labels_alone_cost_nothing(data: Annotations, fitted: Annotator) -> None:
    plain = Annotator(epochs=4, dimensions=16, workers=2).fit(
        Annotations.from_numbers(data.images, data.labels, data.image_numbers(), data.indices)
    )
    labels = ["l03", "l07"]
    assert fitted.annotate(labels=labels, top=9) == plain.annotate(labels=labels, top=9)


def test_nothing_known_is_at_least_popularity(fitted: Annotator) -> None:
    frequency = fitted.known_.images_per_label
    found = fitted.known_.labels.numbers([one.label for one in fitted.annotate(labels=[], top=LABELS)])
    assert frequency[found].tolist() == sorted(frequency.tolist(), reverse=True)
    share = frequency.max() / np.count_nonzero(fitted.known_.labels_per_image)
    assert fitted.annotate(labels=[])[0].confidence == pytest.approx(share, abs=0.01)


def test_images_with_and_without_labels_need_no_features(fitted: Annotator) -> None:
    assert fitted.annotate(labels=[["l03"], []]) == [fitted.annotate(labels=["l03"]), fitted.annotate(labels=[])]


def test_every_kind_of_new_image_equals_one_by_one(data: Annotations, fitted: Annotator) -> None:
    kind = "dense" if isinstance(data.features, np.ndarray) else "sparse"
    rows = as_kind(make_data(1)[1][:4], kind)  # the first row is zeros
    labels: list[list[str]] = [["l03"], ["l03", "l05"], [], ["l00"]]
    together = fitted.annotate(features=rows, labels=labels)
    assert together[0] == fitted.annotate(labels=["l03"])
    for place in (1, 2, 3):
        [alone] = fitted.annotate(features=rows[[place]], labels=[labels[place]])
        assert together[place] == alone
    assert together[2] == fitted.annotate(features=rows[[2]])[0]
    assert fitted.annotate(features=dense(rows)[2]) == together[2]
    by_id = {"b": dense(rows)[3], "a": dense(rows)[2]}
    assert fitted.annotate(features=by_id, labels=[["l00"], []]) == [together[3], together[2]]
    assert fitted.annotate(features=by_id).images == ["b", "a"]


def test_a_frame_is_read_by_the_names_of_its_columns() -> None:
    pairs, features = make_data()
    columns = {"image": [f"i{n:04d}" for n in range(IMAGES)]} | {f"c{n}": features[:, n] for n in range(COLUMNS)}
    model = Annotator(epochs=2, dimensions=8).fit(pairs, features=pd.DataFrame(columns))
    other = pd.DataFrame(dict(reversed(columns.items()))).iloc[[3, 1]]
    assert model.annotate(features=other) == model.annotate(features=features[[3, 1]])
    assert model.annotate(features=other).images == ["i0003", "i0001"]


def test_images_of_the_model_use_their_features(data: Annotations, fitted: Annotator) -> None:
    cold, hot = "i0016", "i0001"
    found = fitted.annotate([cold, hot, "i0000"])
    assert found[0] == fitted.annotate(cold)
    assert found[0] == fitted.annotate(features=data.features[[16]])[0]  # no fit has seen it
    assert found[0] != found[2] == fitted.annotate(labels=[])
    without = fitted.annotate(labels=fitted.known_labels(hot))
    assert [one.score for one in found[1]] != [one.score for one in without]


def test_search_and_grid_agree_with_suggestions(fitted: Annotator) -> None:
    known = fitted.known_
    confidences = {one.image: one.confidence for one in fitted.search(["l02"], top=IMAGES)}
    for image in ("i0016", "i0001", "i0000", "i0009"):
        shown = {one.label: one.confidence for one in fitted.annotate(image, top=LABELS)}
        if "l02" in shown:
            assert confidences[image] == pytest.approx(shown["l02"], rel=1e-3)
    ranker = fitted.label_ranker()
    list(ranker.scan.steps())
    found = ranker.missing(known.labels.number("l02"))
    listed = dict(zip(known.images.ids(found.images), found.confidences, strict=True))
    assert listed["i0016"] == pytest.approx(confidences["i0016"], rel=1e-3)
    audit = fitted.audit(top=5).missing
    best = max(one.confidence for found in fitted.annotate(list(known.images)) for one in found)
    assert audit[0].confidence == pytest.approx(best, rel=1e-4)


def test_an_index_finds_images_by_their_features(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(ann_index, "_MIN_CANDIDATES", 220)
    monkeypatch.setattr(ann_index, "_CANDIDATES", 22)
    pairs, features = make_data(images=1_000)
    pairs = pairs.with_pairs(pairs.image_numbers() % 3 == 0)
    model = Annotator(epochs=4, dimensions=16).fit(pairs, features=features)
    shares = []
    for label in list(pairs.labels):
        exact = {one.image: one.score for one in model.search([label], top=10)}
        found = {one.image: one.score for one in model.search([label], top=10, index=tmp_path / "images.index")}
        shares.append(len(exact.keys() & found.keys()) / 10)
        assert all(found[image] == pytest.approx(exact[image], rel=1e-4) for image in exact.keys() & found.keys())
    assert np.mean(shares) > 0.8


@pytest.mark.parametrize("image", ["i0016", "i0001", "i0000"])
def test_reasons_add_up_to_the_score(fitted: Annotator, image: str) -> None:
    for one in fitted.annotate(image, explain=True):
        assert sum(reason.share for reason in one.because) == pytest.approx(one.score, abs=1e-4)
    explained: Explanation = fitted.explain(image, fitted.annotate(image)[0].label)
    sources = {reason.source for reason in explained.reasons}
    assert sources & {"features", "frequency"} == ({"frequency"} if image == "i0000" else {"features"})


# --- files, growth, refusals --------------------------------------------------------------------------------------


def test_a_loaded_model_gives_the_same(data: Annotations, fitted: Annotator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = Annotator.load(tmp_path / "model")
    images = list(data.images)
    assert loaded.annotate(images, top=3) == fitted.annotate(images, top=3)
    rows = data.features[[1, 16]]
    assert loaded.annotate(features=rows) == fitted.annotate(features=rows)
    loaded.save(tmp_path / "again")
    for name in ("arrays.safetensors", "pairs.safetensors", "images.arrow", "model.json"):
        assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_growing_keeps_and_adds_features(data: Annotations, fitted: Annotator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    model = Annotator.load(tmp_path / "model")
    table = FeatureTable(Vocabulary.from_ids(["n1", "n2"], "image"), data.features[[1, 16]], None)
    model.partial_fit([("n1", "l03"), ("n3", "l05")], features=table)
    known = model.known_
    assert len(known.images) == IMAGES + 3
    rows = dense(known.features)
    assert rows[known.images.numbers(["n1", "n2", "n3"])] == pytest.approx(
        np.stack([*dense(data.features[[1, 16]]), np.zeros(COLUMNS)])
    )
    assert model.model_.features is not None
    assert model.model_.features.learned.factors == fitted.model_.features.learned.factors  # type: ignore[union-attr]
    assert model.annotate("n2") == model.annotate(features=data.features[[16]])[0]
    assert model.loaded_.evidence(known.images.numbers(["n1", "n2", "n3"])).tolist() == [
        1 + (BOTH << KIND_SHIFT),
        FEATURES << KIND_SHIFT,
        1,
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "opt-auc"}, "use the preset context, or tower id\\+features"),
        ({"preset": "paper-warp"}, "use the preset context, or leave"),
        ({"validate": False}, "tower context without validate .* or tower context\\+features"),
    ],
)
def test_what_cannot_use_features_is_refused(settings: dict[str, Any], message: str) -> None:
    pairs, features = make_data()
    with pytest.raises(ConfigError, match=message):
        Annotator(**settings, epochs=1).fit(pairs, features=features)


def test_features_of_other_images_are_refused() -> None:
    pairs, _ = make_data()
    with pytest.raises(DataError, match="no image of the features is in the pairs"):
        Annotator().fit(pairs, features={"x": [1.0, 2.0], "y": [0.0, 1.0]})


def test_too_few_images_with_both_are_refused() -> None:
    pairs, _ = make_data()
    with pytest.raises(DataError, match="only 2 of 241 images have both"):
        Annotator(epochs=1).fit(pairs, features={"i0001": [1.0, 2.0], "x": [0.0, 1.0], "i0002": [3.0, 1.0]})


def test_vectors_of_another_width_are_refused(fitted: Annotator) -> None:
    with pytest.raises(ConfigError, match="trained on 10 features per image, got 3"):
        fitted.annotate(features=np.ones(3))
    with pytest.raises(ConfigError, match="not both"):
        fitted.annotate("i0001", features=np.ones(10))


def test_a_model_without_features_says_so() -> None:
    pairs, features = make_data()
    model = Annotator("opt-auc", epochs=1, dimensions=8).fit(pairs)
    with pytest.raises(ConfigError, match="trained without features"):
        model.annotate(features=features)
    with pytest.raises(ConfigError, match="no features of its images"):
        model.partial_fit([("i0001", "l03")], features=features[:1])


def test_balance_prefers_rare_labels(data: Annotations, fitted: Annotator) -> None:
    model = Annotator(epochs=4, dimensions=16, workers=2, balance=1.0).fit(data)
    images = [f"i{n:04d}" for n in range(IMAGES)]
    counts = data.images_per_label / np.count_nonzero(data.labels_per_image)
    moved = model.embeddings_.label_bias - fitted.embeddings_.label_bias
    assert moved == pytest.approx(-np.log(counts), abs=1e-5)
    both = images_with_both(data)

    def scores(one: Annotator) -> np.ndarray:
        assert one.model_.features is not None
        return one.model_.features.scores(both, None, np.zeros(len(both), np.int64))

    assert scores(fitted).std(axis=0) != pytest.approx(np.ones(LABELS), abs=0.1)
    assert scores(model).std(axis=0) == pytest.approx(np.ones(LABELS), abs=1e-4)
    assert scores(model).mean(axis=0) == pytest.approx(scores(fitted).mean(axis=0), abs=1e-4)
    found = [
        sum(data.images_per_label[data.labels.number(s.label)] for one in model_.annotate(images, top=2) for s in one)
        for model_ in (model, fitted)
    ]
    assert found[0] < found[1]
    grown = model.partial_fit([("new", "l03")])
    assert grown.embeddings_.label_bias == pytest.approx(model.embeddings_.label_bias, abs=0.5)


def test_factors_are_saved_as_they_are() -> None:
    parts: Any = [np.zeros((1, 1), np.float32)] * 7
    learned = FeatureMap(*parts, Factors(1.5, 0.25, 20.0, 2.0, 0.5, 0.5, 0.0625, 0.25, 0.0))
    assert FeatureMap.from_arrays(learned.arrays()) is not None
    assert FeatureMap.from_arrays(learned.arrays()).factors == learned.factors  # type: ignore[union-attr]
