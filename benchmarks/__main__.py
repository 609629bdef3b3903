"""Run benchmarks, store their results and update docs/benchmarks.md, docs/training.md and README.md.

python -m benchmarks                    run all at full size, store the results and rewrite the documents
python -m benchmarks speed labels       run some
python -m benchmarks speed --quick      run at small sizes as a smoke test; nothing is stored
python -m benchmarks report             rewrite the documents from the stored results without running anything
"""

from __future__ import annotations

import argparse
import time

from benchmarks.accuracy import departures
from benchmarks.core import readme
from benchmarks.core.report import DOCUMENT, fill_sections, markdown, section
from benchmarks.core.results import Result, load, machine, store
from benchmarks.suite import SUITE


def main(arguments: list[str] | None = None) -> None:
    """Run the named benchmarks. A missed promise appears in the output but does not fail the run."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUITE)}, or report")
    parser.add_argument("--quick", action="store_true", help="use small sizes; nothing is stored")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in (*SUITE, "report")]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; choose from {', '.join(SUITE)}, or report")
    if given.names == ["report"]:
        report()
        return
    for name in given.names or SUITE:
        run(name, given.quick)
    if not given.quick:
        report()


def run(name: str, quick: bool) -> None:
    """Run one benchmark, print its scores and, unless ``quick``, store its result."""
    benchmark = SUITE[name]
    print(f"== {name}: {benchmark.claim}", flush=True)
    facts = machine()  # before the run, so that the load average does not include this benchmark
    started = time.perf_counter()
    raw = benchmark.measure(benchmark.quick if quick else benchmark.full)
    seconds = time.perf_counter() - started
    print()
    for block in (*markdown(benchmark.score(raw)), *(f"Skipped: {reason}" for reason in raw["skipped"])):
        print(f"{block}\n")
    if quick:
        print(f"{seconds:.1f} s at small sizes; nothing was stored\n", flush=True)
    else:
        print(f"{seconds:.1f} s; stored in {store(name, Result(facts, seconds, raw))}\n", flush=True)


def report() -> None:
    """Rewrite the generated parts of docs/benchmarks.md and docs/training.md, and the results of README.md."""
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = {name: section(benchmark, load(name)) for name, benchmark in SUITE.items()}
    DOCUMENT.write_text(fill_sections(text, sections), encoding="utf-8")
    print(f"updated {DOCUMENT} from the stored results")
    training = departures.DOCUMENT
    table = {"departures": departures.training_table(load("departures"))}
    training.write_text(fill_sections(training.read_text(encoding="utf-8"), table), encoding="utf-8")
    print(f"updated {training} from the stored results")
    readme.write()


if __name__ == "__main__":
    main()
