"""CVAT for images 1.1: one XML file with the tags and shapes of every image.

The id of an image is its ``name``. Tags and shapes have the labels. A label is written as a ``<tag>``, CVAT's
label of a whole image, with ``source="auto"``, and added to the labels of the task where they are listed. Add it to the
labels of the task in CVAT before uploading the file. Removing a label removes its tags and shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from vse_ens.data.collections.base import Editable, Edits, FileChange, ImageList, Item, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, read_bytes, relative_id
from vse_ens.errors import DataError
from vse_ens_interop.xml_text import New, Node, XmlEditor, root_children

_FILE = "annotations.xml"


def detect(glance: Glance) -> bool:
    """Return whether an XML file starts like one of CVAT, or a folder has such an annotations.xml."""
    if glance.is_folder:
        return _FILE in glance.names and detect(Glance(glance.path / _FILE))
    return bool(re.search(rb"<annotations>.*?<(version|meta|image|track)\b", glance.head, re.DOTALL))


def open(path: Path, options: OpenOptions) -> CvatCollection:  # noqa: A001, ARG001  # the interface of formats
    """Return the collection of a CVAT file, or of a folder with an annotations.xml."""
    return CvatCollection(path / _FILE if path.is_dir() else path)


class CvatCollection(ImageList, Editable):
    """The images of a CVAT file with the labels of their tags and shapes."""

    format = "cvat"
    repeated = ("image", "whose name occurred before")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        images = path.parent / "images"
        self.root = images if images.is_dir() else path.parent
        self._meta: Node | None = None

    def entries(self) -> Iterator[tuple[Item, tuple[Node, XmlEditor]]]:
        """Yield every image in the order of the file."""
        content = read_bytes(self.path)
        editor = XmlEditor(self.path, content)
        others: set[str] = set()
        has_image = False
        for node in root_children(self.path, content, "annotations"):
            name = relative_id(node.attributes.get("name", "").strip()) if node.tag == "image" else ""
            if name:
                has_image = True
                yield Item(name, tuple(dict.fromkeys(label for label, _ in _marks(node)))), (node, editor)
            elif node.tag == "meta":
                self._meta = node
            else:
                others.add(node.tag)
        if not has_image and "track" in others:
            raise DataError(f"{self.path} is CVAT for video; export the task as CVAT for images 1.1")

    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of the file."""
        added: dict[str, None] = {}
        editor = None
        for item, (image, editor) in self.distinct():
            edit = edits.of(item)
            if edit is None:
                continue
            for label, node in _marks(image):
                if label in edit.remove:
                    editor.remove(node)
            added |= dict.fromkeys(edit.add)
            editor.append(image, [New("tag", {"label": label, "source": "auto"}) for label in edit.add])
        edits.check_known()
        if editor is not None:
            for labels in _label_lists(self._meta) if self._meta is not None and added else ():
                _extend(editor, labels, list(added))
            yield from editor.change()


def _marks(image: Node) -> list[tuple[str, Node]]:
    """Return the tags and shapes of an image with their labels."""
    found = [(as_label(child.attributes.get("label", "")), child) for child in image.children]
    return [(label, child) for label, child in found if label is not None]


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
