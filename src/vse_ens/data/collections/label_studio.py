"""Label Studio: the exports JSON and JSON-MIN, and files of tasks to import.

The id of an image is its address in the task: a URL as it is, ``/data/local-files/?d=a/b.jpg`` as ``a/b.jpg``, and
``/data/upload/1/c.jpg`` as ``upload/1/c.jpg``. Labels are all choices, taxonomy paths (``place|beach``) and labels of
regions in the annotations that were not cancelled.

A label is written as a choice (or as a path, if the project has a taxonomy and no choices) into the annotation of a
task. A task that nobody has annotated yet gets a prediction of the model version ``vse-ens`` instead, which Label
Studio shows for review; such predictions are read as labels until the task has an annotation. In JSON-MIN the choice is
written beside the image. Removing a label removes its choice and its regions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from vse_ens.data.collections.base import Editable, Edits, FileChange, ImageList, Item
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, json_object, json_objects, read_bytes, relative_id
from vse_ens.data.collections.text_edits import JsonText, Splice
from vse_ens.errors import DataError

MODEL_VERSION = "vse-ens"
_IMAGE_KEYS = ("image", "img", "image_url", "photo", "picture", "url", "file", "file_name", "path")
_IMAGE = re.compile(r"(?i)(\.(jpe?g|png|webp|gif|bmp|tiff?|avif|heic|svg)([?#].*)?$|^data:image/|local-files/\?d=)")
_LABEL_KEYS = frozenset(
    ("choice", "choices", "label", "labels", "class", "classes", "category", "categories", "tag", "tags", "taxonomy")
)


def detect(glance: Glance) -> bool:
    """Return whether a file starts like an array of Label Studio's tasks."""
    head = glance.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"["):
        return False
    full = re.search(rb'"data"\s*:\s*\{', head) and re.search(
        rb'"(annotations|completions|predictions|total_annotations)"\s*:', head
    )
    small = b'"annotation_id"' in head and b'"lead_time"' in head
    tasks = re.match(rb'\[\s*\{\s*("id"\s*:\s*\d+\s*,\s*)?"data"\s*:\s*\{', head)
    return bool(full or small or tasks)


class _Control(NamedTuple):
    """A control tag of the labeling configuration that can hold a label of a whole image."""

    name: str
    object_name: str
    kind: str  # "choices" or "taxonomy"


@dataclass
class _Content:
    text: JsonText
    tasks: dict[str, list[int]] = field(default_factory=dict)
    """The positions of the tasks of each image."""
    labels: dict[str, dict[str, None]] = field(default_factory=dict)
    controls: Counter[_Control] = field(default_factory=Counter)
    choice_keys: Counter[str] = field(default_factory=Counter)
    """The keys of JSON-MIN that hold choices."""
    small: bool = False
    """Whether the file is JSON-MIN."""
    without_image: int = 0


class LabelStudioCollection(ImageList, Editable):
    """The images of a Label Studio file with their labels."""

    format = "label-studio"

    def entries(self) -> Iterator[tuple[Item, _Content]]:
        """Yield every image in the order of the tasks."""
        content = _read(self.path, read_bytes(self.path))
        self.total = len(content.labels)
        if content.without_image:
            self.notes.append(f"skipped {count_of(content.without_image, 'task')} without an image")
        for image, labels in content.labels.items():
            yield Item(image, tuple(labels), image if "://" in image else None), content

    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of the file."""
        splices: list[Splice] = []
        content = None
        for item, content in self.distinct():
            edit = edits.of(item)
            if edit is None:
                continue
            # A label is added to the first task of an image, and removed from all.
            for number, start in enumerate(content.tasks[item.image]):
                change = _change_small_task if content.small else _change_task
                splices += change(content, start, () if number else edit.add, set(edit.remove))
        edits.check_known()
        if content is not None:
            yield from content.text.change(splices)


open = LabelStudioCollection  # noqa: A001  # the interface of formats


# --- reading ----------------------------------------------------------------------------------------------------


def _read(path: Path, raw: bytes) -> _Content:
    content = _Content(JsonText(path, raw))
    text = content.text
    start = text.start()
    if text.opens(start) != "[":
        raise DataError(f"{path} is not a Label Studio export: it is not a JSON array of tasks")
    for task in text.elements(start):
        if not isinstance(task.content, dict):
            raise text.error(task.start, "every task is an object")
        if "data" not in task.content:
            content.small = True
            _note_choice_keys(content, task.content)
    text.check_end(text.end_of(start))
    for task in text.elements(start):
        data = task.content.get("data", task.content)
        image = _image_of(data, task.content.get("id")) if isinstance(data, dict) else None
        if image is None:
            content.without_image += 1
            continue
        content.tasks.setdefault(image, []).append(task.start)
        labels = content.labels.setdefault(image, {})
        labels |= dict.fromkeys(
            _small_labels(content, task.content) if data is task.content else _labels(content, task.content)
        )
    if not content.labels:
        raise DataError(f"{path} has no task with an image")
    return content


def _image_of(data: Mapping[str, Any], number: object) -> str | None:
    """Return the id of the image of a task."""
    candidates = [data[key] for key in _IMAGE_KEYS if isinstance(data.get(key), str)]
    candidates += [value for value in data.values() if isinstance(value, str) and _IMAGE.search(value[:4096])]
    for value in candidates:
        if value.startswith("data:"):
            return f"task-{number}"
        address = urlsplit(value) if "local-files" in value and "?" in value else None
        if address is not None and (local := parse_qs(address.query).get("d")):
            return as_label(relative_id(local[0]))
        if value.startswith("/data/"):
            return as_label(unquote(value.removeprefix("/data/")))
        return as_label(value if "://" in value else relative_id(value))
    return None


def _labels(content: _Content, task: Mapping[str, Any]) -> Iterator[str]:
    """Yield the labels of a task, and count the controls."""
    annotations = _annotations(task)
    predictions = json_objects(task.get("predictions"))
    counted = annotations or [one for one in predictions if one.get("model_version") == MODEL_VERSION]
    for annotation in [*annotations, *predictions]:
        for result in json_objects(annotation.get("result")):
            for key, labels in _label_lists(json_object(result.get("value"))):
                if key in ("choices", "taxonomy") and isinstance(result.get("from_name"), str):
                    content.controls[_Control(result["from_name"], str(result.get("to_name", "image")), key)] += 1
                if any(annotation is one for one in counted):
                    yield from labels


def _annotations(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the annotations of a task that were not cancelled; old exports call them completions."""
    given = task.get("annotations") if "annotations" in task else task.get("completions")
    return [one for one in json_objects(given) if not (one.get("was_cancelled") or one.get("skipped"))]


def _label_lists(value: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the keys of a value that hold labels, each with its labels."""
    for key, given in value.items():
        if isinstance(given, list) and (key in ("choices", "taxonomy") or key.endswith("labels")):
            yield key, [label for label in map(_as_path, given) if label is not None]


def _as_path(given: object) -> str | None:
    """Return a label; a path of a taxonomy is joined by ``|``."""
    if isinstance(given, list):
        parts = [as_label(part) for part in given]
        return "|".join(part for part in parts if part) or None
    return as_label(given)


def _small_labels(content: _Content, task: Mapping[str, Any]) -> Iterator[str]:
    """Yield the labels of a task of JSON-MIN."""
    for key, value in task.items():
        if isinstance(value, dict):
            for _, labels in _label_lists(value):
                yield from labels
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    for _, labels in _label_lists(one):
                        yield from labels
                elif key in _LABEL_KEYS and (label := _as_path(one)):
                    yield label
        elif isinstance(value, str) and key in content.choice_keys and (label := as_label(value)):
            yield label


def _note_choice_keys(content: _Content, task: Mapping[str, Any]) -> None:
    for key, value in task.items():
        many = isinstance(value, dict) and isinstance(value.get("choices"), list)
        if many or (isinstance(value, str) and key in _LABEL_KEYS):
            content.choice_keys[key] += 1


# --- writing ----------------------------------------------------------------------------------------------------


def _change_task(content: _Content, start: int, add: Sequence[str], remove: set[str]) -> list[Splice]:
    """Return the replacements in a task of the full form."""
    text = content.text
    task = text.value(start).content
    key = "completions" if "completions" in task and "annotations" not in task else "annotations"
    annotated = bool(_annotations(task))
    control = _control(content)
    splices: list[Splice] = []
    places = {name: position for name, position in text.members(start) if name in (key, "predictions")}
    left = list(add)
    for name in (key, "predictions"):
        if name not in places or text.opens(places[name]) != "[":
            continue
        for entry in text.elements(places[name]):
            one = entry.content
            is_annotation = name == key
            if not isinstance(one, dict) or one.get("was_cancelled") or one.get("skipped"):
                continue
            if not is_annotation and one.get("model_version") != MODEL_VERSION:
                continue
            position = _member(text, entry.start, "result")
            if position is None or text.opens(position) != "[":
                continue
            here = left if is_annotation or not annotated else []
            splices += _change_results(text, position, here, remove, control)
            if here:
                left = []
    if not left:
        return splices
    if annotated:
        raise text.error(start, "an annotation of this task has no list of results")
    prediction = {"model_version": MODEL_VERSION, "result": [_new_result(left, control)]}
    if "predictions" in places and text.opens(places["predictions"]) == "[":
        entries = list(text.elements(places["predictions"]))
        # Exports have numbers of predictions that stay on the server, with which Label Studio refuses an import.
        numbers = {at for at, entry in enumerate(entries) if not isinstance(entry.content, dict)}
        return splices + text.change_array(places["predictions"], entries, numbers, [prediction])
    if "predictions" in places:
        raise text.error(places["predictions"], "predictions must be an array")
    return splices + text.add_member(start, "predictions", [prediction])


def _change_results(
    text: JsonText, start: int, add: Sequence[str], remove: set[str], control: _Control
) -> list[Splice]:
    """Return the replacements in a list of results."""
    results = list(text.elements(start))
    splices: list[Splice] = []
    emptied: set[int] = set()
    left = list(add)
    for number, result in enumerate(results):
        if not isinstance(result.content, dict) or not isinstance(result.content.get("value"), dict):
            continue
        value = _member(text, result.start, "value")
        is_control = result.content.get("from_name") == control.name
        for key, position in text.members(value) if value is not None else ():
            if not (key in ("choices", "taxonomy") or key.endswith("labels")) or text.opens(position) != "[":
                continue
            entries = list(text.elements(position))
            gone = {index for index, entry in enumerate(entries) if _as_path(entry.content) in remove}
            new = left if is_control and key == control.kind else []
            if gone and len(gone) == len(entries) and not new:
                emptied.add(number)
            elif gone or new:
                splices += text.change_array(position, entries, gone, [_choice(label, control) for label in new])
            if new:
                left = []
    # A result that lost all labels goes as a whole, so none of the changes inside it may stay.
    spans = [(results[number].start, results[number].end) for number in emptied]
    splices = [splice for splice in splices if not any(begin <= splice.start < end for begin, end in spans)]
    return splices + text.change_array(start, results, emptied, [_new_result(left, control)] if left else [])


def _change_small_task(content: _Content, start: int, add: Sequence[str], remove: set[str]) -> list[Splice]:
    """Return the replacements in a task of JSON-MIN."""
    text = content.text
    target = max(content.choice_keys, key=lambda key: content.choice_keys[key], default="choice")
    splices: list[Splice] = []
    left = list(add)
    for key, position in text.members(start):
        value = text.value(position)
        if key == target:
            old = value.content
            held = old.get("choices", []) if isinstance(old, dict) else [old] if isinstance(old, str) else []
            new = [one for one in held if as_label(one) not in remove] + left
            left = []
            if new != held:
                shown: object = {"choices": new} if isinstance(old, dict) or len(new) != 1 else new[0]
                splices.append(Splice(value.start, value.end, json.dumps(shown, ensure_ascii=text.text.isascii())))
        elif isinstance(value.content, dict | list) and remove:
            new_value = _without(value.content, remove)
            if new_value != value.content:
                shown_text = json.dumps(new_value, ensure_ascii=text.text.isascii())
                splices.append(Splice(value.start, value.end, shown_text))
        elif key in content.choice_keys and as_label(value.content) in remove:
            splices.append(Splice(value.start, value.end, '""'))
    if left:
        splices += text.add_member(start, target, left[0] if len(left) == 1 else {"choices": left})
    return splices


def _without(value: Any, remove: set[str]) -> Any:
    """Return a value of JSON-MIN without labels, and without regions that have none left."""
    if isinstance(value, dict):
        kept = dict(value)
        for key, _ in _label_lists(value):
            kept[key] = [one for one in value[key] if _as_path(one) not in remove]
        return kept
    result = []
    for one in value:
        if isinstance(one, dict):
            new = _without(one, remove)
            if new != one and not any(labels for _, labels in _label_lists(new)):
                continue
            result.append(new)
        elif _as_path(one) not in remove:
            result.append(one)
    return result


def _control(content: _Content) -> _Control:
    """Return the control that labels are written to: choices before taxonomies, then the most used one."""
    ranked = sorted(content.controls.items(), key=lambda item: (item[0].kind != "choices", -item[1], item[0]))
    return ranked[0][0] if ranked else _Control("choice", "image", "choices")


def _new_result(labels: Sequence[str], control: _Control) -> dict[str, Any]:
    return {
        "id": hashlib.sha256("\0".join(labels).encode()).hexdigest()[:10],  # the same in a dry run
        "from_name": control.name,
        "to_name": control.object_name,
        "type": control.kind,
        "value": {control.kind: [_choice(label, control) for label in labels]},
    }


def _choice(label: str, control: _Control) -> Any:
    return label.split("|") if control.kind == "taxonomy" else label


def _member(text: JsonText, start: int, key: str) -> int | None:
    """Return the position of the value of a member of an object."""
    found = None
    for name, position in text.members(start):
        if name == key:
            found = position
    return found
