"""``vse rules``: propose aliases and implications, accept them as rules, list and undo rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from vse_ens.cli.console import Console, columns, facts, listed, plural
from vse_ens.cli.options import DefuseFormulas, Person, Reading, load_model, user_name
from vse_ens.cli.parameters import Argument, Option, misuse
from vse_ens.data.rules.lists import ListKind

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations
    from vse_ens.data.rules.rule_set import RuleKind
    from vse_ens.data.rules.store import NewRule

_ROWS_SHOWN = 10
_UNSEEN = "What nobody labels, pairs cannot show; to add it: vse rules apply rules.jsonl --implies dalmatian=dog"
_COLUMNS = ("rule", "kind", "label", "other", "by", "date")

RulesPath = Annotated[Path, Argument("A rules file (.jsonl).", "RULES")]


def propose(
    source: Annotated[Path, Argument("A model directory, or a file of pairs.", "MODEL|PAIRS")],
    *,
    min_support: Annotated[int, Option("Smallest number of images of a label that implies another.", "N", min=1)] = 20,
    min_confidence: Annotated[
        float, Option("Smallest share of them with the other label, at 95 % confidence.", "X")
    ] = 0.85,
    out: Annotated[Path | None, Option("Write all proposals, with a column for decisions.", "FILE.csv")] = None,
    defuse_formulas: DefuseFormulas = False,
    reading: Reading,
    console: Console,
) -> None:
    """Propose aliases and implications between labels.

    A label implies another if almost all of its images have the other label, more than by chance. Aliases are the same
    word in another form, or labels that are used as two names of one thing. With --rules, rejected proposals and those
    that a rule settles are left out.

    Example: vse rules propose pairs.csv --out proposals.csv
    """
    from vse_ens.curate.rules.propose import propose_rules, write_proposals
    from vse_ens.data.rules.store import read_rules

    data = _pairs(source, reading, console)
    with console.progress("proposing rules", 1000, "steps") as progress:
        proposals = propose_rules(
            data,
            min_support=min_support,
            min_confidence=min_confidence,
            progress=lambda done: progress(round(1000 * done)),
        )
    if reading.rules is not None:
        proposals = proposals.open(read_rules(reading.rules))
    if out is not None:
        write_proposals(proposals, out, defuse_formulas=defuse_formulas)
    numbers = ("images", "share", "exceptions")
    implications = [
        (one.label, one.implies, one.support, f"{one.confidence:.1%}", one.exceptions) for one in proposals.implications
    ]
    parts: list[Any] = []
    for kind, names, rows in (
        ("Implications", ("label", "implies", *numbers), implications),
        ("Aliases", ("label", "same as", "evidence"), proposals.aliases),
    ):
        parts += [*([Text()] if parts else []), Text(f"{kind}: {listed(len(rows), _ROWS_SHOWN)}")]
        if rows:
            parts.append(columns(names, rows[:_ROWS_SHOWN], numbers=numbers))
    following = (
        f"Write accept or reject into the column decision of {out}, then: vse rules apply rules.jsonl {out}"
        if out is not None
        else "Use --out FILE.csv or --json for all proposals."
    )
    console.result(proposals.to_dict(), *parts, Text())
    console.line(_UNSEEN)
    console.line(following)


def apply_proposals(
    path: RulesPath,
    proposals: Annotated[
        Path | None,
        Argument(
            "The file of vse rules propose --out, with accept or reject in the column decision.", "[PROPOSALS.csv]"
        ),
    ] = None,
    *,
    alias: Annotated[Sequence[str], Option("Label A means label B and is replaced by it.", "A=B")] = (),
    rename: Annotated[Sequence[str], Option("Label A is called B from now on.", "A=B")] = (),
    implies: Annotated[Sequence[str], Option("Images with label A get label B too.", "A=B")] = (),
    accept_all: Annotated[bool, Option("Accept the proposals without a decision, too.", name="--all")] = False,
    by: Person = None,
    console: Console,
) -> None:
    """Accept and reject proposals, or add rules of your own.

    A rejected proposal is not made again by vse rules propose --rules. All rules are added or none: a cycle or a
    contradiction is refused. The file is created if it does not exist.

    Example: vse rules apply rules.jsonl proposals.csv
    """
    from vse_ens.curate.rules.propose import read_proposals
    from vse_ens.data.rules.store import NewRule, RulesFile

    new: list[NewRule] = [] if proposals is None else read_proposals(proposals, accept_all=accept_all)
    given: tuple[tuple[RuleKind, str, Sequence[str]], ...] = (
        ("alias", "--alias", alias),
        ("rename", "--rename", rename),
        ("implication", "--implies", implies),
    )
    for kind, option, texts in given:
        new += [NewRule(kind, *_split(text, option)) for text in texts]
    if not new:
        where = f"{proposals} has no decision" if proposals else "there is no rule to add"
        raise misuse(
            "PROPOSALS.csv",
            f"{where}; write accept or reject into the column decision, or give --alias, --rename or --implies",
        )
    file = RulesFile(path)
    before = file.rules
    numbers = file.add(new, by=by or user_name())
    rules = [number for number, one in zip(numbers, new, strict=True) if one.kind != "rejected"]
    added = sum(number not in before for number in rules)
    rejected = sum(number not in before for number in numbers) - added
    rows = [
        ("file", path),
        ("added", plural(added, "rule")),
        ("rejected", plural(rejected, "proposal") if rejected else None),
        ("in force", plural(len(file.rules), "rule")),
    ]
    console.result(
        {"file": path, "rules": rules, "added": added, "rejected": rejected, "in_force": len(file.rules)},
        facts(rows),
        Text(f"Next: vse apply PAIRS --rules {path} --out clean.csv"),
    )


def import_rules(
    path: RulesPath,
    lists: Annotated[Sequence[Path], Argument("Lists of tag aliases, implications, siblings or parents.", "LIST...")],
    *,
    kind: Annotated[
        ListKind | None, Option("What the lists hold; by default, the names of the files say it.", "KIND", name="--as")
    ] = None,
    spaces: Annotated[bool, Option("Read underscores as spaces.")] = False,
    by: Person = None,
    console: Console,
) -> None:
    """Import the aliases and implications of Danbooru, e621 or Hydrus.

    Danbooru's and e621's lists are .csv, .csv.gz or .json, Hydrus's .txt. Siblings are aliases and parents
    implications. Rules that contradict earlier ones, or that were rejected, are left out.

    Example: vse rules import rules.jsonl tag_aliases.csv tag_implications.csv
    """
    from vse_ens.data.rules.lists import fitting, read_list
    from vse_ens.data.rules.store import RulesFile

    new = [rule for one in lists for rule in read_list(one, kind, spaces=spaces)]
    file = RulesFile(path)
    with console.status(f"checking {plural(len(new), 'rule')}"):
        fit = fitting(new, file.rules)
    if fit:
        file.add(fit, by=by or user_name())
    counts = {"added": len(fit), "left_out": len(new) - len(fit), "in_force": len(file.rules)}
    rows = [("file", str(path)), *((name.replace("_", " "), f"{count:,}") for name, count in counts.items())]
    console.result({"file": path, **counts}, facts(rows), Text(f"Next: vse apply PAIRS --rules {path} --out clean.csv"))


def list_rules(
    path: RulesPath,
    *,
    pairs: Annotated[
        Path | None, Option("Count the images and exceptions of every rule in these pairs.", "PAIRS")
    ] = None,
    reading: Reading,
    console: Console,
) -> None:
    """List the rules in force, then the rejected ones.

    If pairs are given, the exceptions of each rule are counted.

    Example: vse rules list rules.jsonl
    """
    from vse_ens.data.rules.exceptions import ImagesOfLabels
    from vse_ens.data.rules.store import RulesFile, read_rules

    rules = read_rules(path)
    found, rejected = list(rules), rules.rejected
    entries: list[dict[str, Any]] = [one._asdict() for one in found]
    rows, rejected_rows = (
        [[str(one.id), one.kind, one.label, one.other, one.by, one.at[:10]] for one in part]
        for part in (found, rejected)
    )
    names = [*_COLUMNS]
    if pairs is not None:
        data = reading.read(pairs, console)
        images = ImagesOfLabels(data)
        names += ["images", "exceptions"]
        for row, entry, one in zip(rows, entries, found, strict=True):
            both, without = images.compare(one.label, one.other)
            entry |= {
                "images": len(both) + len(without),
                "exceptions": len(without),
                "first_exceptions": data.images.ids(without[:_ROWS_SHOWN]),
            }
            row += [f"{len(both) + len(without):,}", f"{len(without):,}" if one.kind == "implication" else "-"]
    parts: list[Any] = []
    if rows:
        parts.append(columns(names, rows, numbers=("rule", "images", "exceptions")))
    parts.append(Text(f"{plural(len(found), 'rule')} in force. To undo one: vse rules undo {path} RULE"))
    if rejected:
        parts += [Text(), Text("Rejected, not proposed again:")]
        parts.append(columns(_COLUMNS, rejected_rows, numbers=("rule",)))
    document = {"rules": entries, "rejected": [one._asdict() for one in rejected], "version": RulesFile(path).version}
    console.result(document, *parts)


def undo_rules(
    path: RulesPath,
    numbers: Annotated[
        Sequence[int], Argument("Numbers of rules to undo; by default those added last.", "[RULE]...")
    ] = (),
    *,
    by: Person = None,
    console: Console,
) -> None:
    """Undo rules; without numbers, those that were added together last.

    The file keeps both events. Data sets that were written with the rule do not change.

    Example: vse rules undo rules.jsonl 3
    """
    from vse_ens.data.rules.store import RulesFile

    file = RulesFile(path)
    undone = file.undo(numbers or None, by=by or user_name())
    rows = [("file", path), *((f"rule {one.id}", one.sentence()) for one in undone)]
    console.result(
        {"file": path, "undone": [one.id for one in undone], "in_force": len(file.rules)},
        facts([*rows, ("in force", plural(len(file.rules), "rule"))]),
    )


def _pairs(source: Path, reading: Reading, console: Console) -> Annotations:
    """Return the pairs that a model knows, or read them."""
    from vse_ens.storage.artifact import MANIFEST

    if (source / MANIFEST).is_file():
        return load_model(source, console).known_
    data = reading.read(source, console)
    console.notes(data.notes)
    return data


def _split(text: str, option: str) -> tuple[str, str]:
    label, equals, other = text.partition("=")
    if not equals or not label.strip() or not other.strip():
        raise misuse(option, f"{text!r} is not A=B, such as cars=car")
    return label.strip(), other.strip()
