"""Rules on labels: the vocabulary, rules in force, proposals, new rules and undo; and the cleaned data set."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from starlette.responses import Response, StreamingResponse

from vse_ens.data.filters import facet
from vse_ens.data.rules.store import NewRule, RulesFile
from vse_ens.service import schemas
from vse_ens.service.errors import ApiError
from vse_ens.service.jobs import InProgress
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.routes.catalog import IN_PROGRESS, in_progress
from vse_ens.service.routes.feedback import User
from vse_ens.service.schemas import Limit
from vse_ens.service.settings import MAX_ID_LENGTH
from vse_ens.service.source_archive import reason_against, source_archive
from vse_ens.service.state import Service

_SHOWN = 6  # images on each side of a proposal

operations = Operations("rules")


@operations.get("/api/vocabulary")
def vocabulary(
    served: ServedModel,
    query: Annotated[str, Meta(max_length=MAX_ID_LENGTH)] = "",
    sort: Literal["count", "name"] = "count",
    offset: Annotated[int, Meta(ge=0, le=10_000_000)] = 0,
    limit: Limit = 100,
) -> schemas.VocabularyResponse:
    """List labels under the names in force, with the images of the data that have or imply them."""
    table = served.labels.table
    found = table.find(query, sort)
    labels = [
        schemas.VocabularyLabel(label=label, images=table.counts[label], namespace=facet(label)[:-1] or None)
        for label in found[offset : offset + limit]
    ]
    return schemas.VocabularyResponse(labels=labels, total=len(found))


@operations.get("/api/rules")
def in_force(served: ServedModel) -> schemas.RulesResponse:
    """List the rules in force and the rejected ones, oldest first, with the number of exceptions in the data."""
    current = served.labels.rules
    entries = [
        schemas.RuleEntry.of(rule, exceptions=_changed(served, rule.kind, rule.label, rule.other))
        for rule in sorted([*current, *current.rejected])
    ]
    return schemas.RulesResponse(rules=entries, version=served.labels.version)


@operations.post("/api/rules")
async def add(
    service: Service, file: RulesFile, served: ServedModel, request: schemas.RuleRequest, by: User = "anonymous"
) -> schemas.RuleResponse:
    """Add a rule, which takes effect at once; a cycle or a contradiction is refused.

    The kind `rejected` stores that no rule between two labels is to be proposed. It changes no labels.
    """
    new = NewRule(request.kind, request.label, request.other)
    [number] = await service.disk.run(file.add, [new], by=by)
    changed = await service.compute.run(_changed, served, *new)
    return schemas.RuleResponse(rule=number, changed=changed)


@operations.post("/api/rules/undo")
async def undo(
    service: Service, file: RulesFile, served: ServedModel, request: schemas.RuleUndoRequest, by: User = "anonymous"
) -> schemas.RuleResponse:
    """Undo a rule; undoing it twice changes nothing."""
    await service.disk.run(file.undo, [request.rule], by=by)
    undone = file.rule(request.rule)
    changed = await service.compute.run(_changed, served, undone.kind, undone.label, undone.other)
    return schemas.RuleResponse(rule=request.rule, changed=changed)


@operations.get("/api/rules/proposals", others=IN_PROGRESS)
def proposals(
    served: ServedModel, offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0, limit: Limit = 200
) -> schemas.ProposalsResponse | Response:
    """List implications and aliases that the data suggests, without rejected and settled ones; a background job."""
    found = served.proposals.poll()
    if isinstance(found, InProgress):
        return in_progress(found)
    still_open, images, page = (
        found.open(served.labels.rules),
        served.labels.images_of_labels,
        slice(offset, offset + limit),
    )

    def first(numbers: NDArray[np.integer]) -> list[str]:
        return served.annotator.known_.images.ids(numbers[:_SHOWN])

    implications = [
        schemas.ProposedImplication.of(
            one, examples=schemas.ImplicationExamples(*map(first, images.compare(one.label, one.implies)))
        )
        for one in still_open.implications[page]
    ]
    aliases = [
        schemas.ProposedAlias.of(
            one, examples=schemas.AliasExamples(first(images.of(one.label)), first(images.of(one.other)))
        )
        for one in still_open.aliases[page]
    ]
    return schemas.ProposalsResponse(
        implications=implications,
        aliases=aliases,
        total_implications=len(still_open.implications),
        total_aliases=len(still_open.aliases),
    )


@operations.get("/api/export")
def export(
    service: Service,
    served: ServedModel,
    format: Literal["csv", "jsonl", "source"] = "csv",  # noqa: A002  # the name of the query parameter
    defuse_formulas: bool = False,
) -> StreamingResponse:
    """Download the cleaned data set: pairs plus accepted minus rejected, rules applied.

    The column `source` says where a pair comes from: data, feedback or rule. With `format=source`, the answer is
    the changed files of the collection that the model was trained from. `defuse_formulas` puts an apostrophe before
    text in a CSV file that a spreadsheet would run as a formula.
    """
    if format == "source":
        if reason := reason_against(served.annotator.known_, service.settings):
            raise ApiError(422, f"{reason}; use format=csv")
        archive = source_archive(served.annotator.known_, served.labels.cleaned)
        return service.compute.download("clean.zip", iter([archive]))
    lines = served.labels.cleaned().lines(format, defuse_formulas=defuse_formulas)
    return service.compute.download(f"clean.{format}", lines)


def _changed(served: ServedModel, kind: str, label: str, other: str) -> int:
    """Return the number of images that a rule changes: the exceptions of an implication, or those of the label."""
    if kind == "rejected":
        return 0
    both, exceptions = served.labels.images_of_labels.compare(label, other)
    return len(exceptions) if kind == "implication" else len(both) + len(exceptions)
