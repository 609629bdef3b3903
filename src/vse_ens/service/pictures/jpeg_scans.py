"""Count the scans of a JPEG file before it is decoded.

A progressive JPEG is decoded in several passes over all pixels, one per scan. A scan may be a few bytes long, so that a
small file can take minutes.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from vse_ens.service.errors import ApiError

# Programs write about ten. libtiff has the same limit.
MAX_SCANS = 100
# Large metadata are divided into segments of 64 kB.
MAX_SEGMENTS = 10_000
_START, _END, _SCAN, _TEMPORARY = b"\xff\xd8", 0xD9, 0xDA, 0x01
# In the data of a scan, FF 00 is a byte FF, and FF D0 to FF D7 are restarts, which belong to the scan.
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
_BLOCK = 1 << 20


def count_scans(file: BinaryIO) -> int:
    """Return the number of scans; 0 if the file is no JPEG. Refuse one with too many scans or segments."""
    file.seek(0)
    if file.read(2) != _START:
        return 0
    scans = 0
    for _ in range(MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker is None or marker == _END:
            return scans
        if marker == _TEMPORARY:  # has no length
            continue
        if marker == _SCAN:
            scans += 1
            if scans > MAX_SCANS:
                raise ApiError(415, f"the picture has more than {MAX_SCANS} scans")
        length = int.from_bytes(file.read(2), "big")
        file.seek(max(length - 2, 0), 1)
    raise ApiError(415, f"the picture has more than {MAX_SEGMENTS:,} segments")


def _next_marker(file: BinaryIO) -> int | None:
    """Return the next marker, and leave the file behind it; None at the end of the file."""
    size = 2  # a segment is mostly followed by the next one, the data of a scan are long
    while True:
        start = file.tell()
        block = file.read(size)
        found = _MARKER.search(block)
        if found:
            file.seek(start + found.end())
            return found[1][0]
        if len(block) < size:
            return None
        file.seek(-1, 1)  # the last byte may be the first of a marker
        size = _BLOCK
