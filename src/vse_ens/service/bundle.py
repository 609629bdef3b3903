"""The page in few requests: its modules as one script, its style sheets as one, and its icon in the page itself.

They are put together when the page is served. There is no build step: the files stay what a browser loads by itself,
and `static/index.html` works with them. Browsers request an imported module only when they have read the importing one,
which takes seconds on a slow connection.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from vse_ens.errors import DataError

_SCRIPT, _STYLE = "page.js", "page.css"
_STATIC = Path(__file__).with_name("static")
_IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
_RENAMED = re.compile(r"(?<=\w) as (?=\w)")
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_STYLE_LINK = re.compile(r' *<link rel="stylesheet" href="static/([^"]+)" />\n')
_ICON = re.compile(r'(?<=")static/([^"]+\.svg)(?=")')
_MODULE = re.compile(r'<script type="module" src="static/([^"]+)"></script>')


def page_routes() -> list[BaseRoute]:
    """Return the page at / with its modules as one script, and its files under /static."""
    html, script, style = make_bundle(_STATIC)
    return [
        _file("/", html, "text/html; charset=utf-8"),
        _file(f"/static/{_SCRIPT}", script, "text/javascript; charset=utf-8"),
        _file(f"/static/{_STYLE}", style, "text/css; charset=utf-8"),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


def _file(path: str, text: str, kind: str) -> Route:
    body = text.encode()
    compressed = gzip.compress(body, mtime=0)
    headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:16]}"', "Vary": "Accept-Encoding"}

    async def serve(request: Request) -> Response:
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return Response(compressed, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
        return Response(body, media_type=kind, headers=headers)

    return Route(path, serve)


def make_bundle(folder: Path) -> tuple[str, str, str]:
    """Return the page of a folder, and the script and the style sheet that it loads, with all files they need."""
    html = (folder / "index.html").read_text(encoding="utf-8")
    [entry] = _MODULE.findall(html)
    styles = _STYLE_LINK.findall(html)
    style = "\n".join((folder / name).read_text(encoding="utf-8") for name in styles)
    html = _STYLE_LINK.sub("", html).replace(
        f'<script type="module" src="static/{entry}"></script>',
        f'<link rel="stylesheet" href="static/{_STYLE}" />\n    <script type="module" src="static/{_SCRIPT}"></script>',
    )
    # As an address, because browsers ask for the icon of a page again and again.
    html = _ICON.sub(lambda icon: f"data:image/svg+xml,{quote((folder / icon[1]).read_text(encoding='utf-8'))}", html)
    parts: list[str] = []
    _add(folder, folder / entry, {}, parts, ())
    return html, "".join(parts), style


def _add(folder: Path, path: Path, names: dict[Path, str], parts: list[str], above: tuple[Path, ...]) -> str:
    """Add a module after those that it imports, as a function that returns its exports; return the name of these."""
    if path in names:
        return names[path]
    name = path.relative_to(folder).as_posix()
    if path in above:
        raise DataError(f"{name} imports itself through other modules; cut the circle")
    source = path.read_text(encoding="utf-8")

    def imported(found: re.Match[str]) -> str:
        chosen, whole, target = found.groups()
        module = _add(folder, (path.parent / target).resolve(), names, parts, (*above, path))
        if whole:
            return f"const {whole} = {module};\n"
        return f"const {{{_RENAMED.sub(': ', chosen)}}} = {module};\n"

    body = _EXPORT.sub("", _IMPORT.sub(imported, source))
    if left := _LEFT_OVER.search(body):
        raise DataError(f"{name} has a line that cannot be bundled: {left[0]}")
    exports = ", ".join(_EXPORT.findall(source))
    names[path] = f"module{len(names)}"
    parts.append(f"// {name}\nconst {names[path]} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n")
    return names[path]
