"""Labels from IAPR TC-12's descriptions: the words of a dictionary, in the singular or the plural.

The labels that the literature uses are nouns that a tagger found. Without a tagger a colour or other adjective cannot
be told from the noun, so that more pairs are found here: see docs/datasets.md for how many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from vse_ens.data.published import readable
from vse_ens.errors import DataError

_DESCRIPTION = re.compile(r"<DESCRIPTION>(.*?)</DESCRIPTION>", re.DOTALL)
_DOCUMENT = re.compile(r"<DOCNO>annotations/(.*?)\.eng</DOCNO>")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_ENDINGS = (
    (re.compile(r"(s|x|z|ch|sh|o)$"), r"\1es"),
    (re.compile(r"([^aeiou])y$"), r"\1ies"),
    (re.compile(r"fe?$"), "ves"),
    (re.compile(r"man$"), "men"),
    (re.compile(r"^child$"), "children"),
    (re.compile(r"^foot$"), "feet"),
)


class Lexicon:
    """Finds the words of a dictionary in a text."""

    def __init__(self, words: Sequence[str]) -> None:
        forms = {form: place for place, word in enumerate(words) for form in plurals(word.lower())}
        # A word as it stands in the dictionary is never taken for the plural of another.
        self._places = forms | {word.lower(): place for place, word in enumerate(words)}

    def places(self, text: str) -> set[int]:
        """Places in the dictionary of the words that occur; of ``tee-shirt`` no part, if all of it is a word."""
        found = set()
        for word in _WORD.findall(text.lower()):
            for form in [word] if word in self._places else word.split("-"):
                if form in self._places:
                    found.add(self._places[form])
        return found


def plurals(word: str) -> list[str]:
    """How the plural of an English noun may be written."""
    return [word + "s", *(pattern.sub(ending, word) for pattern, ending in _ENDINGS if pattern.search(word))]


def read_description(path: Path) -> tuple[str, str]:
    """The image that an ``.eng`` file is about, as in ``00/25``, and its description."""
    with readable(path):
        text = path.read_text(encoding="latin-1")
    document, description = _DOCUMENT.search(text), _DESCRIPTION.search(text)
    if document is None or description is None:
        missing = "<DOCNO>annotations/...eng</DOCNO>" if document is None else "<DESCRIPTION>...</DESCRIPTION>"
        raise DataError(f"{path} has no {missing} in its {len(text.splitlines())} lines; fetch it again")
    return document[1], description[1]
