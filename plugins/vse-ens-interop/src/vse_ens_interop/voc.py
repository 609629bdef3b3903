"""Pascal VOC: a folder with one XML file per image, in ``Annotations`` or beside the images.

The id of an image is its ``<filename>``, below the folder that its XML file has below ``Annotations``. The root is
``JPEGImages`` or ``images`` if there is one.

VOC has no labels of whole images in these files. A label is written as an object over the whole image that is marked
``<difficult>1</difficult>``: evaluation ignores such objects, and most training code leaves them out. Removing a label
removes its objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vse_ens.data.collections.base import Editable, Edits, FileChange, ImageList, Item, LabelEdit, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, list_files, read_bytes, relative_id, unread_note
from vse_ens.errors import DataError
from vse_ens_interop.xml_text import New, Node, XmlEditor, root_children

_MAX_FILE = 64 << 20
_XML = frozenset([".xml"])
_IMAGE_FOLDERS = ("JPEGImages", "images", "Images")


def detect(glance: Glance) -> bool:
    """Return whether a folder has XML files of VOC."""
    names = sorted(name for name in glance.names if name.lower().endswith(".xml"))
    # The XML of a data set may stand beside other XML: look at the first of each folder.
    firsts = {name.rpartition("/")[0]: name for name in reversed(names)}
    return any(_is_voc(glance.path / name) for name in list(firsts.values())[:5])


@dataclass(frozen=True)
class _Annotated:
    """The content of one XML file."""

    image: str
    objects: tuple[tuple[str, Node], ...]
    size: tuple[int, int] | None
    last: Node | None


class VocCollection(ImageList, Editable):
    """The images of a folder of VOC annotations with the names of their objects."""

    format = "voc"
    empty = "has no XML file"

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        if not path.is_dir():
            raise DataError(f"{path} is not a folder; name the folder that has the Annotations of VOC")
        super().__init__(path, options)
        self._pictures: dict[str, str] = {}
        inside = path / "Annotations"
        self._annotations = inside if inside.is_dir() else path
        beside = path if inside.is_dir() else path.parent
        named = path.name.lower() == "annotations"
        places = [beside / name for name in _IMAGE_FOLDERS] if inside.is_dir() or named else []
        self.root = next((place for place in places if place.is_dir()), self._annotations)

    def entries(self) -> Iterator[tuple[Item, tuple[_Annotated, XmlEditor]]]:
        """Yield the image of every XML file, in the order of the paths."""
        skipped: list[str] = []
        names = list(list_files(self._annotations, skipped, _XML))
        seen: set[str] = set()
        reasons: list[str] = []
        self.total = len(names)
        for name in names:
            try:
                content = read_bytes(self._annotations / name, _MAX_FILE)
                read = self._read(name, content)
            except DataError as error:
                reasons.append(str(error))
                continue
            if read.image in seen:
                reasons.append(f"{name} is a second annotation of {read.image}")
                continue
            seen.add(read.image)
            labels = tuple(dict.fromkeys(label for label, _ in read.objects))
            yield Item(read.image, labels), (read, XmlEditor(self._annotations / name, content))
        self.notes += unread_note(skipped)
        if reasons:
            self.notes.append(f"skipped {len(reasons):,} of {len(names):,} files: {reasons[0]}")
            if not seen:
                raise DataError(reasons[0])

    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of every XML file that the edits affect."""
        found: list[FileChange] = []
        for item, (read, editor) in self.distinct():
            if (edit := edits.of(item)) is not None:
                _change(editor, read, edit)
                found += editor.change()
        edits.check_known()
        yield from found

    def _read(self, name: str, content: bytes) -> _Annotated:
        image, size, last = "", None, None
        objects = []
        for node in root_children(self._annotations / name, content, "annotation"):
            last = node
            if node.tag == "filename":
                image = relative_id(node.text.strip()).rpartition("/")[2]
            elif node.tag == "size":
                width, height = node.child_text("width"), node.child_text("height")
                size = (int(width), int(height)) if width.isdecimal() and height.isdecimal() else None
            elif node.tag == "object" and (label := as_label(node.child_text("name"))):
                objects.append((label, node))
        folder, _, file = name.rpartition("/")
        folder = self._picture_folder(folder)
        image = image or file.removesuffix(".xml")
        return _Annotated(f"{folder}/{image}" if folder else image, tuple(objects), size, last)

    def _picture_folder(self, folder: str) -> str:
        """Return the folder of the pictures for one of XML files: of VOC2007/Annotations it is VOC2007/JPEGImages."""
        if folder not in self._pictures:
            parts = folder.split("/")
            found = folder
            if "Annotations" in parts:
                at = parts.index("Annotations")
                others = ["/".join([*parts[:at], name, *parts[at + 1 :]]) for name in _IMAGE_FOLDERS]
                found = next((other for other in others if (self._annotations / other).is_dir()), folder)
            self._pictures[folder] = found
        return self._pictures[folder]


open = VocCollection  # noqa: A001  # the interface of formats


def _change(editor: XmlEditor, read: _Annotated, edit: LabelEdit) -> None:
    for label, node in read.objects:
        if label in edit.remove:
            editor.remove(node)
    new = [_new_object(label, read.size) for label in edit.add]
    if new and read.last is None:
        raise DataError(f"{editor.path} has an empty <annotation>; labels cannot be written to it")
    if read.last is not None:
        editor.insert_after(read.last, new)


def _new_object(label: str, size: tuple[int, int] | None) -> New:
    children = [New("name", text=label), New("pose", text="Unspecified"), New("truncated", text="0")]
    children.append(New("difficult", text="1"))
    if size is not None:
        corners = {"xmin": 1, "ymin": 1, "xmax": size[0], "ymax": size[1]}
        children.append(New("bndbox", children=[New(name, text=str(at)) for name, at in corners.items()]))
    return New("object", children=children)


def _is_voc(path: Path) -> bool:
    try:
        node = next(root_children(path, read_bytes(path, _MAX_FILE), "annotation"), None)
    except DataError:
        return False
    return node is not None
