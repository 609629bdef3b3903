"""`fit` on a real Ray cluster: the bytes of the same shards in one process."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.training_runs import bytes_of, small_data
from vse_ens.annotator import Annotator

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="no Ray to test with: pip install 'vse-ens[cluster]'"
    ),
    # Ray leaves sockets and files for the garbage collector to close.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]

SETTINGS: dict[str, Any] = {"dimensions": 8, "epochs": 2, "negatives": 4, "shards": 3}


def test_fit_on_a_cluster_gives_the_same_bytes(cluster: Any, tmp_path: Path) -> None:
    data = small_data()
    here = Annotator(seed=3, **SETTINGS).fit(data)
    there = Annotator(seed=3, **SETTINGS).fit(data, cluster="ray", address=cluster.address, checkpoint=tmp_path / "run")
    assert not there.interrupted_
    assert there.training_ == here.training_
    assert there.training_["complete"]
    assert bytes_of(there.model_) == bytes_of(here.model_)
    image = data.images.id(0)
    assert there.annotate(image) == here.annotate(image)


def test_a_cluster_has_eight_shards_unless_set(cluster: Any) -> None:
    settings = {name: value for name, value in SETTINGS.items() if name != "shards"}
    data = small_data()
    there = Annotator(preset="vse-ens", **settings).fit(data, cluster="ray", address=cluster.address)
    assert there.config_.shards == 8
    assert bytes_of(there.model_) == bytes_of(Annotator(preset="vse-ens", **settings, shards=8).fit(data).model_)
