"""The chart of effort against accuracy, docs/effort.svg, from the stored result of `default`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.core.benchmark import Raw
from benchmarks.core.readme import svg_file
from benchmarks.core.results import load
from benchmarks.speed.default import EFFORTS, by_data_set, effort, whole
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.svg import Size, text

CHART = Path(__file__).parents[2] / "docs" / "effort.svg"
_PANELS = {"recall@10": "recall@10", "mrr": "MRR"}
_WIDTH, _HEIGHT, _TOP = 380, 300, 34


def chart(raw: Raw) -> str:
    """Return recall@10 and MRR against CPU seconds, one marker for each of quick, default and thorough."""
    found = effort(by_data_set(whole(raw)))
    size = Size(width=_WIDTH, height=_HEIGHT, name="panel", ticks=5)
    parts = []
    for number, (metric, title) in enumerate(_PANELS.items()):
        line = Series("preset", [seconds for _, seconds, _ in found], [means[metric] for *_, means in found])
        inside, _ = LineChart(title, "CPU seconds of training, all data sets", title, [line]).draw(size)
        name = text(_WIDTH / 2 + 20, 16, f"{title}: quick, context, thorough", "middle", name="name")
        panel = f'{name}<g transform="translate(0 {_TOP - 8})">{inside}</g>'
        parts.append(f'<g transform="translate({_WIDTH * number} 8)">{panel}</g>')
    described = "; ".join(f"{name}: {seconds:.1f} s, {means['recall@10']:.4f}" for name, seconds, means in found)
    height = _HEIGHT + _TOP
    return svg_file(_WIDTH * len(parts), height, "Accuracy against effort", f"{described}.", "\n".join(parts))


def write() -> None:
    """Rewrite the chart, if the stored result has the presets."""
    result = load("default")
    if result is not None and {run["version"] for run in whole(result.raw)["runs"]} >= set(EFFORTS):
        CHART.write_text(chart(result.raw), encoding="utf-8")
        print(f"updated {CHART} from the stored results")
