"""``vse audit``: find labels that are likely wrong, missing or duplicate."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from vse_ens.cli.console import Console, columns, confidence_text, listed
from vse_ens.cli.options import DefuseFormulas, ModelDir, load_model
from vse_ens.cli.parameters import Option, misuse
from vse_ens.errors import MissingPartError
from vse_ens.progress import summed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from vse_ens.annotator import Annotator
    from vse_ens.curate.audit.audit import Audit

_PICTURE_SIZE = 320  # pixels, of pictures in the page
_ROWS_SHOWN = 5  # per kind in the terminal; the files have all


def audit(
    model: ModelDir,
    *,
    top: Annotated[int, Option("Maximum number of findings per kind.", "N", min=1)] = 50,
    wrong_share: Annotated[
        float, Option("Expected share of wrong labels; scales their confidence, does not change the order.", "X")
    ] = 0.02,
    out: Annotated[Path | None, Option("Write all findings, with an empty column for decisions.", "FILE.csv")] = None,
    page: Annotated[Path | None, Option("Write all findings as an HTML page.", "FILE.html")] = None,
    images: Annotated[
        str | None,
        Option(
            "Pictures for --page: their folder, a collection that knows where they are, or 'drawn'.",
            "SOURCE",
            default="where the model was trained",
        ),
    ] = None,
    defuse_formulas: DefuseFormulas = False,
    console: Console,
) -> None:
    """Find labels that are likely wrong, missing or duplicate.

    Examines the pairs the model was trained on and changes nothing: the decisions are yours.

    Example: vse audit model --out audit.csv --page audit.html
    """
    for path, suffix, option in ((out, ".csv", "--out"), (page, ".html", "--page")):
        if path is not None and path.suffix != suffix:
            raise misuse(option, f"{path} must end in {suffix}")
    if defuse_formulas and out is None:
        raise misuse("--defuse-formulas", "needs --out FILE.csv")
    if images is not None and page is None:
        raise misuse("--images", "needs --page FILE.html")
    annotator = load_model(model, console)
    picture_of = _pictures(annotator, images) if page is not None else None
    from vse_ens.curate.audit.audit import audit_rows

    with console.progress("auditing", audit_rows(annotator.known_), "rows") as progress:
        findings = annotator.audit(top, wrong_share=wrong_share, progress=summed(progress))
    if out is not None:
        findings.write_csv(out, defuse_formulas=defuse_formulas)
    if page is not None:
        from vse_ens.curate.audit.page import audit_page

        known = annotator.known_
        data = f"{len(known.images):,} images, {len(known.labels):,} labels, {known.pairs:,} pairs"
        facts = [("model", str(model)), ("data", data), ("date", f"{datetime.now():%d %B %Y}")]
        audit_page(findings, facts=facts, labels_of=annotator.known_labels, picture_of=picture_of).write(page)
    written = {"out": out, "page": page}
    files = [f"all findings: {path}" for path in written.values() if path is not None]
    console.result(
        {**findings.to_dict(), **written},
        *_tables(findings),
        *map(Text, files or ["use --out FILE.csv, --page FILE.html or --json for all findings"]),
    )
    count = len(findings.wrong) + len(findings.missing) + len(findings.duplicates)
    console.finish(f"{count:,} findings to look at; the page of the service decides them by key.", "serve", model)


def _pictures(annotator: Annotator, images: str | None) -> Callable[[str], str | None] | None:
    """Return a function that gives the picture of an image as an address; None if there are no pictures."""
    if images is None and annotator.known_.pictures is None:
        return None
    try:
        from vse_ens.service.errors import ApiError
        from vse_ens.service.pictures.sources import read_source, source_for
        from vse_ens.service.pictures.thumbnail import check_pillow, media_type

        check_pillow()
    except (ImportError, MissingPartError) as error:
        if images is None:
            return None
        raise MissingPartError(f"--images needs more packages: pip install 'vse-ens[service]' ({error})") from error
    source = source_for(annotator, read_source(images) if images is not None else None)
    if source is None:
        return None

    def address(image: str) -> str | None:
        if url := source.url(image):
            return url
        try:
            content = b64encode(source.render(image, _PICTURE_SIZE)).decode()
        except ApiError:  # this picture is missing or damaged
            return None
        return f"data:{media_type()};base64,{content}"

    return address


_RELATIONS = {"same": "the same", "alike": "used alike"}


def _tables(findings: Audit) -> list[RenderableType]:
    pairs, labels = ("image", "label", "confidence", "reason"), ("label", "other label", "relation", "reason")
    wrong, missing = (
        [(row.image, row.label, confidence_text(row.confidence), row.reason) for row in found]
        for found in (findings.wrong, findings.missing)
    )
    duplicates = [(row.label, row.other, _RELATIONS[row.kind], row.reason) for row in findings.duplicates]
    parts: list[RenderableType] = []
    for kind, names, rows in (("wrong", pairs, wrong), ("missing", pairs, missing), ("duplicate", labels, duplicates)):
        parts.append(Text(f"Labels likely {kind}: {listed(len(rows), _ROWS_SHOWN)}"))
        if rows:
            parts.append(columns(names, rows[:_ROWS_SHOWN], numbers=("confidence",)))
        parts.append(Text())
    return parts
