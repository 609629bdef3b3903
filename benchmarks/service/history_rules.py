"""The history of a rules file: random rules and undos, and the model they are compared with."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from vse_ens.data.rules.store import NewRule, RulesFile, read_rules

if TYPE_CHECKING:
    from benchmarks.service.history import Operation

# Few enough that processes often mean the same rule, and that many rules contradict others.
_LABELS = "abcdefgh"
_KINDS = ("alias", "rename", "implication", "implication")
_FILE = "rules.jsonl"
_DISK_ERRORS = ("no space left on device", "file too large")


class Event(NamedTuple):
    """A line of the file; ``by`` is the name of the operation that stored it."""

    by: str
    add: list[tuple[int, str, str, str]]
    undo: list[int]


class RulesSession:
    """Random calls of `RulesFile`."""

    def __init__(self, path: Path) -> None:
        self._file = RulesFile(path)
        self._seen = [rule.id for rule in self._file.rules]

    def draw(self, random: Random) -> Any:
        """Return an ``add`` of one rule or a few, or an ``undo``; some undos have no number."""
        if self._seen and random.random() < 0.45:
            chosen = random.sample(self._seen[-30:], min(len(self._seen), random.randrange(1, 3)))
            return ["undo", None if random.random() < 0.1 else chosen]
        count = random.choice((1, 1, 1, 2, 4))
        return ["add", [[random.choice(_KINDS), *random.sample(_LABELS, 2)] for _ in range(count)]]

    def run(self, name: str, what: Any) -> Any:
        """Return the numbers of the rules that were added or undone."""
        if what[0] == "undo":
            return [rule.id for rule in self._file.undo(what[1], by=name)]
        numbers = self._file.add([NewRule(*rule) for rule in what[1]], by=name)
        self._seen += numbers
        return numbers

    def close(self) -> None:
        """Leave the file as it is; it is open only while it is written."""


class RulesSubject:
    """A rules file."""

    def open(self, folder: Path) -> RulesSession:
        """Open the file in a process."""
        return RulesSession(folder / _FILE)

    def check(self, folder: Path, operations: list[Operation]) -> tuple[list[str], dict[str, int]]:
        """Compare the log of the processes, the lines of the file and the answers of `RulesFile`."""
        path = folder / _FILE
        faults: list[str] = []
        events = read_events(path.read_bytes() if path.exists() else b"", faults)
        faults += check_log(operations, events)
        state = in_force(events, faults)
        stored = {rule.id: (rule.kind, rule.label, rule.other) for rule in read_rules(path)} if path.exists() else {}
        if stored != state:
            faults.append(f"the rules in force are {stored}, expected {state}")
        faults += check_consistent(state.values())
        counts = {
            "operations acknowledged": sum(one.result is not None for one in operations),
            "refused as invalid": sum(_is_invalid(one) for one in operations),
            "failed on a full disk": sum(one.error is not None and not _is_invalid(one) for one in operations),
            "killed in progress": sum(one.ended is None for one in operations),
            "events stored": len(events),
        }
        return faults, counts


def _is_invalid(operation: Operation) -> bool:
    return operation.error is not None and operation.error.startswith("ConfigError")


def read_events(content: bytes, faults: list[str]) -> list[Event]:
    """Read a file without our own code; a last line without a line break does not count."""
    lines = content.split(b"\n")[:-1]
    if lines and json.loads(lines[0]) != {"format": "vse-ens rules", "version": 1}:
        faults.append(f"the first line is {lines[0]!r}")
    events = []
    for line in map(json.loads, lines[1:]):
        added = [(one["rule"], one["kind"], one["label"], one["other"]) for one in line.get("add", [])]
        events.append(Event(line["by"], added, line.get("undo", [])))
    numbers = [rule[0] for event in events for rule in event.add]
    if numbers != list(range(1, len(numbers) + 1)):
        faults.append(f"rules are numbered {numbers}")
    return events


def in_force(events: Iterable[Event], faults: list[str]) -> dict[int, tuple[str, str, str]]:
    """The model: rules in their order, without those that were undone."""
    state: dict[int, tuple[str, str, str]] = {}
    for event in events:
        lacking = [number for number in event.undo if state.pop(number, None) is None]
        faults += [f"{event.by} undoes rule {number}, which is not in force" for number in lacking]
        for number, *rule in event.add:
            if _says(rule) in map(_says, state.values()):
                faults.append(f"rule {number} repeats a rule in force")
            state[number] = (rule[0], rule[1], rule[2])
    return state


def _says(rule: Sequence[str]) -> tuple[bool, str, str]:
    return rule[0] == "implication", rule[1], rule[2]


def check_consistent(rules: Iterable[tuple[str, str, str]]) -> list[str]:
    """Check that no label has two names and that neither names nor implications form a cycle."""
    given = list(rules)
    names = {label: other for kind, label, other in given if kind != "implication"}
    faults = []
    if len(names) != sum(kind != "implication" for kind, _, _ in given):
        faults.append(f"a label has two names: {given}")

    def name(label: str) -> str:
        for _ in range(len(names) + 1):
            label = names.get(label, label)
        return label

    if any(name(label) in names for label in names):
        return [*faults, f"names form a cycle: {names}"]
    edges = {(name(label), name(other)) for kind, label, other in given if kind == "implication"}
    while more := {(a, d) for a, b in edges for c, d in edges if b == c} - edges:
        edges |= more
    return [*faults, *(f"{a!r} implies itself" for a, b in edges if a == b)]


def check_log(operations: Iterable[Operation], events: Sequence[Event]) -> list[str]:
    """Compare the answers that processes got with what is stored."""
    by_name = {operation.name: operation for operation in operations}
    stored: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        stored[event.by].append(event)
    faults = [f"{name} is stored but was never asked for" for name in stored.keys() - by_name.keys()]
    faults += [f"{name} is stored {len(found)} times" for name, found in stored.items() if len(found) > 1]
    rules = {number: tuple(rule) for event in events for number, *rule in event.add}
    undone = {number: event.by for event in events for number in event.undo}
    latest_begin = 0
    for event in events:
        operation = by_name.get(event.by)
        if operation is not None:
            if operation.result is not None and (operation.ended or 0) < latest_begin:
                faults.append(f"{event.by} was acknowledged before an earlier event was asked for")
            latest_begin = max(latest_begin, operation.begun)
    for operation in by_name.values():
        event = stored[operation.name][0] if stored.get(operation.name) else Event(operation.name, [], [])
        if operation.error is not None:
            if _is_invalid(operation) and (event.add or event.undo):
                faults.append(f"{operation.name} was refused, but is stored")
            if not _is_invalid(operation) and not any(reason in operation.error.lower() for reason in _DISK_ERRORS):
                faults.append(f"{operation.name} was refused: {operation.error}")
        if operation.what[0] == "add":
            faults += _check_add(operation, event, rules, undone, by_name)
        else:
            wanted = operation.what[1]
            if wanted is not None and not set(event.undo) <= set(wanted):
                faults.append(f"{operation.name} undid {event.undo}, not {wanted}")
            if operation.result is not None and operation.result != event.undo:
                faults.append(f"{operation.name} was answered {operation.result}, but {event.undo} is stored")
            if operation.result is not None and wanted is not None and not set(wanted) <= undone.keys():
                faults.append(f"{operation.name} was acknowledged, but of {wanted} only {sorted(undone)} are undone")
    return faults


def _check_add(
    operation: Operation,
    event: Event,
    rules: dict[int, tuple[Any, ...]],
    undone: dict[int, str],
    by_name: dict[str, Operation],
) -> list[str]:
    given = [tuple(rule) for rule in operation.what[1]]
    if any(tuple(rule[1:]) not in given for rule in event.add):
        return [f"{operation.name} is stored as {event.add}, not as {given}"]
    if operation.result is None:
        return []
    faults = []
    if len(operation.result) != len(given):
        return [f"{operation.name} was answered {operation.result} for {len(given)} rules"]
    new = {rule[0] for rule in event.add}
    if not new <= set(operation.result):
        faults.append(f"{operation.name} stored {sorted(new)}, but was answered {operation.result}")
    for rule, number in zip(given, operation.result, strict=True):
        if number not in rules:
            faults.append(f"{operation.name}: rule {number} was acknowledged, but is not stored")
        elif _says(rules[number]) != _says(rule):
            faults.append(f"{operation.name}: rule {number} is stored as {rules[number]}, not as {rule}")
        elif number not in new:
            undo = by_name.get(undone.get(number, ""))
            if undo is not None and undo.result is not None and (undo.ended or 0) < operation.begun:
                faults.append(f"{operation.name} was answered rule {number}, which was undone before")
    return faults
