"""Run benchmarks and report on them.

python -m benchmarks                    all, in full: results are stored, docs/benchmarks.md is rewritten
python -m benchmarks speed labels       some
python -m benchmarks speed --quick      small sizes, to see that it works: nothing is stored
python -m benchmarks report             docs/benchmarks.md from the stored results, without a new run
"""

from __future__ import annotations

import argparse
import time

from benchmarks.core.machine import machine
from benchmarks.core.report import DOCUMENT, markdown, rewritten, section
from benchmarks.core.results import Result, load, store
from benchmarks.suite import SUITE


def main(arguments: list[str] | None = None) -> None:
    """Measure, store, judge; a promise that does not hold is shown, and is no failure of the run."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUITE)}, or report")
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in (*SUITE, "report")]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(SUITE)}, and report")
    if given.names == ["report"]:
        report()
        return
    for name in given.names or SUITE:
        run(name, given.quick)
    if not given.quick:
        report()


def run(name: str, quick: bool) -> None:
    """Measure one benchmark and show what came out."""
    benchmark = SUITE[name]
    print(f"== {name}: {benchmark.claim}", flush=True)
    facts = machine()  # before the run: its load must not be our own
    started = time.perf_counter()
    raw = benchmark.measure(benchmark.quick if quick else benchmark.full)
    seconds = time.perf_counter() - started
    print()
    for block in (*markdown(benchmark.score(raw)), *(f"Skipped: {sentence}" for sentence in raw["skipped"])):
        print(f"{block}\n")
    if quick:
        print(f"{seconds:.1f} s; sizes are small, nothing is stored\n", flush=True)
    else:
        print(f"{seconds:.1f} s; stored in {store(name, Result(facts, seconds, raw))}\n", flush=True)


def report() -> None:
    """Write what is stored into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = {name: section(benchmark, load(name)) for name, benchmark in SUITE.items()}
    DOCUMENT.write_text(rewritten(text, sections), encoding="utf-8")
    print(f"{DOCUMENT} is made from the stored results")


if __name__ == "__main__":
    main()
