"""A notebook widget that shows images one after another and takes decisions on their suggested labels.

from vse_ens.widget import AnnotationWidget

widget = AnnotationWidget(model, images)     # click the labels that are right, then Next
model.partial_fit(widget.accepted())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, MissingPartError

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingPartError(f"the widget needs anywidget: pip install 'vse-ens[notebook]' ({error})") from error

# Text is set as text, never as HTML. Colours are those of the notebook.
_SCRIPT = """
function render({ model, el }) {
  const add = (parent, tag, text, name) => {
    const made = document.createElement(tag);
    made.textContent = text ?? "";
    if (name) made.className = name;
    parent.append(made);
    return made;
  };
  const draw = () => {
    const shown = model.get("shown");
    const focus = el.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    el.replaceChildren();
    const box = add(el, "div", null, "vse-ens-widget");
    add(box, "strong", shown.image ?? "All images are done.");
    add(box, "small", ` ${shown.number} of ${shown.total}`);
    if (shown.picture) add(box, "img").src = shown.picture;
    if (shown.image !== null) {
      add(box, "p", `labels: ${shown.labels.join(", ") || "none"}`);
      for (const { label, confidence, accepted } of shown.suggestions) {
        const button = add(box, "button", confidence === null ? label : `${label} ${Math.round(100 * confidence)} %`);
        button.dataset.key = `label ${label}`;
        button.setAttribute("aria-pressed", accepted);
        button.onclick = () => model.send({ toggle: label });
      }
    }
    const steps = add(box, "p");
    for (const [name, step] of [["Back", -1], ["Next", 1]]) {
      const button = add(steps, "button", name);
      button.dataset.key = name;
      button.disabled = step < 0 ? shown.number <= 1 : shown.image === null;
      button.onclick = () => model.send({ step });
    }
    for (const button of box.querySelectorAll("button")) if (button.dataset.key === focus) button.focus();
  };
  model.on("change:shown", draw);
  draw();
}
export default { render };
"""
_STYLE = """
.vse-ens-widget{font:inherit;color:inherit;padding:.4em 0}
.vse-ens-widget img{display:block;max-width:100%;max-height:20em;margin:.4em 0}
.vse-ens-widget button{font:inherit;color:inherit;background:none;border:1px solid rgba(128,128,128,.6);
border-radius:.3em;padding:.2em .6em;margin:0 .4em .4em 0;cursor:pointer}
.vse-ens-widget button[aria-pressed=true]{background:rgba(20,130,220,.35);font-weight:600}
.vse-ens-widget button:disabled{opacity:.5;cursor:default}
"""


class AnnotationWidget(anywidget.AnyWidget):
    """Shows images with their labels and suggestions; a click accepts a suggestion, another takes it back.

    ``picture`` returns the address of the picture of an image, such as a ``data:`` URL; without it, only ids are shown.
    """

    _esm = _SCRIPT
    _css = _STYLE
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
