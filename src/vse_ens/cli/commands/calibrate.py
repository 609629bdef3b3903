"""``vse calibrate``: set what the confidences of a model rest on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vse_ens.cli.console import Console, facts
from vse_ens.cli.formatting import plural
from vse_ens.cli.options import CompletenessOption, ModelDir, load_model, parse_completeness, save_model

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.feedback.pairs import SuggestionVerdict


def calibrate(
    model: ModelDir,
    *,
    completeness: CompletenessOption = None,
    verdicts: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Suggestions that people accepted or rejected: a feedback file of vse serve, or a .csv file of --ask "
            "or of vse audit with decisions; may be repeated. From 50 verdicts on they correct the confidences.",
        ),
    ] = None,
    ask: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Write the N suggestions whose verdicts would tell most to --out, such as 200; the model stays as it "
            "is.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            show_default=False,
            help="The model directory to write, by default MODEL itself; with --ask, a .csv file.",
        ),
    ] = None,
    console: Console,
) -> None:
    """Set what confidences rest on: completeness and verdicts.

    The chance that a suggested label is right depends on how complete the labels of the data are. Without options that
    is estimated from the pairs. Hits, scores and the order of suggestions do not change.
    """
    from vse_ens.data.feedback.pairs import read_suggestion_verdicts

    if ask is not None and (out is None or out.suffix != ".csv"):
        raise typer.BadParameter("needs --out FILE.csv", param_hint="'--ask'")
    if ask is not None and completeness is not None:
        raise typer.BadParameter("cannot be combined with --ask", param_hint="'--completeness'")
    given = parse_completeness(completeness)
    said = [verdict for path in verdicts or () for verdict in read_suggestion_verdicts(path)]
    annotator = load_model(model, console)
    if ask is not None and out is not None:
        _ask(annotator, ask, out, said, console)
        return
    target = out or model
    annotator.calibrate(completeness=given, verdicts=said)
    save_model(annotator, target)
    _show(annotator, target, len(said), console)


def _ask(annotator: Annotator, count: int, out: Path, said: list[SuggestionVerdict], console: Console) -> None:
    """Write suggestions in the form of an ``audit.csv``, for a person to fill the column ``decision``."""
    from vse_ens.storage.atomic import replace_file

    chosen = annotator.suggestions_to_judge(count, verdicts=said)
    with replace_file(out) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("kind", "image", "label", "other_label", "confidence", "reason", "decision"))
        lines.writerows(("missing", image, label, "", f"{sure:.4f}", "", "") for image, label, sure in chosen)
    console.result(
        {"file": str(out), "suggestions": len(chosen)},
        facts([("file", str(out)), ("suggestions", f"{len(chosen):,}")]),
    )
    console.finish(f"Write accept or reject into the column decision of {out}, then pass it to --verdicts.")


def _show(annotator: Annotator, out: Path, said: int, console: Console) -> None:
    from vse_ens.curate.verdict_calibration import MIN_VERDICTS

    calibration = annotator.calibration_
    found = calibration and calibration.completeness
    if not found:
        return
    by_label = len(found.shares) > 1
    origin = ("given by label" if by_label else "given") if found.is_given else "estimated from the pairs"
    used = found.correction.verdicts
    document = {
        "model": str(out),
        "completeness": found.mean,
        "given": found.is_given,
        "by_label": by_label,
        "verdicts": used,
    }
    rows = [("model", str(out)), ("completeness", f"{found.mean:.2f}, {origin}"), ("verdicts", f"{used:,} used")]
    console.result(document, facts(rows))
    if said and not used:
        console.note(f"{plural(said, 'verdict')} change nothing: at least {MIN_VERDICTS} on suggestions are needed")
    console.finish("Confidences are now calibrated so.", "annotate", out, annotator.known_.images.id(0))
