"""``vse serve``: serve a model over HTTP, with a web page."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vse_ens.cli.console import Console
from vse_ens.cli.options import ModelDir
from vse_ens.cli.parameters import Option
from vse_ens.errors import ConfigError, MissingPartError

if TYPE_CHECKING:
    from vse_ens.service.keys import Key
    from vse_ens.service.settings import Settings

_KEY_VARIABLE = "VSE_API_KEY"
_READ_KEY_VARIABLE = "VSE_READ_KEY"


def serve(
    model: ModelDir,
    *,
    host: Annotated[
        str, Option("Address to listen on; any other than localhost needs an API key.", "ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[int, Option("Port to listen on; 0 for any free port.", "N", min=0, max=65_535)] = 8765,
    feedback: Annotated[
        Path | None, Option("File for accepted and rejected suggestions.", "FILE", default="MODEL.feedback.sqlite")
    ] = None,
    image_url: Annotated[
        str | None, Option('URL of the pictures, with {image} for the ID: "https://example.org/{image}.jpg".', "URL")
    ] = None,
    images: Annotated[
        str | None,
        Option(
            "Folder of the pictures, a collection that knows where they are, or 'drawn' for drawings of labels.",
            "SOURCE",
            default="where the model was trained",
        ),
    ] = None,
    no_images: Annotated[bool, Option("Show no pictures.")] = False,
    picture_cache: Annotated[
        int, Option("Disk space for thumbnails in ~/.cache/vse-ens; 0 keeps none.", "MB", min=0)
    ] = 1000,
    api_key_file: Annotated[
        Path | None,
        Option(
            f"File with the API key that every request must send, or several as NAME:KEY; or set {_KEY_VARIABLE}.",
            "FILE",
        ),
    ] = None,
    read_key_file: Annotated[
        Path | None, Option(f"File with keys that allow reading only; or set {_READ_KEY_VARIABLE}.", "FILE")
    ] = None,
    verify: Annotated[bool, Option("Check every byte of the model; skip it for a huge one.")] = True,
    learn_after: Annotated[
        int,
        Option(
            "Update the model in the background after every N verdicts; it is written to MODEL.learnt.",
            "N",
            min=0,
            default="off",
        ),
    ] = 0,
    open_page: Annotated[bool, Option("Open the page in a browser.", name="--open")] = False,
    console: Console,
) -> None:
    """Serve a model over HTTP, with a web page.

    SIGHUP or POST /api/reload loads the model directory again. SIGTERM finishes open requests and stops.

    Example: vse serve model
    """
    try:
        from vse_ens.service.server import run
    except ImportError as error:
        raise MissingPartError(f"vse serve needs the package {error.name}: pip install 'vse-ens[service]'") from error
    from vse_ens.service.settings import Settings

    if no_images and (images or image_url):
        raise ConfigError("--no-images contradicts --images and --image-url; leave one out")
    settings = Settings(
        model=model,
        host=host,
        port=port,
        feedback=feedback or model.with_name(f"{model.resolve().name}.feedback.sqlite"),
        image_url=image_url,
        images=images,
        own_images=not no_images,
        picture_cache_bytes=picture_cache * 1_000_000,
        keys=(
            *_keys(api_key_file, _KEY_VARIABLE, read_only=False),
            *_keys(read_key_file, _READ_KEY_VARIABLE, read_only=True),
        ),
        verify=verify,
        learn_after=learn_after,
    )

    def announce(served: Settings, note: str = "") -> None:
        if console.json:
            console.result({"model": str(model), "address": served.address})
        console.line(f"serving {model} at {served.address} (stop with Ctrl-C)")
        sys.stdout.flush()
        if note:
            console.log(note)
        if open_page:
            import webbrowser

            # In a thread: a text browser would block the service it is to show.
            threading.Thread(target=webbrowser.open, args=(served.address,), daemon=True).start()

    run(settings, announce)


def _keys(file: Path | None, variable: str, *, read_only: bool) -> tuple[Key, ...]:
    """Return the API keys of a file, or the one of the environment."""
    from vse_ens.service.keys import Key, read_keys

    if file is not None:
        return read_keys(file, read_only=read_only)
    secret = os.environ.get(variable)
    return (Key(secret, read_only=read_only),) if secret else ()
