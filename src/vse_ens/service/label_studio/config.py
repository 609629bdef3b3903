"""The labeling interface of a Label Studio project: its choices, and the task field that holds the image.

Only a part of the XML is read: ``<Choices>`` and ``<Taxonomy>`` tags with their ``<Choice>`` tags, and the tag that
``toName`` refers to, which names a field of a task's data in its ``value``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Literal
from xml.etree import ElementTree as ET

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.service.settings import MAX_ID_LENGTH

MAX_CONFIG_LENGTH = 1_000_000
MAX_CONTROLS = 20
MAX_CHOICES = 20_000
"""Maximum number of choices of all tags; a choice in nested tags counts for each of them."""
_MAX_DEPTH = 50
_TOP = 5


@dataclass(frozen=True)
class Choice:
    """One choice: its path in a result, from the root down, and the label names it may stand for."""

    path: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, path: tuple[str, ...], *names: str) -> Choice:
        """Create a choice with the names that are not blank, each also in lower case, in order of preference."""
        filled = [name for name in names if name.strip()]
        return cls(path, (*filled, *(name.casefold() for name in filled)))

    @property
    def own_name(self) -> str:
        """The label to use if the model knows none of its names."""
        return self.names[len(self.names) // 2 - 1]


@dataclass(frozen=True)
class Control:
    """A tag with choices for an image."""

    kind: Literal["choices", "taxonomy"]
    name: str
    to_name: str
    variable: str
    """The field of a task's data that holds the image."""
    choices: tuple[Choice, ...]
    top: int
    """Maximum number of suggestions to select."""
    min_confidence: float | None
    """Minimum confidence to select a suggestion, if the interface sets one."""

    @cached_property
    def by_path(self) -> dict[tuple[str, ...], Choice]:
        """The choices by their path in a result."""
        return {choice.path: choice for choice in self.choices}

    def labels(self, known: Vocabulary) -> dict[str, Choice]:
        """Return the choices by the label they stand for; of several choices for one label, the first."""
        by_label: dict[str, Choice] = {}
        for choice, label in zip(self.choices, labels_of(self.choices, known), strict=True):
            by_label.setdefault(label, choice)
        return by_label


def labels_of(choices: Sequence[Choice], known: Vocabulary) -> list[str]:
    """Return the label that each choice stands for: the first name the model knows, or else its own name."""
    names = [name for choice in choices for name in choice.names]
    is_known = dict(zip(names, (known.numbers(names, missing="minus-one") >= 0).tolist(), strict=True))
    return [next((name for name in choice.names if is_known[name]), choice.own_name) for choice in choices]


@lru_cache(maxsize=8)
def controls(config: str) -> tuple[Control, ...]:
    """Return the tags that choose labels for a whole image, in document order."""
    root = _parse(config)
    variables = {
        name: value[1:]
        for element in root.iter()
        if (name := element.get("name")) and (value := element.get("value", "")).startswith("$")
    }
    found: list[Control] = []
    for element in root.iter():
        name, to_name = element.get("name", ""), element.get("toName", "")
        chooses = element.tag in ("Choices", "Taxonomy") and not _is_true(element, "perRegion")
        if chooses and name and to_name in variables:
            if len(found) == MAX_CONTROLS:
                raise ConfigError(f"the labeling interface has more than {MAX_CONTROLS} tags with choices; use fewer")
            _check_length("name", max(len(name), len(to_name), len(variables[to_name])))
            room = MAX_CHOICES - sum(len(control.choices) for control in found)
            found.append(_control(element, name, to_name, variables[to_name], room))
    return tuple(found)


def _control(element: ET.Element, name: str, to_name: str, variable: str, room: int) -> Control:
    flat = element.tag == "Choices"
    if flat:
        top = _TOP if element.get("choice", "single").startswith("multiple") else 1
        listed = _flat(element)
    else:
        top = max(1, int(_number(element, "maxUsages", maximum=_TOP) or _TOP))
        listed = _nested(element, (), element.get("pathSeparator") or "/", _is_true(element, "leafsOnly"))
    choices = tuple(islice(listed, room + 1))
    if len(choices) > room:
        raise ConfigError(f"the labeling interface has more than {MAX_CHOICES:,} choices; use fewer")
    # The attribute that Label Studio's own backends use.
    threshold = _number(element, "model_score_threshold", maximum=1.0)
    return Control("choices" if flat else "taxonomy", name, to_name, variable, choices, top, threshold)


def _flat(element: ET.Element) -> Iterator[Choice]:
    for choice in element.iter("Choice"):
        value, alias = choice.get("value", ""), choice.get("alias", "")
        if (name := alias or value).strip():
            _check_length("choice", max(len(alias), len(value)))
            yield Choice.of((name,), alias, value)


def _nested(element: ET.Element, parents: tuple[str, ...], separator: str, leaves_only: bool) -> Iterator[Choice]:
    """Yield all descendants, parents first; a choice is named by its full path and by its own value."""
    if len(parents) > _MAX_DEPTH:
        raise ConfigError(f"the labeling interface nests choices more than {_MAX_DEPTH} levels deep; make it flatter")
    for choice in element.findall("Choice"):
        value, alias = choice.get("value", ""), choice.get("alias", "")
        if not (name := alias or value).strip():
            continue
        path = (*parents, name)
        _check_length("choice", max(len(alias), len(value)))
        _check_length("path of choices", sum(map(len, path)) + len(separator) * len(parents))
        if not (leaves_only and choice.find("Choice") is not None):
            yield Choice.of(path, separator.join(path), alias, value)
        yield from _nested(choice, path, separator, leaves_only)


def _check_length(kind: str, length: int) -> None:
    if length > MAX_ID_LENGTH:
        raise ConfigError(f"the labeling interface has a {kind} longer than {MAX_ID_LENGTH:,} characters; shorten it")


def _is_true(element: ET.Element, attribute: str) -> bool:
    return element.get(attribute, "").lower() == "true"


def _number(element: ET.Element, attribute: str, *, maximum: float) -> float | None:
    text = element.get(attribute)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number >= 0.0:
        raise ConfigError(f"the labeling interface has {attribute}={text!r}; it must be a number >= 0")
    return min(number, maximum)


class _NoDoctype(ET.TreeBuilder):
    """Rejects document types: without one there are no entities that expand without limit or read files."""

    def doctype(self, _name: str, _public: str | None, _system: str | None) -> None:
        """Raise an error."""
        raise ConfigError("the labeling interface declares a document type; remove the declaration")


def _parse(config: str) -> ET.Element:
    if len(config) > MAX_CONFIG_LENGTH:
        raise ConfigError(f"the labeling interface is longer than {MAX_CONFIG_LENGTH:,} characters; make it shorter")
    parser = ET.XMLParser(target=_NoDoctype())  # noqa: S314  # _NoDoctype rejects entities
    try:
        parser.feed(config)
        return parser.close()
    except ConfigError:
        raise
    except (ET.ParseError, ValueError) as error:
        raise ConfigError(f"the labeling interface is not well-formed XML: {error}") from None
