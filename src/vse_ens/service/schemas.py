"""Schemas of request and response bodies, as documented in /openapi.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal, overload

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from vse_ens.data.rules.rule_set import RuleKind
from vse_ens.service.settings import MAX_BATCH, MAX_ID_LENGTH, MAX_LABELS, MAX_SUGGESTIONS, MAX_TOP, MAX_VERDICTS

Id = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID_LENGTH)]
LabelList = Annotated[list[Id], Field(max_length=MAX_LABELS)]
Top = Annotated[int, Field(ge=1, le=MAX_TOP)]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]

_URL = "Address of its picture; for one of this service, replace `size=320` by 160, 640 or 1280."
_CONFIDENCE = "Probability that it is right, given how complete the labels are; null if the model is not calibrated."
_HIT = (
    "Probability that it is the missing label of an image that lacks exactly one; null if the model is not calibrated."
)


# The precision of a float32.
_DECIMALS = 6


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """Round a score or a confidence; None stays None."""
    return None if value is None else round(value, _DECIMALS)


class ErrorResponse(BaseModel):
    """Why a request failed."""

    error: str = Field(description="One sentence.", examples=["unknown label 'beech'; did you mean 'beach'?"])
    nearest: list[str] = Field(default=[], description="Known IDs similar to the unknown one.", examples=[["beach"]])


class Request(BaseModel):
    """Base class of request bodies: no unknown fields, no conversion between types."""

    model_config = ConfigDict(extra="forbid", strict=True)


# --- predict ---


class Reason(BaseModel):
    """One contribution to a score."""

    labels: list[str] = Field(
        description="The known label, or a pair of labels that counts as one; empty for other sources."
    )
    share: float = Field(description="Amount added to the score; all shares of a suggestion add up to its score.")
    source: Literal["labels", "image", "bias"] = Field(
        description="Known labels, the image's own vector, or the frequency of the suggested label."
    )


class Suggestion(BaseModel):
    """A label that an image probably lacks, with its score."""

    label: str
    score: float
    confidence: float | None = Field(description=_CONFIDENCE)
    hit: float | None = Field(default=None, description=_HIT)
    because: list[Reason] = Field(
        default=[], description="The first few contributions to the score, largest first, if requested."
    )


class ExplainResponse(Suggestion):
    """A label's score for an image, and all contributions, which add up to it."""

    left_out: bool = Field(
        description="Whether the image has the label; it is then explained by the other labels of the image."
    )


class AnnotateRequest(Request):
    """Either images of the model, or the labels of images that are unknown to it."""

    images: list[Id] | None = Field(
        default=None, min_length=1, max_length=MAX_BATCH, description="Images of the model."
    )
    labels: list[LabelList] | None = Field(
        default=None, min_length=1, max_length=MAX_BATCH, description="The labels of each image."
    )
    top: Top = Field(default=5, description="Maximum number of suggestions per image.")
    allow: LabelList | None = Field(default=None, description="Suggest only these labels.")
    deny: LabelList | None = Field(default=None, description="Do not suggest these labels.")
    min_confidence: Probability = Field(default=0.0, description="Omit suggestions with a lower confidence.")
    explain: bool = Field(default=False, description="Include the first contributions to each score.")
    all_reasons: bool = Field(default=False, description="With `explain`: all contributions, not only the first.")

    @property
    def count(self) -> int:
        """Number of images in the request."""
        return len(self.images or self.labels or ())

    @property
    def all_labels(self) -> list[str]:
        """Every label in the request: known, allowed and denied ones."""
        return [label for labels in (*(self.labels or ()), self.allow or (), self.deny or ()) for label in labels]

    @model_validator(mode="after")
    def _check(self) -> AnnotateRequest:
        if (self.images is None) == (self.labels is None):
            raise ValueError("give either images or labels")
        if self.count * self.top > MAX_SUGGESTIONS:
            raise ValueError(
                f"{self.count} images with {self.top} suggestions each exceed the limit of {MAX_SUGGESTIONS:,}; "
                "split the request"
            )
        return self


class AnnotatedImage(BaseModel):
    """One image and its suggestions."""

    image: str | None = Field(description="Null if only labels were given.")
    labels: list[str] = Field(description="Its known labels.")
    suggestions: list[Suggestion] = Field(description="Best first.")


class AnnotateResponse(BaseModel):
    """Suggestions in the order of the request, all from one model."""

    model: str = Field(description="Fingerprint of the model.")
    results: list[AnnotatedImage]


class SearchRequest(Request):
    """Labels that images should have; a leading minus excludes a label."""

    labels: list[Id] = Field(min_length=1, max_length=20)
    top: Top = 20
    tagged: bool = Field(default=False, description="Include images that already have the labels.")


class FoundImage(BaseModel):
    """An image that matches a search."""

    image: str
    score: float
    confidence: float | None = Field(description=_CONFIDENCE)
    labels: list[str] = Field(description="Its known labels.")
    url: str | None = Field(default=None, description=_URL)


class SearchResponse(BaseModel):
    """The best matches, best first."""

    images: list[FoundImage]


class ExplainRequest(Request):
    """A label to explain, for an image of the model or for an image with the given labels."""

    image: Id | None = None
    labels: LabelList | None = None
    label: Id

    @model_validator(mode="after")
    def _check(self) -> ExplainRequest:
        if (self.image is None) == (self.labels is None):
            raise ValueError("give either an image or labels")
        return self


class SimilarLabel(BaseModel):
    """A label similar to the requested one."""

    label: str
    similarity: float = Field(description="Cosine similarity, from -1 to 1.")


class SimilarLabelsResponse(BaseModel):
    """Similar items, most similar first."""

    label: str
    similar: list[SimilarLabel]


class SimilarImage(BaseModel):
    """An image similar to the requested one."""

    image: str
    similarity: float = Field(description="Cosine similarity, from -1 to 1.")
    labels: list[str] = Field(description="Its known labels.")
    url: str | None = Field(default=None, description=_URL)


class SimilarImagesResponse(BaseModel):
    """Similar items, most similar first."""

    image: str
    similar: list[SimilarImage]


class QuestionsRequest(Request):
    """The answers so far; labels that were skipped are not asked about again."""

    yes: LabelList = Field(default=[], description="Labels that the wanted image has.")
    no: LabelList = Field(default=[], description="Labels that it does not have.")
    skipped: LabelList = Field(default=[], description="Labels that were asked about without an answer.")
    top: Top = Field(default=12, description="Maximum number of images.")


class LikelyImage(BaseModel):
    """An image that fits the answers."""

    image: str
    confidence: float = Field(description="Probability that it is the wanted image.")
    labels: list[str] = Field(description="Its known labels.")
    url: str | None = Field(default=None, description=_URL)


class QuestionsResponse(BaseModel):
    """The next question, and the most likely images, most likely first."""

    question: str | None = Field(description="The label to ask about; null if no answer would tell anything.")
    share: float | None = Field(description="Probability that the answer is yes.")
    remaining: int = Field(description="Number of images that fit the answers; a likely one counts more.")
    images: list[LikelyImage]


# --- catalog ---


class LearningState(BaseModel):
    """How the service updates its model from feedback."""

    after: int = Field(description="Number of verdicts after which the model is updated.")
    decisions: int = Field(description="Verdicts since the last update began.")
    running: bool
    updates: int = Field(description="Number of updates since the service started.")
    failure: str | None = Field(description="Why the last update failed.")


class ConfidenceState(BaseModel):
    """What confidences rest on."""

    completeness: float = Field(description="Share of right labels that the data record, the mean if by label.")
    given: bool = Field(description="Whether a person gave the completeness; else it is estimated from the pairs.")
    verdicts: int = Field(description="Verdicts on suggestions so far.")
    used: int = Field(description="Verdicts that confidences are corrected by; 0 until there are enough.")
    needed: int = Field(description="Verdicts from which on they are.")
    wanted: int = Field(description="Verdicts that are asked for.")


class ModelResponse(BaseModel):
    """The model card, and the features and limits of this service."""

    name: str = Field(description="Name of the model directory.")
    fingerprint: str = Field(description="Identifies the model in responses and events.")
    images: int
    labels: int
    pairs: int
    preset: str
    config: dict[str, Any]
    training: dict[str, Any]
    validation: dict[str, float] | None
    has_confidence: bool
    confidence: ConfidenceState | None = Field(
        default=None, description="What confidences rest on; null if the model is not calibrated."
    )
    image_url: str | None = Field(
        description="Address of the pictures, with `{image}` as a placeholder for the image ID."
    )
    feedback: bool = Field(description="Whether this service stores feedback sent with this key.")
    read_only: bool = Field(default=False, description="Whether the key of this request is for reading only.")
    user: str | None = Field(default=None, description="The name of the key, which is the user of its feedback.")
    learning: LearningState | None = Field(
        default=None, description="Updates of the model from feedback; null if they are off."
    )
    version: str = Field(description="Version of vse-ens.")
    saved_at: str | None = Field(description="When the model was saved, in UTC.")
    source_format: str | None = Field(
        default=None, description="Format of the collection that the cleaned data set can be downloaded in."
    )
    source_problem: str | None = Field(
        default=None, description="Why the model's collection cannot be downloaded in its format."
    )
    limits: dict[str, int] = Field(description="Limits of one request.")


class LabelCount(BaseModel):
    """A label and its number of images."""

    label: str
    images: int


class LabelsResponse(BaseModel):
    """Labels with a word that starts with the prefix."""

    labels: list[LabelCount]
    total: int = Field(description="Number of all matches.")


class CompletedLabel(LabelCount):
    """A label that completes the text."""

    why: Literal["context", "frequency", "typo"] = Field(
        description="It suits the other labels, or it is frequent, or it differs from the text by one letter."
    )


class LabelledImage(BaseModel):
    """An image and its labels."""

    image: str
    labels: list[str]
    url: str | None = Field(default=None, description=_URL)


class LabelImagesResponse(BaseModel):
    """A page of images that have a label."""

    images: list[LabelledImage]
    total: int = Field(description="Number of all such images.")


class CompleteResponse(BaseModel):
    """Labels that complete a text, best first."""

    labels: list[CompletedLabel]


class ImagesResponse(BaseModel):
    """Images with an ID that starts with the prefix."""

    images: list[str]
    total: int = Field(description="Number of all matches.")


class JobStatus(BaseModel):
    """A background job that has not finished; poll again in a second."""

    state: Literal["working"] = "working"
    done: float = Field(description="Fraction of the work done, from 0 to 1.")


class Finding(BaseModel):
    """A label of an image that is probably wrong or missing."""

    image: str
    label: str
    confidence: float
    reason: str
    because: list[Reason]
    url: str | None = Field(default=None, description=_URL)


class Duplicate(BaseModel):
    """A label that means the same as another, more frequent one, or is merely used like it."""

    label: str
    other: str
    kind: Literal["same", "alike"]
    reason: str


class AuditResponse(BaseModel):
    """A page of findings, most confident first, without those that have a verdict."""

    kind: Literal["missing", "wrong", "duplicates"]
    state: Literal["ready"] = "ready"
    total: int
    findings: list[Finding] | list[Duplicate]


class LabelPosition(BaseModel):
    """Position of a label on the map; both coordinates are between 0 and 1."""

    label: str
    x: float
    y: float
    images: int


class MapResponse(BaseModel):
    """The map: labels with similar use are close together."""

    labels: list[LabelPosition]


# --- rankings ---


class GridImage(BaseModel):
    """An image for a label."""

    image: str
    confidence: float | None = Field(description=_CONFIDENCE)
    labels: list[str] = Field(description="Its current labels, from the data and from feedback.")
    url: str | None = Field(description=_URL)


class GridResponse(BaseModel):
    """Images for a label, surest first."""

    model: str = Field(description="Fingerprint of the model.")
    label: str
    kind: Literal["missing", "wrong"]
    images: list[GridImage]
    above: dict[str, int] = Field(
        description="Number of images with at least this confidence; empty without confidences.",
        examples=[{"0.1": 120, "0.2": 48}],
    )
    total: int = Field(description="Number of images with at least `min_confidence`.")
    scored: float = Field(description="Fraction of all images that are scored so far; the others are not listed yet.")


class QueuedImage(BaseModel):
    """An image to annotate."""

    image: str
    gain: float = Field(description="Expected number of right labels among its first 5 suggestions.")
    url: str | None = Field(description=_URL)


class QueueResponse(BaseModel):
    """Images without a verdict, in the requested order."""

    model: str = Field(description="Fingerprint of the model.")
    images: list[QueuedImage]
    done: int = Field(description="Number of images of the model with a verdict.")
    total: int = Field(description="Number of images of the model.")
    scored: float = Field(description="Fraction of all images that are scored so far; the others come later.")
    state: ImageState | None = Field(default=None, description="State of the first image, if requested.")


# --- feedback ---


class LabelInForce(BaseModel):
    """A current label of an image."""

    label: str
    source: Literal["data", "feedback", "rule"]
    event: int | None = Field(description="The event that added it, if it comes from feedback.")
    implied_by: str | None = Field(default=None, description="The label that implies it, if it comes from a rule.")


class RejectedLabel(BaseModel):
    """A rejected label, which is not suggested for the image again."""

    label: str
    event: int


class ImageState(BaseModel):
    """Current state of an image: its labels, rejected labels and suggestions."""

    model: str = Field(description="Fingerprint of the model.")
    image: str
    known: bool = Field(description="Whether the model knows the image; feedback may contain others.")
    labels: list[LabelInForce]
    rejected: list[RejectedLabel]
    suggestions: list[Suggestion]
    url: str | None = Field(description=_URL)


class TogetherRequest(Request):
    """Images that are labelled together."""

    images: list[Id] = Field(min_length=1, max_length=MAX_TOP)
    top: Top = Field(default=12, description="Maximum number of suggestions.")


class SharedLabel(BaseModel):
    """A label of some of the images."""

    label: str
    images: int = Field(description="Number of the images that have it.")


class SharedSuggestion(BaseModel):
    """A label that several images probably lack."""

    label: str
    score: float = Field(description="Mean over the images that suggest it.")
    confidence: float | None = Field(description="Mean over the images that lack it; null without confidences.")
    images: list[str] = Field(description="The images that lack it and on which it was not rejected.")


class TogetherImage(BaseModel):
    """One of the images."""

    image: str
    url: str | None = Field(default=None, description=_URL)


class TogetherResponse(BaseModel):
    """The labels of several images, most common first, and suggestions for all of them."""

    images: list[TogetherImage]
    labels: list[SharedLabel]
    suggestions: list[SharedSuggestion]


class FeedbackRequest(Request):
    """A verdict on a label of an image."""

    image: Id
    label: Id
    verdict: Literal["accept", "reject"]
    source: Literal["page", "audit", "api", "label-studio"] = "api"
    confidence: Probability | None = Field(default=None, description="Confidence of the suggestion when it was shown.")


class BatchedVerdict(Request):
    """A verdict of a batch."""

    image: Id
    label: Id
    verdict: Literal["accept", "reject"]
    confidence: Probability | None = Field(default=None, description="Confidence of the suggestion when it was shown.")


class BatchRequest(Request):
    """Verdicts that are stored together or not at all."""

    events: list[BatchedVerdict] = Field(min_length=1, max_length=MAX_VERDICTS)
    source: Literal["page", "audit", "api"] = "api"


class BatchResponse(BaseModel):
    """A stored batch."""

    batch: int | None = Field(
        description="Number by which the batch is undone; null if all its verdicts were in force already."
    )
    stored: int
    skipped: int = Field(description="Verdicts that were in force already.")


class UndoRequest(Request):
    """The event or the batch to undo."""

    event: int | None = Field(default=None, ge=1, lt=2**63)
    batch: int | None = Field(default=None, ge=1, lt=2**63)

    @model_validator(mode="after")
    def _check(self) -> UndoRequest:
        if (self.event is None) == (self.batch is None):
            raise ValueError("give either an event or a batch")
        return self


class BatchUndoResponse(BaseModel):
    """A batch that was undone."""

    batch: int
    undone: int
    skipped: int = Field(description="Verdicts of the batch that had been undone before.")


class FeedbackResponse(BaseModel):
    """The new event, and the state of the image after it."""

    event: int
    state: ImageState


class FeedbackEvent(BaseModel):
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


class EventsResponse(BaseModel):
    """Events in the order they were stored."""

    events: list[FeedbackEvent]
    next: int = Field(description="Value of `after` for the next page.")


# --- operations ---


class HealthResponse(BaseModel):
    """The process is running."""

    status: Literal["UP"] = "UP"
    model_class: Literal["vse-ens"] = "vse-ens"


class ReadyResponse(BaseModel):
    """A model is loaded."""

    ready: Literal[True] = True
    model: str


class ReloadResponse(BaseModel):
    """The model that is served from now on."""

    model: str


# --- rules ---


class VocabularyLabel(BaseModel):
    """A label in force."""

    label: str
    images: int = Field(description="Number of images that have it, or a label that implies it or that it replaces.")
    namespace: str | None = Field(description="The part before the first `:` or `|`; null if there is none.")


class VocabularyResponse(BaseModel):
    """A page of the vocabulary."""

    labels: list[VocabularyLabel]
    total: int = Field(description="Number of all matches.")


class RuleEntry(BaseModel):
    """A rule in force, or a rejected one."""

    id: int
    kind: RuleKind
    label: str
    other: str
    by: str
    at: str
    exceptions: int = Field(
        description="For an implication, images with the label that lack the other in the data; "
        "none for a rejected rule; else images changed."
    )


class RulesResponse(BaseModel):
    """The rules in force and the rejected ones."""

    rules: list[RuleEntry]
    version: int = Field(description="Number of events; it grows with every change.")


class RuleRequest(Request):
    """A rule to add: `label` is replaced by `other`, or implies it; `rejected` if no rule is to be proposed."""

    kind: RuleKind
    label: Id
    other: Id


class RuleUndoRequest(Request):
    """A rule to undo."""

    rule: Annotated[int, Field(ge=1, lt=2**53)]


class RuleResponse(BaseModel):
    """A rule that was added or undone."""

    rule: int
    changed: int = Field(description="Number of images of the model whose labels change.")


class ImplicationExamples(BaseModel):
    """A few images on both sides of an implication."""

    both: list[str] = Field(description="Images with both labels.")
    exceptions: list[str] = Field(description="Images with the label that lack the implied one.")


class ProposedImplication(BaseModel):
    """Almost all images with `label` have `implies` too."""

    label: str
    implies: str
    support: int = Field(description="Number of images with the label.")
    confidence: float = Field(description="Share of them with the implied label.")
    exceptions: int = Field(description="Number of them without it.")
    examples: ImplicationExamples


class AliasExamples(BaseModel):
    """A few images of both labels."""

    label: list[str]
    other: list[str]


class ProposedAlias(BaseModel):
    """A label that may be replaced by another, more frequent one."""

    label: str
    other: str
    evidence: str
    examples: AliasExamples


class ProposalsResponse(BaseModel):
    """A page of proposed rules, the surest first, without those that rules in force settle."""

    implications: list[ProposedImplication]
    aliases: list[ProposedAlias]
    total_implications: int
    total_aliases: int
