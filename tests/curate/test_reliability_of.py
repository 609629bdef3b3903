from __future__ import annotations

import pytest

from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError
from vse_ens.evaluate.reliability import reliability


def test_reliability_equals_annotating_and_looking() -> None:
    train, test = scenes(images=300, labels=60, seed=0).leave_one_out(seed=0)
    model = Annotator(epochs=2, dimensions=8, negatives=4).fit(train)
    # Another vocabulary, an image and a label that the model does not know.
    pairs = [(image, label) for image in list(test.images)[::-1] for label in test.labels_of(image)]
    told = Annotations.from_pairs([*pairs, ("an unknown one", "sky"), (pairs[0][0], "an unknown label")])
    confidences, hits = [], []
    for image in test.images:
        if test.labels_of(image):
            for one in model.annotate(image, top=3):
                confidences.append(one.hit)
                hits.append(one.label in test.labels_of(image))
    expected = reliability(confidences, hits)
    found = model.reliability(told, top=3)
    assert [one.count for one in found] == [one.count for one in expected]
    assert [one.right for one in found] == pytest.approx([one.right for one in expected])
    assert [one.confidence for one in found] == pytest.approx([one.confidence for one in expected])


def test_models_without_confidences_are_refused() -> None:
    data = scenes(images=100, labels=50, seed=0)
    model = Annotator("opt-auc", epochs=1, dimensions=4).fit(data)
    with pytest.raises(ConfigError, match="this model has no confidences"):
        model.reliability(data)
    with pytest.raises(ConfigError, match="none of the held-out pairs has an image and a label that the model knows"):
        model.reliability(Annotations.from_pairs([("an unknown one", "sky")]))
