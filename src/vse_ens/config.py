"""What a model is made of: every number and name that, with the data and the seed, decides its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypedDict

from vse_ens.errors import ConfigError

SAMPLERS = ("uniform", "popularity", "warp", "vse-ens", "naive", "dns")
LOSSES = ("hinge", "warp", "logistic", "softmax")
TOWERS = ("id", "features", "id+features", "context", "context+id", "context+features")
RANK_DISTRIBUTIONS = ("exponential", "geometric", "linear")
RANK_WEIGHTS = ("harmonic", "mean", "top-n")
METRICS = ("recall@5", "recall@10", "map", "auc", "overall")


@dataclass(frozen=True)
class Config:
    """One model's settings. Workers are not among them: they never change the result."""

    sampler: str = "vse-ens"
    """Where negatives come from."""
    loss: str = "hinge"
    """What a violated order costs."""
    tower: str = "id"
    """How an image becomes a vector."""
    dimensions: int = 100
    """k, the length of a vector."""
    epochs: int = 100
    """How often every pair is visited."""
    learning_rate: float = 0.05
    learning_rate_decay: float = 1.0
    """The learning rate is multiplied by this after every epoch."""
    regularization: float = 0.01
    """L2 on vectors, applied on every draw, also where the margin holds."""
    bias_regularization: float = 0.003
    """L2 on label biases, likewise."""
    init_scale: float = 0.003
    """Vectors start as N(0, init_scale squared)."""
    label_bias: bool = True
    """A number a label, held as one more factor whose image side is 1: the sampler sees it."""
    label_pairs: int = 0
    """At most so many pairs of labels have an input vector of their own, the most common ones; -1: chosen from the data
    (context)."""
    label_weights: bool = False
    """What labels say of each other, from counts, is added to the scores, with a weight found on held-out labels."""
    margin: float = 1.0
    """By how much a label the image has must outrank one it has not (hinge, warp)."""
    rank_distribution: str = "exponential"
    """How ranks are drawn (vse-ens, naive)."""
    rank_scale: float = 0.1
    """lambda in eq. 8, as a share of the label count: small means negatives from the very top; 0: chosen from the data
    (vse-ens, naive)."""
    negatives: int = 32
    """Negatives against one positive (softmax)."""
    candidates: int = 8
    """Uniform draws of which the best is taken (dns)."""
    popularity_power: float = 1.0
    """p(a) ~ (images of a) ** power (popularity)."""
    rank_weight: str = "harmonic"
    """L(.) of the warp loss: the sum of 1/j up to the rank, rank / (|A| - 1), or the sum of 1/j up to ``top_n``."""
    top_n: int = 10
    refresh: float = 1.0
    """A round is ``refresh`` x |A| ln |A| draws, twice that with slices; before each, vse-ens ranks anew."""
    slices: int = 0
    """Slices of a round that start from one snapshot and may run side by side; 0: chosen from the data."""
    batch: int = 0
    """Positives that are computed from one snapshot (softmax); 0: chosen from the data."""
    shards: int = 1
    """Parts of the images that train apart, each on its own copy of what all images train: docs/scale.md."""
    exchanges: int = 0
    """How often in an epoch the shards combine what they changed; 0: chosen from the data."""
    validate: bool = False
    """Hold out one label of some images, measure ``metric`` on them after every epoch, keep the best epoch."""
    metric: str = "recall@10"
    """What is best: a metric of docs/metrics.md, or ``overall``, the mean of recall@10, map and auc."""
    patience: int = 10
    """Epochs without improvement before training stops (with ``validate``)."""
    refit: bool = False
    """Then train anew on all pairs, for as many epochs as did best, unless hardly any were held out."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("sampler", SAMPLERS),
            ("loss", LOSSES),
            ("tower", TOWERS),
            ("rank_distribution", RANK_DISTRIBUTIONS),
            ("rank_weight", RANK_WEIGHTS),
            ("metric", METRICS),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        for name, least in (
            ("dimensions", 1),
            ("epochs", 1),
            ("negatives", 1),
            ("candidates", 1),
            ("top_n", 1),
            ("patience", 1),
            ("label_pairs", -1),
            ("slices", 0),
            ("batch", 0),
            ("shards", 1),
            ("exchanges", 0),
            ("seed", 0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.seed >= 2**64:
            raise ConfigError(f"seed must be a whole number below 2**64, got {self.seed}")
        for name in ("label_bias", "label_weights", "validate", "refit"):
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
        for name in ("regularization", "bias_regularization", "popularity_power", "rank_scale"):
            value = getattr(self, name)
            if not _is_number(value) or not 0.0 <= value <= 10.0:
                raise ConfigError(f"{name} must be a number from 0 to 10, got {value!r}")
        self._check_pair()

    def _check_pair(self) -> None:
        if self.label_pairs > 0 and not self.has_context:
            raise ConfigError(f"label_pairs belong to a context tower, not to tower {self.tower}; leave them out")
        for name in ("label_weights", "refit"):
            if getattr(self, name) and not self.validate:
                raise ConfigError(f"{name} needs held-out labels to go by; set validate too, or leave {name} out")
        if self.loss == "warp" and self.sampler != "warp":
            raise ConfigError(
                "loss warp weighs a step by the rank that sampler warp estimates from its tries; "
                f"with sampler {self.sampler} use hinge, logistic or softmax"
            )
        if self.loss == "softmax" and self.sampler in ("warp", "naive"):
            raise ConfigError(
                f"loss softmax compares one label with several negatives at once, which sampler {self.sampler} "
                "does not give; use uniform, popularity, vse-ens or dns"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """From a mapping such as `to_dict` gives; an unknown name is an error."""
        _check_names(values)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """All settings as JSON can hold them."""
        return asdict(self)

    def override(self, **values: Any) -> Config:
        """The same with other values where they are not None."""
        return Config.from_dict(
            {**self.to_dict(), **{name: value for name, value in values.items() if value is not None}}
        )

    def unjudged(self) -> Config:
        """The same with no label held out: all epochs are trained and the last is kept, with no memory beside it."""
        return self.override(validate=False, label_weights=False, refit=False)

    @property
    def has_ids(self) -> bool:
        """Whether every image has a free vector."""
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
    """The fields of `Config` as keyword arguments; a test keeps the two alike."""

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
    margin: float
    rank_distribution: str
    rank_scale: float
    negatives: int
    candidates: int
    popularity_power: float
    rank_weight: str
    top_n: int
    refresh: float
    slices: int
    batch: int
    shards: int
    exchanges: int
    validate: bool
    metric: str
    patience: int
    refit: bool


def _check_names(values: Mapping[str, Any]) -> None:
    known = sorted(field.name for field in fields(Config))
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ConfigError(f"unknown setting {unknown[0]!r}; known are {', '.join(known)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


# How far and how long to step suits a loss, whatever the sampler: docs/training.md says how these were found.
STEPS: dict[str, dict[str, Any]] = {
    "hinge": {
        "epochs": 160,
        "learning_rate": 0.075,
        "learning_rate_decay": 0.985,
        "regularization": 0.03,
        "bias_regularization": 0.08,
        "rank_scale": 0.15,
    },
    "warp": {
        "epochs": 40,
        "learning_rate": 0.013,
        "learning_rate_decay": 0.96,
        "regularization": 0.5,
        "bias_regularization": 0.7,
        "rank_scale": 0.15,
    },
    "logistic": {
        "epochs": 300,
        "learning_rate": 0.1,
        "learning_rate_decay": 1.0,
        "regularization": 0.003,
        "bias_regularization": 0.003,
        "rank_scale": 0.3,
    },
    "softmax": {
        "epochs": 60,
        "learning_rate": 0.1,
        "learning_rate_decay": 0.97,
        "regularization": 0.003,
        "bias_regularization": 0.003,
        "rank_scale": 0.3,
    },
}

# The context tower's steps are those of AdaGrad, which ask for other numbers.
CONTEXT_STEPS: dict[str, Any] = {
    "epochs": 40,
    "learning_rate": 0.05,
    "learning_rate_decay": 0.93,
    "regularization": 0.001,
    "bias_regularization": 0.001,
    "init_scale": 0.02,
    "rank_scale": 0.0,
}

_PAPER = Config(learning_rate=0.01, regularization=0.01, init_scale=0.01, label_bias=False, dimensions=100, epochs=100)

PRESETS: dict[str, Config] = {
    "context": Config(
        sampler="vse-ens",
        loss="softmax",
        tower="context",
        dimensions=128,
        label_pairs=-1,
        label_weights=True,
        validate=True,
        metric="overall",
        patience=6,
        refit=True,
        **CONTEXT_STEPS,
    ),
    "vse-ens": Config(sampler="vse-ens", loss="hinge", **STEPS["hinge"]),
    "warp": Config(sampler="warp", loss="warp", **STEPS["warp"]),
    "opt-auc": Config(sampler="uniform", loss="logistic", **STEPS["logistic"]),
    # The settings of the paper's section 4: k = 100, rate and regularisation 0.01, N(0, 0.01) start, no bias.
    "paper-vse-ens": replace(_PAPER, sampler="vse-ens", loss="hinge"),
    "paper-warp": replace(_PAPER, sampler="warp", loss="warp"),
    "paper-opt-auc": replace(_PAPER, sampler="uniform", loss="logistic"),
}


def preset(name: str) -> Config:
    """The settings of a named preset."""
    if name not in PRESETS:
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]


def configure(name: str, **given: Any) -> Config:
    """A preset with other settings where they are given and not None.

    With another tower or loss than the preset's come the steps that suit it; the paper's settings stay the paper's.
    Without ``validate`` goes what needs held-out labels.
    """
    base = preset(name)
    chosen = {setting: value for setting, value in given.items() if value is not None}
    if chosen.get("validate") is False:
        chosen = {"label_weights": False, "refit": False, **chosen}
    if not name.startswith("paper-"):
        wanted = _steps(chosen.get("tower", base.tower), chosen.get("loss", base.loss))
        if wanted != _steps(base.tower, base.loss):
            chosen = {**wanted, **chosen}
    return base.override(**chosen)


def _steps(tower: str, loss: str) -> dict[str, Any]:
    """How far and how long to step; nothing where a name is unknown, which is told later."""
    return CONTEXT_STEPS if "context" in tower else {"init_scale": Config.init_scale, **STEPS.get(loss, {})}
