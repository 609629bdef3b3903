from __future__ import annotations

from typing import Any

import pytest

from vse_ens.baselines.als import Als
from vse_ens.baselines.base import Popularity
from vse_ens.baselines.cooccurrence import Cooccurrence
from vse_ens.baselines.ease import Ease
from vse_ens.baselines.image_knn import ImageKnn
from vse_ens.baselines.registry import BASELINES, make_baseline
from vse_ens.errors import ConfigError


def test_every_name_makes_its_baseline() -> None:
    assert [make_baseline(name) for name in BASELINES] == [Popularity(), Cooccurrence(), Ease(), ImageKnn(), Als()]
    assert make_baseline("ease", regularization=5.0) == Ease(regularization=5.0)


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("eas", {}, "baseline must be one of popularity, cooccurrence, ease, image-knn, als; got 'eas'"),
        ("popularity", {"power": 2}, "unknown setting 'power' of the baseline popularity; it has no settings"),
        ("ease", {"reg": 2}, "unknown setting 'reg' of the baseline ease; choose one of regularization, memory_limit"),
        ("ease", {"regularization": 0}, "regularization of ease must be a number above 0, got 0"),
        ("ease", {"regularization": float("nan")}, "regularization of ease must be a number above 0, got nan"),
        ("ease", {"regularization": "auto"}, "regularization of ease must be a number above 0, got 'auto'"),
        ("ease", {"memory_limit": True}, "memory_limit of ease must be a number above 0, got True"),
        ("cooccurrence", {"aggregation": "max"}, "aggregation of cooccurrence must be one of sum, vote; got 'max'"),
        ("cooccurrence", {"candidates": 0}, "candidates of cooccurrence must be an integer of at least 1, got 0"),
        ("cooccurrence", {"rank": -1}, "rank of cooccurrence must be a number of at least 0, got -1"),
        ("image-knn", {"power": 0}, "power of image-knn must be a number above 0, got 0"),
        ("als", {"factors": 2.5}, "factors of als must be an integer of at least 1, got 2.5"),
        ("als", {"alpha": 0}, "alpha of als must be a number above 0, got 0"),
        ("als", {"seed": -1}, "seed must be an integer"),
    ],
)
def test_a_bad_setting_is_named(name: str, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_baseline(name, **settings)
    assert str(caught.value).startswith(sentence)
