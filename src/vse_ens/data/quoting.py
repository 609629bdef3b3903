"""Whether the quotes of a delimited text are where they belong.

The fast parser takes a quoted field that goes on after its closing quote as it comes, and a stray quote may swallow
lines. So the bytes are watched on their way to it: where every opening quote follows a separator or line end, and every
closing quote comes before one, the text can be read in one way only. Any other text is left to a strict, slow parser.
"""

from __future__ import annotations

from typing import IO

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.formats import BOM

_LF, _CR = 10, 13


class WatchedText:
    """A byte stream that keeps count of line ends and an eye on quotes as it is read."""

    def __init__(self, stream: IO[bytes], separator: str, quote: str | None) -> None:
        self._stream = stream
        self._quote = quote.encode() if quote else None
        self._beside_quotes = np.zeros(256, dtype=bool)
        self._beside_quotes[[_LF, _CR, ord(separator), *(self._quote or b"")]] = True
        self._inside = False
        self._last = _LF
        self._started = False
        self._line_ends = 0
        self._well_quoted = True
        self.closed = False

    @property
    def well_quoted(self) -> bool:
        """Whether all quotes so far are where they belong, and none is open."""
        return self._well_quoted and not self._inside

    @property
    def lines(self) -> int:
        """Lines so far, blank ones included; a line end within quotes ends no line."""
        return self._line_ends

    def read(self, size: int) -> bytes:
        """The next bytes, without a byte order mark, and with an end to the last line."""
        block = self._stream.read(size)
        if not self._started:
            self._started = True
            block = block.removeprefix(BOM)
        if len(block) < size and (block or bytes([self._last]))[-1:] not in b"\r\n":
            block += (
                b"\n"  # a short read is the last one, and the parser does not take a first block without a line end
            )
        if block:
            self._watch(block)
        return block

    def close(self) -> None:
        """Nothing to do: whoever opened the stream closes it."""

    def _watch(self, block: bytes) -> None:
        if self._quote is not None and not self._inside and self._last == self._quote[0]:
            # The block before ended with a closing quote.
            self._well_quoted &= bool(self._beside_quotes[block[0]])
        if self._inside or (self._quote is not None and self._quote in block):
            self._watch_quotes(np.frombuffer(block, np.uint8))
        else:
            split_crlf = self._last == _CR and block[0] == _LF
            self._line_ends += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n") - split_crlf
        self._last = block[-1]

    def _watch_quotes(self, block: NDArray[np.uint8]) -> None:
        is_quote = block == ord(self._quote or b"")
        before = np.concatenate([np.array([self._last], np.uint8), block[:-1]])
        places = np.flatnonzero(is_quote)
        opening, closing = places[int(self._inside) :: 2], places[int(not self._inside) :: 2]
        after = block[closing[closing + 1 < len(block)] + 1]
        self._well_quoted &= bool(self._beside_quotes[before[opening]].all() and self._beside_quotes[after].all())
        # Inside where the number of quotes so far is odd; eight bits of the count are enough for that.
        inside = (np.cumsum(is_quote, dtype=np.uint8) + np.uint8(self._inside)) & 1
        ends = (block == _CR) | ((block == _LF) & (before != _CR))
        self._line_ends += int(np.count_nonzero(ends & (inside == 0)))
        self._inside = bool(inside[-1])
