"""Processes killed with SIGKILL, by what they have done rather than by seconds, so that every kill lands."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.service_in_subprocess import Process

from benchmarks.robustness.attacks.attack import Attack, Child, Outcome, command, killed_at
from benchmarks.service.history import Sizes
from benchmarks.service.history import measure as measure_history
from vse_ens.annotator import Annotator
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import RulesFile
from vse_ens.errors import VseError
from vse_ens.train import schedule
from vse_ens.train.checkpoint import Checkpoints

_PRESETS = ("vse-ens", "context", "warp", "thorough")


def _files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, by its relative path; locks have none."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size
    }


def _write_pairs(folder: Path) -> Path:
    chance = random.Random(3)
    rows = (
        f"i{image},l{label}\n" for image in range(150) for label in chance.sample(range(20), chance.choice((2, 3, 6)))
    )
    (folder / "pairs.csv").write_text("image,label\n" + "".join(rows))
    return folder / "pairs.csv"


# --- training -------------------------------------------------------------------------------------------------------


def training(times: int) -> Outcome:
    """Kill ``vse train --resume`` after a random number of rounds; each model must have the bytes of one left alone."""
    outcome, chance = Outcome(), random.Random(0)
    kills = finished = 0
    with tempfile.TemporaryDirectory() as name:
        pairs = _write_pairs(Path(name))
        while kills < times:
            preset = _PRESETS[finished % len(_PRESETS)]
            finished += 1
            whole, model = Path(name) / f"whole {finished}", Path(name) / f"killed {finished}"
            left = Child(lambda told, whole=whole, preset=preset: _train(pairs, whole, preset, told))  # type: ignore[misc]
            rounds = 0
            while left.heard():
                rounds += 1
            left.must_end()
            own = 0
            while True:
                child = Child(lambda told, model=model, preset=preset: _train(pairs, model, preset, told))  # type: ignore[misc]
                # At least one round, so that it ends; then at any moment of the next, which writes a checkpoint too.
                going = all(child.heard() for _ in range(chance.choice((1, 1, 2, 3))))
                if not going:
                    status = child.end()
                    break
                time.sleep(chance.random() * 0.03)
                if not child.kill():
                    status = 0
                    break
                own += 1
            kills += own
            found = f"exit status {status}" if status else "" if _files(model) == _files(whole) else "other bytes"
            # One fault spoils all kills of a run: which one it was is not known.
            outcome.tried += own
            if found:
                outcome.faults += [f"{preset}, run {finished}: {found} after {own} kills"] * own
    outcome.seen = f"{finished} runs of {len(_PRESETS)} presets resumed to the end: the same bytes in every file"
    return outcome


def _train(pairs: Path, out: Path, preset: str, told: Callable[[], None]) -> None:
    """Train with a checkpoint after every short round, and tell after each."""
    schedule.MIN_ROUND_DRAWS = 20

    def after_round(self: Checkpoints, trainer: Any) -> None:
        self.write(trainer)
        told()

    Checkpoints.after_round = after_round  # type: ignore[method-assign]
    epochs = 8 if preset in ("vse-ens", "warp") else 3
    given = ("--preset", preset, "--epochs", epochs, "--dimensions", 4, "--workers", 1)
    command("train", pairs, "--out", out, "--resume", *given)


# --- commands that write files --------------------------------------------------------------------------------------


def at_every_access(
    times: int, prepare: Callable[[Path], None], work: Callable[[Path], None], state: Callable[[Path], Any]
) -> Outcome:
    """Kill ``work`` before each of its first ``times`` accesses to files, then let it run.

    ``state`` returns what the files say. After a kill it equals the start or the end, and after the next
    run that of the end.
    """
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "files"
        prepare(folder)
        start = Path(name) / "start"
        shutil.copytree(folder, start)
        before = state(folder)
        _ended(work, folder)
        after = state(folder)
        for number in range(1, times + 1):
            shutil.rmtree(folder)
            shutil.copytree(start, folder)
            if not killed_at(number, folder, lambda: work(folder)):
                break  # it has fewer
            found = state(folder)
            _ended(work, folder)
            kept = found in (before, after)
            outcome.check(
                kept and state(folder) == after,
                f"access {number}: {'another end' if kept else 'neither the old files nor the new'}",
            )
    outcome.seen = "the old files or the new ones after each kill, and the next run ends as if there had been none"
    return outcome


def _ended(work: Callable[[Path], None], folder: Path) -> None:
    Child(lambda _: work(folder)).must_end()


_VERDICTS = [(f"i{number}.jpg", *one) for number in range(20) for one in (("sea", "accept"), ("fog", "reject"))]


def _write_feedback(folder: Path) -> None:
    folder.mkdir()
    feedback = Feedback(folder / "f.sqlite")
    for image, label, verdict in _VERDICTS:
        feedback.add(image, label, verdict, by="ann", source="attack", model="m", confidence=None)  # type: ignore[arg-type]
    feedback.close()


def feedback_export(times: int) -> Outcome:
    """Kill ``vse feedback --out``, which replaces an older file."""

    def prepare(folder: Path) -> None:
        _write_feedback(folder)
        (folder / "accepted.csv").write_text("image,label\nold,old\n")

    def state(folder: Path) -> Any:
        return _files(folder)["accepted.csv"]

    return at_every_access(
        times, prepare, lambda folder: command("feedback", folder / "f.sqlite", "--out", folder / "accepted.csv"), state
    )


def feedback_apply(times: int) -> Outcome:
    """Kill ``vse feedback apply``: every file is old or new, undo restores all, and applying again reaches the end."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as name:
        start, folder = Path(name) / "start", Path(name) / "files"
        _write_feedback(start)
        photos = folder / "photos"
        (start / "photos").mkdir()
        for number in range(20):
            (start / "photos" / f"i{number}.jpg").write_bytes(b"\xff\xd8\xff\xe0")
            (start / "photos" / f"i{number}.txt").write_text("fog, sand")

        def apply(journal: str) -> None:
            given = ("--to", photos, "--format", "txt-tags", "--journal", folder / journal)
            command("feedback", "apply", folder / "f.sqlite", *given)

        old, new = b"fog, sand", b"sand, sea"
        for number in range(1, times + 1):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(start, folder)
            if not killed_at(number, folder, lambda: apply("first")):
                break
            tags = {path.read_bytes() for path in photos.glob("*.txt")}
            whole = tags <= {old, new}
            undone = True
            if (folder / "first").exists() and (folder / "first").stat().st_size:
                undone = not Child(lambda _: command("undo", folder / "first")).end()
            undone &= {path.read_bytes() for path in photos.glob("*.txt")} == {old}
            again = not Child(lambda _: apply("second")).end()
            again &= {path.read_bytes() for path in photos.glob("*.txt")} == {new}
            left = {path.name for path in photos.iterdir()} == {path.name for path in (start / "photos").iterdir()}
            fault = next(
                (
                    text
                    for text, holds in {
                        "half a file": whole,
                        "not undone": undone,
                        "not applied again": again,
                        "a temporary file is left": left,
                    }.items()
                    if not holds
                ),
                "",
            )
            outcome.check(not fault, f"access {number}: {fault}")
    outcome.seen = "whole files after each kill; undo restored every byte, and the next run reached the end"
    return outcome


def rules(times: int) -> Outcome:
    """Kill ``vse rules apply``: all rules are in force or none, and the next run adds them once."""

    def prepare(folder: Path) -> None:
        folder.mkdir()
        command("rules", "apply", folder / "rules.jsonl", "--alias", "ocean=sea", "--by", "ann")

    def apply(folder: Path) -> None:
        given = ("--implies", "sea=water", "--alias", "fogg=fog", "--by", "ann")
        command("rules", "apply", folder / "rules.jsonl", *given)

    def state(folder: Path) -> Any:
        found = RulesFile(folder / "rules.jsonl")
        return [(one.kind, one.label, one.other) for one in map(found.rule, range(1, 1 + _rules(found)))]

    return at_every_access(times, prepare, apply, state)


def _rules(found: RulesFile) -> int:
    """Return the number of rules, in force or undone."""
    for number in count(1):
        try:
            found.rule(number)
        except VseError:
            break
    return number - 1


# --- search for settings --------------------------------------------------------------------------------------------


def tuning(times: int) -> Outcome:
    """Kill ``vse tune`` at random moments until it ends: the settings found are the same as in a search left alone."""
    outcome, chance, searches = Outcome(), random.Random(1), 0
    with tempfile.TemporaryDirectory() as name:
        pairs = _write_pairs(Path(name))
        while outcome.tried < times:
            searches += 1
            whole, killed = Path(name) / f"whole {searches}.toml", Path(name) / f"killed {searches}.toml"
            began = time.monotonic()
            _search(pairs, whole, searches).must_end()
            seconds = time.monotonic() - began
            kills = 0
            for _ in range(20):
                child = _search(pairs, killed, searches)
                time.sleep(seconds * chance.random())
                if not child.kill():
                    break
                kills += 1
            else:
                _search(pairs, killed, searches).end()
            outcome.tried += kills
            if _settings(killed) != _settings(whole):
                outcome.faults += [f"search {searches}: other settings after {kills} kills"] * kills
    outcome.seen = f"{searches} searches resumed to the end: the same settings as without kills"
    return outcome


def _search(pairs: Path, out: Path, seed: int) -> Child:
    given = ("--preset", "vse-ens", "--trials", 5, "--set", "epochs=2", "--set", "dimensions=4", "--seed", seed)
    return Child(lambda _: command("tune", pairs, "--out", out, *given))


def _settings(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text()) if path.exists() else {}


# --- service that learns --------------------------------------------------------------------------------------------


def learning(times: int) -> Outcome:
    """Kill ``vse serve --learn-after 1`` during updates: every answered verdict is kept, and both models are whole."""
    outcome, chance = Outcome(), random.Random(2)
    updated = 0
    with tempfile.TemporaryDirectory() as name:
        model, learnt = Path(name) / "model", Path(name) / "model.learnt"
        Child(lambda _: _train(_write_pairs(Path(name)), model, "vse-ens", lambda: None)).must_end()
        known = Annotator.load(model).known_
        images, labels = list(known.images), list(known.labels)
        trained = _files(model)
        answered: list[tuple[str, str]] = []
        feedback = Path(name) / "model.feedback.sqlite"
        serve = [sys.executable, "-m", "vse_ens", "serve", str(model), "--port", "0", "--no-images", "--json"]
        for number in range(times):
            running = Process([*serve, "--learn-after", "1", "--feedback", str(feedback)])
            for _ in range(chance.choice((1, 2))):
                image, label = images[len(answered) % len(images)], labels[len(answered) // len(images)]
                body = {"image": image, "label": label, "verdict": "accept"}
                if running.http.post("/api/feedback", json=body).status_code == 200:
                    answered.append((image, label))
                time.sleep(chance.random() * 3.0)
            running.process.kill()  # the update continues alone, and may meet that of the next service
            running.process.wait()
            running.http.close()
            stored = Feedback(feedback)
            kept = all(label in stored.of(image).accepted for image, label in answered)
            stored.close()
            fault = "" if kept else "a verdict was lost"
            fault = fault or ("" if _files(model) == trained else "the trained model changed")
            if learnt.exists():
                updated += 1
                try:
                    Annotator.load(learnt)
                except VseError as error:
                    fault = fault or f"the updated model: {error}"
            outcome.check(not fault, f"kill {number + 1}: {fault}")
        for _ in range(600):  # no update outlives the attack by much
            if subprocess.run(["pgrep", "-f", f"update {model}"], capture_output=True, check=False).returncode:
                break
            time.sleep(0.1)
    outcome.seen = f"{len(answered)} verdicts kept, the trained model unchanged, an updated one whole {updated} times"
    return outcome


def history(times: int) -> Outcome:
    """Kill processes that write feedback, rules and collections at once, and fill their disk, for some seconds."""
    raw = measure_history(Sizes(seconds=times, round_seconds=min(10.0, times)))
    counts = raw["counts"].values()
    acknowledged = sum(found["operations acknowledged"] for found in counts)
    seen = f"{acknowledged:,} acknowledged operations of {', '.join(raw['counts'])}: each there once"
    return Outcome(sum(found["kills"] for found in counts), raw["faults"], seen)


_EACH = "killed before every access to a file"
KILLS = {
    "kills of training": Attack(
        "`vse train --resume` killed at any moment of the second to fourth round", training, 200, 4
    ),
    "kills of tuning": Attack("`vse tune` killed at random moments", tuning, 30, 1),
    "kills of feedback": Attack(f"`vse feedback --out` {_EACH}", feedback_export, 60, 3),
    "kills of feedback apply": Attack(f"`vse feedback apply` {_EACH}", feedback_apply, 200, 3),
    "kills of rules": Attack(f"`vse rules apply` {_EACH}", rules, 60, 3),
    "kills of writers": Attack("processes that write at once, killed at random while the disk fills", history, 40, 2),
    "kills of learning": Attack("`vse serve --learn-after 1` killed during updates", learning, 20, 1),
}
