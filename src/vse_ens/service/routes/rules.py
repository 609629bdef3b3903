"""Rules on labels: the vocabulary, rules in force, proposals, new rules and undo."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta
from starlette.responses import Response

from vse_ens.curate.rules.propose import Proposals
from vse_ens.data.hierarchy import facet
from vse_ens.data.rules.rule_set import RuleSet
from vse_ens.data.rules.store import NewRule
from vse_ens.service.jobs import InProgress
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.routes.catalog import IN_PROGRESS, in_progress
from vse_ens.service.routes.feedback import User
from vse_ens.service.schemas import (
    AliasExamples,
    ImplicationExamples,
    Limit,
    ProposalsResponse,
    ProposedAlias,
    ProposedImplication,
    RuleEntry,
    RuleRequest,
    RuleResponse,
    RulesResponse,
    RuleUndoRequest,
    VocabularyLabel,
    VocabularyResponse,
    rounded,
)
from vse_ens.service.settings import MAX_ID_LENGTH
from vse_ens.service.state import Service

_EXAMPLES: Any = {
    "accept an implication": {"value": {"kind": "implication", "label": "beach", "other": "sea"}},
    "merge two labels": {"value": {"kind": "alias", "label": "cars", "other": "car"}},
    "reject a proposal": {"value": {"kind": "rejected", "label": "beach", "other": "sand"}},
    "rename a label": {"value": {"kind": "rename", "label": "plane", "other": "aeroplane"}},
}
_UNDO_EXAMPLES: Any = {"undo a rule": {"value": {"rule": 1}}}
_SHOWN = 6  # images on each side of a proposal


def rules_operations(service: Service) -> Operations:
    """Return the routes of rules; a rule is on disk before its response is sent."""
    api = Operations("rules")
    models, compute, disk = service.models, service.compute, service.disk

    @api.get("/api/vocabulary")
    async def vocabulary(
        query: Annotated[str, Meta(max_length=MAX_ID_LENGTH)] = "",
        sort: Literal["count", "name"] = "count",
        offset: Annotated[int, Meta(ge=0, le=10_000_000)] = 0,
        limit: Limit = 100,
    ) -> VocabularyResponse:
        """List labels under the names in force, with the images of the data that have or imply them."""
        return await compute.run(_vocabulary, await models.current(), query, sort, slice(offset, offset + limit))

    @api.get("/api/rules")
    async def in_force() -> RulesResponse:
        """List the rules in force and the rejected ones, oldest first, with the number of exceptions in the data."""
        served = await models.current()

        def entries() -> RulesResponse:
            current = served.labels.rules
            return RulesResponse(
                rules=[
                    RuleEntry(**rule._asdict(), exceptions=_changed(served, rule.kind, rule.label, rule.other))
                    for rule in sorted([*current, *current.rejected])
                ],
                version=served.labels.version,
            )

        return await compute.run(entries)

    @api.post("/api/rules", examples=_EXAMPLES)
    async def add(request: RuleRequest, by: User = "anonymous") -> RuleResponse:
        """Add a rule, which takes effect at once; a cycle or a contradiction is refused.

        The kind `rejected` stores that no rule between two labels is to be proposed. It changes no labels.
        """
        file, served = service.require_rules(), await models.current()
        new = NewRule(request.kind, request.label, request.other)
        [number] = await disk.run(file.add, [new], by=by)
        changed = await compute.run(_changed, served, *new)
        return RuleResponse(rule=number, changed=changed)

    @api.post("/api/rules/undo", examples=_UNDO_EXAMPLES)
    async def undo(request: RuleUndoRequest, by: User = "anonymous") -> RuleResponse:
        """Undo a rule; undoing it twice changes nothing."""
        file, served = service.require_rules(), await models.current()
        await disk.run(file.undo, [request.rule], by=by)
        undone = file.rule(request.rule)
        changed = await compute.run(_changed, served, undone.kind, undone.label, undone.other)
        return RuleResponse(rule=request.rule, changed=changed)

    @api.get("/api/rules/proposals", responses=IN_PROGRESS)
    async def proposals(
        offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0, limit: Limit = 200
    ) -> ProposalsResponse | Response:
        """List implications and aliases that the data suggests, without rejected and settled ones; a background job."""
        served = await models.current()
        found = served.proposals.poll()
        if isinstance(found, InProgress):
            return in_progress(found)
        return await compute.run(_proposals, served, found, served.labels.rules, offset, limit)

    return api


def _vocabulary(served: ServedModel, query: str, sort: Literal["count", "name"], page: slice) -> VocabularyResponse:
    table = served.labels.table
    found = table.find(query, sort)
    labels = [
        VocabularyLabel(label=label, images=table.counts[label], namespace=facet(label)[:-1] or None)
        for label in found[page]
    ]
    return VocabularyResponse(labels=labels, total=len(found))


def _changed(served: ServedModel, kind: str, label: str, other: str) -> int:
    """Return the number of images that a rule changes: the exceptions of an implication, or those of the label."""
    if kind == "rejected":
        return 0
    both, exceptions = served.labels.images_of_labels.compare(label, other)
    return len(exceptions) if kind == "implication" else len(both) + len(exceptions)


def _proposals(served: ServedModel, found: Proposals, rules: RuleSet, offset: int, limit: int) -> ProposalsResponse:
    known, images = served.annotator.known_, served.labels.images_of_labels
    still_open = found.open(rules)
    implications, aliases = still_open.implications, still_open.aliases
    shown: list[ProposedImplication] = []
    for one in implications[offset : offset + limit]:
        both, exceptions = (known.images.ids(part[:_SHOWN]) for part in images.compare(one.label, one.implies))
        shown.append(
            ProposedImplication(
                label=one.label,
                implies=one.implies,
                support=one.support,
                confidence=rounded(one.confidence),
                exceptions=one.exceptions,
                examples=ImplicationExamples(both=both, exceptions=exceptions),
            )
        )
    proposed = [
        ProposedAlias(
            label=one.label,
            other=one.other,
            evidence=one.evidence,
            examples=AliasExamples(
                label=known.images.ids(images.of(one.label)[:_SHOWN]),
                other=known.images.ids(images.of(one.other)[:_SHOWN]),
            ),
        )
        for one in aliases[offset : offset + limit]
    ]
    return ProposalsResponse(
        implications=shown,
        aliases=proposed,
        total_implications=len(implications),
        total_aliases=len(aliases),
    )
