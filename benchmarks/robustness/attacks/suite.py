"""All attacks as one benchmark, and the table of SECURITY.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Parts, Raw, Score, Table, log
from benchmarks.core.parts import measure_parts
from benchmarks.core.report import fill_sections, markdown_table
from benchmarks.core.results import Result
from benchmarks.core.sources import ROOT
from benchmarks.robustness.attacks.attack import Attack
from benchmarks.robustness.attacks.catalogs import CATALOGS
from benchmarks.robustness.attacks.hub import HUB
from benchmarks.robustness.attacks.kills import KILLS
from benchmarks.robustness.attacks.metadata import METADATA
from benchmarks.robustness.attacks.races import RACES
from benchmarks.robustness.attacks.repeated import REPEATED
from benchmarks.robustness.attacks.scale import SCALE
from benchmarks.robustness.attacks.settings import SETTINGS

DOCUMENT = ROOT / "SECURITY.md"
ALL: dict[str, Attack] = {**KILLS, **METADATA, **CATALOGS, **SETTINGS, **RACES, **HUB, **SCALE, **REPEATED}


@dataclass(frozen=True)
class Sizes:
    """Which attacks run, and whether at full size."""

    names: tuple[str, ...] = tuple(ALL)
    full: bool = True


def _try(sizes: Sizes, name: str) -> Raw:
    attack = ALL[name]
    found = asdict(attack.run(attack.times if sizes.full else attack.quick))
    log(f"{name}: {found['tried']} tried, {len(found['faults'])} did not hold")
    return found if found["skipped"] else {key: value for key, value in found.items() if key != "skipped"}


PARTS = Parts[Sizes](lambda sizes: sizes.names, _try, lambda _: ())


def _measure(sizes: Sizes) -> Raw:
    return measure_parts(PARTS, sizes).raw


def _score(raw: Raw) -> Score:
    found = [part["raw"] for part in raw["parts"].values()]
    faults = [fault for one in found for fault in one["faults"]]
    rows = [(name, *_counts(part["raw"])) for name, part in raw["parts"].items()]
    return Score(
        [
            Check("attacks tried", sum(one["tried"] for one in found), "at least", 1_000, digits=0),
            Check("attacks that did harm", len(faults), "at most", 0, digits=0),
        ],
        [Table(("attack", "tried", "survived"), rows)],
        faults[:20],
    )


def _counts(found: Raw) -> tuple[str, str]:
    return f"{found['tried']:,}", f"{found['tried'] - len(found['faults']):,}"


def table(result: Result | None) -> str:
    """Return the table of SECURITY.md: every attack whole, or with the reason why not."""
    parts = result.raw["parts"] if result else {}
    return markdown_table(
        Table(
            ("attack", "when first tried by hand", "tried", "survived", "now", "measured"),
            [_row(attack, parts.get(name)) for name, attack in ALL.items()],
        )
    )


def _row(attack: Attack, part: Raw | None) -> tuple[str, ...]:
    if part is None:
        return attack.what, attack.before, "", "", "not run yet", ""
    found, facts = part["raw"], part["machine"]
    measured = f"{facts['date']}, {facts['commit']}"
    if "skipped" in found:
        return attack.what, attack.before, "", "", f"not run: {found['skipped']}", measured
    faults: Sequence[str] = found["faults"]
    now = f"**{len(faults)} not: {faults[0]}**" if faults else found["seen"]
    return attack.what, attack.before, *_counts(found), now.replace("|", "\\|"), measured


def filled(result: Result | None, document: Path = DOCUMENT) -> str:
    """Return SECURITY.md with the table of these results."""
    return fill_sections(document.read_text(encoding="utf-8"), {"attacks": table(result)})


ATTACKS = Benchmark(
    "attacks",
    "Hostile input, killed processes and races do no harm.",
    Sizes(),
    Sizes(full=False),
    _measure,
    _score,
    measures=(),  # each row has its commit; the tests hold it from then on
    timed=False,
    parts=PARTS,
)
