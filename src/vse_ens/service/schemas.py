"""What travels: the bodies of requests and answers, as /openapi.json tells them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from vse_ens.service.settings import LONGEST_ID, MOST_BATCH, MOST_LABELS, MOST_SUGGESTIONS, MOST_TOP

Id = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
LabelList = Annotated[list[Id], Field(max_length=MOST_LABELS)]
Top = Annotated[int, Field(ge=1, le=MOST_TOP)]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]

_LEARNT = "The probability that it is right, learnt on held-out labels; null if the model has none."


class Refused(BaseModel):
    """Why a request was not served."""

    error: str = Field(description="One sentence.", examples=["no label 'beech' is known; the nearest known: 'beach'"])
    nearest: list[str] = Field(
        default=[], description="Known ids that look like the unknown one.", examples=[["beach"]]
    )


class Request(BaseModel):
    """A body someone sends: no unknown fields, no text where a number belongs."""

    model_config = ConfigDict(extra="forbid", strict=True)


# --- asking ---


class Reason(BaseModel):
    """A part of a score."""

    labels: list[str] = Field(description="The known label, or the two that count together; none for other sources.")
    share: float = Field(description="What it adds to the score; all shares of a suggestion add up to it.")
    source: Literal["labels", "image", "bias"] = Field(
        description="Known labels, the image's own vector, or how common the suggested label is."
    )


class Suggestion(BaseModel):
    """A label that an image may lack."""

    label: str
    score: float
    confidence: float | None = Field(description=_LEARNT)
    because: list[Reason] = Field(default=[], description="Where reasons were asked for: what adds up to the score.")


class AnnotateRequest(Request):
    """Images of the model, or for images it has never seen the labels they have; one of the two."""

    images: list[Id] | None = Field(
        default=None, min_length=1, max_length=MOST_BATCH, description="Images of the model."
    )
    labels: list[LabelList] | None = Field(
        default=None, min_length=1, max_length=MOST_BATCH, description="For each image the labels it has."
    )
    top: Top = Field(default=5, description="At most so many labels an image.")
    allow: LabelList | None = Field(default=None, description="Suggest only these.")
    deny: LabelList | None = Field(default=None, description="Never suggest these.")
    min_confidence: Probability = Field(default=0.0, description="Suggest nothing that is less likely right.")
    explain: bool = Field(default=False, description="Tell the reasons of every suggestion.")

    @property
    def count(self) -> int:
        """How many images are asked about."""
        return len(self.images or self.labels or ())

    @property
    def all_labels(self) -> list[str]:
        """Every label that is named, for whatever it is."""
        return [label for labels in (*(self.labels or ()), self.allow or (), self.deny or ()) for label in labels]

    @model_validator(mode="after")
    def _check(self) -> AnnotateRequest:
        if (self.images is None) == (self.labels is None):
            raise ValueError("give images or labels, one of the two")
        if self.count * self.top > MOST_SUGGESTIONS:
            raise ValueError(
                f"{self.count} images with {self.top} suggestions each are more than {MOST_SUGGESTIONS:,} at once; "
                "send them in parts"
            )
        return self


class AnnotatedImage(BaseModel):
    """One image, and what it may lack."""

    image: str | None = Field(description="Null where only labels were given.")
    labels: list[str] = Field(description="What it has.")
    suggestions: list[Suggestion] = Field(description="The best first.")


class AnnotateAnswer(BaseModel):
    """Suggestions in the order of the request, all by one model."""

    model: str = Field(description="Fingerprint of the model that suggested.")
    results: list[AnnotatedImage]


class SearchRequest(Request):
    """Labels that images should have; with a minus in front: should not."""

    labels: list[Id] = Field(min_length=1, max_length=20)
    top: Top = 20
    tagged: bool = Field(default=False, description="Also find images that are known to have the labels already.")


class FoundImage(BaseModel):
    """An image that fits."""

    image: str
    score: float
    confidence: float | None = Field(description=_LEARNT)
    labels: list[str] = Field(description="What it is known to have.")


class SearchAnswer(BaseModel):
    """The images that fit best, best first."""

    images: list[FoundImage]


class ExplainRequest(Request):
    """Why a label would be suggested for an image of the model, or for one with the given labels."""

    image: Id | None = None
    labels: LabelList | None = None
    label: Id

    @model_validator(mode="after")
    def _check(self) -> ExplainRequest:
        if (self.image is None) == (self.labels is None):
            raise ValueError("give an image or labels, one of the two")
        return self


class ExplainAnswer(BaseModel):
    """A score, and what adds up to it."""

    label: str
    score: float
    confidence: float | None = Field(description=_LEARNT)
    because: list[Reason]


class SimilarLabel(BaseModel):
    """A label like the one asked about."""

    label: str
    similarity: float = Field(description="From -1 to 1.")


class SimilarLabelsAnswer(BaseModel):
    """The most similar first."""

    label: str
    similar: list[SimilarLabel]


class SimilarImage(BaseModel):
    """An image like the one asked about."""

    image: str
    similarity: float = Field(description="From -1 to 1.")
    labels: list[str] = Field(description="What it is known to have.")


class SimilarImagesAnswer(BaseModel):
    """The most similar first."""

    image: str
    similar: list[SimilarImage]


# --- browsing ---


class ModelAnswer(BaseModel):
    """The model card, and what this service can do with it."""

    name: str = Field(description="Name of the model directory.")
    fingerprint: str = Field(description="Changes with the model; every answer and event that names a model uses it.")
    images: int
    labels: int
    pairs: int
    preset: str
    config: dict[str, Any]
    training: dict[str, Any]
    validation: dict[str, float] | None
    has_confidence: bool
    image_url: str | None = Field(description="Where pictures are, with `{image}` for the id.")
    feedback: bool = Field(description="Whether accepted and rejected suggestions are kept.")
    version: str
    limits: dict[str, int] = Field(description="What one request may ask for.")


class LabelCount(BaseModel):
    """A label, and how many images have it."""

    label: str
    images: int


class LabelsAnswer(BaseModel):
    """Labels that begin so; or a later word of them does."""

    labels: list[LabelCount]
    total: int = Field(description="How many there are in all.")


class ImagesAnswer(BaseModel):
    """Images whose ids begin so."""

    images: list[str]
    total: int = Field(description="How many there are in all.")


class Working(BaseModel):
    """It is being made; ask again in a second."""

    state: Literal["working"] = "working"
    done: float = Field(description="How much of it, from 0 to 1.")


class Finding(BaseModel):
    """A label that an image may have wrongly, or lack."""

    image: str
    label: str
    confidence: float
    reason: str
    because: list[Reason]


class Duplicate(BaseModel):
    """A label that may be the same as another, more common one."""

    label: str
    other: str
    confidence: float
    reason: str


class AuditAnswer(BaseModel):
    """A page of findings, the surest first; those that were judged since are left out."""

    kind: Literal["missing", "wrong", "duplicates"]
    state: Literal["ready"] = "ready"
    total: int
    findings: list[Finding] | list[Duplicate]


class PlacedLabel(BaseModel):
    """Where a label lies on the map, from 0 to 1 either way."""

    label: str
    x: float
    y: float
    images: int


class MapAnswer(BaseModel):
    """Labels that are used alike lie side by side."""

    labels: list[PlacedLabel]


# --- judging ---


class LabelInForce(BaseModel):
    """A label that an image has now."""

    label: str
    source: Literal["data", "feedback"]
    event: int | None = Field(description="The event that gave it, where feedback did.")


class RejectedLabel(BaseModel):
    """A label that is not suggested for an image any more."""

    label: str
    event: int


class ImageState(BaseModel):
    """An image as it stands: what it has, what it shall not have, what it may lack."""

    image: str
    known: bool = Field(description="Whether the model has seen it; feedback may know others.")
    labels: list[LabelInForce]
    rejected: list[RejectedLabel]
    suggestions: list[Suggestion]
    url: str | None = Field(description="Where its picture is.")


class FeedbackRequest(Request):
    """A person's word on a label of an image."""

    image: Id
    label: Id
    verdict: Literal["accept", "reject"]
    source: Literal["page", "audit", "api", "label-studio"] = "api"
    confidence: Probability | None = Field(default=None, description="As it was when the person saw the suggestion.")


class UndoRequest(Request):
    """The event to take back."""

    event: int = Field(ge=1, lt=2**63)


class FeedbackAnswer(BaseModel):
    """The new event, and the image after it."""

    event: int
    state: ImageState


class FeedbackEvent(BaseModel):
    """Who said what, when, and about which model's suggestion."""

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


class EventsAnswer(BaseModel):
    """Events in their order."""

    events: list[FeedbackEvent]
    next: int = Field(description="What to give as `after` for those that follow.")


# --- operating ---


class HealthAnswer(BaseModel):
    """The process lives."""

    status: Literal["UP"] = "UP"
    model_class: Literal["vse-ens"] = "vse-ens"


class ReadyAnswer(BaseModel):
    """A model is served."""

    ready: Literal[True] = True
    model: str


class ReloadAnswer(BaseModel):
    """The model that is served from now on."""

    model: str
