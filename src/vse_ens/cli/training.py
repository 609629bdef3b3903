"""How a model is trained: the options of every command that trains one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from vse_ens.config import LOSSES, METRICS, PRESETS, SAMPLERS, TOWERS

_PANEL = "Training"


def _option(help_text: str, metavar: str = "X", *names: str) -> Any:
    """A setting that is the preset's where it is not given."""
    return typer.Option(*names, metavar=metavar, rich_help_panel=_PANEL, show_default=False, help=help_text)


@dataclass
class Training:
    """The option group of commands that train."""

    preset: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=_PANEL, help=f"The model: {', '.join(PRESETS)}.")
    ] = "context"
    sampler: Annotated[str | None, _option(f"Where negatives come from: {', '.join(SAMPLERS)}.", "NAME")] = None
    loss: Annotated[str | None, _option(f"What a wrong order costs: {', '.join(LOSSES)}.", "NAME")] = None
    tower: Annotated[str | None, _option(f"How an image becomes a vector: {', '.join(TOWERS)}.", "NAME")] = None
    dimensions: Annotated[int | None, _option("The length of a vector.", "K")] = None
    epochs: Annotated[int | None, _option("How often every pair is visited.", "N")] = None
    rank_scale: Annotated[
        float | None,
        _option("How deep vse-ens and naive draw ranks, as a share of the label count.", "X", "--lambda"),
    ] = None
    learning_rate: Annotated[float | None, _option("The size of a step.")] = None
    learning_rate_decay: Annotated[float | None, _option("Multiplies the learning rate after every epoch.")] = None
    regularization: Annotated[float | None, _option("L2 on the vectors.")] = None
    negatives: Annotated[int | None, _option("Negatives against one positive (softmax).", "M")] = None
    validate: Annotated[
        bool | None,
        _option("Hold out one label of some images, and keep the epoch that is best on them.", "", "--validate"),
    ] = None
    metric: Annotated[str | None, _option(f"What is best: {', '.join(METRICS)}.", "NAME")] = None
    patience: Annotated[int | None, _option("Epochs without improvement before training stops.", "N")] = None
    shards: Annotated[
        int | None, _option("Parts of the images that train apart, for a cluster; another number, another model.", "N")
    ] = None
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            rich_help_panel=_PANEL,
            show_default=False,
            help="Any other setting of docs/training.md, such as margin=0.5; may be repeated.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", rich_help_panel=_PANEL, help="Another seed, another model.")] = 0
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=_PANEL,
            show_default="all cores",
            help="Threads; the model is the same bytes on any number.",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """What was given, by the names of `vse_ens.config.Config`."""
        own = {name: value for name, value in vars(self).items() if name not in ("preset", "more", "seed", "workers")}
        return {name: value for name, value in own.items() if value is not None} | dict(map(_setting, self.more or []))


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE, such as margin=0.5", param_hint="'--set'")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
