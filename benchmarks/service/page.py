"""The page at scale: a grid of images for a label, verdicts on many images at once, and the list after a key press."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_embeddings, save_random_model
from benchmarks.service.slow_connection import delayed
from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.model.calibration import LABELS, Calibration, Curve, Temperature
from vse_ens.model.model import Model
from vse_ens.model.weights import LabelWeights

_DIMENSIONS = 128
_WEIGHTS_PER_LABEL = 50
_FIRST = 60  # images of the first page
_WHEN_SUGGESTED = """new MutationObserver((_, observer) => {
  if (!document.querySelector(".suggestion-name")) return;
  window.suggestedAt = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });"""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int = 1_000_000
    labels: int = 20_000
    clicks: int = 40
    batches: int = 20
    decisions: int = 1_000
    keys: int = 50
    visits: int = 5
    latency: float = 0.1


def measure(sizes: Sizes) -> Raw:
    """Serve a random model, wait for the scan of all images, and time what a person does on the page."""
    raw: Raw = {**asdict(sizes), "skipped": []}
    with tempfile.TemporaryDirectory() as folder:
        log("a model")
        data = zipf(sizes.images, sizes.labels)
        model = save_random_model(Path(folder) / "model", _model(data), data, _calibration().arrays())
        feedback = Path(folder) / "feedback.sqlite"
        with _serving(model, feedback) as (process, service):
            log("the scan of all images")
            start = time.perf_counter()
            while service.get("queue")["scored"] < 1:
                time.sleep(0.2)
            raw["scan_seconds"] = time.perf_counter() - start
            labels = _labels(data, sizes.clicks)
            service.get("grid", label=labels[0], kind="wrong")  # waits for the rest of the scan
            log("clicks on labels")
            first = {"limit": _FIRST}
            raw["missing"] = [_seconds(partial(service.get, "grid", label=one, **first)) for one in labels]
            raw["wrong"] = [_seconds(partial(service.get, "grid", label=one, kind="wrong", **first)) for one in labels]
            log("key presses")
            raw["grid_keys"] = [_grid_key(service, one) for one in labels]
            raw["other_keys"] = _other_keys(service, labels)
            raw["image_keys"] = _image_keys(service, sizes.keys)
            raw["queue"] = [_seconds(partial(service.get, "queue")) for _ in range(sizes.keys)]
            images = data.images.ids(np.linspace(0, sizes.images - 1, sizes.keys).astype(np.int64))
            raw["similar"] = [_seconds(partial(service.get, "similar/images", image=one)) for one in images]
            log(f"visits at {sizes.latency * 1000:.0f} ms latency")
            raw["visits"], skipped = _visits(service.address, sizes)
            raw["skipped"] += skipped
            log("batches")
            raw["batches"], last = _batches(service, sizes)
            process.kill()  # right after the answer
            process.wait()
        kept = Feedback(feedback)
        raw["stored"] = len(kept.events(last["batch"] - 1, 1 << 40))
        raw["pairs"] = sum(one.image.startswith(f"batch {sizes.batches} ") for one in kept.changes(0)[1])
        kept.close()
    return raw


def _model(data: Annotations) -> Model:
    """Return a random context tower with label pairs and sparse label weights, as training makes at this size."""
    labels, numbers = len(data.labels), np.random.default_rng(1)
    drawn = np.sort(numbers.choice(data.indices, (4 * labels, 2)), axis=1)
    label_pairs = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0).astype(np.int32)

    def normal(*shape: int) -> Any:
        return numbers.standard_normal(shape, np.float32) * np.float32(0.1)

    embeddings = replace(
        random_embeddings(data, _DIMENSIONS),
        image_vectors=normal(0, _DIMENSIONS),
        input_vectors=normal(labels + len(label_pairs), _DIMENSIONS),
        label_pairs=label_pairs,
        label_squares=1.0 + np.abs(normal(labels)),
        input_squares=1.0 + np.abs(normal(labels + len(label_pairs))),
    )
    columns = min(_WEIGHTS_PER_LABEL, labels)
    indices = np.sort(
        numbers.integers(0, labels // columns, (labels, columns)) + np.arange(columns) * (labels // columns)
    )
    weights = LabelWeights(
        normal(labels * columns), np.arange(labels + 1, dtype=np.int64) * columns, indices.ravel().astype(np.int32)
    )
    return Model(embeddings, weights, 10.0)


def _calibration() -> Calibration:
    knots = np.linspace(0.0, 1.0, 32, dtype=np.float32)
    return Calibration({LABELS: Curve(Temperature(1.0, 0.0), knots, knots)})


def _labels(data: Annotations, count: int) -> list[str]:
    """Return labels of all frequencies, from the most frequent to rare ones."""
    order = np.argsort(-data.images_per_label, kind="stable")
    used = int(np.count_nonzero(data.images_per_label > 1))
    places = np.unique(np.geomspace(1, max(used, 1), count).astype(np.int64)) - 1
    return data.labels.ids(order[places])


class _Service:
    """Calls to a running service, over one connection each, as a browser on this machine makes them."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str, **query: Any) -> Any:
        with urlopen(f"{self.address}api/{path}?{urlencode(query)}") as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{self.address}api/{path}", json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)


def _grid_key(service: _Service, label: str) -> float:
    """Accept the first image of the grid, as its key does, and get the grid without it."""
    image = service.get("grid", label=label, limit=_FIRST)["images"][0]["image"]
    start = time.perf_counter()
    service.post("feedback/batch", {"events": [{"image": image, "label": label, "verdict": "accept"}]})
    after = service.get("grid", label=label, limit=_FIRST)["images"]
    seconds = time.perf_counter() - start
    if image in [one["image"] for one in after]:
        raise RuntimeError("the grid has not been ranked again")
    return seconds


def _other_keys(service: _Service, labels: list[str]) -> list[float]:
    """Accept a label of an image that another grid shows, and get that grid: the image is scored by its labels now."""
    seconds, moved, stuck = [], 0, []
    for label, other in pairwise(labels):
        before = {one["image"]: one for one in service.get("grid", label=label, limit=_FIRST)["images"]}
        image, old = next((image, one) for image, one in before.items() if other not in one["labels"])
        start = time.perf_counter()
        service.post("feedback/batch", {"events": [{"image": image, "label": other, "verdict": "accept"}]})
        after = service.get("grid", label=label, limit=_FIRST)["images"]
        seconds.append(time.perf_counter() - start)
        if (image, old["confidence"]) not in [(one["image"], one["confidence"]) for one in after]:
            moved += 1
        elif 0 < old["confidence"] < 1:  # the most likely images of a random model have a confidence of 1 in any case
            stuck.append(image)
    if stuck or not moved:
        raise RuntimeError(f"images have not been scored again: {', '.join(stuck) or 'none has'}")
    return seconds


def _visits(address: str, sizes: Sizes) -> tuple[list[float], list[str]]:
    """Open the page in Chromium over a slow connection, and wait for the first suggestion; nothing is cached."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None or find_spec("playwright") is None:
        return [], ["visits at a latency: no Chromium or no playwright on this machine"]
    from playwright.sync_api import sync_playwright

    seconds = []
    with delayed(urlsplit(address).port or 0, sizes.latency) as port, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(sizes.visits):
            page = browser.new_context().new_page()
            page.add_init_script(_WHEN_SUGGESTED)
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_function("() => window.suggestedAt > 0")
            seconds.append(page.evaluate("() => window.suggestedAt") / 1000)
            page.context.close()
        browser.close()
    return seconds, []


def _image_keys(service: _Service, count: int) -> list[float]:
    """Accept the best suggestion of an image; the answer has the new list."""
    first, image = (one["image"] for one in service.get("queue", limit=2)["images"])
    seconds: list[float] = []
    service.post("feedback", {"image": first, "label": "label", "verdict": "accept"})  # compiles and loads
    for _ in range(count):
        label = service.get("image", id=image)["suggestions"][0]["label"]
        body = {"image": image, "label": label, "verdict": "accept"}
        seconds.append(_seconds(partial(service.post, "feedback", body)))
    return seconds


def _batches(service: _Service, sizes: Sizes) -> tuple[list[float], Any]:
    seconds, answer = [], None
    for number in range(1, sizes.batches + 1):
        events = [
            {"image": f"batch {number} {n}", "label": "label", "verdict": "accept"} for n in range(sizes.decisions)
        ]
        start = time.perf_counter()
        answer = service.post("feedback/batch", {"events": events})
        seconds.append(time.perf_counter() - start)
    return seconds, answer


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def _serving(model: Path, feedback: Path) -> Iterator[tuple[subprocess.Popen[str], _Service]]:
    command = [sys.executable, "-m", "vse_ens", "serve", str(model), "--port", "0", "--json", "--no-images"]
    command += ["--feedback", str(feedback)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            printed = ""
            while not printed.endswith("}\n") and (line := process.stdout.readline() if process.stdout else ""):
                printed += line
            yield process, _Service(json.loads(printed)["address"])
        finally:
            process.terminate()


def score(raw: Raw) -> Score:
    """Compare the slowest of twenty with the limits."""
    rows = {
        "first 60 images that may lack a label": ("missing", 0.3),
        "first 60 images that may have it by mistake": ("wrong", None),
        "key press to re-ranked grid (two calls)": ("grid_keys", 0.1),
        "key press on another label to re-ranked grid": ("other_keys", 0.1),
        "key press to re-ranked suggestions": ("image_keys", 0.1),
        "next images of the queue": ("queue", None),
        "images similar to one": ("similar", 0.3),
        f"{raw['decisions']:,} decisions in one batch": ("batches", 0.5),
    }
    latency = f"first suggestion of a visit, {raw.get('latency', 0.1) * 1000:.0f} ms latency"
    rows[latency] = ("visits", None)
    rows = {name: row for name, row in rows.items() if raw.get(row[0])}  # the others were skipped
    checks = [
        Check(f"{name}, 95th percentile", _percentile(raw[part], 95), "at most", limit, unit="s", digits=3)
        for name, (part, limit) in rows.items()
        if limit is not None
    ]
    checks += [
        Check("decisions lost by kill -9 after the answer", raw["decisions"] - raw["stored"], "at most", 0, digits=0),
        Check("decisions doubled", raw["stored"] - raw["pairs"], "at most", 0, digits=0),
    ]
    if latency in rows:
        checks.append(Check(f"{latency}, median", _percentile(raw["visits"], 50), "at most", 0.8, unit="s", digits=3))
    table = Table(
        ("what", "median", "95th percentile", "slowest"),
        [
            (name, *(f"{_percentile(raw[part], share) * 1000:.0f} ms" for share in (50, 95, 100)))
            for name, (part, _) in rows.items()
        ],
    )
    note = (
        f"{raw['images']:,} images, {raw['labels']:,} labels; labels of all frequencies, each clicked for the first "
        f"time. The scan of all images took {raw['scan_seconds']:.0f} s, once, in the background."
    )
    return Score(checks, [table], [note])


def _percentile(seconds: list[float], share: float) -> float:
    return float(np.percentile(seconds, share))


PAGE = Benchmark(
    "page",
    "On the page, a label's images, a key press and a batch take fractions of a second at 1 million images.",
    Sizes(),
    Sizes(images=3_000, labels=300, clicks=8, batches=3, decisions=200, keys=5, visits=1, latency=0.02),
    measure,
    score,
    measures=("curate", "model", "service"),
    repetitions=lambda sizes: sizes.visits,
)
