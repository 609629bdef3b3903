"""The configuration of the documentation site: `make docs` builds it into build/docs."""

import json
import re
from typing import TYPE_CHECKING, Any

from myst_parser.parsers.sphinx_ import MystParser

import vse_ens

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "vse-ens"
author = "The vse-ens maintainers"
project_copyright = "The vse-ens maintainers"
version = release = vse_ens.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]

# Pages are Markdown that GitHub shows as well: plain links, tables and fences, and nothing else of MyST.
myst_heading_anchors = 4
smartquotes = False  # "--option" must stay as it is typed
highlight_language = "none"

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # docstrings write names in single backticks

html_theme = "furo"
html_title = f"vse-ens {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _parameters(lines: list[str]) -> list[str]:
    """Turn the section "Args:" of a docstring into fields. (Napoleon would also split the docstrings of attributes.)"""
    turned: list[str] = []
    inside = False
    for line in lines:
        if line == "Args:":
            inside = True
        elif inside and (item := re.match(r"    (\w+): (.*)", line)):
            turned.append(f":param {item[1]}: {item[2]}")
        else:
            inside = inside and line.startswith(" ")
            turned.append(line)
    return turned


def _adapt_docstring(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """List parameters, mark indented examples as code, link `docs/metrics.md` to its page, and escape bars (|A|)."""
    adapted: list[str] = []
    for line in _parameters(lines):
        if line.startswith("    ") and adapted[-2:] and not adapted[-1] and not adapted[-2].startswith((" ", "..")):
            adapted += [".. code-block:: python", ""]
        elif not line.startswith(" "):
            line = re.sub(r"\bdocs/([\w-]+)\.md\b", r":doc:`/\1`", line)
            line = re.sub(r"``.*?``|\|", lambda found: r"\|" if found[0] == "|" else found[0], line)
        adapted.append(line)
    lines[:] = adapted


class NotebookParser(MystParser):
    """Shows a notebook with its stored outputs."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse the notebook as Markdown."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(text for cell in cells for text in _cell_texts(cell)), document)


def _cell_texts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [f"```python\n{source}\n```", *map(_output_text, cell["outputs"])]


def _output_text(output: dict[str, Any]) -> str:
    if "text/html" in output.get("data", {}):
        return "```{raw} html\n" + "".join(output["data"]["text/html"]) + "\n```"
    return "```text\n" + "".join(output.get("text") or output["data"]["text/plain"]) + "\n```"


def setup(app: "Sphinx") -> None:
    """Register the hooks."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("autodoc-process-docstring", _adapt_docstring)
