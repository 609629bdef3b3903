"""Write the results and charts of docs/paper-numbers.md from the report of a full reproduction.

    vse reproduce --iaprtc12 PAIRS --out reproduction
    python -m benchmarks.core.paper_numbers reproduction/report.json

The report is kept in benchmarks/results/reproduction.json. Without an argument its verdicts are computed again by the
rules as they are now, and the document is written from there.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.core.markdown import blocks_markdown, table_markdown
from benchmarks.core.report import fill_sections
from benchmarks.core.results import FOLDER
from benchmarks.paper.charts import CHARTS
from benchmarks.paper.findings import findings_of
from benchmarks.paper.page import reproduction_page
from benchmarks.paper.statements import statement_table
from benchmarks.paper.summary import summary

DOCUMENT = Path(__file__).parents[2] / "docs" / "paper-numbers.md"
STORED = FOLDER / "reproduction.json"


def filled(text: str) -> str:
    """Return the text of the document with its generated sections as the stored report says."""
    report: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    page = reproduction_page(report)
    parts = []
    for section in page.sections:
        parts.append(f"### {section.heading}")
        parts += blocks_markdown(section.blocks)
    sections = {
        "summary": fill(summary(report), 120, break_long_words=False, break_on_hyphens=False),
        "statements": table_markdown(statement_table(report)),
        "report": "\n\n".join(parts),
    }
    return fill_sections(text, sections)


def charts() -> dict[Path, str]:
    """Return the charts of the document as the stored report says."""
    report = json.loads(STORED.read_text(encoding="utf-8"))
    return {DOCUMENT.parent / name: draw(report) for name, draw in CHARTS.items()}


def main() -> None:
    """Store the report given as argument or the stored one, judged again, and write the document."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else STORED
    report = json.loads(source.read_text(encoding="utf-8"))
    for described in report["data_sets"].values():
        described["path"] = described["path"] and Path(described["path"]).name
    report["verdicts"] = [asdict(finding) for finding in findings_of(report)]
    STORED.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for path, chart in charts().items():
        path.write_text(chart, encoding="utf-8")
    DOCUMENT.write_text(filled(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
