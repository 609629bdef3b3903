"""JSON with positions: read it, and change parts without touching the rest.

Python's parser decodes each element of JSON, so large files are read fast and never held as objects all at once.
Positions count characters of the text; a change is a list of `Splice`s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, AnyStr, NamedTuple

from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.files import BOM, decode_text
from vse_ens.errors import DataError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Splice(NamedTuple):
    """A replacement of the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


def spliced(text: AnyStr, splices: Iterable[tuple[int, int, AnyStr]]) -> AnyStr:
    """Return a text, or bytes, with all replacements, which must not overlap."""
    parts: list[AnyStr] = []
    position = 0
    for start, end, new in sorted(splices):
        parts += [text[position:start], new]
        position = end
    return text[:0].join(parts) + text[position:]


class Value(NamedTuple):
    """A decoded value and its position."""

    content: Any
    start: int
    end: int


class JsonText:
    """The text of a JSON file."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.text = decode_text(path, content)
        self._bom = BOM if content.startswith(BOM) else b""
        # Where an array or object ends, by its start; known once its content was read.
        self._ends: dict[int, int] = {}

    # --- reading ------------------------------------------------------------------------------------------------

    def start(self) -> int:
        """Return the position of the first value."""
        return self.skip_space(0)

    def opens(self, position: int) -> str:
        """Return the character at a position, or an empty text at the end."""
        return self.text[position : position + 1]

    def value(self, start: int) -> Value:
        """Decode the value at a position."""
        try:
            content, end = _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, error.msg) from None
        except RecursionError:
            raise self.error(start, "it is nested too deeply") from None
        except ValueError as error:  # a number with too many digits
            raise self.error(start, str(error).partition(";")[0]) from None
        return Value(content, start, end)

    def members(self, start: int) -> Iterator[tuple[str, int]]:
        """Yield the key and the position of the value of every member of the object at a position."""
        if self.opens(start) != "{":
            raise self.error(start, "an object is expected here")
        position = self.skip_space(start + 1)
        if self.opens(position) == "}":
            self._ends[start] = position + 1
            return
        while position >= 0:
            if self.opens(position) != '"':
                raise self.error(position, "a key in double quotes is missing")
            key = self.value(position)
            colon = self.skip_space(key.end)
            if self.opens(colon) != ":":
                raise self.error(colon, "a colon is missing")
            value = self.skip_space(colon + 1)
            yield str(key.content), value
            position = self._next(start, self.end_of(value), "}")

    def elements(self, start: int) -> Iterator[Value]:
        """Yield the elements of the array at a position."""
        if self.opens(start) != "[":
            raise self.error(start, "an array is expected here")
        position = self.skip_space(start + 1)
        if self.opens(position) == "]":
            self._ends[start] = position + 1
            return
        while position >= 0:
            element = self.value(position)
            yield element
            position = self._next(start, element.end, "]")

    def end_of(self, start: int) -> int:
        """Return the position after the value at a position."""
        return self._ends[start] if start in self._ends else self.value(start).end

    def check_end(self, end: int) -> None:
        """Raise if anything but space follows a position."""
        position = self.skip_space(end)
        if position != len(self.text):
            raise self.error(position, "there is more after its end")

    def error(self, position: int, reason: str) -> DataError:
        """Return an error that names the line and the column of a position."""
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return DataError(f"{self.path}, line {line}, column {column}: this JSON cannot be read ({reason}); fix it")

    # --- changing -----------------------------------------------------------------------------------------------

    def apply(self, splices: Collection[Splice] = ()) -> bytes:
        """Return the content with all replacements, which must not overlap."""
        # A lone surrogate, which JSON may have as an escape, becomes the same escape again.
        return self._bom + spliced(self.text, splices).encode("utf-8", "backslashreplace")

    def change(self, splices: Collection[Splice]) -> Iterator[FileChange]:
        """Yield the change that the replacements make, if there is one."""
        after = self.apply(splices)
        if splices and after != (before := self.apply()):
            yield FileChange(self.path, before, after)

    def change_array(
        self, start: int, elements: Sequence[Value], remove: Collection[int] = (), add: Sequence[Any] = ()
    ) -> list[Splice]:
        """Return the replacements that remove elements of an array, by number, and add values at its end."""
        splices, kept = [], False
        for number, element in enumerate(elements):
            if number not in remove:
                kept = True
            elif kept:
                splices.append(Splice(elements[number - 1].end, element.end, ""))
            else:
                after = elements[number + 1].start if number + 1 < len(elements) else element.end
                splices.append(Splice(element.start, after, ""))
        if add:
            spans = [(element.start, element.end) for element in elements]
            texts = [self._dump(value, spans[-1] if spans else None, start) for value in add]
            splices.append(self._insertion(start, spans, texts, kept))
        return splices

    def add_member(self, start: int, key: str, value: Any) -> list[Splice]:
        """Return the replacements that add a member at the end of the object at a position."""
        spans, position = [], self.skip_space(start + 1)
        for _, value_start in self.members(start):
            end = self.end_of(value_start)
            spans.append((position, end))
            position = self.skip_space(self.skip_space(end) + 1)
        text = f"{json.dumps(key)}{self._colon}{self._dump(value, spans[-1] if spans else None, start)}"
        return [self._insertion(start, spans, [text], bool(spans))]

    def _insertion(self, start: int, spans: Sequence[tuple[int, int]], texts: Sequence[str], kept: bool) -> Splice:
        """Return the replacement that inserts texts at the end of an array or object with these parts."""
        if not spans:
            unit = self._unit
            outer = self._indent_at(start)
            lead = f"{self._newline}{outer}{unit}" if unit is not None else ""
            tail = f"{self._newline}{outer}" if unit is not None else ""
            return Splice(start + 1, self.skip_space(start + 1), lead + f"{self._comma(lead)}{lead}".join(texts) + tail)
        lead = self.text[start + 1 : spans[0][0]]
        between = self.text[spans[-2][1] : spans[-1][0]] if len(spans) > 1 else self._comma(lead) + lead
        end = spans[-1][1]
        return Splice(end, end, (between if kept else "") + between.join(texts))

    def _comma(self, lead: str) -> str:
        return "," if "\n" in lead or self._colon == ":" else ", "

    def _dump(self, value: Any, like: tuple[int, int] | None, start: int) -> str:
        """Return a value as JSON in the style of a neighbor, or of the file."""
        unit = self._unit
        base = self._indent_at(start) + (unit or "")
        if like is not None:
            sample = self.text[like[0] : like[1]]
            base = self._indent_at(like[0])
            inner = re.search(r"[\[{]\r?\n([ \t]*)", sample)
            unit = (inner[1].removeprefix(base) or None) if inner else None
        separators = ("," if unit is not None or self._colon == ":" else ", ", self._colon)
        text = json.dumps(value, ensure_ascii=self.text.isascii(), indent=unit, separators=separators)
        return text.replace("\n", self._newline + base) if unit is not None else text

    def _indent_at(self, position: int) -> str:
        """Return the white space at the start of the line of a position."""
        line = self.text.rfind("\n", 0, position) + 1
        match = re.compile(r"[ \t]*").match(self.text, line)
        return match[0] if match else ""

    @cached_property
    def _unit(self) -> str | None:
        """The indentation of one level, or None for a file without line breaks."""
        match = re.match(r"\s*[\[{]\r?\n([ \t]*)", self.text)
        return match[1] if match else None

    @cached_property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text[: 1 << 20] else "\n"

    @cached_property
    def _colon(self) -> str:
        return ":" if re.search(r'":[^ ]', self.text[: 1 << 16]) and '": ' not in self.text[: 1 << 16] else ": "

    def skip_space(self, position: int) -> int:
        """Return the first position from one on that is not white space."""
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def _next(self, start: int, end: int, close: str) -> int:
        """Return the start of the next part of an array or object, or -1 after the last one."""
        position = self.skip_space(end)
        character = self.opens(position)
        if character == close:
            self._ends[start] = position + 1
            return -1
        if character != ",":
            raise self.error(position, f"a comma or {close} is missing")
        return self.skip_space(position + 1)
