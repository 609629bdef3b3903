"""Operators of FiftyOne: suggest missing labels, and find those that are probably wrong."""

from __future__ import annotations

from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from . import core

# Where labels are in a field of each type.
_PATHS = {
    fo.Classifications: "classifications.label",
    fo.Detections: "detections.label",
    fo.Polylines: "polylines.label",
}


def _fields(samples: Any) -> dict[str, str]:
    """Return the fields that hold several labels per sample, with the path of the labels."""
    found = {}
    for name, field in samples.get_field_schema().items():
        kind = getattr(field, "document_type", None)
        if kind in _PATHS:
            found[name] = f"{name}.{_PATHS[kind]}"
        elif isinstance(field, fo.ListField) and isinstance(field.field, fo.StringField):
            found[name] = name
    return found


class _Operator(foo.Operator):  # type: ignore[misc]
    """Reads the labels of a view from one field and writes labels with confidences to others."""

    title: ClassVar[str]
    targets: ClassVar[dict[str, str]]  # parameter: default name of the field it writes

    @property
    def config(self) -> Any:
        """The name of the operator, and that it may run in the background."""
        return foo.OperatorConfig(
            name=type(self).__name__.lower(), label=self.title, dynamic=True, allow_delegated_execution=True
        )

    def resolve_input(self, ctx: Any) -> Any:
        """Ask for the field, the fields to write, and the operator's own settings."""
        inputs = types.Object()
        fields = [name for name in _fields(ctx.view) if name not in self.targets.values()]
        if not fields:
            message = "This view has no field with several labels per sample: classifications, detections or strings."
            warning = inputs.view("none", types.Warning(label=message))
            warning.invalid = True
            return types.Property(inputs)
        chosen = next((name for name in fields if name != "tags"), fields[0])
        inputs.enum("field", fields, default=chosen, required=True, label="Labels to learn from")
        for name, default in self.targets.items():
            inputs.str(name, default=default, label=f"Field for {name} labels (overwritten)")
        self.ask(inputs)
        return types.Property(inputs, view=types.View(label=self.title))

    def ask(self, inputs: Any) -> None:
        """Add the operator's own settings."""
        raise NotImplementedError

    def labels(self, ctx: Any) -> dict[str, list[str]]:
        """Return the labels of each sample of the view; refuse to overwrite the labels that are read."""
        field, fields = ctx.params["field"], _fields(ctx.view)
        for target in self.targets:
            name = ctx.params.get(target, self.targets[target])
            there = ctx.dataset.get_field(name)
            if name == field or (there is not None and getattr(there, "document_type", None) is not fo.Classifications):
                raise ValueError(f"{name} has other data; choose another field for {target} labels")
        ids, labels = ctx.view.values(["id", fields[field]])
        return {sample: sorted(set(own or ())) for sample, own in zip(ids, labels, strict=True)}

    def write(self, ctx: Any, target: str, found: core.Found) -> None:
        """Write labels with their confidence to a field; samples of the view without any lose older ones."""
        values = {
            sample: fo.Classifications(
                classifications=[fo.Classification(label=label, confidence=sure) for label, sure in found[sample]]
            )
            if sample in found
            else None
            for sample in ctx.view.values("id")
        }
        name = ctx.params.get(target, self.targets[target])
        if ctx.dataset.get_field(name) is None:
            ctx.dataset.add_sample_field(name, fo.EmbeddedDocumentField, embedded_doc_type=fo.Classifications)
        ctx.dataset.select(list(values), ordered=True).set_values(name, list(values.values()))

    def resolve_output(self, ctx: Any) -> Any:  # noqa: ARG002  # FiftyOne's signature
        """Show the counts."""
        outputs = types.Object()
        outputs.str("summary", label="Result")
        return types.Property(outputs)


class Suggest(_Operator):
    """Writes the labels that samples probably lack."""

    title = "vse-ens: suggest missing labels"
    targets: ClassVar = {"suggested": "vse_suggested"}

    def ask(self, inputs: Any) -> None:
        """Ask how many labels to suggest, and how sure they must be."""
        inputs.int("top", default=5, min=1, label="Labels per sample, at most")
        inputs.float("min_confidence", default=0.3, min=0, max=1, label="Confidence, at least")

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Learn from the labels, and write suggestions."""
        labels = self.labels(ctx)
        found = core.suggest(labels, ctx.params.get("top", 5), ctx.params.get("min_confidence", 0.3))
        self.write(ctx, "suggested", found)
        count, bare = sum(map(len, found.values())), sum(not own for own in labels.values())
        summary = f"{count:,} labels suggested for {len(found):,} of {len(labels):,} samples"
        if bare:
            summary += f"; {bare:,} samples without a label were left out"
        ctx.ops.reload_dataset()
        return {"summary": summary}


class Audit(_Operator):
    """Writes the labels that are probably wrong or missing, and names labels that may be the same."""

    title = "vse-ens: find wrong labels"
    targets: ClassVar = {"wrong": "vse_wrong", "missing": "vse_missing"}

    def ask(self, inputs: Any) -> None:
        """Ask how many findings to write."""
        inputs.int("top", default=50, min=1, label="Findings of each kind, at most")

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Learn from the labels, write what looks wrong, and show these samples, the most certain first."""
        found = core.audit(self.labels(ctx), ctx.params.get("top", 50))
        for target in self.targets:
            self.write(ctx, target, getattr(found, target))
        wrong, missing = (sum(map(len, kind.values())) for kind in (found.wrong, found.missing))
        summary = f"{wrong:,} labels may be wrong and {missing:,} missing; nothing was changed in the labels themselves"
        if found.duplicates:
            summary += "; may be the same: " + ", ".join(f"{one} and {other}" for one, other in found.duplicates)
        ctx.ops.reload_dataset()
        return {"summary": summary}


def register(plugin: Any) -> None:
    """Tell FiftyOne about the operators."""
    plugin.register(Suggest)
    plugin.register(Audit)
