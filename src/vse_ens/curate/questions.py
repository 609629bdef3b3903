"""Twenty questions: find an image by answering whether it has a label.

Every image i has a weight w_i, the probability that it is the wanted one given the answers. An answer multiplies the
weights by its likelihood,

    P(yes | i) = (1 - SLIP) u_i(a) + SLIP f(a),

where u_i(a) is 1 if the image has label a. Otherwise it is the probability that the label is missing from the image:
`UNLABELED` times the probability that the model gives it. With probability `SLIP` an answer is random: yes as often
as the label is frequent, f(a). A wrong answer thus makes an image less likely but never impossible. The next question
is the label whose answer tells most, that is, with the highest mutual information of answer and image.

The model scores only the `_REFINED` most likely images. For the others, the probability that they have a label is the
frequency of the label. A question therefore takes a few passes over the pairs, whatever the number of answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.errors import ConfigError
from vse_ens.model.blas import one_thread
from vse_ens.model.calibration import log_totals, softmax_shares
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel

Doubles = NDArray[np.float64]
Numbers = NDArray[np.int64]

SLIP = 0.1
"""The probability of a random answer."""
UNLABELED = 0.3
"""The share of an image's labels that nobody has given it yet."""

# Images scored by the model.
_REFINED = 256
# Labels whose answer tells most without the model, among which it chooses.
_CANDIDATES = 200
# Images summed at a time.
_BLOCK = 1 << 17
# Images with a smaller weight than this share of the mean do not influence the choice of a question.
_NEGLIGIBLE = 1e-3
# A question that tells less, in nats, is not worth asking.
_MIN_GAIN = 1e-3


@dataclass(frozen=True)
class LikelyImage:
    """An image, and the probability that it is the wanted one."""

    image: str
    probability: float


@dataclass(frozen=True)
class Question:
    """The next question, and the images that fit the answers so far."""

    label: str | None
    """The label to ask about; None if no answer would tell anything."""
    share: float | None
    """The probability that the answer is yes."""
    remaining: float
    """Number of images left: the exponential of the entropy of the weights."""
    images: list[LikelyImage]
    """The most likely images, most likely first."""


def next_question(
    loaded: LoadedModel, yes: Sequence[str], no: Sequence[str], skipped: Sequence[str] = (), *, top: int = 12
) -> Question:
    """Return the next question after labels were answered with yes or no, or skipped because nobody knows."""
    known = loaded.known
    with_label, without = (np.unique(known.labels.numbers(list(labels))) for labels in (yes, no))
    if both := np.intersect1d(with_label, without).tolist():
        raise ConfigError(f"the label {known.labels.id(both[0])!r} was answered with yes and with no; remove one")
    if not len(known.images):
        return Question(None, None, 0.0, [])
    weights, refined, chances = _weights(loaded, with_label, without)
    asked = np.concatenate([with_label, without, known.labels.numbers(list(skipped))])
    shares, gains = _gains(known, weights, refined, chances)
    gains[asked] = -np.inf
    label = int(np.argmax(gains)) if len(gains) and gains.max() > _MIN_GAIN else None
    best = _top(weights, top)
    positive = weights[weights > 0]
    return Question(
        None if label is None else known.labels.id(label),
        None if label is None else float(shares[label]),
        float(np.exp(-(positive * np.log(positive)).sum())),
        [LikelyImage(*one) for one in zip(known.images.ids(best), weights[best].tolist(), strict=True)],
    )


def _weights(loaded: LoadedModel, yes: Numbers, no: Numbers) -> tuple[Doubles, Numbers, Floats]:
    """Return the weights of all images, the images scored by the model, and their probabilities u_i(a)."""
    known = loaded.known
    answers = np.concatenate([yes, no])
    signs = np.repeat([True, False], [len(yes), len(no)])
    frequencies = _frequencies(known)[answers]
    has = _log_likelihood(signs, 1.0, frequencies)
    lacks = _log_likelihood(signs, UNLABELED * frequencies, frequencies)
    # Relative to an image that has none of the labels.
    logs = np.zeros(len(known.labels))
    logs[answers] = has - lacks
    weights = _sums(known, logs)
    refined = np.sort(_top(weights, _REFINED))
    chances = _unlabeled(loaded, refined)
    by_model = _log_likelihood(signs, chances[:, answers], frequencies) - lacks
    weights[refined] += np.where(_has(known, refined, answers), 0.0, by_model).sum(axis=1)
    weights = np.exp(weights - weights.max())
    return weights / weights.sum(), refined, chances


def _frequencies(known: Annotations) -> Doubles:
    """Return the share of the images that have a label; a label without an image counts as one with one."""
    return np.maximum(known.images_per_label, 1) / len(known.images)


def _log_likelihood(yes: NDArray[np.bool_], present: Doubles | Floats | float, frequencies: Doubles) -> Doubles:
    """Return the logarithm of the probability of answers, given the probability that the labels are present."""
    says_yes = _says_yes(present, frequencies)
    return np.log(np.where(yes, says_yes, 1.0 - says_yes))


def _says_yes(present: Doubles | Floats | float, frequencies: Doubles) -> Doubles:
    """Return the probability that the answer is yes, given the probability that the label is present."""
    return (1.0 - SLIP) * present + SLIP * np.minimum(frequencies, 1.0 - 1e-9)


def _unlabeled(loaded: LoadedModel, images: Numbers) -> Floats:
    """Return the probability that a label is missing from an image, images x labels; 0 for labels that it has."""
    model, known = loaded.model, loaded.known
    rows, counts = known.rows(images), known.labels_per_image[images]
    scores = model.scores(images, known)
    scores[np.repeat(np.arange(len(images)), counts), rows.indices] = -np.inf
    temperatures = loaded.temperature(counts)
    shares = softmax_shares(scores, log_totals(scores, temperatures)[:, None], temperatures[:, None])
    per_image = max(1.0, known.pairs / len(known.images))
    return np.asarray(-UNLABELED * np.expm1(-np.float32(per_image) * shares), np.float32)


def _has(known: Annotations, images: Numbers, labels: Numbers) -> NDArray[np.bool_]:
    """Return whether images have labels, images x labels."""
    rows = known.rows(images)
    column = np.full(len(known.labels), -1)
    column[labels] = np.arange(len(labels))
    image, columns = np.repeat(np.arange(len(images)), np.diff(rows.indptr)), column[rows.indices]
    has = np.zeros((len(images), len(labels)), np.bool_)
    has[image[columns >= 0], columns[columns >= 0]] = True
    return has


@one_thread()
def _gains(known: Annotations, weights: Doubles, refined: Numbers, chances: Floats) -> tuple[Doubles, Doubles]:
    """Return, of each label, the probability that the answer is yes and the mutual information of answer and image."""
    frequencies = _frequencies(known)
    has = _weighted_counts(known, weights)
    with_label = _says_yes(1.0, frequencies)
    without = _says_yes(UNLABELED * frequencies, frequencies)
    says_yes = has * with_label + (1.0 - has) * without
    gains = _entropy(says_yes) - has * _entropy(with_label) - (1.0 - has) * _entropy(without)
    # The model corrects the best of them: for a label that a likely image probably lacks by mistake.
    best = np.sort(np.argpartition(-gains, min(_CANDIDATES, len(gains) - 1))[:_CANDIDATES])
    of_refined = weights[refined]
    lacks = ~_has(known, refined, best)
    scored = np.where(lacks, _says_yes(chances[:, best], frequencies[best]), 0.0)
    more_yes = of_refined @ np.where(lacks, scored - without[best], 0.0)
    more_noise = of_refined @ np.where(lacks, _entropy(scored) - _entropy(without[best]), 0.0)
    gains[best] += _entropy(says_yes[best] + more_yes) - _entropy(says_yes[best]) - more_noise
    says_yes[best] += more_yes
    others = np.ones(len(gains), np.bool_)
    others[best] = False
    gains[others] = -np.inf
    return says_yes, gains


def _entropy(share: Doubles) -> Doubles:
    """Return the entropy of a yes-or-no answer, in nats."""
    inside = np.clip(share, 1e-12, 1.0 - 1e-12)
    return -(inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside))


def _sums(known: Annotations, values: Doubles) -> Doubles:
    """Return the sum of the values of its labels, of every image."""
    sums = np.zeros(len(known.images))
    for first, last, indices in _blocks(known):
        starts = known.indptr[first:last] - known.indptr[first]
        filled = np.diff(known.indptr[first : last + 1]) > 0
        if filled.any():
            sums[first:last][filled] = np.add.reduceat(values[indices], starts[filled])
    return sums


def _weighted_counts(known: Annotations, weights: Doubles, images: Numbers | None = None) -> Doubles:
    """Return the sum of the weights of the images that have a label, of every label; of all or of some images."""
    labels = len(known.labels)
    if images is None:
        images = _likely(weights)
        weights = weights if images is None else weights[images]
    if images is not None:
        rows = take_rows(known.indptr, known.indices, images)
        return np.asarray(np.bincount(rows.indices, np.repeat(weights, np.diff(rows.indptr)), labels), np.float64)
    counts = np.zeros(labels)
    for first, last, indices in _blocks(known):
        of_pairs = np.repeat(weights[first:last], np.diff(known.indptr[first : last + 1]))
        counts += np.bincount(indices, of_pairs, labels)
    return counts


def _likely(weights: Doubles) -> Numbers | None:
    """Return the images that are not negligible; None if most are not."""
    likely = np.flatnonzero(weights > _NEGLIGIBLE / len(weights))
    return likely if len(likely) < len(weights) / 4 else None


def _blocks(known: Annotations) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """Yield the first image, the end and the labels of blocks of images."""
    for first in range(0, len(known.images), _BLOCK):
        last = min(first + _BLOCK, len(known.images))
        yield first, last, known.indices[known.indptr[first] : known.indptr[last]]


def _top(weights: Doubles, count: int) -> Numbers:
    """Return the images with the highest weights, highest first; of equal ones, the first."""
    if len(weights) > count:
        lowest = np.partition(weights, -count)[-count]
        above = np.flatnonzero(weights > lowest)
        equal = np.flatnonzero(weights == lowest)[: count - len(above)]
        candidates = np.concatenate([above, equal])
    else:
        candidates = np.arange(len(weights))
    return candidates[np.lexsort((candidates, -weights[candidates]))]
