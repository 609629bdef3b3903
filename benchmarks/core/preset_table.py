"""Write the table of presets into docs/training.md.

python -m benchmarks.core.preset_table
"""

from __future__ import annotations

from pathlib import Path

from vse_ens.config import Config
from vse_ens.presets import PRESETS

DOCUMENT = Path(__file__).parents[2] / "docs" / "training.md"
START = "<!-- presets: written by `python -m benchmarks.core.preset_table`, kept true by a test -->\n"
END = "<!-- end of presets -->\n"


def table() -> str:
    """Return a Markdown table of every setting of every preset."""
    names = [name for name in Config().to_dict() if name != "seed"]
    lines = [f"| setting | {' | '.join(f'`{name}`' for name in PRESETS)} |", "|---" * (len(PRESETS) + 1) + "|"]
    for name in names:
        values = [f"{getattr(config, name)}" for config in PRESETS.values()]
        lines.append(f"| `{name}` | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """Return the document with an up-to-date table."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return before + START + "\n" + table() + "\n" + END + after


if __name__ == "__main__":
    DOCUMENT.write_text(filled(DOCUMENT.read_text()))
