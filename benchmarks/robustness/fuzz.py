"""Readers of collections on damaged files: no traceback, no hang, bounded RAM."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.process import call, peak_bytes, resident_bytes


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    inputs: int
    """Damaged files per reader."""


Reader = Callable[[bytes, Path], None]
"""Reads content, which may also be written to the path; raises only errors of `vse_ens.errors`."""


def measure(sizes: Sizes) -> Raw:
    """Return the outcome of every reader, each measured in a process of its own."""
    measured = {}
    for name in samples():
        log(f"{sizes.inputs:,} damaged files: {name}")
        measured[name] = call(read_damaged, name, sizes.inputs)
    return {"inputs": sizes.inputs, "measured": measured, "skipped": []}


def samples() -> dict[str, tuple[bytes, Reader]]:
    """Return a whole file of every kind and the function that reads it."""
    from tests.support.photos import MAKERS, iptc, packet

    xmp = packet(["beach", "Zürich"], ["place|beach"], ["place/beach"], ["place/beach"])
    found: dict[str, tuple[bytes, Reader]] = {
        f"photos: {suffix}": (make(xmp), _read_image) for suffix, make in MAKERS.items()
    }
    found["photos: IPTC"] = (iptc([b"beach", "Zürich".encode()]), _read_iptc)
    found["photos: sidecar, read"] = (xmp, _read_sidecar)
    found["photos: sidecar, changed"] = (xmp, _change_sidecar)
    found["txt-tags: read and changed"] = ("1girl, long_hair, Zürich\nsolo\n".encode(), _change_tags)
    return found | _data_sets()


def _data_sets() -> dict[str, tuple[bytes, Reader]]:
    """Return the files of data sets and catalogues, which are read, and changed where that is possible."""
    from tests.data.collections.test_fuzz_datasets import CASES

    found: dict[str, tuple[bytes, Reader]] = {}
    for name, (_, make, file) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            found[name] = ((Path(folder) / file).read_bytes(), partial(_change_data_set, name))
    return found


def read_damaged(name: str, count: int) -> dict[str, float | str]:
    """Read ``count`` damaged copies of a file; return the unexpected errors, the slowest read and the RAM."""
    from tests.data.collections.test_containers import mutated

    content, read = samples()[name]
    failures, example, slowest = 0, "", 0.0
    before = resident_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for number in range(count):
            damaged = mutated(content, "benchmark", name, number)
            start = time.perf_counter()
            try:
                read(damaged, path)
            except Exception as error:  # noqa: BLE001  # any error is a finding
                failures += 1
                example = example or f"{type(error).__name__}: {error}"
            slowest = max(slowest, time.perf_counter() - start)
    return {"failures": failures, "example": example, "slowest": slowest, "ram_bytes": peak_bytes() - before}


def _read_image(content: bytes, path: Path) -> None:
    from vse_ens.data.collections.containers import read_metadata
    from vse_ens.data.collections.keywords import from_metadata

    path.write_bytes(content)
    from_metadata(read_metadata(str(path)))


def _read_iptc(content: bytes, _path: Path) -> None:
    from vse_ens.data.collections.iptc import read_keywords

    "".join(read_keywords(content)).encode()


def _read_sidecar(content: bytes, _path: Path) -> None:
    from vse_ens.data.collections.keywords import from_xmp

    from_xmp(content)


def _change_sidecar(content: bytes, _path: Path) -> None:
    from vse_ens.data.collections.containers import DamagedFileError
    from vse_ens.data.collections.xmp import SUBJECT, change_keywords, read_keywords

    try:
        after = change_keywords(content, {SUBJECT: ["sand"]}, {SUBJECT: ["beach"]})
    except DamagedFileError:
        return
    found: dict[object, list[str]] = {}
    read_keywords(after, found)  # type: ignore[arg-type]
    if "sand" not in found.get(SUBJECT, ()):
        raise AssertionError("the added keyword is not read back")


def _change_tags(content: bytes, path: Path) -> None:
    from vse_ens.data.collections.base import LabelEdit, OpenOptions
    from vse_ens.data.collections.txt_tags import TxtTagsFolder

    path.with_name("file.jpg").touch()
    path.with_name("file.txt").write_bytes(content)
    folder = TxtTagsFolder(path.parent, OpenOptions(cache=False))
    [item] = folder.items()
    "".join(item.labels).encode()
    list(folder.changes({"file.jpg": LabelEdit(("sand",), ("solo",))}))


def _change_data_set(name: str, content: bytes, path: Path) -> None:
    from tests.data.collections.test_fuzz_datasets import CASES, read_and_change

    format_name, make, file = CASES[name]
    folder = path.parent / name
    place = folder / "source"
    if not folder.exists():
        folder.mkdir()
        place.symlink_to(make(folder))  # remembers which file or folder is the source
    (folder / file).write_bytes(content)
    read_and_change(place.readlink(), format_name)


def score(raw: Raw) -> Score:
    """Return the number of unexpected errors, the slowest read and the RAM over all readers."""
    measured = raw["measured"]
    checks = [
        Check("unexpected errors", sum(one["failures"] for one in measured.values()), "at most", 0, digits=0),
        Check("slowest file", max(one["slowest"] for one in measured.values()), "at most", 5, unit=" s"),
        Check("RAM", max(one["ram_bytes"] for one in measured.values()) / 1e6, "at most", 200, unit=" MB", digits=0),
    ]
    rows = [
        (
            name,
            f"{one['failures']}",
            f"{one['slowest'] * 1e3:,.0f} ms",
            f"{one['ram_bytes'] / 1e6:,.0f} MB",
            one["example"],
        )
        for name, one in measured.items()
    ]
    table = Table(("reader", "unexpected errors", "slowest", "RAM", "example"), rows)
    return Score(checks, [table], [f"{raw['inputs']:,} damaged files per reader."])


FUZZ = Benchmark(
    "fuzz",
    "Readers of collections survive damaged files.",
    Sizes(inputs=10_000),
    Sizes(inputs=20),
    measure,
    score,
)
