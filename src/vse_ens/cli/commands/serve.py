"""``vse serve``: a trained model over HTTP, with a page for people."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from vse_ens.cli.console import Console
from vse_ens.cli.options import ModelFolder
from vse_ens.errors import ConfigError, MissingPartError

if TYPE_CHECKING:
    from vse_ens.service.settings import Settings

_KEY_VARIABLE = "VSE_API_KEY"


def serve(
    model: ModelFolder,
    *,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; past this machine only with a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="Where to listen; 0: any free port.")
    ] = 8765,
    feedback: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default="MODEL.feedback.sqlite",
            help="Where accepted and rejected suggestions are kept.",
        ),
    ] = None,
    image_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default=False,
            help='Where pictures are, with {image} for the id: "https://example.org/{image}.jpg".',
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help=f"A file that holds the key every call must bring; or set {_KEY_VARIABLE}.",
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    screen: Console,
) -> None:
    """Serve a model over HTTP, with a page for people.

    SIGHUP, or POST /api/reload, swaps in the model directory anew; SIGTERM answers what is under way and stops.
    """
    try:
        from vse_ens.service.server import run
    except ImportError as error:
        raise MissingPartError(f"vse serve needs the library {error.name}: pip install 'vse-ens[service]'") from error
    from vse_ens.service.settings import Settings

    settings = Settings(
        model=model,
        host=host,
        port=port,
        feedback=feedback or model.with_name(f"{model.resolve().name}.feedback.sqlite"),
        image_url=image_url,
        api_key=_key(api_key_file),
    )

    def announce(served: Settings) -> None:
        told = f"{model} is served at {served.address} until Ctrl-C"
        screen.result({"model": str(model), "address": served.address}, Text(told))
        sys.stdout.flush()
        if open_page:
            import webbrowser

            # A browser of the terminal would hold up the service that it is to show.
            threading.Thread(target=webbrowser.open, args=(served.address,), daemon=True).start()

    run(settings, announce)


def _key(file: Path | None) -> str | None:
    """The key in a file, or in the environment."""
    if file is None:
        return os.environ.get(_KEY_VARIABLE) or None
    try:
        key = file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not a text file with a key") from error
    if not key:
        raise ConfigError(f"{file} is empty; it should hold the API key")
    return key
