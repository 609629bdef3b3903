"""The numbers that the paper prints, from ``paper.toml``."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

# In the order of the paper.
DATA_SETS = {"openimages": "Open Images", "nuswide": "NUS-WIDE", "iaprtc12": "IAPR-TC12"}
MODELS = {"vse-ens": "VSE-ens", "warp": "WARP", "opt-auc": "Opt-AUC"}
RIVALS = ("warp", "opt-auc")

PAPER: dict[str, Any] = tomllib.loads(files(__package__).joinpath("paper.toml").read_text(encoding="utf-8"))
"""All numbers by table and figure. Decimals are strings, with the digits that the paper prints."""

METRICS: tuple[str, ...] = tuple(PAPER["table2"]["columns"])
"""The columns of table 2. ``auc`` is the paper's column of that name, which must be our ``auc@10``."""

ITERATIONS: dict[str, int] = PAPER["convergence"]["iterations"]


def number(text: str) -> float:
    """Return a printed number, such as ``"2,100"``."""
    return float(text.replace(",", ""))


def rounding(text: str) -> float:
    """Return half a unit of the last digit that is not a trailing zero of a whole number: 0.3900 to 0.00005, 900 to 50.

    The paper gives the levels of figure 1 as "about" a number of hundreds or tens.
    """
    digits = text.replace(",", "")
    if "." in digits:
        return 0.5 * 10.0 ** -len(digits.split(".")[1])
    return 0.5 * 10.0 ** (len(digits) - len(digits.rstrip("0")))


def printed(data_set: str, row: str) -> dict[str, str]:
    """Return a row of table 2, a model or ``improve``, by metric."""
    return dict(zip(METRICS, PAPER["table2"][data_set][row], strict=True))


def improvement_from_cells(data_set: str, metric: str) -> float:
    """Return the gain of VSE-ens over WARP in percent, computed from the printed cells of table 2."""
    ours, warp = (number(printed(data_set, model)[metric]) for model in ("vse-ens", "warp"))
    return 100.0 * (ours / warp - 1.0)


def speed_up_from_hours(data_set: str) -> float:
    """Return the hours of WARP divided by those of VSE-ens in table 4."""
    return number(PAPER["table4"]["warp"][data_set]) / number(PAPER["table4"]["vse-ens"][data_set])


def implied_candidates(data_set: str, model: str) -> float:
    """Return |C| in auc@10 = 0.5 + R/2 - R (r - 1) / (|C| - 1), from the printed cells of a row.

    The mean rank r of hits is taken as if they lay evenly in ranks 1 to 5 and in ranks 6 to 10.
    """
    cells = {metric: number(text) for metric, text in printed(data_set, model).items()}
    first, recall = cells["recall@5"], cells["recall@10"]
    below_first = (first * 3.0 + (recall - first) * 8.0) / recall - 1.0
    return 1.0 + recall * below_first / (0.5 + recall / 2.0 - cells["auc"])
