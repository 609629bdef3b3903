"""How much memory training will take, told before any of it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import MemoryNeeded
from vse_ens.run.available import available_memory
from vse_ens.run.threads import available_cores
from vse_ens.train.moments import Moments
from vse_ens.train.shape import suited

# What makes a part smaller, where it is not the length of the vectors.
_LOWER = {
    "input vectors": "lower combinations or dimensions",
    "batch buffers": "lower batch, negatives or dimensions",
    "label memory": "train without label_memory, or leave out rare labels with min_images_per_label",
    "pairs": "train on fewer pairs, or without validate",
    "features": "use fewer features, or a tower without them",
}


@dataclass(frozen=True)
class Footprint:
    """Bytes at the fullest moment of training, beside the data, by what they are for; prints as a short table."""

    moment: str
    """When that is."""
    parts: Mapping[str, int]
    available: int | None
    """What this process may still take; None where the system does not tell."""

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.parts.values())

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON can hold them."""
        return {"total": self.total, "available": self.available, "moment": self.moment, "parts": dict(self.parts)}

    def __str__(self) -> str:
        rows = [*self.parts.items(), (f"needed {self.moment}", self.total)]
        if self.available is not None:
            rows.append(("available", self.available))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {size / 1e6:>9,.1f} MB" for name, size in rows)


def footprint(config: Config, data: Annotations, workers: int | None = None) -> Footprint:
    """What training with so many workers (not said: all cores) needs beside the data: rather too much than too little.

    Counts which labels occur together where the model has combinations; else it looks at sizes alone.
    """
    moments = Moments(suited(config, data), data, workers or available_cores())
    moment, parts = max(moments.all(), key=lambda found: sum(found[1].values()))
    largest_first = sorted(parts.items(), key=lambda part: -part[1])
    return Footprint(moment, {name: size for name, size in largest_first if size}, available_memory())


def check_footprint(config: Config, data: Annotations, workers: int | None = None) -> None:
    """Refuse a training that will not fit into the memory that is left."""
    needed = footprint(config, data, workers)
    if needed.available is None or needed.total <= needed.available:
        return
    largest, size = next(iter(needed.parts.items()))
    raise MemoryNeeded(
        f"training needs about {_in_words(needed.total)} of memory, of which {_in_words(size)} for {largest}, and only "
        f"{_in_words(needed.available)} are left; {_LOWER.get(largest, 'lower dimensions')}"
    )


def _in_words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
