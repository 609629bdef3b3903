"""Keywords in XMP packets and sidecars: read them, and change them with every other byte kept.

The parser is expat, which reports the position of every tag: an edit inserts and removes bytes and leaves the rest as
it is. A document type declaration, which XMP never has, is refused, so entities cannot be declared, expanded or loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from vse_ens.data.collections.containers import DamagedFileError
from vse_ens.data.collections.text_edits import spliced

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class Property(NamedTuple):
    """A property of XMP that lists keywords."""

    namespace: str
    prefix: str
    name: str
    container: str
    """The RDF container that a new list has."""


SUBJECT = Property("http://purl.org/dc/elements/1.1/", "dc", "subject", "Bag")
HIERARCHICAL = Property("http://ns.adobe.com/lightroom/1.0/", "lr", "hierarchicalSubject", "Bag")
TAGS_LIST = Property("http://www.digikam.org/ns/1.0/", "digiKam", "TagsList", "Seq")
LAST_KEYWORD = Property("http://ns.microsoft.com/photo/1.0/", "MicrosoftPhoto", "LastKeywordXMP", "Bag")
PROPERTIES = (SUBJECT, HIERARCHICAL, TAGS_LIST, LAST_KEYWORD)

_BY_NAME = {f"{one.namespace} {one.name}": one for one in PROPERTIES}
# Windows and old versions of exiv2 write other forms of two namespaces.
_BY_NAME |= {
    "http://ns.microsoft.com/photo/1.0 LastKeywordXMP": LAST_KEYWORD,
    "http://ns.microsoft.com/photo/1.2/ LastKeywordXMP": LAST_KEYWORD,
}
_LOCAL_NAMES = tuple(one.name.encode() for one in PROPERTIES)
_CONTAINERS = {f"{RDF} {name}" for name in ("Bag", "Seq", "Alt")}
_ITEM, _VALUE, _DESCRIPTION, _ROOT = (f"{RDF} {name}" for name in ("li", "value", "Description", "RDF"))

_START_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_KEYWORDS, _MAX_DEPTH, _MAX_TAG = 100_000, 1_000, 256 << 10

Keywords = dict[Property, list[str]]

NEW_SIDECAR = b"""<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="">
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""
"""A sidecar without keywords."""


def may_have_keywords(packet: bytes) -> bool:
    """Return False if a packet certainly has no keywords, without parsing it."""
    return any(name in packet for name in _LOCAL_NAMES) or b"\0" in packet[:256]  # UTF-16


def read_keywords(packet: bytes, into: Keywords) -> None:
    """Add the keywords of a packet to ``into``; a `DamagedFileError` keeps those before the fault."""
    packet = packet.strip(b"\0 \t\r\n")
    if may_have_keywords(packet):
        _Parser(into).parse(packet)


class _Parser:
    """Collects the items of keyword properties; subclasses also note positions."""

    def __init__(self, into: Keywords) -> None:
        self.keywords = into
        self._property: Property | None = None
        self._depth = 0
        self._property_depth = 0
        self._text: list[str] | None = None
        self._listed = False
        self._count = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._refuse

    def parse(self, packet: bytes) -> None:
        try:
            for start in range(0, len(packet), _MAX_TAG):
                self.parser.Parse(packet[start : start + _MAX_TAG], False)
                if start - self.parser.CurrentByteIndex > _MAX_TAG:
                    raise DamagedFileError(f"has XMP with a tag of more than {_MAX_TAG >> 10:,} KiB")
            self.parser.Parse(b"", True)
        except DamagedFileError:
            raise
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: the name of an encoding
            raise DamagedFileError(f"has XMP that is not well-formed XML ({str(error)[:100]})") from None

    def _refuse(self, *_: object) -> None:
        raise DamagedFileError("has XMP with a document type declaration, which is refused")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise DamagedFileError(f"has XMP with more than {_MAX_DEPTH:,} elements in each other")
        if self._property is not None:
            if name in (_ITEM, _VALUE):
                self._text, self._listed = [], True
            elif name not in _CONTAINERS:
                self._text = None  # a qualifier
            return
        found = _BY_NAME.get(name)
        if found is not None:
            self._property, self._property_depth, self._listed, self._text = found, self._depth, False, []
        elif name == _DESCRIPTION and len(attributes) > 1:
            for key, value in attributes.items():
                if key in _BY_NAME:
                    self._add(_BY_NAME[key], value)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._property is None:
            return
        if name in (_ITEM, _VALUE):
            if self._text is not None:
                self._add(self._property, "".join(self._text))
            self._text = None
        elif self._depth < self._property_depth:
            if not self._listed and self._text is not None:
                self._add(self._property, "".join(self._text))  # plain text instead of a list
            self._property, self._text = None, None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _add(self, into: Property, text: str) -> None:
        text = text.strip()
        if text:
            self._count += 1
            if self._count > _MAX_KEYWORDS:
                raise DamagedFileError(f"has more than {_MAX_KEYWORDS:,} keywords")
            self.keywords.setdefault(into, []).append(text)


# --- changes --------------------------------------------------------------------------------------------------------


@dataclass
class _Item:
    start: int
    end: int = 0
    text: str = ""


@dataclass
class _Array:
    """The positions of a list of keywords."""

    items: list[_Item] = field(default_factory=list)
    tag: tuple[int, int] | None = None
    """The start tag of the container."""
    end: int = 0
    """The position of the end tag of the container, or of the end of an empty tag."""


class _Locator(_Parser):
    """Also notes where lists and descriptions are."""

    def __init__(self, document: bytes) -> None:
        super().__init__({})
        self.document = document
        self.arrays: dict[Property, list[_Array]] = {}
        self.description: tuple[int, int] | None = None
        """The start and the end (of its content) of the first description."""
        self.description_scope: dict[str, str] = {}
        self.root_end: int | None = None
        self.root_scope: dict[str, str] = {}
        self.attributes: set[Property] = set()
        self._scopes: list[tuple[str, str]] = []
        self._path: list[str] = []
        self._description_open: int | None = None
        self.parser.StartNamespaceDeclHandler = lambda prefix, uri: self._scopes.append((prefix or "", uri or ""))
        self.parser.EndNamespaceDeclHandler = lambda _prefix: self._scopes.pop()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self.parser.CurrentByteIndex
        top = self._property is None
        super()._start(name, attributes)
        if top and self._property is not None:
            self.arrays.setdefault(self._property, []).append(_Array())
        elif self._property is not None:
            array = self.arrays[self._property][-1]
            if name in _CONTAINERS and array.tag is None:
                array.tag = at, self._tag_end(at)
            elif name == _ITEM:
                array.items.append(_Item(at))
        elif name == _DESCRIPTION and self._path[-1:] == [_ROOT]:
            self.attributes |= {_BY_NAME[key] for key in attributes if key in _BY_NAME}
            if self.description is None and self._description_open is None:
                self._description_open = at
                self.description_scope = dict(self._scopes)
        elif name == _ROOT and not self.root_scope:
            self.root_scope = dict(self._scopes)
        self._path.append(name)

    def _end(self, name: str) -> None:
        at = self.parser.CurrentByteIndex
        prop, text = self._property, self._text
        self._path.pop()
        super()._end(name)
        if prop is not None:
            array = self.arrays[prop][-1]
            if name == _ITEM and array.items:
                item = array.items[-1]
                item.end = self._element_end(at)
                item.text = "".join(text or ()).strip() or item.text
            elif name == _VALUE and array.items:
                array.items[-1].text = "".join(text or ()).strip()
            elif name in _CONTAINERS:
                array.end = at
        elif name == _DESCRIPTION and self._path[-1:] == [_ROOT] and self.description is None:
            self.description = self._description_open or 0, at
        elif name == _ROOT and self.root_end is None:
            self.root_end = at

    def _tag_end(self, at: int) -> int:
        match = _START_TAG.match(self.document, at)
        if match is None:
            raise DamagedFileError("has XMP that cannot be changed in place")
        return match.end()

    def _element_end(self, at: int) -> int:
        """Return the end of an element whose end was reported at ``at``: its end tag, or the end of an empty tag."""
        return self.document.index(b">", at) + 1 if self.document.startswith(b"</", at) else at


def change_keywords(
    document: bytes, add: Mapping[Property, Sequence[str]], remove: Mapping[Property, Sequence[str]]
) -> bytes:
    """Return a sidecar with keywords added and removed, and every other byte as it was.

    A list that is missing is created in the first description. A `DamagedFileError` says why a document cannot be
    changed: it is not well-formed, not UTF-8, or not XMP.
    """
    if document.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in document[:256]:
        raise DamagedFileError("is not UTF-8")
    declared = re.match(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=["']([^"']+)""", document)
    if declared and declared[1].lower() not in (b"utf-8", b"us-ascii"):
        raise DamagedFileError(f"is in {declared[1].decode('ascii', 'replace')}, not UTF-8")
    located = _Locator(document)
    located.parse(document)
    if located.root_end is None:
        raise DamagedFileError("has no rdf:RDF element")
    edits: list[tuple[int, int, bytes]] = []
    created: list[tuple[Property, Sequence[str]]] = []
    for one in PROPERTIES:
        arrays = located.arrays.get(one, [])
        removed, added = set(remove.get(one, ())), list(add.get(one, ()))
        if (removed or added) and (one in located.attributes or any(array.tag is None for array in arrays)):
            raise DamagedFileError(f"has {one.prefix}:{one.name} without a list, which cannot be changed in place")
        for array in arrays:
            gone = (item for item in array.items if item.text in removed)
            edits += [(_indent_start(document, item.start), item.end, b"") for item in gone]
        if added and arrays:
            edits.append(_additions(document, arrays[0], added, located.root_scope))
        elif added:
            created.append((one, added))
    if created:
        edits.append(_creations(located, created))
    return spliced(document, edits)


def _additions(
    document: bytes, array: _Array, added: Sequence[str], scope: Mapping[str, str]
) -> tuple[int, int, bytes]:
    rdf = _prefix(scope, RDF, "rdf")
    start, end = array.tag or (0, 0)
    if document[end - 2 : end] == b"/>":  # an empty container
        name = document[start + 1 : end - 2].split(None, 1)[0]
        text = document[start : end - 2].rstrip() + b">" + _items(rdf, added, b"") + b"</" + name + b">"
        return start, end, text
    if array.items:
        last = array.items[-1]
        indent = document[_indent_start(document, last.start) : last.start]
        return last.end, last.end, _items(rdf, added, indent)
    at = _indent_start(document, array.end)
    return at, at, _items(rdf, added, document[at : array.end] + b" " if at < array.end else b"")


def _creations(located: _Locator, created: Sequence[tuple[Property, Sequence[str]]]) -> tuple[int, int, bytes]:
    """Return the edit that adds new lists to the first description, or a new description to the root."""
    document = located.document
    if located.description is not None:
        start, at = located.description
        scope = located.description_scope
        rdf = _prefix(scope, RDF, "rdf")
        if not document.startswith(b"</", at):  # an empty tag
            name = document[start + 1 : at - 2].split(None, 1)[0].rstrip(b"/")
            indent = document[_indent_start(document, start) : start] or b"\n"
            body = _lists(created, scope, rdf, indent + b" ")
            opening = document[start : at - 2].rstrip()
            return start, at, opening + b">" + body + indent + b"</" + name + b">"
        insert = _indent_start(document, at)
        indent = document[insert:at] or b"\n"
        return insert, insert, _lists(created, scope, rdf, indent + b" ")
    root_end = located.root_end or 0
    if not document.startswith(b"</", root_end):
        raise DamagedFileError("has an empty rdf:RDF element")
    rdf = _prefix(located.root_scope, RDF, "rdf")
    insert = _indent_start(document, root_end)
    indent = (document[insert:root_end] or b"\n") + b" "
    body = _lists(created, located.root_scope, rdf, indent + b" ")
    name = f"{rdf}Description".encode()
    return insert, insert, indent + b"<" + name + f' {rdf}about="">'.encode() + body + indent + b"</" + name + b">"


def _lists(
    created: Sequence[tuple[Property, Sequence[str]]], scope: Mapping[str, str], rdf: str, indent: bytes
) -> bytes:
    text = b""
    for one, keywords in created:
        prefix = _prefix(scope, one.namespace, "")
        declared = "" if prefix else f' xmlns:{one.prefix}="{one.namespace}"'
        name = f"{prefix or one.prefix + ':'}{one.name}"
        text += indent + f"<{name}{declared}>".encode() + indent + f" <{rdf}{one.container}>".encode()
        text += _items(rdf, keywords, indent + b"  ")
        text += indent + f" </{rdf}{one.container}>".encode() + indent + f"</{name}>".encode()
    return text


def _items(rdf: str, keywords: Sequence[str], indent: bytes) -> bytes:
    return b"".join(indent + f"<{rdf}li>{escape(keyword)}</{rdf}li>".encode() for keyword in keywords)


def _prefix(scope: Mapping[str, str], namespace: str, default: str) -> str:
    """Return the prefix of a namespace with its colon."""
    for prefix, uri in scope.items():
        if uri == namespace:
            return f"{prefix}:" if prefix else ""
    return f"{default}:" if default else ""


def _indent_start(document: bytes, at: int) -> int:
    """Return the start of the white space before ``at``, from its line break on."""
    start = len(document[max(0, at - 4096) : at].rstrip(b" \t\r\n")) + max(0, at - 4096)
    if document[start:at].strip(b" \t"):
        # Keep blank lines before it: begin at the last line break.
        line = document.rfind(b"\n", start, at)
        return line - 1 if line > start and document[line - 1 : line] == b"\r" else line
    return at


def can_write(label: str) -> bool:
    """Return whether XML can hold a label."""
    return _NOT_IN_XML.search(label) is None


def is_sidecar(name: str | Path) -> bool:
    """Return whether a file name has the suffix of a sidecar."""
    return str(name)[-4:].lower() == ".xmp"
