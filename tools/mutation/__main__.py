"""Mutation testing.

python -m tools.mutation                      all areas
python -m tools.mutation feedback security    some
python -m tools.mutation feedback --sample 40 some mutants of each area, drawn by a seed

Scores are stored in benchmarks/results/mutants.json; areas that were not run keep theirs.
A run that was stopped continues where it stopped if it is started again with the same options and the same code.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.mutation.areas import AREAS, EQUIVALENT, Area
from tools.mutation.generate import Mutant, mutants
from tools.mutation.progress import Progress, digest_of
from tools.mutation.runner import import_libraries, record_lines, run_mutant

_ROOT_VARIABLE, _COMMIT_VARIABLE = "VSE_ENS_MUTATION_ROOT", "VSE_ENS_MUTATION_COMMIT"
# In the copy, it is the folder of the original.
ROOT = Path(os.environ.get(_ROOT_VARIABLE, Path(__file__).parents[2]))
# The same folder in every run, because the cache of compiled kernels depends on it.
COPY = ROOT / "build" / "mutants"
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
WANTED = 0.9
_HANG = 1_800.0  # seconds for all tests of an area, without a mutant
_COPIED = ("src", "tests", "benchmarks", "docs", "tools", "pyproject.toml", "README.md", "Makefile")


def main() -> None:
    """Run the named areas and store their scores; the exit code is 1 if a score is too low."""
    parser = argparse.ArgumentParser(
        "python -m tools.mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--sample", type=int, metavar="N", help="run N mutants of each area")
    parser.add_argument(
        "--budget", type=float, default=60.0, metavar="SECONDS", help="time of the tests per mutant, the fastest first"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    given = parser.parse_args()
    unknown = [name for name in given.areas if name not in AREAS]
    if unknown:
        parser.error(f"no area {unknown[0]!r}; choose from {', '.join(AREAS)}")
    if _ROOT_VARIABLE not in os.environ:
        _restart_in_copy()
    scores = [run_area(name, AREAS[name], given.sample, given.seed, given.budget) for name in given.areas or AREAS]
    sys.exit(min(scores) < WANTED)


def _restart_in_copy() -> None:
    """Copy the repository and start again there: the working tree is never changed."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, COPY / name)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    environment = os.environ | {
        "PYTHONPATH": f"{COPY / 'src'}:{COPY}",
        # A file changes more often than the times in compiled files can tell.
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(COPY.parent / "mutants-kernels"),
        "VSE_ENS_TEST_MODELS": str(COPY / "models"),  # made once, with the tests that have no mutant
        "VSE_ENS_TEST_PATIENCE": "8",
        _ROOT_VARIABLE: str(ROOT),
        _COMMIT_VARIABLE: commit,
    }
    os.chdir(COPY)
    os.execve(sys.executable, [sys.executable, "-m", "tools.mutation", *sys.argv[1:]], environment)


def run_area(name: str, area: Area, sample: int | None, seed: int, budget: float) -> float:
    """Run the mutants of an area, store the result and return the score."""
    files = {module: COPY / "src" / "vse_ens" / f"{module}.py" for module in area.modules}
    print(f"== {name}: tests without a mutant", flush=True)
    started = time.monotonic()
    found = record_lines(area.tests, list(files.values()), _HANG)
    if found is None:
        sys.exit(f"the tests of {name} fail without a mutant; run: pytest {' '.join(area.tests)}")
    recorder, libraries = found
    import_libraries(libraries)
    chosen = [
        (module, mutant)
        for module, file in files.items()
        for mutant in mutants(file.read_text(encoding="utf-8"))
        if (module, mutant.before, mutant.after) not in EQUIVALENT
    ]
    count = len(chosen)
    if sample is not None and sample < count:
        chosen = random.Random(seed).sample(chosen, sample)
    print(f"== {name}: {len(chosen)} of {count} mutants", flush=True)
    run = {"code": digest_of(COPY, ("src", "tests")), "sample": sample, "seed": seed, "budget": budget}
    progress = Progress(COPY.parent / "mutants-progress" / f"{name}.jsonl", run)
    survivors: list[dict[str, Any]] = []
    outcomes = {"killed": 0, "timeout": 0, "survived": 0}
    for number, (module, mutant) in enumerate(chosen, start=1):
        tests, seconds = recorder.tests_of(str(files[module]), mutant.line, budget)
        outcome = progress.get(module, mutant)
        if outcome is None:
            limit = 30.0 + 4.0 * seconds
            outcome = run_mutant(files[module], mutant.source, tests, limit) if tests else "survived"
            progress.add(module, mutant, outcome)
        outcomes[outcome] += 1
        if number % 20 == 0:
            print(f"   {number} of {len(chosen)}: {outcomes}", flush=True)
        if outcome == "survived":
            survivors.append(_document(module, mutant, len(tests)))
            print(f"   {module}.py:{mutant.line} ({len(tests)} tests)\n   - {mutant.before}\n   + {mutant.after}")
            sys.stdout.flush()
    score = 1.0 - outcomes["survived"] / max(1, len(chosen))
    print(f"== {name}: {score:.3f} of {len(chosen)} mutants noticed, {outcomes['timeout']} by a hang", flush=True)
    result = {
        "score": round(score, 4),
        "mutants": len(chosen),
        "of": count,
        **outcomes,
        "seed": seed,
        "budget": budget,
        "equivalent": sum(module in area.modules for module, _, _ in EQUIVALENT),
        "seconds": round(time.monotonic() - started, 1),
        "commit": os.environ[_COMMIT_VARIABLE],
        "date": datetime.now(UTC).date().isoformat(),
        "survivors": survivors,
    }
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    stored[name] = result
    ordered = {key: stored[key] for key in AREAS if key in stored}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return score


def _document(module: str, mutant: Mutant, tests: int) -> dict[str, Any]:
    return {"module": module, "line": mutant.line, "before": mutant.before, "after": mutant.after, "tests": tests}


if __name__ == "__main__":
    main()
