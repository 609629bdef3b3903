"""One epoch at the size of the full Open Images: 9 million images, 20,000 labels and about 70 million pairs.

    python -m benchmarks.scale.full_size vse-ens
    python -m benchmarks.scale.full_size context

Takes minutes and up to 16 GB of RAM, and is not part of `python -m benchmarks`; its results are printed and not kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import configure
from vse_ens.train.ram_estimate import estimate_ram
from vse_ens.train.trainer import Trainer


def run(preset: str, images: int, labels: int) -> dict[str, object]:
    """Generate pairs, train one epoch, and return its time and RAM."""
    began = time.perf_counter()
    data = scenes(images, labels)
    generated = time.perf_counter() - began
    config = configure(preset, validate=False, epochs=1)
    estimated = estimate_ram(config, data).total
    trainer = Trainer(config, data)
    (report,) = trainer.epochs()
    return {
        "preset": preset,
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "seconds_to_generate": round(generated, 1),
        "seconds": round(report.seconds, 1),
        "draws_per_second": round(report.draws_per_second),
        "estimated_bytes": estimated,
        "data_bytes": data.nbytes,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale.full_size", description="Train one epoch at full size."
    )
    parser.add_argument("preset", help="vse-ens or context")
    parser.add_argument("--images", type=int, default=9_000_000)
    parser.add_argument("--labels", type=int, default=20_000)
    given = parser.parse_args()
    print(json.dumps(run(given.preset, given.images, given.labels)))
