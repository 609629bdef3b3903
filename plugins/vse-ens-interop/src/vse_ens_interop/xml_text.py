"""XML with positions: read the children of the root one at a time, and change elements without touching the rest.

The parser is defusedxml's, which refuses entities. Positions count bytes of the file.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.files import BOM
from vse_ens.data.collections.text_edits import spliced
from vse_ens.errors import DataError

_CHUNK = 1 << 16
_MAX_DEPTH = 100
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass
class Node:
    """An element with its position."""

    tag: str
    attributes: Mapping[str, str]
    start: int
    """The position of its start tag."""
    close: int = 0
    """The position of its end tag; of an empty element such as ``<tag/>`` the position after it."""
    end: int = 0
    """The position after it."""
    text: str = ""
    children: list[Node] = field(default_factory=list)

    def child(self, tag: str) -> Node | None:
        """Return the first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def child_text(self, tag: str) -> str:
        """Return the text of the first child with a tag, stripped; empty if there is none."""
        child = self.child(tag)
        return "" if child is None else child.text.strip()


class New(NamedTuple):
    """An element to add."""

    tag: str
    attributes: Mapping[str, str] = {}
    text: str = ""
    children: Sequence[New] = ()


class _Builder:
    """A target of the parser that keeps complete children of the root and their positions."""

    def __init__(self, content: bytes, root: str) -> None:
        self.ready: list[Node] = []
        self.parser: Any = None
        self._content = content
        self._root = root
        self._open: list[Node] = []
        self._text: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if not self._open and tag != self._root:
            raise _WrongXmlError(f"its root is <{tag[:60]}> where <{self._root}> is expected")
        if len(self._open) == _MAX_DEPTH:
            raise _WrongXmlError(f"more than {_MAX_DEPTH} elements are nested")
        self._text = []
        self._open.append(Node(tag, attributes, self.parser.CurrentByteIndex))

    def data(self, text: str) -> None:
        self._text.append(text)

    def end(self, tag: str) -> None:  # noqa: ARG002  # the parser's interface
        node = self._open.pop()
        node.text = "" if node.children else "".join(self._text)
        node.close = node.end = self.parser.CurrentByteIndex
        # The parser stands behind <tag/>, but at the start of </tag>.
        empty = not node.children and not self._text and self._content[node.close - 2 : node.close] == b"/>"
        if not empty:
            node.end = self._content.find(b">", node.close) + 1
        self._text = []
        if len(self._open) > 1:
            self._open[-1].children.append(node)
        elif self._open:
            self.ready.append(node)

    def close(self) -> None:
        """Do nothing: the children were handed out."""


class _WrongXmlError(Exception):
    pass


def root_children(path: Path, content: bytes, root: str) -> Iterator[Node]:
    """Yield the children of the root of an XML file as soon as they are complete."""
    builder = _Builder(content, root)
    parser = DefusedXMLParser(target=builder)
    builder.parser = parser.parser
    try:
        for start in range(0, len(content), _CHUNK):
            parser.feed(content[start : start + _CHUNK])
            yield from builder.ready
            builder.ready.clear()
        parser.close()
    except ParseError as error:
        line, column = error.position
        raise DataError(
            f"{path}, line {line}, column {column + 1}: this XML cannot be read ({str(error).partition(':')[0]})"
        ) from None
    except DefusedXmlException:
        raise DataError(f"{path} declares XML entities, which are not read; remove its DOCTYPE") from None
    except _WrongXmlError as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    except (LookupError, ValueError) as error:  # an unknown encoding
        raise DataError(f"{path} cannot be read as XML: {error!s:.80}") from None
    yield from builder.ready


class XmlEditor:
    """Collects changes of an XML file in the style of the file."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self._content = content
        self._splices: list[tuple[int, int, bytes]] = []
        match = re.search(rb"\n([ \t]+)<", content)
        self._unit = match[1] if match else b""

    def remove(self, node: Node) -> None:
        """Remove an element and the white space before it."""
        self._splices.append((node.start - len(self._space_before(node.start)), node.end, b""))

    def append(self, parent: Node, new: Sequence[New]) -> None:
        """Add elements after the last child of an element."""
        if not new:
            return
        if parent.children:
            lead = self._space_before(parent.children[-1].start)
            end = parent.children[-1].end
            self._splices.append((end, end, self._dump(new, lead)))
            return
        outer = self._space_before(parent.start)
        text = self._dump(new, outer + self._unit if outer else b"") + outer
        if parent.close == parent.end:  # <tag/> becomes <tag>...</tag>
            opening = self._content[parent.start : parent.end - 2].rstrip()
            text = opening + b">" + text + b"</" + parent.tag.encode(self._encoding) + b">"
            self._splices.append((parent.start, parent.end, text))
        else:
            end = parent.close - len(self._space_before(parent.close))
            self._splices.append((end, parent.close, text))

    def insert_after(self, node: Node, new: Sequence[New]) -> None:
        """Add elements after a child of the root."""
        if new:
            lead = self._space_before(node.start)
            self._splices.append((node.end, node.end, self._dump(new, lead)))

    def change(self) -> Iterator[FileChange]:
        """Yield the change of the file, if there is one."""
        if self._splices:
            _ = self._encoding  # fails on one that cannot be written
            after = spliced(self._content, self._splices)
            if after != self._content:
                yield FileChange(self.path, self._content, after)

    @cached_property
    def _encoding(self) -> str:
        return _encoding(self.path, self._content)

    def _dump(self, new: Sequence[New], lead: bytes) -> bytes:
        return b"".join(lead + self._element(one, lead) for one in new)

    def _element(self, new: New, lead: bytes) -> bytes:
        attributes = "".join(f' {name}="{_keep_lines(self._escape(value))}"' for name, value in new.attributes.items())
        inside = self._escape(new.text).encode(self._encoding, "xmlcharrefreplace")
        if new.children:
            inside = self._dump(new.children, lead + self._unit if lead else b"") + lead
        opening = f"<{new.tag}{attributes}>".encode(self._encoding, "xmlcharrefreplace")
        return opening + inside + f"</{new.tag}>".encode()

    def _escape(self, text: str) -> str:
        if _NOT_XML.search(text):
            raise DataError(f"{self.path} cannot have the label {text!r}: XML has no such character")
        return html.escape(text).replace("\r", "&#13;")

    def _space_before(self, position: int) -> bytes:
        start = position
        while start and self._content[start - 1] in b" \t\r\n":
            start -= 1
        return self._content[start:position]


def _keep_lines(text: str) -> str:
    """Return an attribute whose line breaks and tabs are not read as spaces."""
    return text.replace("\n", "&#10;").replace("\t", "&#9;")


def _encoding(path: Path, content: bytes) -> str:
    match = re.match(rb"""\s*<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""", content.removeprefix(BOM))
    encoding = match[1].decode() if match else "utf-8"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or encoding.lower() not in (
        "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "latin-1", "windows-1252",
    ):  # fmt: skip
        raise DataError(f"{path} is not written in UTF-8; re-encode it before labels are written to it")
    return encoding
