"""The files of the page, read as text: nothing from outside, nothing inline, no markup made of strings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vse_ens.service

FOLDER = Path(vse_ens.service.__file__).parent / "static"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SVG = "http://www.w3.org/2000/svg"  # the name of a language; nothing is fetched from there


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_file_is_plain(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace(SVG, "")
    assert path.suffix in {".html", ".css", ".js", ".svg"}
    assert not re.search(r"https?://|@import|url\(", text), "an address, perhaps of another host"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    assert not re.search(r"""setAttribute\("style"|<style|\sstyle=|\son[a-z]+=["']""", text)


def test_the_page_names_files_that_exist_and_all_style_sheets() -> None:
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:href|src)="static/([^"]+)"', page))
    assert [name for name in sorted(named) if not (FOLDER / name).is_file()] == []
    styles = {path.relative_to(FOLDER).as_posix() for path in FILES if path.suffix == ".css"}
    assert styles <= named
    assert re.findall(r"<script(?![^>]*\ssrc=)", page) == []


def test_every_module_is_reached_and_imports_only_what_is_there() -> None:
    reached: set[Path] = set()
    ahead = [FOLDER / "app.js"]
    while ahead:
        path = ahead.pop()
        if path in reached:
            continue
        reached.add(path)
        imported = re.findall(
            r'^(?:import|export) [^;]*?from "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE
        )
        ahead += [(path.parent / name).resolve() for name in imported]
    assert reached == {path for path in FILES if path.suffix == ".js"} - {FOLDER / "theme_first.js"}
