"""A labelling interface of Label Studio: which choices people have, and what of a task is the image.

The part of the published XML that matters here: ``<Choices>`` and ``<Taxonomy>`` tags with ``<Choice>`` tags in them,
and the tag that their ``toName`` points to, whose ``value`` names a field of a task's data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from xml.etree import ElementTree as ET

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError

LONGEST_CONFIG = 1_000_000
_DEEPEST = 50
_TOP = 5


@dataclass(frozen=True)
class Choice:
    """One thing to choose: what a result says of it, from the topmost parent down, and the names it may go by."""

    path: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, path: tuple[str, ...], *names: str) -> Choice:
        """With the names that are not blank, the likeliest first; a model may have them in small letters."""
        said = [name for name in names if name.strip()]
        return cls(path, (*said, *(name.casefold() for name in said)))

    @property
    def own_name(self) -> str:
        """What it is called where the model has none of its names."""
        return self.names[len(self.names) // 2 - 1]


@dataclass(frozen=True)
class Control:
    """A tag that people choose with."""

    kind: Literal["choices", "taxonomy"]
    name: str
    to_name: str
    variable: str
    """The field of a task's data with the image."""
    choices: tuple[Choice, ...]
    top: int
    """How many suggestions to tick."""
    least: float | None
    """How sure a suggestion must be to be ticked, where the interface says it."""

    def labels(self, known: Vocabulary) -> dict[str, Choice]:
        """What can be chosen, by the label of the model that it stands for; the first of several that say the same."""
        found: dict[str, Choice] = {}
        for choice, label in zip(self.choices, labels_of(self.choices, known), strict=True):
            found.setdefault(label, choice)
        return found


def labels_of(choices: Sequence[Choice], known: Vocabulary) -> list[str]:
    """The label of the model that each choice stands for, or its own name where the model has none."""
    names = [name for choice in choices for name in choice.names]
    is_known = dict(zip(names, (known.numbers(names, missing="minus-one") >= 0).tolist(), strict=True))
    return [next((name for name in choice.names if is_known[name]), choice.own_name) for choice in choices]


@lru_cache(maxsize=8)
def controls(config: str) -> tuple[Control, ...]:
    """The tags of a labelling interface that choose labels for a whole image, in their order."""
    root = _parse(config)
    variables = {
        name: value[1:]
        for element in root.iter()
        if (name := element.get("name")) and (value := element.get("value", "")).startswith("$")
    }
    found = []
    for element in root.iter():
        name, to_name = element.get("name", ""), element.get("toName", "")
        if element.tag in ("Choices", "Taxonomy") and name and to_name in variables and not _says(element, "perRegion"):
            found.append(_control(element, name, to_name, variables[to_name]))
    return tuple(found)


def _control(element: ET.Element, name: str, to_name: str, variable: str) -> Control:
    if element.tag == "Choices":
        single = not element.get("choice", "single").startswith("multiple")
        choices = tuple(_flat(element))
        top = 1 if single else _TOP
    else:
        choices = tuple(_nested(element, (), element.get("pathSeparator") or "/", _says(element, "leafsOnly")))
        top = max(1, int(_number(element, "maxUsages", most=_TOP) or _TOP))
    return Control(
        "choices" if element.tag == "Choices" else "taxonomy",
        name,
        to_name,
        variable,
        choices,
        top,
        # The name by which Label Studio's own back ends have it.
        _number(element, "model_score_threshold", most=1.0),
    )


def _flat(element: ET.Element) -> Iterator[Choice]:
    for choice in element.iter("Choice"):
        value, alias = choice.get("value", ""), choice.get("alias", "")
        if (said := alias or value).strip():
            yield Choice.of((said,), alias, value)


def _nested(element: ET.Element, above: tuple[str, ...], separator: str, leaves_only: bool) -> Iterator[Choice]:
    """Every node under one, parents before children; its full path is a name of it, and so is its own value."""
    if len(above) > _DEEPEST:
        raise ConfigError(f"the labelling interface has choices more than {_DEEPEST} deep; make it flatter")
    for choice in element.findall("Choice"):
        value, alias = choice.get("value", ""), choice.get("alias", "")
        if not (said := alias or value).strip():
            continue
        path = (*above, said)
        if not (leaves_only and choice.find("Choice") is not None):
            yield Choice.of(path, separator.join(path), alias, value)
        yield from _nested(choice, path, separator, leaves_only)


def _says(element: ET.Element, attribute: str) -> bool:
    return element.get(attribute, "").lower() == "true"


def _number(element: ET.Element, attribute: str, *, most: float) -> float | None:
    text = element.get(attribute)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0.0:
        raise ConfigError(f"the labelling interface says {attribute}={text!r}, which must be a number of 0 or more")
    return min(number, most)


class _NoDoctype(ET.TreeBuilder):
    """Where no document type is declared there are no entities, and so none that grow or lead to files."""

    def doctype(self, _name: str, _public: str | None, _system: str | None) -> None:
        """Refuse it."""
        raise ConfigError("the labelling interface declares a document type; leave that out")


def _parse(config: str) -> ET.Element:
    if len(config) > LONGEST_CONFIG:
        raise ConfigError(f"the labelling interface is longer than {LONGEST_CONFIG:,} characters; make it shorter")
    parser = ET.XMLParser(target=_NoDoctype())  # noqa: S314  # see there
    try:
        parser.feed(config)
        return parser.close()
    except ConfigError:
        raise
    except (ET.ParseError, ValueError) as error:
        raise ConfigError(f"the labelling interface is not well-formed XML: {error}") from None
