"""The bodies of requests and answers: they decode, encode, and are documented in /openapi.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, overload

from msgspec import UNSET, Meta, Struct, UnsetType

from vse_ens.curate.audit.duplicates import Duplicate
from vse_ens.curate.label_completion import Why
from vse_ens.data.rules.rule_set import RuleKind
from vse_ens.service.settings import (
    MAX_BATCH,
    MAX_FEATURES,
    MAX_ID_LENGTH,
    MAX_LABELS,
    MAX_SUGGESTIONS,
    MAX_TOP,
    MAX_VERDICTS,
)


def doc(description: str, **more: Any) -> Meta:
    """Return the description of a field, with constraints or examples."""
    return Meta(description=description, **more)


Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID_LENGTH)]
LabelList = Annotated[list[Id], Meta(max_length=MAX_LABELS)]
ImageId = Annotated[Id, Meta(examples=["img_0000001"])]
LabelId = Annotated[Id, Meta(examples=["beach"])]
Limit = Annotated[int, Meta(ge=1, le=1_000)]
Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Top = Annotated[int, Meta(ge=1, le=MAX_TOP)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
Number = Annotated[int, Meta(ge=1, le=2**63 - 1)]
# Products of them with the numbers of a model are finite.
Feature = Annotated[float, Meta(ge=-1e15, le=1e15)]
Kind = Literal["missing", "wrong"]
Order = Literal["gain", "random", "verdicts"]

Confidence = Annotated[
    float | None,
    doc("Probability that it is right, given how complete the labels are; null if the model is not calibrated."),
]
Fingerprint = Annotated[str, doc("Fingerprint of the model.")]
KnownLabels = Annotated[list[str], doc("Its known labels.")]
Matches = Annotated[int, doc("Number of all matches.")]
ShownConfidence = Annotated[Probability | None, doc("Confidence of the suggestion when it was shown.")]
Similarity = Annotated[float, doc("Cosine similarity, from -1 to 1.")]
Url = Annotated[
    str | None, doc("Address of its picture; for one of this service, replace `size=320` by 160, 640 or 1280.")
]

_BATCH = Meta(min_length=1, max_length=MAX_BATCH)
# The precision of a float32.
_DECIMALS = 6


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """Round a score or a confidence; None stays None."""
    return None if value is None else round(value, _DECIMALS)


class Answer(Struct):
    """Base class of the bodies of answers."""

    @classmethod
    def of(cls, record: object, **more: Any) -> Self:
        """Return an answer with the attributes of a record, numbers rounded, and ``more`` fields in their place."""
        found = {name: getattr(record, name, UNSET) for name in cls.__struct_fields__ if name not in more}
        given = {name: rounded(one) if type(one) is float else one for name, one in found.items() if one is not UNSET}
        return cls(**given, **more)


class Body(Struct, forbid_unknown_fields=True):
    """Base class of the bodies of requests: no unknown fields, no conversion between types."""


class ErrorResponse(Answer):
    """Why a request failed."""

    error: Annotated[str, doc("One sentence.", examples=["unknown label 'beech'; did you mean 'beach'?"])]
    nearest: Annotated[list[str] | UnsetType, doc("Known IDs similar to the unknown one.", examples=[["beach"]])] = (
        UNSET
    )


# --- predict ---


class Reason(Answer):
    """One contribution to a score."""

    labels: Annotated[list[str], doc("The known label, or a pair that counts as one; empty for other sources.")]
    share: Annotated[float, doc("Amount added to the score; all shares of a suggestion add up to its score.")]
    source: Annotated[
        Literal["labels", "neighbors", "image", "features", "frequency", "bias"],
        doc("Known labels, similar images that have the label, the image's own vector or features, or its frequency."),
    ]
    images: Annotated[list[str] | UnsetType, doc("The most similar images that have the label.")] = UNSET
    count: Annotated[int | UnsetType, doc("Number of similar images that have the label.")] = UNSET


class Suggestion(Answer):
    """A label that an image probably lacks, with its score."""

    label: str
    score: float
    confidence: Confidence
    hit: Annotated[
        float | None,
        doc("Probability that it is the missing label of an image that lacks exactly one; null if not calibrated."),
    ] = None
    because: Annotated[list[Reason] | UnsetType, doc("The first few reasons, largest first, if requested.")] = UNSET


class ExplainResponse(Suggestion, kw_only=True):
    """A label's score for an image, and all contributions, which add up to it."""

    left_out: Annotated[bool, doc("Whether the image has the label, which is then explained by its other labels.")]


class AnnotateRequest(Body):
    """Either images of the model, or the labels and feature vectors of images that are unknown to it."""

    images: Annotated[Annotated[list[Id], _BATCH] | None, doc("Images of the model.")] = None
    labels: Annotated[Annotated[list[LabelList], _BATCH] | None, doc("The labels of each image.")] = None
    vectors: Annotated[
        Annotated[list[Annotated[list[Feature], Meta(min_length=1, max_length=MAX_FEATURES)]], _BATCH] | None,
        doc(
            "The features of each image, if the model was trained with features; with `labels`, one vector per list.",
            examples=[[[0.25, -1.5]]],
        ),
    ] = None
    top: Annotated[Top, doc("Maximum number of suggestions per image.")] = 5
    allow: Annotated[LabelList | None, doc("Suggest only these labels.")] = None
    deny: Annotated[LabelList | None, doc("Do not suggest these labels.")] = None
    min_confidence: Annotated[Probability, doc("Omit suggestions with a lower confidence.")] = 0.0
    explain: Annotated[bool, doc("Include the first contributions to each score.")] = False
    all_reasons: Annotated[bool, doc("With `explain`: all contributions, not only the first.")] = False

    @property
    def count(self) -> int:
        """Number of images in the request."""
        return len(self.images or self.labels or self.vectors or ())

    @property
    def all_labels(self) -> list[str]:
        """Every label in the request: known, allowed and denied ones."""
        return [label for labels in (*(self.labels or ()), self.allow or (), self.deny or ()) for label in labels]

    def __post_init__(self) -> None:
        if (self.images is None) == (self.labels is None and self.vectors is None):
            raise ValueError("give either images or labels, or vectors with or without labels")
        if self.labels is not None and self.vectors is not None and len(self.labels) != len(self.vectors):
            raise ValueError(f"{len(self.labels)} lists of labels and {len(self.vectors)} vectors do not match")
        lengths = sorted({len(vector) for vector in self.vectors or ()})
        if len(lengths) > 1:
            raise ValueError(f"vectors must have one length, got {lengths[-1]} and {lengths[0]}")
        if self.count * self.top > MAX_SUGGESTIONS:
            raise ValueError(
                f"{self.count} images with {self.top} suggestions each exceed the limit of {MAX_SUGGESTIONS:,}; "
                "split the request"
            )


class AnnotatedImage(Answer):
    """One image and its suggestions."""

    image: Annotated[str | None, doc("Null if labels or vectors were given.")]
    labels: KnownLabels
    suggestions: Annotated[list[Suggestion], doc("Best first.")]


class AnnotateResponse(Answer):
    """Suggestions in the order of the request, all from one model."""

    model: Fingerprint
    results: list[AnnotatedImage]


class SearchRequest(Body):
    """Labels that images should have; a leading minus excludes a label."""

    labels: Annotated[list[Id], Meta(min_length=1, max_length=20)]
    top: Top = 20
    tagged: Annotated[bool, doc("Include images that already have the labels.")] = False


class FoundImage(Answer):
    """An image that matches a search."""

    image: str
    score: float
    confidence: Confidence
    labels: KnownLabels
    url: Url = None


class SearchResponse(Answer):
    """The best matches, best first."""

    images: list[FoundImage]


class ExplainRequest(Body, kw_only=True):
    """A label to explain, for an image of the model or for an image with the given labels."""

    image: Id | None = None
    labels: LabelList | None = None
    label: Id

    def __post_init__(self) -> None:
        if (self.image is None) == (self.labels is None):
            raise ValueError("give either an image or labels")


class SimilarLabel(Answer):
    """A label similar to the requested one."""

    label: str
    similarity: Similarity


class SimilarLabelsResponse(Answer):
    """Similar items, most similar first."""

    label: str
    similar: list[SimilarLabel]


class SimilarImage(Answer):
    """An image similar to the requested one."""

    image: str
    similarity: Similarity
    labels: KnownLabels
    url: Url = None


class SimilarImagesResponse(Answer):
    """Similar items, most similar first."""

    image: str
    similar: list[SimilarImage]


# --- catalog ---


class LearningState(Answer):
    """How the service updates its model from feedback."""

    after: Annotated[int, doc("Number of verdicts after which the model is updated.")]
    decisions: Annotated[int, doc("Verdicts since the last update began.")]
    running: bool
    updates: Annotated[int, doc("Number of updates since the service started.")]
    failure: Annotated[str | None, doc("Why the last update failed.")]


class ConfidenceState(Answer):
    """What confidences rest on."""

    completeness: Annotated[float, doc("Share of right labels that the data record, the mean if by label.")]
    given: Annotated[bool, doc("Whether a person gave the completeness; else it is estimated from the pairs.")]
    verdicts: Annotated[int, doc("Verdicts on suggestions so far.")]
    used: Annotated[int, doc("Verdicts that confidences are corrected by; 0 until there are enough.")]
    needed: Annotated[int, doc("Verdicts from which on they are.")]
    wanted: Annotated[int, doc("Verdicts that are asked for.")]


class CompletenessRequest(Body):
    """How complete the labels of the data are."""

    completeness: Annotated[
        Annotated[float, Meta(ge=0.01, le=1)] | None,
        doc("Share of right labels that the data record; null to estimate it from the pairs."),
    ]


class ModelResponse(Answer, kw_only=True):
    """The model card, and the features and limits of this service."""

    name: Annotated[str, doc("Name of the model directory.")]
    fingerprint: Annotated[str, doc("Identifies the model in responses and events.")]
    images: int
    labels: int
    pairs: int
    preset: str
    config: dict[str, Any]
    training: dict[str, Any]
    validation: dict[str, float] | None
    has_confidence: bool
    confidence: Annotated[ConfidenceState | None, doc("What they rest on; null if the model is not calibrated.")] = None
    image_url: Annotated[str | None, doc("Address of the pictures, with `{image}` as a placeholder for the image ID.")]
    feedback: Annotated[bool, doc("Whether this service stores feedback sent with this key.")]
    read_only: Annotated[bool, doc("Whether the key of this request is for reading only.")] = False
    user: Annotated[str | None, doc("The name of the key, which is the user of its feedback.")] = None
    learning: Annotated[LearningState | None, doc("Updates of the model from feedback; null if they are off.")] = None
    version: Annotated[str, doc("Version of vse-ens.")]
    saved_at: Annotated[str | None, doc("When the model was saved, in UTC.")]
    source_format: Annotated[str | None, doc("Format in which the cleaned collection can be downloaded.")] = None
    source_problem: Annotated[str | None, doc("Why the model's collection cannot be downloaded in its format.")] = None
    limits: Annotated[dict[str, int], doc("Limits of one request.")]


class LabelCount(Answer):
    """A label and its number of images."""

    label: str
    images: int


class LabelsResponse(Answer):
    """Labels with a word that starts with the prefix."""

    labels: list[LabelCount]
    total: Matches


class CompletedLabel(LabelCount):
    """A label that completes the text."""

    why: Annotated[
        Why,
        doc("It suits the other labels, or it is frequent, or it differs from the text by one letter."),
    ]


class LabeledImage(Answer):
    """An image and its labels."""

    image: str
    labels: list[str]
    url: Url = None


class LabelImagesResponse(Answer):
    """A page of images that have a label."""

    images: list[LabeledImage]
    total: Annotated[int, doc("Number of all such images.")]


class CompleteResponse(Answer):
    """Labels that complete a text, best first."""

    labels: list[CompletedLabel]


class ImagesResponse(Answer):
    """Images with an ID that starts with the prefix."""

    images: list[str]
    total: Matches


class JobStatus(Answer, kw_only=True):
    """A background job that has not finished; poll again in a second."""

    state: Literal["working"] = "working"
    done: Annotated[float, doc("Fraction of the work done, from 0 to 1.")]


class Finding(Answer):
    """A label of an image that is probably wrong or missing."""

    image: str
    label: str
    confidence: float
    reason: str
    because: list[Reason]
    url: Url = None


class AuditResponse(Answer, kw_only=True):
    """A page of findings, most confident first, without those that have a verdict."""

    kind: Kind
    state: Literal["ready"] = "ready"
    total: int
    findings: list[Finding]


class DuplicatesResponse(Answer, kw_only=True):
    """A page of labels that mean the same as another one, without those that a rule settles."""

    kind: Literal["duplicates"] = "duplicates"
    state: Literal["ready"] = "ready"
    total: int
    findings: list[Duplicate]


# --- rankings ---


class GridImage(Answer):
    """An image for a label."""

    image: str
    confidence: Confidence
    labels: Annotated[list[str], doc("Its current labels, from the data and from feedback.")]
    url: Url


class GridResponse(Answer):
    """Images for a label, surest first."""

    model: Fingerprint
    label: str
    kind: Kind
    images: list[GridImage]
    above: Annotated[
        dict[str, int],
        doc(
            "Number of images with at least this confidence; empty without confidences.",
            examples=[{"0.1": 120, "0.2": 48}],
        ),
    ]
    total: Annotated[int, doc("Number of images with at least `min_confidence`.")]
    scored: Annotated[float, doc("Fraction of all images that are scored so far; the others are not listed yet.")]


class QueuedImage(Answer):
    """An image to annotate."""

    image: str
    gain: Annotated[float, doc("Expected number of right labels among its first 5 suggestions.")]
    url: Url


class QueueResponse(Answer):
    """Images without a verdict, in the requested order."""

    model: Fingerprint
    images: list[QueuedImage]
    done: Annotated[int, doc("Number of images of the model with a verdict.")]
    total: Annotated[int, doc("Number of images of the model.")]
    scored: Annotated[float, doc("Fraction of all images that are scored so far; the others come later.")]
    state: Annotated[ImageState | None, doc("State of the first image, if requested.")] = None


# --- feedback ---


class LabelInForce(Answer):
    """A current label of an image."""

    label: str
    source: Literal["data", "feedback", "rule"]
    event: Annotated[int | None, doc("The event that added it, if it comes from feedback.")]
    implied_by: Annotated[str | None, doc("The label that implies it, if it comes from a rule.")] = None


class RejectedLabel(Answer):
    """A rejected label, which is not suggested for the image again."""

    label: str
    event: int


class ImageState(Answer):
    """Current state of an image: its labels, rejected labels and suggestions."""

    model: Fingerprint
    image: str
    known: Annotated[bool, doc("Whether the model knows the image; feedback may contain others.")]
    labels: list[LabelInForce]
    rejected: list[RejectedLabel]
    suggestions: list[Suggestion]
    url: Url


class TogetherRequest(Body):
    """Images that are labeled together."""

    images: Annotated[list[Id], Meta(min_length=1, max_length=MAX_TOP)]
    top: Annotated[Top, doc("Maximum number of suggestions.")] = 12


class SharedLabel(Answer):
    """A label of some of the images."""

    label: str
    images: Annotated[int, doc("Number of the images that have it.")]


class SharedSuggestion(Answer):
    """A label that several images probably lack."""

    label: str
    score: Annotated[float, doc("Mean over the images that suggest it.")]
    confidence: Annotated[float | None, doc("Mean over the images that lack it; null without confidences.")]
    images: Annotated[list[str], doc("The images that lack it and on which it was not rejected.")]


class TogetherImage(Answer):
    """One of the images."""

    image: str
    url: Url = None


class TogetherResponse(Answer):
    """The labels of several images, most common first, and suggestions for all of them."""

    images: list[TogetherImage]
    labels: list[SharedLabel]
    suggestions: list[SharedSuggestion]


class BatchedVerdict(Body):
    """A verdict of a batch."""

    image: Id
    label: Id
    verdict: Literal["accept", "reject"]
    confidence: ShownConfidence = None


class FeedbackRequest(BatchedVerdict):
    """A verdict on a label of an image."""

    source: Literal["page", "audit", "api", "label-studio"] = "api"


class BatchRequest(Body):
    """Verdicts that are stored together or not at all."""

    events: Annotated[list[BatchedVerdict], Meta(min_length=1, max_length=MAX_VERDICTS)]
    source: Literal["page", "audit", "api"] = "api"


class BatchResponse(Answer):
    """A stored batch."""

    batch: Annotated[int | None, doc("Number by which it is undone; null if all verdicts were in force already.")]
    stored: int
    skipped: Annotated[int, doc("Verdicts that were in force already.")]


class UndoRequest(Body):
    """The event or the batch to undo."""

    event: Number | None = None
    batch: Number | None = None

    def __post_init__(self) -> None:
        if (self.event is None) == (self.batch is None):
            raise ValueError("give either an event or a batch")


class BatchUndoResponse(Answer):
    """A batch that was undone."""

    batch: int
    undone: int
    skipped: Annotated[int, doc("Verdicts of the batch that had been undone before.")]


class FeedbackResponse(Answer):
    """The new event, and the state of the image after it."""

    event: int
    state: ImageState


class FeedbackEvent(Answer):
    """A verdict or an undo: who, when, and with which model."""

    event: int
    image: str
    label: str
    verdict: str
    by: str
    at: str
    source: str
    confidence: float | None
    model: str
    undoes: int | None


class EventsResponse(Answer):
    """Events in the order they were stored."""

    events: list[FeedbackEvent]
    next: Annotated[int, doc("Value of `after` for the next page.")]


# --- operations ---


class HealthResponse(Answer):
    """The process is running."""

    status: Literal["UP"] = "UP"
    model_class: Literal["vse-ens"] = "vse-ens"


class ReadyResponse(Answer, kw_only=True):
    """A model is loaded."""

    ready: Annotated[bool, Meta(extra_json_schema={"const": True})] = True
    model: str


class ReloadResponse(Answer):
    """The model that is served from now on."""

    model: str


# --- rules ---


class VocabularyLabel(Answer):
    """A label in force."""

    label: str
    images: Annotated[int, doc("Number of images that have it, or a label that implies it or that it replaces.")]
    namespace: Annotated[str | None, doc("The part before the first `:` or `|`; null if there is none.")]


class VocabularyResponse(Answer):
    """A page of the vocabulary."""

    labels: list[VocabularyLabel]
    total: Matches


class RuleEntry(Answer):
    """A rule in force, or a rejected one."""

    id: int
    kind: RuleKind
    label: str
    other: str
    by: str
    at: str
    exceptions: Annotated[
        int,
        doc(
            "For an implication, images with the label that lack the other in the data; "
            "none for a rejected rule; else images changed."
        ),
    ]


class RulesResponse(Answer):
    """The rules in force and the rejected ones."""

    rules: list[RuleEntry]
    version: Annotated[int, doc("Number of events; it grows with every change.")]


class RuleRequest(Body):
    """A rule to add: `label` is replaced by `other`, or implies it; `rejected` if no rule is to be proposed."""

    kind: RuleKind
    label: Id
    other: Id


class RuleUndoRequest(Body):
    """A rule to undo."""

    rule: Annotated[int, Meta(ge=1, le=2**53 - 1)]


class RuleResponse(Answer):
    """A rule that was added or undone."""

    rule: int
    changed: Annotated[int, doc("Number of images of the model whose labels change.")]


class ImplicationExamples(Answer):
    """A few images on both sides of an implication."""

    both: Annotated[list[str], doc("Images with both labels.")]
    exceptions: Annotated[list[str], doc("Images with the label that lack the implied one.")]


class ProposedImplication(Answer):
    """Almost all images with `label` have `implies` too."""

    label: str
    implies: str
    support: Annotated[int, doc("Number of images with the label.")]
    confidence: Annotated[float, doc("Share of them with the implied label.")]
    exceptions: Annotated[int, doc("Number of them without it.")]
    examples: ImplicationExamples


class AliasExamples(Answer):
    """A few images of both labels."""

    label: list[str]
    other: list[str]


class ProposedAlias(Answer):
    """A label that may be replaced by another, more frequent one."""

    label: str
    other: str
    evidence: str
    examples: AliasExamples


class ProposalsResponse(Answer):
    """A page of proposed rules, the surest first, without those that rules in force settle."""

    implications: list[ProposedImplication]
    aliases: list[ProposedAlias]
    total_implications: int
    total_aliases: int
