"""Run benchmarks, store their results and update the documents that have generated parts.

python -m benchmarks                    run all at full size, store the results and rewrite the documents
python -m benchmarks speed labels       run some
python -m benchmarks speed --quick      run at small sizes as a smoke test; nothing is stored
python -m benchmarks speed --allow-busy store the result even if other processes used the cores meanwhile
python -m benchmarks rivals             measure the parts of `rivals` that are not stored yet
python -m benchmarks rivals --only ours measure some parts again: those with this word in their name
python -m benchmarks report             rewrite the documents from the stored results without running anything
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from benchmarks.accuracy import ablation, components, departures
from benchmarks.core import readme
from benchmarks.core.load import LIMIT, OtherProcesses
from benchmarks.core.parts import chosen_parts, measure_parts
from benchmarks.core.report import DOCUMENT, fill_sections, markdown, section
from benchmarks.core.results import Result, load, machine, store
from benchmarks.core.sources import digests
from benchmarks.rivals import chart
from benchmarks.robustness.attacks import suite as attacks
from benchmarks.scale import cost_model
from benchmarks.speed import effort_chart
from benchmarks.suite import SUITE


def main(arguments: list[str] | None = None) -> None:
    """Run the named benchmarks; exit with status 1 if a result was refused, or a required check was missed.

    Any other missed promise appears in the output but does not fail the run.
    """
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUITE)}, or report")
    parser.add_argument("--quick", action="store_true", help="use small sizes; nothing is stored")
    parser.add_argument("--allow-busy", action="store_true", help="store times of a busy machine, marked as such")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PART", help="measure these parts of a benchmark again"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in (*SUITE, "report")]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; choose from {', '.join(SUITE)}, or report")
    for name in (given.names or SUITE) if given.only else ():
        parts = SUITE[name].parts if name in SUITE else None
        if parts is None:
            parser.error(f"--only selects parts of a benchmark, and {name} has none")
        try:
            chosen_parts(parts.names(SUITE[name].full), given.only, {})
        except ValueError as error:
            parser.error(str(error))
    if given.names == ["report"]:
        report()
        return
    failed = []
    for name in given.names or SUITE:
        if SUITE[name].parts is not None and not given.quick:
            run_parts(name, given.only)
        elif not run(name, given.quick, given.allow_busy):
            failed.append(name)
    if not given.quick:
        report()
    if failed:
        sys.exit(1)


def run(name: str, quick: bool, allow_busy: bool) -> bool:
    """Run one benchmark, print its scores and, unless ``quick``, store its result.

    Returns False if a required check was missed, or the result was refused because other processes used the cores.
    """
    benchmark = SUITE[name]
    sizes = benchmark.quick if quick else benchmark.full
    print(f"== {name}: {benchmark.claim}", flush=True)
    facts = machine()  # before the run, so that the load average does not include this benchmark
    sources = digests(benchmark.measures)  # before the run, in case someone edits meanwhile
    started = time.perf_counter()
    with OtherProcesses() as others:
        raw = benchmark.measure(sizes)
    seconds = time.perf_counter() - started
    print()
    score = benchmark.score(raw)
    missed = [check.name for check in score.checks if check.required and check.missed]
    for block in (*markdown(score), *(f"Skipped: {reason}" for reason in raw["skipped"])):
        print(f"{block}\n")
    if quick:
        print(f"{seconds:.1f} s at small sizes; nothing was stored\n", flush=True)
        return True  # too small to judge
    if benchmark.timed and not allow_busy and others.cores is not None and others.cores > LIMIT:
        print(
            f"the result of {name} was not stored: other processes used {others.cores:.2f} cores meanwhile, more than "
            f"{LIMIT:g}; run it again on a quiet machine, or with --allow-busy\n",
            file=sys.stderr,
            flush=True,
        )
        return False
    facts |= {"repetitions": benchmark.repetitions(sizes)}
    if others.cores is not None:
        facts |= {"others": round(others.cores, 2)}
    print(f"{seconds:.1f} s; stored in {store(name, Result(facts, seconds, raw, sources))}\n", flush=True)
    for one in missed:
        print(f"{name} failed: {one}", file=sys.stderr, flush=True)
    return not missed


def run_parts(name: str, only: Sequence[str] = ()) -> None:
    """Measure the parts of a benchmark that are not stored, or those named by ``only`` again, and store each."""
    benchmark = SUITE[name]
    if benchmark.parts is None:
        raise ValueError(f"{name} has no parts")
    print(f"== {name}: {benchmark.claim}", flush=True)
    result = measure_parts(
        benchmark.parts, benchmark.full, only, load(name), lambda found: print(f"stored in {store(name, found)}")
    )
    for block in markdown(benchmark.score(result.raw)):
        print(f"{block}\n")


def report() -> None:
    """Rewrite the generated parts of docs/benchmarks.md and of other pages, and the results of README.md."""
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = {name: section(benchmark, load(name)) for name, benchmark in SUITE.items()}
    DOCUMENT.write_text(fill_sections(text, sections), encoding="utf-8")
    print(f"updated {DOCUMENT} from the stored results")
    training = departures.DOCUMENT
    table = {"departures": departures.training_table(load("departures"))}
    training.write_text(fill_sections(training.read_text(encoding="utf-8"), table), encoding="utf-8")
    print(f"updated {training} from the stored results")
    context = ablation.DOCUMENT
    found = {
        "ablation-summary": ablation.summary(load("ablation")),
        "components-table": components.tables(load("components")),
    }
    context.write_text(fill_sections(context.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(f"updated {context} from the stored results")
    scale = cost_model.DOCUMENT
    scale.write_text(cost_model.filled(scale.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"updated {scale} from the cost model")
    attacks.DOCUMENT.write_text(attacks.filled(load("attacks")), encoding="utf-8")
    print(f"updated {attacks.DOCUMENT} from the stored results")
    readme.write()
    chart.write()
    effort_chart.write()


if __name__ == "__main__":
    main()
