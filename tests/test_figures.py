"""Measured figures in README and the documentation are written by a command from stored results, never typed in.

A figure may stand between the markers of a generated section, in the output of an example, which is run, or in code.
Elsewhere, what looks measured is refused: accuracies, and times, sizes and ratios in sentences that say so. A limit, a
setting or a figure of the paper that looks alike is listed in `NOT_MEASURED`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))]

# Parts of lines that look measured and are not.
NOT_MEASURED = {
    "docs/architecture.md": ["takes less than 0.3 s"],  # a limit, held by a test
    "docs/paper-numbers.md": ["up to 0.0003", "λ of 0.001 to", "λ is 0.001 of"],  # of the paper and its code
    "docs/reproduce.md": ["λ of VSE-ens from 0.001 to 1", "from 0.001 to 0.1"],  # ranges of the paper
    "docs/scale.md": ["5 % unevenness"],  # an assumption of the cost model
    "docs/service.md": ["Likely mistakes are measured one by one"],  # numbers of images
    "docs/tuning.md": ["without either it takes 10 minutes"],  # a setting
    "docs/training.md": ["between 0.001 and 0.1", "tuned between 0.001 and 1"],
}

_ACCURACY = re.compile(r"(?<![\d.])[-+]?[01]\.\d{3,}(?!\d)|0\.\d\d+ / 0\.\d\d+|[-+]0\.0\d+")
_QUANTITY = re.compile(
    r"\d\s?(?:ns|µs|ms|s|(?:milli|micro|nano)?seconds?|minutes?|hours?|[kMG]i?B|times|draws|requests|images)\b|\d\s?%"
)
_MEASURED = re.compile(
    r"took|takes (?:about )?\d|measured|(?:draws|images|pairs|requests) a second|per second|at the peak|"
    r"peak (?:RAM|memory)|times as (?:fast|long|many)|faster"
)


def suspicious(text: str) -> list[tuple[int, str]]:
    """Lines of prose with what looks like a measured figure, by their numbers."""
    prose = re.sub(r"<!-- ([\w-]+)\b[^>]*-->\n.*?<!-- (?:/|end of )\1 -->", _blank, text, flags=re.DOTALL)
    prose = re.sub(r"^```.*?^```$", _blank, prose, flags=re.DOTALL | re.MULTILINE)
    lines = [
        (number, re.sub(r"`[^`]*`", "", line))
        for number, line in enumerate(prose.splitlines(), 1)
        if not line.startswith("    ")  # code
    ]
    return [
        (number, line)
        for number, line in lines
        if _ACCURACY.search(line) or (_QUANTITY.search(line) and _MEASURED.search(line))
    ]


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_measured_figure_is_typed_in(document: str) -> None:
    allowed = NOT_MEASURED.get(document, [])
    found = suspicious((ROOT / document).read_text(encoding="utf-8"))
    typed = [f"{number}: {line}" for number, line in found if not any(part in line for part in allowed)]
    assert typed == [], f"{document}: write these from a stored result, as CONTRIBUTING.md says, or leave them out"


def test_allowed_parts_are_there() -> None:
    gone = [
        (document, part)
        for document, parts in NOT_MEASURED.items()
        for part in parts
        if part not in (ROOT / document).read_text(encoding="utf-8")
    ]
    assert gone == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("recall@10 is 0.696 on IAPR TC-12", True),
        ("| popularity | 0.30 / 0.14 |", True),
        ("label weights gain +0.03", True),
        ("an epoch took 16.5 s", True),
        ("8.8 GB at the peak", True),
        ("13 million draws per second, twice as fast", False),  # no unit that is counted
        ("1.5 times as fast as one thread", True),
        ("a body of 2 MB is refused", False),
        ("a writer waits up to 60 seconds", False),
        ("`learning_rate` 0.05, decay 0.88", False),
        ("<!-- speed -->\ntook 5 s\n<!-- /speed -->", False),
        ("```console\n$ vse demo\ntook 5 s\n```", False),
    ],
)
def test_figures_that_look_measured_are_found(text: str, found: bool) -> None:
    assert bool(suspicious(text)) is found
