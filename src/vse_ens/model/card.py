"""The model card: what a person who finds a model directory wants to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vse_ens.data.annotations import Summary


def model_card(
    settings: Mapping[str, Any], summary: Summary, training: Mapping[str, Any], validation: Mapping[str, float] | None
) -> str:
    """Markdown: what it is, the settings, the data, the figures. No time stamps: equal models have equal cards."""
    lines = [
        "# A vse-ens model",
        "",
        f"Suggests labels for images. Made by vse-ens {training['version']}.",
        "",
        "## Use",
        "",
        "```python",
        "from vse_ens import Annotator",
        "",
        'model = Annotator.load("path/to/this/directory")',
        'model.annotate("an image id", top=5)',
        "```",
        "",
        "## Settings",
        "",
        *_table(settings),
        "",
        "## Data",
        "",
        *_table(dict(summary.rows())),
        "",
        "## Training",
        "",
        *_table({name: value for name, value in training.items() if name != "version"}),
    ]
    if validation:
        lines += ["", "## Validation (one label of some images held out)", "", *_table(validation)]
    return "\n".join(lines) + "\n"


def _table(rows: Mapping[str, Any]) -> list[str]:
    def text(value: Any) -> str:
        return (f"{value:.6g}" if isinstance(value, float) else str(value)).replace("|", "\\|").replace("\n", " ")

    return ["| | |", "|---|---|", *(f"| {name} | {text(value)} |" for name, value in rows.items())]
