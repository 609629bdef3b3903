"""What the paper reports: Guo, Zhai, Yuan, Liu, Wang, "VSE-ens", AAAI 2018 (arXiv 1801.01632).

Only numbers that were seen in a source are here, each with that source. The rest of the paper's tables is not at hand;
who has the paper can hand it in as a JSON file, which `Paper.with_file` merges in (docs/reproduce.md shows one).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vse_ens.errors import DataError
from vse_ens.experiments.paper.stand_ins import Shape

DATA_SETS = {"iaprtc12": "IAPR-TC12", "nuswide": "NUS-WIDE", "openimages": "Open Images"}
MODELS = {"vse-ens": "VSE-ens", "warp": "WARP", "opt-auc": "Opt-AUC"}
METRICS = ("precision@5", "recall@5", "precision@10", "recall@10", "map", "auc")
"""The columns of table 2; ``auc`` is the paper's column of that name, which is our ``auc@10``."""

COMPLEXITY = {
    # Section 3 and table 3; DESIGN.md of this project quotes them.
    "uniform": "O(k)",
    "warp": "O(N k), N up to |A| - 1",
    "vse-ens": "O(k), and a refresh every |A| ln |A| draws",
    "naive": "O(|A| k + |A| log |A|)",
}


@dataclass(frozen=True)
class Paper:
    """The cells of the paper's tables that are known, by data set, model and metric."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """Table 1."""
    accuracy: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Table 2."""
    training_time: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Table 4, in the paper's own unit."""
    speed_up: Mapping[str, float] = field(default_factory=dict)
    """How many times faster than the state of the art VSE-ens is said to converge."""

    def with_file(self, path: str | Path) -> Paper:
        """The same with the cells that a JSON file has, in place of known ones where both have them."""
        given = _Given(Path(path))
        tables = given.inside("", given.read(), ("table1", "table2", "table4", "speed_up"))
        shapes = {
            data_set: given.shape(f"table1.{data_set}", counts)
            for data_set, counts in given.inside("table1", tables.get("table1", {}), DATA_SETS).items()
        }
        accuracy = {
            data_set: {
                model: given.numbers(f"table2.{data_set}.{model}", cells, METRICS)
                for model, cells in given.inside(f"table2.{data_set}", models, MODELS).items()
            }
            for data_set, models in given.inside("table2", tables.get("table2", {}), DATA_SETS).items()
        }
        times = {
            data_set: given.numbers(f"table4.{data_set}", cells, MODELS)
            for data_set, cells in given.inside("table4", tables.get("table4", {}), DATA_SETS).items()
        }
        speed_up = given.numbers("speed_up", tables.get("speed_up", {}), DATA_SETS)
        return Paper(
            {**self.shapes, **shapes},
            {
                data_set: {
                    model: {
                        **self.accuracy.get(data_set, {}).get(model, {}),
                        **accuracy.get(data_set, {}).get(model, {}),
                    }
                    for model in {**self.accuracy.get(data_set, {}), **accuracy.get(data_set, {})}
                }
                for data_set in {**self.accuracy, **accuracy}
            },
            {
                data_set: {**self.training_time.get(data_set, {}), **times.get(data_set, {})}
                for data_set in {**self.training_time, **times}
            },
            {**self.speed_up, **speed_up},
        )

    def to_dict(self) -> dict[str, Any]:
        """As the JSON file has it."""
        return {
            "table1": {
                name: {"images": one.images, "labels": one.labels, "train": one.train, "test": one.test}
                for name, one in self.shapes.items()
            },
            "table2": {
                name: {model: dict(cells) for model, cells in models.items()} for name, models in self.accuracy.items()
            },
            "table4": {name: dict(cells) for name, cells in self.training_time.items()},
            "speed_up": dict(self.speed_up),
        }


KNOWN = Paper(
    # Table 2, the row of VSE-ens on IAPR-TC12: DESIGN.md of this project.
    accuracy={"iaprtc12": {"vse-ens": {"recall@10": 0.436, "map": 0.184}}},
    # The abstract.
    speed_up={"iaprtc12": 2.5, "nuswide": 2.06, "openimages": 5.02},
)


@dataclass(frozen=True)
class _Given:
    """A JSON file of cells; what is wrong in it is told with its place."""

    path: Path

    def read(self) -> object:
        try:
            return json.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{self.path} could not be read: {error.strerror or error}") from error
        except ValueError as error:
            raise DataError(f"{self.path} is not JSON: {error}") from error

    def inside(self, place: str, value: object, known: Mapping[str, Any] | tuple[str, ...]) -> dict[str, Any]:
        where = f"{self.path}, {place}" if place else f"{self.path}"
        if not isinstance(value, dict):
            raise DataError(f"{where}: names and values in braces are expected, got {value!r}")
        for name in value:
            if name not in known:
                raise DataError(f"{where}: {name!r} is none of {', '.join(known)}")
        return value

    def numbers(self, place: str, value: object, known: Mapping[str, Any] | tuple[str, ...]) -> dict[str, float]:
        found = self.inside(place, value, known)
        for name, number in found.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < float("inf"):
                raise DataError(f"{self.path}, {place}.{name}: a number is expected, got {number!r}")
        return found

    def shape(self, place: str, value: object) -> Shape:
        names = ("images", "labels", "train", "test")
        counts = self.numbers(place, value, names)
        missing = [name for name in names if not isinstance(counts.get(name), int)]
        if missing:
            raise DataError(f"{self.path}, {place}: {missing[0]} must be a whole number")
        try:
            return Shape(*(int(counts[name]) for name in names))
        except ValueError as error:
            raise DataError(f"{self.path}, {place}: {error}") from error
