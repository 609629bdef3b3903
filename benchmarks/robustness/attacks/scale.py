"""Sizes that overwhelm: memory of training on five million pairs, an audit and its page with 20,000 labels."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.core.data_sets import zipf
from benchmarks.core.process import PeakPrivateRam, call, peak_bytes
from benchmarks.robustness.attacks.attack import Attack, Outcome, command
from vse_ens.annotator import Annotator

_PAIRS_PER_IMAGE = 9  # of which about 8 are distinct
_PRESETS = ("opt-auc", "vse-ens", "warp")
_FULL = 5_000_000


def ram(times: int) -> Outcome:
    """Train on ``times`` pairs with several presets, each in a process of its own."""
    outcome, seen = Outcome(), []
    for preset in _PRESETS:
        found = call(train, preset, times)
        share = found["used"] / found["bound"]
        outcome.check(share <= 1, f"{preset} used {found['used'] / 1e6:,.0f} of {found['bound'] / 1e6:,.0f} MB")
        seen.append(f"{preset} {share:.0%} of {found['bound'] / 1e6:,.0f} MB")
    outcome.seen = f"at {found['pairs']:,} pairs: {', '.join(seen)}"
    return outcome


def train(preset: str, pairs: int) -> dict[str, Any]:
    """Train an epoch and return the bytes that it used, and those of its bound."""
    Annotator(preset, epochs=1, workers=1, dimensions=32).fit(zipf(200, 50))  # kernels and libraries are loaded
    data = zipf(pairs // _PAIRS_PER_IMAGE, 20_000, _PAIRS_PER_IMAGE)
    model = Annotator(preset, epochs=1, workers=1, dimensions=32)
    bound = model.memory_estimate(data).total
    before = _private()
    with PeakPrivateRam() as peak:
        model.fit(data)
    return {"pairs": data.pairs, "used": peak.bytes - before, "bound": bound}


def _private() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024


_MOST_RAM = 3 << 30


def pages(times: int) -> Outcome:
    """Audit a model of ``times`` labels, with a page of all findings, and show its labels and images."""
    outcome, seen = Outcome(), []
    with tempfile.TemporaryDirectory() as place:
        made = call(make_model, place, times)
        for name, given in {
            "audit": ["audit", "{model}", "--out", "{place}/a.csv", "--page", "{place}/a.html"],
            "audit of 100,000 findings": ["audit", "{model}", "--top", "100000", "--page", "{place}/b.html"],
            "information": ["info", "{place}/pairs.csv"],
            "rules": ["rules", "propose", "{place}/pairs.csv", "--out", "{place}/r.csv"],
        }.items():
            found = call(run, [one.format(place=place, model=f"{place}/model") for one in given])
            outcome.check(
                not found["fault"] and found["ram"] < _MOST_RAM, f"{name}: {found['fault'] or found['ram']} at {made}"
            )
            seen.append(f"{name} {found['seconds']:.0f} s, {found['ram'] / 1e6:,.0f} MB")
        sizes = [path.stat().st_size for path in Path(place).glob("*.html")]
    outcome.seen = f"{'; '.join(seen)}; pages of {max(sizes) / 1e6:.1f} MB at most"
    return outcome


def make_model(place: str, labels: int) -> int:
    """Train and save a model of this many labels, some of them odd; return the number of its pairs."""
    images = labels
    rows = [(f"i{number}", f"l{label}") for number in range(images) for label in (number, number // 7, number % 97)]
    rows += [(f"i{number}", "<script>alert(1)</script>" + "x" * 900) for number in range(50)]
    text = "image,label\n" + "".join(f"{image},{label}\n" for image, label in rows)
    (Path(place) / "pairs.csv").write_text(text)
    Annotator("opt-auc", epochs=1, workers=1, dimensions=16).fit(f"{place}/pairs.csv").save(f"{place}/model")
    return len(rows)


def run(arguments: list[str]) -> dict[str, Any]:
    """Run ``vse`` and return its time and memory, and the error if it failed."""
    started, fault = time.process_time(), ""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            command(*arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it is, it is a fault
        fault = f"{type(error).__name__}: {error}"[:300]
    return {"seconds": time.process_time() - started, "ram": peak_bytes(), "fault": fault}


SCALE = {
    "memory": Attack("memory of a training on five million pairs, against its bound", ram, _FULL, 30_000),
    "20,000 labels": Attack(
        "an audit with its page, a summary and proposals of rules at 20,000 labels", pages, 20_000, 300
    ),
}
