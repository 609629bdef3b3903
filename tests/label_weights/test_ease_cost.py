from __future__ import annotations

import pytest

from vse_ens.errors import ConfigError
from vse_ens.label_weights import closed_form


def test_too_much_memory_is_refused_before_the_work() -> None:
    with pytest.raises(ConfigError) as caught:
        closed_form.check_cost(100_000, memory_limit=4.0, time_limit=600.0)
    assert str(caught.value) == (
        f"ease needs about {closed_form.ram_needed(100_000):,.1f} GB of RAM for 100,000 labels, more than its "
        "memory_limit of 4 GB; raise the limit, leave out rare labels with min_images_per_label, or use cooccurrence, "
        "whose cost grows with the pairs"
    )


def test_too_much_time_is_refused_before_the_work() -> None:
    with pytest.raises(ConfigError, match=r"ease needs about .* seconds for 20,000 labels, more than its time_limit"):
        closed_form.check_cost(20_000, memory_limit=1e6, time_limit=0.01)


def test_few_labels_are_not_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_form, "time_needed", lambda labels: pytest.fail(f"{labels} labels need no trial"))
    closed_form.check_cost(2_000, memory_limit=4.0, time_limit=0.01)
