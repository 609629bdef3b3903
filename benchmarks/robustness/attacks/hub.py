"""Hostile repositories of the Hugging Face Hub, on a stand-in on this machine."""

from __future__ import annotations

import importlib.util
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.core.process import call, peak_bytes
from benchmarks.robustness.attacks.attack import MAX_MESSAGE, Attack, Outcome
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.errors import VseError
from vse_ens.export import hub

_REPO = "ann/hostile"
Files = dict[str, bytes]


def _repositories(good: Files) -> Iterator[tuple[str, Files]]:
    """Yield hostile contents of a repository by name, made of a good one."""
    chance = random.Random(5)
    model = f"{hub.FOLDER}/"
    names = sorted(name for name in good if name.startswith(model))
    manifest = next(name for name in names if name.endswith("manifest.json"))
    for name in names:
        content = good[name]
        yield f"no {name}", {one: raw for one, raw in good.items() if one != name}
        yield f"an empty {name}", good | {name: b""}
        yield f"half of {name}", good | {name: content[: len(content) // 2]}
        yield f"{name} with more", good | {name: content + b"x"}
        for _ in range(3):
            at = chance.randrange(len(content))
            yield f"a flipped bit in {name}", good | {name: content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]}
    listed = json.loads(good[manifest])
    outside = ("../../outside", "/tmp/vse-outside", "..\\outside", "a/../../outside", "C:\\outside")
    for path in (*outside, "\0", "x" * 5_000):
        changed = listed | {"files": {**listed["files"], path: {"sha256": "0" * 64, "size": 1}}}
        yield f"a manifest that names {path[:20]!r}", good | {manifest: json.dumps(changed).encode()}
        yield f"a file called {path[:20]!r}", good | {path: b"x", f"{model}{path}": b"x"}
    many = {f"f{number}": {"sha256": "0" * 64, "size": 1} for number in range(100_000)}
    yield "a manifest of 100,000 files", good | {manifest: json.dumps({**listed, "files": many}).encode()}
    yield "a nested manifest", good | {manifest: b"[" * 100_000}
    yield "a manifest of 50 MB", good | {manifest: b" " * (50 << 20) + good[manifest]}
    yield (
        "code beside the model",
        good | {"setup.py": b"raise SystemExit", f"{model}model.pkl": b"cos\nsystem\n(S'x'\ntR."},
    )
    yield "a page with an escape sequence", good | {"README.md": b"\x1b[2J" * 1_000}
    yield "a page of 50 MB", good | {"README.md": b"x" * (50 << 20)}
    yield "no model", {"README.md": b"x"}
    yield "nothing", {}


def _tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def pull(times: int) -> Outcome:
    """Pull every repository: it is refused and nothing is written, or the model is the one that was pushed."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return Outcome(skipped="huggingface_hub is not installed")
    with tempfile.TemporaryDirectory() as place:
        call(make_model, f"{place}/model")
        return Outcome(**call(pull_all, place, times))


def make_model(path: str) -> None:
    """Save a small model."""
    pairs = [(f"i{image}", f"l{image * step % 7}") for image in range(30) for step in (1, 2)]
    Annotator("opt-auc", epochs=1, dimensions=4, workers=1).fit(Annotations.from_pairs(pairs)).save(path)


def pull_all(place: str, times: int) -> dict[str, object]:
    """Serve and pull the repositories, in a process of its own because the address is a setting of the library."""
    import pytest
    from tests.support.hub_stand_in import Repo, hub_stand_in, use_hub

    outcome, refused, taken = Outcome(), 0, 0
    root = Path(place)
    good = {f"{hub.FOLDER}/{path.name}": path.read_bytes() for path in sorted((root / "model").iterdir())}
    good["README.md"] = b"# A page"
    with hub_stand_in() as served, pytest.MonkeyPatch.context() as patch:
        for number, (name, files) in enumerate(_repositories(good)):
            if number >= times:
                break
            use_hub(patch, served.url, str(root / "cache" / str(number)))
            served.repos[_REPO] = repo = Repo()
            repo.commit("main", files, "hostile")
            out, before = root / "out", _tree(root)
            sentence, fault = "", ""
            try:
                hub.pull(_REPO, out)
            except VseError as error:
                sentence = str(error)
                fault = f"a message of {len(sentence):,} characters" if len(sentence) > MAX_MESSAGE else ""
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a fault
                fault = f"{type(error).__name__}: {error}"[:300]
            new = {one for one in _tree(root) - before if not one.startswith("cache")}
            if out.exists():
                taken += 1
                wrong = {
                    path.name for path in out.iterdir() if good.get(f"{hub.FOLDER}/{path.name}") != path.read_bytes()
                }
                fault = fault or (f"other files: {sorted(wrong)}" if wrong - {"README.md"} else "")
                for path in out.iterdir():
                    path.unlink()
                out.rmdir()
            elif not sentence:
                fault = fault or "neither written nor refused"
            elif new:
                fault = fault or f"left {sorted(new)[0]}"
            refused += bool(sentence)
            outcome.check(not fault, f"{name}: {fault}")
    if Path("/tmp/vse-outside").exists() or (root.parent / "outside").exists():
        outcome.faults.append("a file outside was written")
    outcome.seen = (
        f"{refused} refused with nothing written; {taken} written as they were pushed, without foreign files; "
        f"{peak_bytes() / 1e6:,.0f} MB"
    )
    return {"tried": outcome.tried, "faults": outcome.faults, "seen": outcome.seen}


HUB = {"hub": Attack("`vse pull` of hostile repositories: damage, foreign files and names, bombs", pull, 1_000, 6)}
