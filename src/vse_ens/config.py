"""The settings of a model: together with the data and the seed they determine it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypedDict

from vse_ens.errors import ConfigError

SAMPLERS = ("uniform", "popularity", "warp", "vse-ens", "naive", "dns")
LOSSES = ("hinge", "warp", "logistic", "softmax")
TOWERS = ("id", "features", "id+features", "context", "context+id", "context+features")
RANK_DISTRIBUTIONS = ("exponential", "geometric", "linear")
RANK_WEIGHTS = ("harmonic", "mean", "top-n")
ENGINES = ("fast", "serial")
POSITIVES = ("by-image", "shuffled", "iid")
SERIAL_SAMPLERS = ("uniform", "warp", "vse-ens", "naive")
# The least and the largest value. Larger ones are mistakes: they would exhaust the memory, or never end.
_INTEGERS = {
    "dimensions": (1, 65_536),
    "epochs": (1, 1_000_000),
    "negatives": (1, 65_536),
    "candidates": (1, 65_536),
    "top_n": (1, None),
    "patience": (1, None),
    "label_pairs": (-1, 2**31 - 1),
    "slices": (0, 65_536),
    "batch": (0, 2**31 - 1),
    "shards": (1, 65_536),
    "exchanges": (0, 65_536),
    "members": (1, 64),
    "seed": (0, 2**64 - 1),
}
METRICS = ("recall@5", "recall@10", "map", "auc", "overall")


@dataclass(frozen=True)
class Config:
    """The settings of one model. The number of workers is not among them: it never changes the result."""

    sampler: str = "vse-ens"
    """Where negatives come from."""
    loss: str = "hinge"
    """The ranking loss."""
    tower: str = "id"
    """How an image becomes a vector."""
    dimensions: int = 100
    """The length k of the vectors; of those of each member."""
    epochs: int = 100
    """Passes over all pairs; with ``validate``, the maximum."""
    learning_rate: float = 0.05
    learning_rate_decay: float = 1.0
    """Factor on the learning rate after every epoch."""
    regularization: float = 0.01
    """L2 regularization of the vectors, applied on every draw, also where the margin holds."""
    bias_regularization: float = 0.003
    """L2 regularization of the label biases."""
    init_scale: float = 0.003
    """Standard deviation of the start vectors."""
    label_bias: bool = True
    """Whether each label has a bias, held as one more factor with image side 1, so that the sampler sees it."""
    label_pairs: int = 0
    """Maximum number of label pairs with their own input vector; -1: chosen from the data (context)."""
    label_weights: bool = False
    """Whether label-label weights (EASE) are added to the scores, at a scale found on held-out labels."""
    neighbors: bool = False
    """Whether what the images with the most similar labels have is added to the scores, at a scale found on held-out
    labels."""
    balance: float = 0.0
    """How much rare labels are preferred: this times the log frequency of a label is subtracted from its scores. Of
    images known by features alone, a label's scores less their mean are divided by their standard deviation to this
    power. About 0.5 raises the recall of rare labels at a small cost in precision."""
    margin: float = 1.0
    """The margin by which a positive must outrank a negative (hinge, warp)."""
    rank_distribution: str = "exponential"
    """The distribution of ranks (vse-ens, naive)."""
    rank_scale: float = 0.1
    """Lambda in p(r) ~ exp(-r / (lambda |A|)): small values draw negatives from the top; 0: chosen from the data
    (vse-ens, naive). The paper prints exp(-r / lambda); lambda as a share of |A| follows the authors' code."""
    negatives: int = 32
    """Negatives per positive (softmax). In a context tower, up to three positives of an image share theirs."""
    candidates: int = 8
    """Uniform draws, of which the best-scored is taken (dns)."""
    popularity_power: float = 1.0
    """Exponent of p(a) ~ (images of a) ** power (popularity)."""
    rank_weight: str = "harmonic"
    """L(.) of eq. 2 (warp): the sum of 1/j up to the rank, rank / (|A| - 1), or the sum of 1/j up to ``top_n``."""
    top_n: int = 10
    refresh: float = 1.0
    """Draws per round, times |A| ln |A|; twice that with slices. Rankings that no longer hold are sorted before each
    round. With engine ``serial``: draws between two refreshes, times |A| ln |A|."""
    engine: str = "fast"
    """``fast``, or ``serial``: algorithm 1 of the paper as printed, one step after another on one core."""
    positives: str = "by-image"
    """The order of positives: each pair once per epoch, image by image (``by-image``) or in random order
    (``shuffled``), or drawn with replacement (``iid``). Engine ``fast`` has ``by-image`` only."""
    redraw_positives: bool = True
    """Whether a drawn negative that the image has is drawn again; if not, it is trained as a negative, as algorithm 1
    does (engine ``serial``)."""
    warp_cap: bool = True
    """Whether WARP gives a positive up after |A| - 1 tries; if not, it tries until a label violates the margin, unless
    no label does (engine ``serial``)."""
    slices: int = 0
    """Slices of a round, which start from one snapshot and run in parallel; 0: chosen from the data."""
    batch: int = 0
    """Positives per batch, computed from one snapshot (softmax, context); 0: chosen from the data."""
    shards: int = 1
    """Parts of the images that train on their own copies of the shared tables: docs/scale.md."""
    exchanges: int = 0
    """Merges of the shards per epoch; 0: chosen from the data."""
    validate: bool = False
    """Whether to hold out one label of some images, measure ``metric`` after every epoch and keep the best epoch."""
    metric: str = "recall@10"
    """The validation metric: one of docs/metrics.md, or ``overall``, the mean of recall@10, map and auc."""
    patience: int = 10
    """Epochs without improvement before training stops, at the earliest after twice as many in all (``validate``)."""
    refit: bool = False
    """Whether to train again on all pairs, for the best number of epochs, unless few pairs were held out."""
    members: int = 1
    """How often to train on all pairs, each time with other random numbers. The vectors of all members stand side by
    side, so that a score is the mean of their scores (context, with ``refit``)."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("sampler", SAMPLERS),
            ("loss", LOSSES),
            ("tower", TOWERS),
            ("rank_distribution", RANK_DISTRIBUTIONS),
            ("rank_weight", RANK_WEIGHTS),
            ("engine", ENGINES),
            ("positives", POSITIVES),
            ("metric", METRICS),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        for name, (least, most) in _INTEGERS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigError(f"{name} must be an integer of at least {least}, got {value!r}")
            if most is not None and value > most:
                raise ConfigError(f"{name} must be at most {most:,}, got {value!r}")
        for name in ("label_bias", "label_weights", "neighbors", "redraw_positives", "warp_cap", "validate", "refit"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for name, low, high in (
            ("learning_rate", 0.0, 10.0),
            ("learning_rate_decay", 0.0, 1.0),
            ("init_scale", 0.0, 10.0),
            ("margin", 0.0, 1e6),
            ("refresh", 0.0, 1e6),
        ):
            value = getattr(self, name)
            if not _is_number(value) or not low < value <= high:
                raise ConfigError(f"{name} must be a number above {low:g} and up to {high:g}, got {value!r}")
        for name in ("regularization", "bias_regularization", "popularity_power", "rank_scale", "balance"):
            value = getattr(self, name)
            if not _is_number(value) or not 0.0 <= value <= 10.0:
                raise ConfigError(f"{name} must be a number from 0 to 10, got {value!r}")
        self._check_pair()
        self._check_engine()

    def _check_engine(self) -> None:
        if self.engine != "serial":
            for name, only in (("positives", "by-image"), ("redraw_positives", True), ("warp_cap", True)):
                if getattr(self, name) != only:
                    raise ConfigError(
                        f"{name} {getattr(self, name)} needs engine serial; set engine too, or leave it out"
                    )
            return
        for name, allowed in (
            ("tower", ("id",)),
            ("loss", ("hinge", "warp", "logistic")),
            ("sampler", SERIAL_SAMPLERS),
            ("label_bias", (False,)),
            ("slices", (0, 1)),
            ("shards", (1,)),
        ):
            value = getattr(self, name)
            if value not in allowed:
                options = " or ".join(map(str, allowed))
                raise ConfigError(f"engine serial needs {name} {options}, not {value}; set engine to fast for {value}")

    def _check_pair(self) -> None:
        if self.label_pairs > 0 and not self.has_context:
            raise ConfigError(f"label_pairs belong to a context tower, not to tower {self.tower}; leave them out")
        for name in ("label_weights", "neighbors", "refit"):
            if getattr(self, name) and not self.validate:
                raise ConfigError(f"{name} needs held-out labels; set validate too, or leave {name} out")
        if self.members > 1 and (not self.refit or not self.has_context or self.has_ids):
            raise ConfigError(
                f"members {self.members} needs refit and tower context or context+features, not tower {self.tower}: "
                "each member trains on all pairs; set both, or leave members out"
            )
        if self.loss == "warp" and self.sampler != "warp":
            raise ConfigError(
                "loss warp needs the rank that sampler warp estimates from its tries; "
                f"with sampler {self.sampler} use hinge, logistic or softmax"
            )
        if self.loss == "softmax" and self.sampler in ("warp", "naive"):
            raise ConfigError(
                f"loss softmax needs several negatives at once, which sampler {self.sampler} does not draw; "
                "use uniform, popularity, vse-ens or dns"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Make a configuration from a mapping such as `to_dict` returns; an unknown name is an error."""
        _check_names(values)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, ready for JSON."""
        return asdict(self)

    def override(self, **values: Any) -> Config:
        """Return a copy with other values where they are not None."""
        return Config.from_dict(
            {**self.to_dict(), **{name: value for name, value in values.items() if value is not None}}
        )

    def without_validation(self) -> Config:
        """Return a copy that holds out no labels: all epochs are trained, the last is kept, and nothing is added."""
        return self.override(validate=False, label_weights=False, neighbors=False, refit=False, members=1)

    @property
    def has_ids(self) -> bool:
        """Whether every image has its own vector."""
        return "id" in self.tower.split("+")

    @property
    def has_context(self) -> bool:
        """Whether an image's vector is built from its other labels."""
        return "context" in self.tower.split("+")

    @property
    def has_features(self) -> bool:
        """Whether image features are mapped into the space."""
        return "features" in self.tower.split("+")


class Settings(TypedDict, total=False):
    """The fields of `Config` as keyword arguments."""

    sampler: str
    loss: str
    tower: str
    dimensions: int
    epochs: int
    learning_rate: float
    learning_rate_decay: float
    regularization: float
    bias_regularization: float
    init_scale: float
    label_bias: bool
    label_pairs: int
    label_weights: bool
    neighbors: bool
    balance: float
    margin: float
    rank_distribution: str
    rank_scale: float
    negatives: int
    candidates: int
    popularity_power: float
    rank_weight: str
    top_n: int
    refresh: float
    engine: str
    positives: str
    redraw_positives: bool
    warp_cap: bool
    slices: int
    batch: int
    shards: int
    exchanges: int
    validate: bool
    metric: str
    patience: int
    refit: bool
    members: int


def _check_names(values: Mapping[str, Any]) -> None:
    known = sorted(field.name for field in fields(Config))
    unknown = sorted(set(values) - set(known))
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"the settings are {', '.join(known)}"
        raise ConfigError(f"unknown setting {unknown[0]!r}; {hint}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
