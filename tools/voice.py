"""A lint of the English in code and documentation: American spelling, and plain phrases (`python -m tools.voice`).

It reads every tracked source file and page. ``--fix`` rewrites spelling; phrases need a person.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUFFIXES = (".py", ".md", ".js", ".html", ".css", ".toml", ".lua")
# Not ours to spell: this list, files that quote, labels of data sets, and what old versions wrote.
SKIPPED = ("tools/voice.py", "tests/tools/test_voice.py", "CODE_OF_CONDUCT.md", "locks/")

# British to American, as parts of words: identifiers hold several words.
SPELLINGS = {
    "catalogue": "catalog",
    "colour": "color",
    "labelled": "labeled",
    "labelling": "labeling",
    "neighbour": "neighbor",
    "behaviour": "behavior",
    "favour": "favor",
    "centre": "center",
    "centring": "centering",
    "analyse": "analyze",
    "artefact": "artifact",
    "judgement": "judgment",
    "licence": "license",
    "misspelt": "misspelled",
    "modelling": "modeling",
    "whilst": "while",
    "centred": "centered",
}
# The verbs on -ise, with their other forms.
_VERBS = """
    capital categor character custom emphas factor final general initial linear local maxim minim normal optim organ
    parameter penal personal priorit quant random real recogn regular serial special stabil standard summar symmetr
    synchron token util vector visual
"""
SPELLINGS |= {f"{verb}is{end}": f"{verb}iz{end}" for verb in _VERBS.split() for end in ("e", "ing", "ation", "able")}
# Phrases that need a second reading, with what to write instead.
PHRASES = {
    r"(?<!there )\b(is|are) no (?!longer\b|more\b|less\b|faster\b|slower\b|better\b|worse\b|need\b|different\b)[a-z]+":
        "is not a ..., or: has no ...",
    r"\b(is|are|was|were) (that|those) of\b": "repeat the noun, or: as in ...",
    r"\bso many\b": "this many, or the number",
    r"\bforetold\b": "estimated, predicted",
    r"\b(stops?|ends?|refused|fails|skipped|gives?) (with )?a sentence\b": "exits with an error",
    r"\b(is|are|be|being|was|were|it) told\b": "is reported, is named",
    r"\b(goes|go|going|went) on\b": "continues",
    r"\bis to be had\b": "is available",
    r"\btells? apart\b|\btells? it apart\b": "distinguishes",
    r"\balone do(es)? not tell\b": "cannot tell you",
    r"\b(than|like|not) (that|those) of\b": "repeat the noun",
    r"\bthrow-away\b": "not kept",
    r"\bin vain\b": "without success",
    r"\bof no use\b": "useless",
    r"\bnone of ours\b": "unknown",
}  # fmt: skip

# aria-labelledby is a name of the web's.
_spelling = re.compile(f"(?:{'|'.join(sorted(SPELLINGS, key=len, reverse=True))})(?!by)", re.IGNORECASE)
_phrases = {re.compile(phrase, re.IGNORECASE): advice for phrase, advice in PHRASES.items()}


def american(text: str) -> str:
    """Return the text in American spelling; capitals stay."""

    def replaced(match: re.Match[str]) -> str:
        word = SPELLINGS[match[0].lower()]
        if match[0].isupper():
            return word.upper()
        return word.capitalize() if match[0][0].isupper() else word

    return _spelling.sub(replaced, text)


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the phrase and the advice for everything to change in a text."""
    for number, line in enumerate(text.split("\n"), start=1):
        for match in _spelling.finditer(line):
            yield number, match[0], american(match[0])
        for phrase, advice in _phrases.items():
            for match in phrase.finditer(line):
                yield number, match[0], advice


def files() -> list[Path]:
    """Return the tracked files to read."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    return [ROOT / name for name in listed if name.endswith(SUFFIXES) and not name.startswith(SKIPPED)]


def main() -> int:
    """Print one line per finding; return 1 if there is one."""
    count = 0
    for path in files():
        text = path.read_text(encoding="utf-8")
        if "--fix" in sys.argv:
            path.write_text(american(text), encoding="utf-8")
            continue
        for number, phrase, advice in findings(text):
            count += 1
            print(f"{path.relative_to(ROOT)}:{number}: {phrase!r}; write: {advice}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
