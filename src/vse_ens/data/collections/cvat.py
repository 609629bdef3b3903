"""CVAT for images 1.1: one XML file with the tags and shapes of every image.

The id of an image is its ``name``. Labels are those of tags and of shapes. A label is written as a ``<tag>``, CVAT's
label of a whole image, with ``source="auto"``, and added to the labels of the task where they are listed. Add it to the
labels of the task in CVAT before uploading the file. Removing a label removes its tags and shapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vse_ens.data.collections.base import FileChange, Item, LabelEdit, OpenOptions, check_known
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, read_bytes, relative_id
from vse_ens.data.collections.xml_text import New, Node, XmlEditor, root_children
from vse_ens.errors import DataError

_FILE = "annotations.xml"


def detect(glance: Glance) -> bool:
    """Return whether an XML file starts like one of CVAT, or a folder has such an annotations.xml."""
    if glance.is_folder:
        return _FILE in glance.names and detect(Glance(glance.path / _FILE))
    return bool(re.search(rb"<annotations>.*?<(version|meta|image|track)\b", glance.head, re.DOTALL))


def open(path: Path, options: OpenOptions) -> CvatCollection:  # noqa: A001, ARG001  # the interface of formats
    """Return the collection of a CVAT file, or of a folder with an annotations.xml."""
    return CvatCollection(path / _FILE if path.is_dir() else path)


@dataclass(frozen=True)
class _Image:
    name: str
    node: Node

    @property
    def marks(self) -> list[tuple[str, Node]]:
        """The tags and shapes with their labels."""
        found = [(as_label(child.attributes.get("label", "")), child) for child in self.node.children]
        return [(label, child) for label, child in found if label is not None]


class CvatCollection:
    """The images of a CVAT file with the labels of their tags and shapes."""

    format = "cvat"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: Sequence[str] = ()
        images = path.parent / "images"
        self.root = images if images.is_dir() else path.parent

    def items(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[Item]:
        """Yield every image in the order of the file."""
        seen: set[str] = set()
        tracks = repeated = 0
        for read in self._nodes(read_bytes(self.path)):
            if isinstance(read, Node):
                tracks += read.tag == "track"
            elif read.name in seen:
                repeated += 1
            else:
                seen.add(read.name)
                yield Item(read.name, tuple(dict.fromkeys(label for label, _ in read.marks)))
                if on_progress is not None:
                    on_progress(len(seen), None)
        if tracks and not seen:
            raise DataError(f"{self.path} is CVAT for video; export the task as CVAT for images 1.1")
        if not seen:
            raise DataError(f"{self.path} has no image")
        self.notes = [f"skipped {count_of(repeated, 'image')} whose name occurred before"] if repeated else []

    def changes(self, edits: Mapping[str, LabelEdit]) -> Iterator[FileChange]:
        """Yield the change of the file."""
        before = read_bytes(self.path)
        editor = XmlEditor(self.path, before)
        left = dict(edits)
        added: dict[str, None] = {}
        meta = None
        for read in self._nodes(before):
            if isinstance(read, Node):
                meta = read if read.tag == "meta" else meta
                continue
            edit = left.pop(read.name, None)
            if edit is None:
                continue
            for label, node in read.marks:
                if label in edit.remove and label not in edit.add:
                    editor.remove(node)
            present = {label for label, _ in read.marks}
            new = [label for label in dict.fromkeys(edit.add) if label not in present]
            added |= dict.fromkeys(new)
            editor.append(read.node, [New("tag", {"label": label, "source": "auto"}) for label in new])
        check_known(self.path, left, ())
        for labels in _label_lists(meta) if meta is not None and added else ():
            _extend(editor, labels, list(added))
        after = editor.result()
        if after != before:
            yield FileChange(self.path, before, after)

    def _nodes(self, content: bytes) -> Iterator[_Image | Node]:
        for node in root_children(self.path, content, "annotations"):
            name = relative_id(node.attributes.get("name", "").strip()) if node.tag == "image" else ""
            if name:
                yield _Image(name, node)
            else:
                yield node


def _label_lists(node: Node) -> Iterator[Node]:
    """Yield every ``<labels>`` below a node."""
    for child in node.children:
        if child.tag == "labels":
            yield child
        else:
            yield from _label_lists(child)


def _extend(editor: XmlEditor, labels: Node, added: Sequence[str]) -> None:
    """Add labels to a list of labels of a task, unless it has them."""
    listed = {child.child_text("name") for child in labels.children}
    typed = any(child.child("type") is not None for child in labels.children)
    new = []
    for label in added:
        if label not in listed:
            kind = [New("type", text="tag")] if typed else []
            new.append(New("label", children=[New("name", text=label), *kind, New("attributes")]))
    editor.append(labels, new)
