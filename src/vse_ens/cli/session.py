"""What one run of ``vse`` must remember outside its commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass
class Session:
    """Made by `main`, handed to every command as typer's ``ctx.obj``."""

    debug: bool = False


def _remember(context: typer.Context, debug: bool) -> bool:
    # Said once, before or after the command's name, it holds; and completion runs without a session.
    if debug and isinstance(context.obj, Session):
        context.obj.debug = True
    return debug


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember, is_eager=True, help="Show the traceback where something fails.")
]
