"""Numbers reported by the paper: Guo, Zhai, Yuan, Liu, Wang, "VSE-ens", AAAI 2018 (arXiv 1801.01632).

Only numbers with a known source are listed, each with that source. `PaperNumbers.with_file` adds other cells of the
paper's tables from a JSON file; docs/reproduce.md shows one.
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
"""The columns of table 2; ``auc`` is the paper's column of that name, which corresponds to our ``auc@10``."""

COMPLEXITY = {
    # Section 3 and table 3; DESIGN.md of this project quotes them.
    "uniform": "O(k)",
    "warp": "O(N k), N up to |A| - 1",
    "vse-ens": "O(k), and a refresh every |A| ln |A| draws",
    "naive": "O(|A| k + |A| log |A|)",
}


@dataclass(frozen=True)
class PaperNumbers:
    """The known cells of the paper's tables, by data set, model and metric."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """Table 1."""
    accuracy: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Table 2."""
    training_time: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Table 4, in the paper's unit."""
    speed_up: Mapping[str, float] = field(default_factory=dict)
    """Stated ratio of the convergence time of the state of the art to that of VSE-ens."""

    def with_file(self, path: str | Path) -> PaperNumbers:
        """Return the numbers with the cells of a JSON file added; the file takes precedence."""
        file = _NumbersFile(Path(path))
        tables = file.mapping("", file.read(), ("table1", "table2", "table4", "speed_up"))
        shapes = {
            data_set: file.shape(f"table1.{data_set}", counts)
            for data_set, counts in file.mapping("table1", tables.get("table1", {}), DATA_SETS).items()
        }
        accuracy = {
            data_set: {
                model: file.numbers(f"table2.{data_set}.{model}", cells, METRICS)
                for model, cells in file.mapping(f"table2.{data_set}", models, MODELS).items()
            }
            for data_set, models in file.mapping("table2", tables.get("table2", {}), DATA_SETS).items()
        }
        times = {
            data_set: file.numbers(f"table4.{data_set}", cells, MODELS)
            for data_set, cells in file.mapping("table4", tables.get("table4", {}), DATA_SETS).items()
        }
        speed_up = file.numbers("speed_up", tables.get("speed_up", {}), DATA_SETS)
        return PaperNumbers(
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
        """Return the numbers in the form of the JSON file."""
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


KNOWN_NUMBERS = PaperNumbers(
    # Table 2, the row of VSE-ens on IAPR-TC12: DESIGN.md of this project.
    accuracy={"iaprtc12": {"vse-ens": {"recall@10": 0.436, "map": 0.184}}},
    # The abstract.
    speed_up={"iaprtc12": 2.5, "nuswide": 2.06, "openimages": 5.02},
)


@dataclass(frozen=True)
class _NumbersFile:
    """A JSON file of cells; errors name the path of the faulty key."""

    path: Path

    def read(self) -> object:
        try:
            return json.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{self.path} could not be read: {error.strerror or error}") from error
        except ValueError as error:
            raise DataError(f"{self.path} is not JSON: {error}") from error

    def mapping(self, key: str, value: object, known: Mapping[str, Any] | tuple[str, ...]) -> dict[str, Any]:
        where = f"{self.path}, {key}" if key else f"{self.path}"
        if not isinstance(value, dict):
            raise DataError(f"{where}: expected an object with names and values, got {value!r}")
        for name in value:
            if name not in known:
                raise DataError(f"{where}: {name!r} is unknown; use one of {', '.join(known)}")
        return value

    def numbers(self, key: str, value: object, known: Mapping[str, Any] | tuple[str, ...]) -> dict[str, float]:
        cells = self.mapping(key, value, known)
        for name, number in cells.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < float("inf"):
                raise DataError(f"{self.path}, {key}.{name}: expected a number of at least 0, got {number!r}")
        return cells

    def shape(self, key: str, value: object) -> Shape:
        names = ("images", "labels", "train", "test")
        counts = self.numbers(key, value, names)
        missing = [name for name in names if not isinstance(counts.get(name), int)]
        if missing:
            raise DataError(f"{self.path}, {key}: {missing[0]} must be a whole number")
        try:
            return Shape(*(int(counts[name]) for name in names))
        except ValueError as error:
            raise DataError(f"{self.path}, {key}: {error}") from error
