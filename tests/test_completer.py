"""`LabelCompleter`: scikit-learn's conventions, probabilities that never see their own label, and cleanlab."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from vse_ens.annotator import Annotator
from vse_ens.completer import LabelCompleter
from vse_ens.curate.label_probabilities import LabelProbabilities
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import KIND_SHIFT, NOTHING
from vse_ens.model.completeness import LabelCountLaw
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model

SMALL: dict[str, Any] = {"epochs": 2, "dimensions": 8, "negatives": 4, "workers": 1}
# Checks that do not apply, and why.
SKIPPED = {
    f"check_estimator_sparse_{kind}": "expects one prediction per row; here it is one per label, tested below"
    for kind in ("array", "matrix")
}


@pytest.mark.unhurried
@parametrize_with_checks([LabelCompleter(**SMALL)], expected_failed_checks=lambda _: SKIPPED)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(images=300, labels=60, seed=0)


@pytest.fixture(scope="module")
def matrix(data: Annotations) -> Any:
    return data.to_matrix()


@pytest.fixture(scope="module")
def lists(data: Annotations) -> list[list[str]]:
    return [data.labels_of(image) for image in data.images]


@pytest.fixture(scope="module")
def completer(matrix: Any) -> LabelCompleter:
    return LabelCompleter(**SMALL).fit(matrix)


def test_a_probability_does_not_depend_on_its_own_label(completer: LabelCompleter, matrix: Any) -> None:
    rows = matrix.toarray()[:12]
    found = completer.predict_proba(rows)
    for label in range(0, rows.shape[1], 7):
        flipped = rows.copy()
        flipped[:, label] = 1 - flipped[:, label]
        assert np.array_equal(completer.predict_proba(flipped)[:, label], found[:, label])


def test_probabilities_are_those_of_the_slow_formula(completer: LabelCompleter, matrix: Any) -> None:
    model, rows = completer.annotator_, matrix.toarray()
    counts = rows.sum(axis=1)
    mean, variance = counts.mean(), counts.var()
    calibration = model.calibration_
    assert calibration is not None
    for image, label in [(0, 3), (1, 0), *zip(*np.nonzero(rows[:6]), strict=True)]:
        others = [str(one).zfill(2) for one in np.flatnonzero(rows[image]) if one != label]
        scores = model.label_scores(others)
        scores[[int(one) for one in others]] = -np.inf
        size = np.array([len(others) or NOTHING << KIND_SHIFT])
        totals = calibration.log_totals(scores[None], size)
        share = calibration.held_out_probabilities(scores[None], totals[:, None], size[:, None])[0, label]
        ratio = mean / variance
        odds = share * max(mean * ratio + (1 - ratio) * len(others), 0.1 * mean)
        # Without other labels, the share is the probability already.
        expected = odds / (1 + odds) if others else share
        assert completer.predict_proba(rows[[image]])[0, label] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("size", "chance"), [(12, 0.3), (40, 0.1)])
def test_the_odds_factor_is_that_of_a_binomial_law(size: int, chance: float) -> None:
    # (r + 1) P(r + 1) / P(r) = (size - r) chance / (1 - chance)
    law = LabelCountLaw(size * chance, size * chance * (1 - chance))
    counts = np.arange(5)
    assert law.odds_factor(counts) == pytest.approx((size - counts) * chance / (1 - chance))


def test_the_odds_factor_follows_from_the_two_distributions() -> None:
    chance, number = 0.4, 3.0  # (r + 1) P(r + 1) / P(r) = (number + r) chance
    law = LabelCountLaw(number * chance / (1 - chance), number * chance / (1 - chance) ** 2)
    assert law.odds_factor(np.arange(9)) == pytest.approx((number + np.arange(9)) * chance)
    assert LabelCountLaw(3.5, 3.5).odds_factor(np.arange(9)) == pytest.approx(np.full(9, 3.5))


def test_equal_numbers_of_labels_give_finite_odds() -> None:
    assert (LabelCountLaw.of(np.full(7, 4)).odds_factor(np.arange(30)) > 0).all()
    assert LabelCountLaw.of(np.zeros(0, np.int64)).odds_factor(np.arange(3)).tolist() == [0.0, 0.0, 0.0]


def test_labels_drawn_independently_get_their_true_probability() -> None:
    """With independent labels the odds are known exactly: those of the label, whatever the others are."""
    rng = np.random.default_rng(3)
    truth = np.array([0.6, 0.4, 0.3, 0.2, 0.1, 0.05])
    rows = (rng.random((3000, len(truth))) < truth).astype(int)
    shares = truth / (1 - truth)

    # This model knows q(a | R): the odds of a among the odds of all labels that are not in R.
    none = np.empty((0, 1), np.float32)
    exact = Embeddings(np.ones((len(truth), 1), np.float32), np.log(shares).astype(np.float32), none, none)
    loaded: Any = SimpleNamespace(
        model=Model(exact),
        calibration=None,
        vectors_by_labels=lambda given: np.zeros((len(given.indptr) - 1, 1), np.float32),
    )
    kept = rows[:400]
    csr = sparse.csr_array(kept)
    probabilities = LabelProbabilities(loaded, LabelCountLaw.of(rows.sum(axis=1)))
    found = probabilities.probabilities(Csr(csr.indptr.astype(np.int64), csr.indices.astype(np.int32)))
    # M(r) is a mean over all sets of r labels: single rows may differ, their mean may not.
    assert found.mean(axis=0) == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix", "dok_array"])
def test_sparse_matrices_give_what_dense_ones_give(kind: str, completer: LabelCompleter, matrix: Any) -> None:
    rows = matrix.toarray()
    given = getattr(sparse, kind)(rows)
    assert np.array_equal(completer.predict_proba(given), completer.predict_proba(rows))
    assert np.array_equal(completer.predict(given).toarray(), completer.predict(rows))
    assert np.array_equal(completer.transform(given), completer.transform(rows))
    again = clone(completer).fit(given)
    assert np.array_equal(again.predict_proba(rows), completer.predict_proba(rows))


def test_explicit_zeros_and_counts_mean_what_they_say(completer: LabelCompleter) -> None:
    given = sparse.csr_array((np.array([3.0, 0.0, 1.0]), np.array([2, 5, 7]), np.array([0, 3])), (1, 60))
    plain = sparse.csr_array((np.array([1, 1]), np.array([2, 7]), np.array([0, 2])), (1, 60))
    assert np.array_equal(completer.predict_proba(given), completer.predict_proba(plain))
    assert given.nnz == 3


def test_the_top_probabilities_are_sparse(completer: LabelCompleter, matrix: Any) -> None:
    dense = completer.predict_proba(matrix)
    found = clone(completer).set_params(top=3).fit(matrix).predict_proba(matrix)
    assert found.shape == dense.shape
    assert np.diff(found.indptr).tolist() == [3] * len(dense)
    best = np.sort(dense, axis=1)[:, :-4:-1]
    assert np.array_equal(np.sort(found.data.reshape(-1, 3), axis=1)[:, ::-1], best)
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        clone(completer).set_params(top=0).fit(matrix).predict_proba(matrix)


def test_predictions_are_the_likely_labels(completer: LabelCompleter, matrix: Any) -> None:
    found = completer.predict_proba(matrix)
    assert np.array_equal(completer.predict(matrix).toarray(), found >= 0.5)
    assert np.array_equal(completer.predict(matrix.toarray()), found >= 0.5)


def test_lists_of_labels_are_rows(completer: LabelCompleter, lists: list[list[str]], matrix: Any) -> None:
    by_lists = LabelCompleter(**SMALL, threshold=0.2).fit(lists)
    assert by_lists.classes_.tolist() == sorted({label for row in lists for label in row})
    assert np.array_equal(by_lists.predict_proba(lists), completer.predict_proba(matrix))
    assert by_lists.score(lists) == pytest.approx(completer.score(matrix))
    [labels] = by_lists.predict([["beach"]])
    assert set(labels) <= set(by_lists.classes_)
    assert by_lists.predict_proba([[], ["beach"]]).shape == (2, 60)
    with pytest.warns(UserWarning, match="unknown labels are ignored: nonsense"):
        known = by_lists.predict_proba([["beach", "nonsense"]])
    assert np.array_equal(known, by_lists.predict_proba([["beach"]]))
    assert by_lists.score([["beach", "sand", "nonsense"]]) == pytest.approx(by_lists.score([["beach", "sand"]]) * 2 / 3)


def test_rows_of_another_kind_are_refused(completer: LabelCompleter, lists: list[list[str]], matrix: Any) -> None:
    with pytest.raises(ConfigError, match="was fitted on a matrix"):
        completer.predict(lists)
    with pytest.raises(ConfigError, match="was fitted on lists of labels"):
        LabelCompleter(**SMALL).fit(lists).predict(matrix)
    with pytest.raises(ConfigError, match="a row must be a list of labels, got a text"):
        LabelCompleter(**SMALL).fit(["sea", "sand"])
    with pytest.raises(ValueError, match="Negative values"):
        completer.predict(-matrix.toarray())


def test_parameters_are_found_by_grid_search(lists: list[list[str]], matrix: Any) -> None:
    for rows in (lists, matrix, matrix.toarray()):
        search = GridSearchCV(LabelCompleter(**SMALL), {"epochs": [1]}, cv=2, error_score="raise").fit(rows)
        assert 0.1 < search.best_score_ < 1.0
        assert search.best_estimator_.get_params()["epochs"] == 1


def test_a_completer_ends_a_pipeline(lists: list[list[str]]) -> None:
    texts = [", ".join(row) for row in lists]
    words = CountVectorizer(tokenizer=lambda text: text.split(", "), token_pattern=None, lowercase=False)
    pipeline = make_pipeline(words, LabelCompleter(**SMALL)).fit(texts)
    assert pipeline.predict_proba(texts[:3]).shape[0] == 3
    assert pipeline[:-1].get_feature_names_out().shape == pipeline[-1].classes_.shape
    assert pipeline.transform(texts[:3]).shape == (3, 8)


def test_probabilities_of_new_rows_are_calibrated() -> None:
    rows = scenes(images=1200, labels=60, seed=1).to_matrix()
    settings = {**SMALL, "epochs": 8, "dimensions": 32}
    found = cross_val_predict(LabelCompleter(**settings), rows, cv=2, method="predict_proba")
    truth = rows.toarray()
    assert found.sum() == pytest.approx(truth.sum(), rel=0.35)
    for low, high in ((0.05, 0.2), (0.2, 0.5)):
        inside = (found >= low) & (found < high)
        assert truth[inside].mean() == pytest.approx(found[inside].mean(), rel=0.35)


def test_cleanlab_finds_the_labels_that_were_made_wrong() -> None:
    quality = pytest.importorskip("cleanlab.multilabel_classification", reason="cleanlab is not installed")
    from cleanlab.multilabel_classification.filter import find_label_issues

    rows = scenes(images=2400, labels=50, seed=1).to_matrix().toarray()
    several = np.flatnonzero(rows.sum(axis=1) >= 3)
    broken = several[::10]
    rng = np.random.default_rng(0)
    for image in broken:  # one more label, at random
        rows[image, rng.choice(np.flatnonzero(rows[image] == 0))] = 1
    settings = {**SMALL, "epochs": 8, "dimensions": 32}
    found = cross_val_predict(LabelCompleter(**settings), rows, cv=2, method="predict_proba")
    labels = [np.flatnonzero(row).tolist() for row in rows]
    whole = np.setdiff1d(several, broken)

    def share_above(probabilities: Any) -> float:
        """How often a whole image has a higher quality than a broken one; 0.5 is chance."""
        scores = quality.get_label_quality_scores(labels, probabilities)
        return float((scores[whole][:, None] > scores[broken][None]).mean())

    error = np.sqrt((len(whole) + len(broken) + 1) / (12 * len(whole) * len(broken)))  # of Mann and Whitney
    by_frequency = share_above(np.tile(rows.mean(axis=0), (len(rows), 1)))  # a label made wrong is rarer on average
    assert by_frequency > 0.5 + 3 * error
    assert share_above(found) > by_frequency + error
    issues = find_label_issues(labels, found, n_jobs=1)
    assert issues[broken].mean() > issues[whole].mean()


# --- the Annotator itself in scikit-learn ---


def test_an_annotator_is_searched_over_pairs_of_any_kind(data: Annotations, matrix: Any) -> None:
    found = []
    for pairs in (data, data.to_frame("pandas"), data.to_frame("polars"), matrix):
        search = GridSearchCV(Annotator(**SMALL), {"epochs": [1]}, cv=2, return_train_score=True, error_score="raise")
        search.fit(pairs)
        assert search.best_estimator_.known_.pairs == data.pairs
        found.append(search.cv_results_["mean_test_score"].tolist())
    assert found[0] == found[1] == found[2] != found[3]


@pytest.mark.parametrize("tower", ["context", "id"])
def test_the_score_is_the_mean_reciprocal_rank(tower: str, data: Annotations) -> None:
    train, test = data.leave_one_out(seed=0)
    model = Annotator("context" if tower == "context" else "opt-auc", **SMALL).fit(train)
    if tower == "context":
        assert model.score(test) == pytest.approx(model.evaluate(test)["mrr"])
    # Labels of the training data are left out as well: by hand, one after another.
    # Labels that are as frequent share a rank where nothing else is known of an image.
    several = train.labels_per_image[train.image_numbers()] > 1
    few = train.with_pairs(several & (np.cumsum(several) <= 12))
    ranks = []
    for image, label in few:
        others = [one for one in train.labels_of(image) if one != label]
        [found] = model.annotate_numbers(train.images.numbers([image]), [others], top=100)
        order = [one.label for one in found]
        ranks.append(1 / (1 + order.index(label)))
    assert model.score(few) == pytest.approx(np.mean(ranks), rel=1e-6)
    strangers = Annotations.from_pairs([("x", "beach"), ("x", "sand"), ("y", "never seen")])
    order = [[one.label for one in model.annotate(labels=[given], top=100)] for given in ("sand", "beach")]
    expected = [1 / (1 + order[0].index("beach")), 1 / (1 + order[1].index("sand")), 0.0]
    assert model.score(strangers) == pytest.approx(np.mean(expected), rel=1e-6)
