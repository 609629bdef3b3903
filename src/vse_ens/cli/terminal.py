"""A console that shows control characters instead of sending them to the terminal.

IDs, labels and file names may contain any characters. An escape sequence among them could clear the screen, change the
title of the window, or rewrite lines that were printed before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# All control characters except tab and line feed, and the characters that reverse the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class PlainConsole(Console):
    """A console in which the printed text cannot control the terminal; styles and live displays still do."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of what is printed, with control characters as escapes such as ``\\x1b``."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escape_control(segment.text), segment.style)


def escape_control(text: str, form: str = "\\x{:02x}") -> str:
    """Return a text with its control characters as escapes."""
    return _CONTROL.sub(lambda match: (form if ord(match[0]) < 256 else "\\u{:04x}").format(ord(match[0])), text)
