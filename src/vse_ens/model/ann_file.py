"""Check the file of a neighbor graph before usearch maps it: usearch follows the numbers in it without a check.

The file, as usearch 2 writes it, all numbers little-endian:

    rows, bytes per vector                  uint32 each
    vectors                                 float16
    "usearch", version, kinds, counts       64 bytes
    nodes, connectivity, base connectivity, top level, entry node      uint64 each
    levels                                  int16 per node
    nodes                                   key (int64), level (int16), then for every level from 0 to the node's own
                                            the number of neighbors and room for the most there may be, uint32 each
"""

from __future__ import annotations

import os
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.system import open_regular

_DIMENSIONS = struct.Struct("<II")
# Magic, version (three numbers), kinds of metric, vectors, keys and slots, images present and deleted, dimensions,
# whether a key may have several vectors.
_HEAD = struct.Struct("<7s6x4BQQQB22x")
_GRAPH = struct.Struct("<5Q")
# The inner product of float16 vectors, uint64 keys, and uint32 slots.
_KINDS = (ord("i"), 12, 14, 15)
_NODE_HEAD, _NUMBER = 10, 4
_MAX_CONNECTIVITY, _MAX_LEVEL = 1 << 10, 64
# Nodes checked at a time.
_BLOCK = 1 << 15

Bytes = NDArray[np.uint8]


class _Graph(NamedTuple):
    levels: NDArray[np.int64]
    offsets: NDArray[np.int64]
    """Where each node starts."""
    connectivity: int
    base: int
    """The most neighbors on level 0; there are ``connectivity`` on others."""


def check_graph_file(path: str, images: int, width: int) -> None:
    """Raise a ValueError unless a file is a graph of ``images`` vectors of this width, and no link leads out of it.

    Every image must have one node, so that a search returns only numbers of images. Whether the vectors belong to a
    model is not checked.
    """
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if not size:
        raise ValueError("it is empty")
    content: Bytes = np.asarray(np.memmap(path, np.uint8, "r"))
    graph, entry, top = _layout(content, images, width)
    if not images:
        return
    if entry >= images or graph.levels.max() != top or graph.levels[entry] != top:
        raise ValueError("its search starts at no node of the top level")
    seen = np.zeros(images, np.bool_)
    for first in range(0, images, _BLOCK):
        nodes = np.arange(first, min(first + _BLOCK, images))
        _check_heads(content, graph, nodes, seen)
        for level in range(top + 1):
            _check_neighbors(content, graph, nodes[graph.levels[nodes] >= level], level)


def _layout(content: Bytes, images: int, width: int) -> tuple[_Graph, int, int]:
    """Return the places of all nodes, the entry node and the top level."""
    vectors, bytes_per_vector = _unpack(_DIMENSIONS, content, 0)
    if (vectors, bytes_per_vector) != (images, 2 * width):
        raise ValueError("it is the index of another model")
    place = _DIMENSIONS.size
    for first in range(0, images, _BLOCK):
        block = _part(content, place, 2 * width * min(_BLOCK, images - first))
        if not np.isfinite(block.view("<f2")).all():
            raise ValueError("its vectors are not finite")
        place += len(block)
    magic, *kinds, present, deleted, dimensions, several = _unpack(_HEAD, content, place)
    if magic != b"usearch" or tuple(kinds) != _KINDS:
        raise ValueError("it is of another kind")
    if (present, deleted, dimensions, several) != (images, 0, width, 0):
        raise ValueError("it is the index of another model")
    place += _HEAD.size
    nodes, connectivity, base, top, entry = _unpack(_GRAPH, content, place)
    if nodes != images or not 0 < connectivity <= _MAX_CONNECTIVITY or not 0 < base <= _MAX_CONNECTIVITY:
        raise ValueError("its graph does not belong to its vectors")
    place += _GRAPH.size
    levels = _part(content, place, 2 * images).view("<i2").astype(np.int64)
    if (levels < 0).any() or (levels > _MAX_LEVEL).any():
        raise ValueError("a node is on no level")
    place += 2 * images
    sizes = _NODE_HEAD + _NUMBER * (1 + base + levels * (1 + connectivity))
    ends = place + np.cumsum(sizes)
    if len(content) != (int(ends[-1]) if images else place):
        raise ValueError("its size does not fit its nodes")
    return _Graph(levels, ends - sizes, connectivity, base), entry, top


def _check_heads(content: Bytes, graph: _Graph, nodes: NDArray[np.int64], seen: NDArray[np.bool_]) -> None:
    heads = content[graph.offsets[nodes, None] + np.arange(_NODE_HEAD)]
    keys = np.ascontiguousarray(heads[:, :8]).view("<u8")[:, 0]
    levels = np.ascontiguousarray(heads[:, 8:]).view("<i2")[:, 0]
    if not np.array_equal(levels, graph.levels[nodes]):
        raise ValueError("a node has two levels")
    if (keys >= len(seen)).any() or seen[keys].any() or len(np.unique(keys)) != len(keys):
        raise ValueError("its nodes are not one of every image")
    seen[keys] = True


def _check_neighbors(content: Bytes, graph: _Graph, nodes: NDArray[np.int64], level: int) -> None:
    if not len(nodes):
        return
    room = graph.base if level == 0 else graph.connectivity
    before = 0 if level == 0 else _NUMBER * (1 + graph.base + (level - 1) * (1 + graph.connectivity))
    starts = graph.offsets[nodes] + _NODE_HEAD + before
    lists = content[starts[:, None] + np.arange(_NUMBER * (1 + room))].view("<u4")
    counts, slots = lists[:, 0], lists[:, 1:]
    if (counts > room).any():
        raise ValueError("a node has too many neighbors")
    linked = slots[np.arange(room) < counts[:, None]]
    # A neighbor that is not on this level has no list there: what follows it would be read as one.
    if (linked >= len(graph.levels)).any() or (graph.levels[linked] < level).any():
        raise ValueError("a node has a neighbor that does not exist")


def _unpack(form: struct.Struct, content: Bytes, place: int) -> tuple[Any, ...]:
    return form.unpack(_part(content, place, form.size).tobytes())


def _part(content: Bytes, place: int, size: int) -> Bytes:
    if place + size > len(content):
        raise ValueError("it is truncated")
    return content[place : place + size]
