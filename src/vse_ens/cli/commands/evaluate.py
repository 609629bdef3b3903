"""``vse evaluate`` and ``vse calibrate``: measure a model, and recalibrate its confidences."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from vse_ens.cli.console import Console, facts, plural
from vse_ens.cli.options import (
    ClusterOptions,
    CompletenessOption,
    ModelDir,
    Reading,
    load_model,
    parse_completeness,
    save_model,
)
from vse_ens.cli.parameters import Argument, Option, command_line, misuse

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator
    from vse_ens.data.feedback.pairs import SuggestionVerdict

_TOPS = (1, 5, 10)


def evaluate(
    model: ModelDir,
    test: Annotated[Path, Argument("A file of held-out pairs, in any format that vse train reads.", "TEST")],
    *,
    known: Annotated[
        Path | None,
        Option(
            "Score images by the labels in this file instead of their training labels: revealed.parquet of "
            "vse split --protocol new-images.",
            "FILE",
        ),
    ] = None,
    top: Annotated[Sequence[int], Option("Cutoff of metrics such as recall@N; may be repeated.", "N", min=1)] = _TOPS,
    save_rankings: Annotated[Path | None, Option("Write the rank of every held-out label as Parquet.", "FILE")] = None,
    page: Annotated[Path | None, Option("Write an HTML page with a reliability plot of hits.", "FILE.html")] = None,
    seed: Annotated[int, Option("Random seed of the bootstrap intervals.", "N")] = 0,
    workers: Annotated[
        int | None, Option("Number of threads or cluster workers.", "N", min=1, default="all cores")
    ] = None,
    memory: Annotated[int, Option("RAM for a block of scores.", "MB", min=1)] = 16,
    cluster: ClusterOptions,
    reading: Reading,
    console: Console,
) -> None:
    """Measure how well a model ranks held-out labels.

    All labels except those the image is known to have are ranked. docs/metrics.md defines every metric.

    Example: vse evaluate model split/test.parquet
    """
    from vse_ens.evaluate.report import summarize

    annotator = load_model(model, console)
    annotator.workers = workers
    held_out = reading.read(test, console)
    console.notes(held_out.notes)
    known_labels = reading.read(known, console) if known else None
    started = time.perf_counter()
    with console.progress("evaluating", len(held_out.images), "images") as progress:
        rankings = annotator.rankings(
            held_out, known=known_labels, top=max(top), memory=memory * 1_000_000, progress=progress, **vars(cluster)
        )
    report = summarize(rankings, tops=top, seed=seed, workers=workers)
    seconds = time.perf_counter() - started
    if save_rankings is not None:
        rankings.save(save_rankings)
    if page is not None:
        from vse_ens.report.evaluation import evaluation_page

        reliability_top = min(max(top), 5)
        calibrated = annotator.calibration_ is not None and known is None
        bins = annotator.reliability(held_out, top=reliability_top, **vars(cluster)) if calibrated else []
        title = "How well held-out labels are found"
        evaluation_page(title, report, bins, top=reliability_top, command=command_line()).write(page)
    document = {"model": model, "test": test, **report.to_dict(), "seconds": round(seconds, 3)}
    console.result(document, Text(str(report)))
    console.finish("Every metric is defined in docs/metrics.md.", "audit", model)


def calibrate(
    model: ModelDir,
    *,
    completeness: CompletenessOption = None,
    verdicts: Annotated[
        Sequence[Path],
        Option(
            "Suggestions that people accepted or rejected: a feedback file of vse serve, or a .csv file of --ask "
            "or of vse audit with decisions; may be repeated. From 50 verdicts on they correct the confidences.",
            "FILE",
        ),
    ] = (),
    ask: Annotated[
        int | None,
        Option(
            "Write the N suggestions whose verdicts would help most to --out, such as 200; the model stays as it is.",
            "N",
            min=1,
        ),
    ] = None,
    out: Annotated[
        Path | None, Option("The model directory to write, by default MODEL itself; with --ask, a .csv file.", "OUT")
    ] = None,
    console: Console,
) -> None:
    """Recalibrate confidences.

    The chance that a suggested label is right depends on how complete the labels of the data are. Without options that
    is estimated from the pairs. Hits, scores and the order of suggestions do not change.

    Example: vse calibrate model --completeness 0.7 --out calibrated
    """
    from vse_ens.data.feedback.pairs import read_suggestion_verdicts

    if ask is not None and (out is None or out.suffix != ".csv"):
        raise misuse("--ask", "needs --out FILE.csv")
    if ask is not None and completeness is not None:
        raise misuse("--completeness", "cannot be combined with --ask")
    given = parse_completeness(completeness)
    said = [verdict for path in verdicts for verdict in read_suggestion_verdicts(path)]
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
    from vse_ens.data.io.write import write_csv

    chosen = annotator.suggestions_to_judge(count, verdicts=said)
    header = ("kind", "image", "label", "other_label", "confidence", "reason", "decision")
    write_csv(out, header, (("missing", image, label, "", f"{sure:.4f}", "", "") for image, label, sure in chosen))
    document = {"file": out, "suggestions": len(chosen)}
    console.result(document, facts(document.items()))
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
    document = {"model": out, "completeness": found.mean, "given": found.is_given, "by_label": by_label}
    rows = [("model", out), ("completeness", f"{found.mean:.2f}, {origin}"), ("verdicts", f"{used:,} used")]
    console.result({**document, "verdicts": used}, facts(rows))
    if said and not used:
        console.note(f"{plural(said, 'verdict')} change nothing: at least {MIN_VERDICTS} on suggestions are needed")
    console.finish("Confidences are now calibrated so.", "annotate", out, annotator.known_.images.id(0))
