"""Rules on labels: the vocabulary, rules in force, proposals, new rules and undo; and the cleaned data set."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from vse_ens.curate.rules.propose import Proposals
from vse_ens.data.filters import facet
from vse_ens.data.rules.rule_set import RuleSet
from vse_ens.data.rules.store import NewRule
from vse_ens.service import schemas
from vse_ens.service.errors import ApiError
from vse_ens.service.jobs import InProgress
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import plain_text
from vse_ens.service.operations import Operations
from vse_ens.service.routes.catalog import IN_PROGRESS, in_progress
from vse_ens.service.routes.feedback import User
from vse_ens.service.schemas import Limit, rounded
from vse_ens.service.settings import MAX_ID_LENGTH
from vse_ens.service.source_archive import reason_against, source_archive
from vse_ens.service.state import Service

_EXAMPLES: Any = {
    "accept an implication": {"value": {"kind": "implication", "label": "beach", "other": "sea"}},
    "merge two labels": {"value": {"kind": "alias", "label": "cars", "other": "car"}},
    "reject a proposal": {"value": {"kind": "rejected", "label": "beach", "other": "sand"}},
    "rename a label": {"value": {"kind": "rename", "label": "plane", "other": "aeroplane"}},
}
_UNDO_EXAMPLES: Any = {"undo a rule": {"value": {"rule": 1}}}
_SHOWN = 6  # images on each side of a proposal

_STREAMED = plain_text(
    "One line per pair; or, for `source`, a ZIP archive of the changed files.",
    {
        "text/csv": "image,label,source\nimg_0000001,beach,data\nimg_0000001,sea,rule\n",
        "application/jsonl": '{"image": "img_0000001", "label": "beach", "source": "data"}\n',
    },
)


def operations(service: Service) -> Operations:
    """Return the routes of rules; a rule is on disk before its response is sent."""
    api = Operations("rules")
    models, compute, disk = service.models, service.compute, service.disk

    @api.get("/api/vocabulary")
    async def vocabulary(
        query: Annotated[str, Meta(max_length=MAX_ID_LENGTH)] = "",
        sort: Literal["count", "name"] = "count",
        offset: Annotated[int, Meta(ge=0, le=10_000_000)] = 0,
        limit: Limit = 100,
    ) -> schemas.VocabularyResponse:
        """List labels under the names in force, with the images of the data that have or imply them."""
        return await compute.run(_vocabulary, await models.current(), query, sort, slice(offset, offset + limit))

    @api.get("/api/rules")
    async def in_force() -> schemas.RulesResponse:
        """List the rules in force and the rejected ones, oldest first, with the number of exceptions in the data."""
        served = await models.current()

        def entries() -> schemas.RulesResponse:
            current = served.labels.rules
            return schemas.RulesResponse(
                rules=[
                    schemas.RuleEntry(**rule._asdict(), exceptions=_changed(served, rule.kind, rule.label, rule.other))
                    for rule in sorted([*current, *current.rejected])
                ],
                version=served.labels.version,
            )

        return await compute.run(entries)

    @api.post("/api/rules", examples=_EXAMPLES)
    async def add(request: schemas.RuleRequest, by: User = "anonymous") -> schemas.RuleResponse:
        """Add a rule, which takes effect at once; a cycle or a contradiction is refused.

        The kind `rejected` stores that no rule between two labels is to be proposed. It changes no labels.
        """
        file, served = service.require_rules(), await models.current()
        new = NewRule(request.kind, request.label, request.other)
        [number] = await disk.run(file.add, [new], by=by)
        changed = await compute.run(_changed, served, *new)
        return schemas.RuleResponse(rule=number, changed=changed)

    @api.post("/api/rules/undo", examples=_UNDO_EXAMPLES)
    async def undo(request: schemas.RuleUndoRequest, by: User = "anonymous") -> schemas.RuleResponse:
        """Undo a rule; undoing it twice changes nothing."""
        file, served = service.require_rules(), await models.current()
        await disk.run(file.undo, [request.rule], by=by)
        undone = file.rule(request.rule)
        changed = await compute.run(_changed, served, undone.kind, undone.label, undone.other)
        return schemas.RuleResponse(rule=request.rule, changed=changed)

    @api.get("/api/rules/proposals", responses=IN_PROGRESS)
    async def proposals(
        offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0, limit: Limit = 200
    ) -> schemas.ProposalsResponse | Response:
        """List implications and aliases that the data suggests, without rejected and settled ones; a background job."""
        served = await models.current()
        found = served.proposals.poll()
        if isinstance(found, InProgress):
            return in_progress(found)
        return await compute.run(_proposals, served, found, served.labels.rules, offset, limit)

    @api.get("/api/export", responses=_STREAMED)
    async def export(
        format: Literal["csv", "jsonl", "source"] = "csv",  # noqa: A002  # the name of the query parameter
        defuse_formulas: bool = False,
    ) -> StreamingResponse:
        """Download the cleaned data set: pairs plus accepted minus rejected, rules applied.

        The column `source` says where a pair comes from: data, feedback or rule. With `format=source`, the answer is
        the changed files of the collection that the model was trained from. `defuse_formulas` puts an apostrophe before
        text in a CSV file that a spreadsheet would run as a formula.
        """
        served = await service.models.current()
        if format == "source":
            if reason := reason_against(served.annotator.known_, service.settings):
                raise ApiError(422, f"{reason}; use format=csv")
            archive = await compute.run(source_archive, served.annotator.known_, served.labels.cleaned)
            return compute.download("clean.zip", iter([archive]))
        cleaned = await compute.run(served.labels.cleaned)
        blocks = cleaned.csv_lines(defuse_formulas=defuse_formulas) if format == "csv" else cleaned.json_lines()
        return compute.download(f"clean.{format}", blocks)

    return api


def _vocabulary(
    served: ServedModel, query: str, sort: Literal["count", "name"], page: slice
) -> schemas.VocabularyResponse:
    table = served.labels.table
    found = table.find(query, sort)
    labels = [
        schemas.VocabularyLabel(label=label, images=table.counts[label], namespace=facet(label)[:-1] or None)
        for label in found[page]
    ]
    return schemas.VocabularyResponse(labels=labels, total=len(found))


def _changed(served: ServedModel, kind: str, label: str, other: str) -> int:
    """Return the number of images that a rule changes: the exceptions of an implication, or those of the label."""
    if kind == "rejected":
        return 0
    both, exceptions = served.labels.images_of_labels.compare(label, other)
    return len(exceptions) if kind == "implication" else len(both) + len(exceptions)


def _proposals(
    served: ServedModel, found: Proposals, rules: RuleSet, offset: int, limit: int
) -> schemas.ProposalsResponse:
    known, images = served.annotator.known_, served.labels.images_of_labels
    still_open = found.open(rules)
    implications, aliases = still_open.implications, still_open.aliases
    shown: list[schemas.ProposedImplication] = []
    for one in implications[offset : offset + limit]:
        both, exceptions = (known.images.ids(part[:_SHOWN]) for part in images.compare(one.label, one.implies))
        shown.append(
            schemas.ProposedImplication(
                label=one.label,
                implies=one.implies,
                support=one.support,
                confidence=rounded(one.confidence),
                exceptions=one.exceptions,
                examples=schemas.ImplicationExamples(both=both, exceptions=exceptions),
            )
        )
    proposed = [
        schemas.ProposedAlias(
            label=one.label,
            other=one.other,
            evidence=one.evidence,
            examples=schemas.AliasExamples(
                label=known.images.ids(images.of(one.label)[:_SHOWN]),
                other=known.images.ids(images.of(one.other)[:_SHOWN]),
            ),
        )
        for one in aliases[offset : offset + limit]
    ]
    return schemas.ProposalsResponse(
        implications=shown,
        aliases=proposed,
        total_implications=len(implications),
        total_aliases=len(aliases),
    )
