"""A notebook widget that shows images one after another and takes decisions on their suggested labels.

from vse_ens.widget import AnnotationWidget

widget = AnnotationWidget(model, images)     # click the labels that are right, then Next
model.partial_fit(widget.accepted())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, MissingPartError

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingPartError(f"the widget needs anywidget: pip install 'vse-ens[notebook]' ({error})") from error


class AnnotationWidget(anywidget.AnyWidget):
    """Shows images with their labels and suggestions; a click accepts a suggestion, another takes it back.

    ``picture`` returns the address of the picture of an image, such as a ``data:`` URL; without it, only ids are shown.
    """

    _esm, _css = (Path(__file__).with_name(f"widget.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    shown = traitlets.Dict().tag(sync=True)

    def __init__(
        self, model: Annotator, images: Iterable[str], *, top: int = 8, picture: Callable[[str], str] | None = None
    ) -> None:
        self._images = list(images)
        if not self._images:
            raise ConfigError("the widget needs at least one image")
        # All ids are checked and all suggestions made before anything is shown.
        found = model.annotate(self._images, top=top)
        self._suggestions = dict(zip(self._images, found, strict=True))
        self._labels = {image: model.known_labels(image) for image in self._images}
        self._picture = picture
        self._accepted: dict[str, list[str]] = {image: [] for image in self._images}
        self._place = 0
        super().__init__(shown=self._show())
        self.on_msg(lambda _widget, message, _buffers: self.receive(message))

    def accepted(self) -> Annotations:
        """Return the accepted suggestions as pairs, for `Annotator.partial_fit` or ``to_frame``."""
        return Annotations.from_pairs((image, label) for image, labels in self._accepted.items() for label in labels)

    def receive(self, message: Any) -> None:
        """Take a message of the page: ``{"toggle": label}`` or ``{"step": 1}``; anything else is ignored."""
        if not isinstance(message, dict):
            return
        image = self._images[self._place] if self._place < len(self._images) else None
        label = message.get("toggle")
        if image is not None and label in [one.label for one in self._suggestions[image]]:
            chosen = self._accepted[image]
            chosen.remove(label) if label in chosen else chosen.append(label)
        if message.get("step") in (-1, 1):
            self._place = min(max(self._place + message["step"], 0), len(self._images))
        self.shown = self._show()

    def _show(self) -> dict[str, Any]:
        """Return what the page shows; without an image after the last one."""
        total = len(self._images)
        if self._place == total:
            return {"image": None, "number": total, "total": total, "labels": [], "suggestions": [], "picture": None}
        image = self._images[self._place]
        suggestions = [
            {"label": one.label, "confidence": one.confidence, "accepted": one.label in self._accepted[image]}
            for one in self._suggestions[image]
        ]
        return {
            "image": image,
            "number": self._place + 1,
            "total": total,
            "labels": self._labels[image],
            "suggestions": suggestions,
            "picture": self._picture(image) if self._picture else None,
        }
