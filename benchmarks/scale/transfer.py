"""Rounds that move tables between the nodes of a Ray cluster and compute almost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.core.benchmark import Raw
from benchmarks.scale.namespaces import head_address, wait_for_nodes
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.run.pool import MergeSpec, Payload, WorkerTiming
from vse_ens.run.threads import Workers
from vse_ens.train.trainer import Trainer

_DIMENSIONS = 104
LABELS_PER_IMAGE = 100


def every_label(labels: int, shards: int) -> Annotations:
    """Return pairs in which every shard has every label once: little work, but every row of the tables changes."""
    each = -(-labels // LABELS_PER_IMAGE)
    indptr = np.minimum(np.arange(each + 1) * LABELS_PER_IMAGE, labels)
    # Image i belongs to shard i % shards, so every row of labels is repeated once per shard.
    lengths = np.repeat(np.diff(indptr), shards)
    starts = np.repeat(indptr[:-1], shards)
    indices = np.concatenate([np.arange(start, start + length) for start, length in zip(starts, lengths, strict=True)])
    return Annotations(
        Vocabulary.from_ids([f"{number:07}" for number in range(len(lengths))], "image"),
        Vocabulary.from_ids([f"{number:07}" for number in range(labels)], "label"),
        np.concatenate([[0], np.cumsum(lengths)]),
        indices.astype(np.int32),
    )


class TransferOnly:
    """A shard actor that receives tables, computes nothing and returns an array of ``floats`` numbers."""

    keeps_state = False

    def __init__(self, settings: Payload, workers: Workers) -> None:  # noqa: ARG002
        self._floats = settings["floats"]

    def add_shard(self, shard: int, arguments: Payload) -> None:
        """Do nothing: all shards are equal."""

    def load_shard(self, shard: int, state: Payload) -> None:
        """Do nothing: there is no state."""

    def save_shard(self, shard: int, arguments: Payload) -> Payload:  # noqa: ARG002
        """Return an empty state."""
        return {}

    def run_shard(
        self,
        shard: int,  # noqa: ARG002
        shared: Sequence[Payload],
        arguments: Payload,  # noqa: ARG002
    ) -> tuple[Sequence[Payload], Payload]:
        """Return one piece of the result for each piece of the tables."""
        return [{"changes": np.ones(self._floats // len(shared), np.float32)} for _ in shared], {}


def add_up(left: Payload, right: Payload) -> Payload:
    """Merge two results."""
    return {"changes": left["changes"] + right["changes"]}


def cut(shared: Payload, pieces: int) -> list[Payload]:
    """Split the tables into pieces."""
    return [{"tables": part} for part in np.array_split(shared["tables"], pieces)]


def join(results: Sequence[Payload]) -> Payload:
    """Concatenate the results of all pieces."""
    return {"changes": np.concatenate([one["changes"] for one in results])}


MERGING = MergeSpec(*(f"{__name__}.{function.__name__}" for function in (add_up, cut, join)))


def time_rounds(nodes: int, labels: Sequence[int], rounds: int) -> list[Raw]:
    """Return the seconds of rounds of training, of distributing tables and of merging results, by number of labels."""
    from vse_ens.run.ray.pool import RayPool

    found = []
    with RayPool(head_address()) as pool:
        wait_for_nodes(nodes)
        for count in labels:
            config = Config(
                sampler="uniform", loss="logistic", dimensions=_DIMENSIONS, shards=nodes, exchanges=1, slices=1,
                epochs=rounds + 1,
            )  # fmt: skip
            trainer = Trainer(config, every_label(count, nodes), workers=1, pool=pool)
            floats = count * (_DIMENSIONS + 1)
            found.append(
                {
                    "nodes": nodes,
                    "labels": count,
                    "bytes": floats * 4,
                    "round": _times([progress.timings for progress in trainer.rounds()]),
                    "down": _time_transfers(pool, nodes, rounds, down=floats, up=1),
                    "up": _time_transfers(pool, nodes, rounds, down=1, up=floats),
                }
            )
    return found


def _time_transfers(pool: Any, nodes: int, rounds: int, down: int, up: int) -> list[Raw]:
    pool.open(f"{__name__}.{TransferOnly.__name__}", {"floats": up}, [{}] * nodes)
    shared = {"tables": np.ones(down, np.float32)}
    return _times([pool.run(shared, {}, MERGING).timings for _ in range(rounds + 1)])


def _times(rounds: list[tuple[WorkerTiming, ...]]) -> list[Raw]:
    """Return the times of every round except the first, which may compile."""
    return [
        {"seconds": shares[0].seconds, "computing": max(share.computing for share in shares)} for shares in rounds[1:]
    ]
