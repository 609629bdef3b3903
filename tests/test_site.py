"""The documentation site builds without a warning, and every page and public name is in it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vse_ens

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
TOOLS = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors; `.ci/run` names the one that `make docs` has built so."""
    if "VSE_ENS_SITE" in os.environ:
        return Path(os.environ["VSE_ENS_SITE"])
    if not all(importlib.util.find_spec(tool) for tool in TOOLS):
        pytest.skip("Sphinx and its extensions are not installed; pip install 'vse-ens[docs]'")
    out = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(out / "doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(out / "html")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=200,
    )
    assert done.returncode == 0, done.stdout
    return out / "html"


def test_every_page_is_in_the_navigation(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'<li class="toctree-l1"><a class="reference internal" href="([^"#]+)\.html"', front))
    pages = {page.stem for kind in ("md", "ipynb") for page in (ROOT / "docs").glob(f"*.{kind}")}
    assert linked == pages - {"index"}


def test_the_notebook_is_shown_with_its_outputs(site: Path) -> None:
    page = (site / "notebook.html").read_text(encoding="utf-8")
    assert page.count('<div class="vse-ens') >= 8
    assert page.count("<svg") >= 3


def test_every_public_name_is_in_the_api_reference(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    documented = set(re.findall(r'id="vse_ens\.(\w+)"', page))
    assert documented >= set(vse_ens.__all__) - {"__version__"}


def test_pages_need_no_network(site: Path) -> None:
    loaded = [
        address
        for page in site.glob("*.html")
        for address in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text("utf-8"))
    ]
    assert loaded == []
