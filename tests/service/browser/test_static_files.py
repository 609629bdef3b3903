"""The files of the page, read as text: nothing from outside, nothing inline, no markup made of strings."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

import vse_ens.service
from vse_ens.errors import DataError
from vse_ens.service.bundle import make_bundle

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


def test_the_bundle_has_every_module_once_after_those_it_imports() -> None:
    html, script, style = make_bundle(FOLDER)
    named = re.findall(r"^// (\S+\.js)$", script, re.MULTILINE)
    assert sorted(named) == sorted(
        path.relative_to(FOLDER).as_posix() for path in FILES if path.suffix == ".js" and path.name != "theme_first.js"
    )
    assert named[-1] == "app.js"
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    asked = re.findall(r'(?:href|src)="(static/[^"]+)"', html)
    assert sorted(asked) == ["static/page.css", "static/page.js", "static/theme_first.js"]
    drawn = re.findall(r'(?:href|src)="data:image/svg\+xml,([^"]+)"', html)
    assert {unquote(one) for one in drawn} == {(FOLDER / "favicon.svg").read_text(encoding="utf-8")}
    for path in FILES:
        if path.suffix == ".css":
            assert path.read_text(encoding="utf-8") in style


def test_a_line_that_cannot_be_bundled_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<script type="module" src="static/app.js"></script>')
    (tmp_path / "app.js").write_text('import { one } from "./one.js";\n')
    (tmp_path / "one.js").write_text("export default 1;\n")
    with pytest.raises(DataError, match=r"one\.js has a line that cannot be bundled: export default 1"):
        make_bundle(tmp_path)
    (tmp_path / "one.js").write_text('import { app } from "./app.js";\nexport const one = 1;\n')
    with pytest.raises(DataError, match=r"app\.js imports itself"):
        make_bundle(tmp_path)
