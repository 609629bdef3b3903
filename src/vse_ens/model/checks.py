"""The checks of a loaded model: every array has the type, shape and range that the kernels rely on.

Kernels have no bounds checks: an index out of range would read or write memory that is not theirs. A checksum does not
help, because whoever writes a file writes its checksum too. All arrays that belong to labels are read. Image vectors,
the only large array that belongs to images, are checked by `Embeddings.own_vectors` when they are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.csr import ends_match, rises, rows_ascend
from vse_ens.errors import ConfigError, ModelError
from vse_ens.model.calibration import Temperature
from vse_ens.model.completeness import COMPLETENESS_ARRAYS, SMALLEST
from vse_ens.model.feature_scores import DIRECTIONS, MAX_COLUMNS
from vse_ens.presets import preset
from vse_ens.storage.tensors import NOT_FINITE, is_finite

Arrays = Mapping[str, NDArray[Any]]

MAX_SCALE = 1e6
"""The largest factor of the label weights, and of the neighbors."""
MAX_REGULARIZATION = 1e12
"""The largest lambda of the label weights."""
_MAX_EPOCHS = 10_000_000
_TEMPERATURES = (1e-6, 1e9)
_MAX_INT32 = 2**31 - 1
_MAX_SHIFT, _MAX_SLOPE, _MAX_FACT = 20.0, 10.0, 1e9
# Not read here: `Embeddings.own_vectors` and `plain_features` check the rows that are used.
_BY_IMAGE = ("image_vectors", "features_values")
_MAX_POWER = 1e3
# What the names of the arrays of a curve begin with: of images with labels, with features as well, with features alone.
_CONFIDENCES = ("confidence_", "confidence_both_", "confidence_features_")


def check_settings(settings: Mapping[str, Any]) -> Config:
    """Return the configuration in the settings of a model; raise a ModelError for a setting that is missing or bad."""
    try:
        config = Config.from_dict(_mapping(settings, "config"))
        preset(_text(settings, "preset"))
    except (ConfigError, TypeError) as error:
        raise ModelError(f"the settings do not describe a model: {error}") from error
    training = _mapping(settings, "training")
    _text(training, "version")
    epochs = _whole(training, "epochs", _MAX_EPOCHS)
    _whole(training, "best_epoch", epochs)
    if "model_epochs" in training:  # models of version 0.2 do not say
        _whole(training, "model_epochs", _MAX_EPOCHS)
    _whole(training, "generations", _MAX_INT32)
    if not isinstance(training.get("complete"), bool):
        raise ModelError("the setting 'complete' must be true or false")
    _number(training, "label_weights_scale", MAX_SCALE)
    if "neighbors_scale" in training:  # models of version 0.2 have no neighbors
        _number(training, "neighbors_scale", MAX_SCALE)
    if "features_regularization" in training:
        _number(training, "features_regularization", MAX_REGULARIZATION, above=0.0)
    if training.get("label_weights_regularization") is not None:  # the lambda that `partial_fit` learns them again with
        _number(training, "label_weights_regularization", MAX_REGULARIZATION, above=0.0)
    cpus = training.get("cpus", [])  # models of version 0.2 do not say
    if not isinstance(cpus, list) or not all(isinstance(kind, str) for kind in cpus):
        raise ModelError("the setting 'cpus' must be a list of texts")
    for name in _mapping(settings, "validation") if settings.get("validation") is not None else ():
        _number(settings["validation"], name, math.inf)
    return config


def check_arrays(arrays: Arrays, config: Config, images: int, labels: int) -> None:
    """Raise a ModelError unless the arrays fit a model with this configuration and these many ids."""
    expected = _expected(arrays, config, images, labels)
    for name in sorted(arrays.keys() | expected.keys()):
        if name not in expected:
            raise ModelError(f"the array {name!r} does not belong to a model with tower {config.tower}")
        if name not in arrays:
            raise ModelError(f"the array {name!r} is missing")
        dtype, shape = expected[name]
        array = arrays[name]
        if array.dtype != dtype or array.shape != shape:
            raise ModelError(
                f"the array {name!r} must be {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}"
            )
        if name not in _BY_IMAGE and not is_finite(array):
            raise ModelError(f"the array {name!r} {NOT_FINITE}")
    if config.has_context:
        _check_context(arrays, labels)
    if "label_weights_indptr" in arrays:
        _check_sparse_weights(arrays, labels)
    if "features_values" in arrays:
        _check_features(arrays, images)
    for kind in _CONFIDENCES:
        if f"{kind}shares" in arrays:
            _check_calibration(arrays, labels, kind)
    if COMPLETENESS_ARRAYS[0] in arrays:
        _check_completeness(arrays)


def _expected(arrays: Arrays, config: Config, images: int, labels: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the type and shape of every array; sizes that the file may choose are taken from it."""
    width = config.dimensions * config.members
    single, whole, long = "float32", "int32", "int64"
    # Features are part of the image vectors; a context tower may do without both.
    own = images if config.has_ids or (config.has_features and _rows(arrays, "feature_map")) else 0
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "label_vectors": (single, (labels, width)),
        "label_bias": (single, (labels,)),
        "image_vectors": (single, (own, width)),
        "feature_map": (single, (_rows(arrays, "feature_map") if config.has_features else 0, width)),
    }
    if config.has_context:
        pairs = _rows(arrays, "label_pairs")
        expected |= {
            "input_vectors": (single, (labels + pairs, width)),
            "label_pairs": (whole, (pairs, 2)),
            "label_squares": (single, (labels,)),
            "input_squares": (single, (labels + pairs,)),
        }
    weights = {name for name in arrays if name.startswith("label_weights_")}
    if weights == {"label_weights_values"}:
        expected["label_weights_values"] = (single, (labels, labels))
    elif weights:
        entries = _rows(arrays, "label_weights_values")
        expected |= {
            "label_weights_values": (single, (entries,)),
            "label_weights_indices": (whole, (entries,)),
            "label_weights_indptr": (long, (labels + 1,)),
        }
    if "features_indptr" in arrays:
        entries = _rows(arrays, "features_values")
        expected |= {
            "features_values": (single, (entries,)),
            "features_indices": (whole, (entries,)),
            "features_indptr": (long, (images + 1,)),
            "features_columns": (long, (1,)),
        }
    elif "features_values" in arrays or "feature_weights" in arrays:
        values = arrays.get("features_values", np.empty((0, 0)))
        expected["features_values"] = (single, (images, values.shape[-1] if values.ndim else 0))
    if "feature_weights" in arrays:
        columns = max(0, arrays["feature_weights"].shape[-1] - 1) if arrays["feature_weights"].ndim else 0
        expected |= {
            "feature_weights": (single, (labels, columns + 1)),
            "feature_gains": (single, (2, labels)),
            "feature_axes": (single, (min(columns, DIRECTIONS), columns + 1)),
            "feature_label_axes": (single, (min(labels, DIRECTIONS), labels)),
            "feature_leverages": (single, (images,)),
            "feature_factors": (single, (9,)),
            "feature_logits": (single, (_rows(arrays, "feature_logits"), columns + 1)),
            "feature_folds": (whole, (images,)),
        }
    for kind in _CONFIDENCES if "feature_weights" in arrays else _CONFIDENCES[:1]:
        if any(name.startswith(kind) for name in arrays):
            knots = max(1, _rows(arrays, f"{kind}shares"))
            expected |= {
                f"{kind}shares": (single, (knots,)),
                f"{kind}values": (single, (knots,)),
                f"{kind}temperature": (single, (2,)),
            }
    if any(name in arrays for name in COMPLETENESS_ARRAYS):  # a model of an older version has none of them
        by_label = _rows(arrays, "confidence_completeness") > 1
        expected |= {
            "confidence_completeness": (single, (labels if by_label else 1,)),
            "confidence_correction": (single, (2,)),
            "confidence_facts": (single, (4,)),
        }
    return expected


def check_label_pairs(pairs: NDArray[np.int32], labels: int) -> None:
    """Raise a ModelError unless the rows are distinct pairs of two labels in ascending order."""
    if not len(pairs):
        return
    low, high = pairs[:, 0], pairs[:, 1]
    if low.min() < 0 or high.max() >= labels or not (low < high).all():
        raise ModelError(f"the array 'label_pairs' must hold pairs of two labels in ascending order below {labels}")
    keys = np.sort(low.astype(np.int64) * labels + high)
    if not (keys[1:] > keys[:-1]).all():
        raise ModelError("the array 'label_pairs' holds a pair twice")


def _check_context(arrays: Arrays, labels: int) -> None:
    check_label_pairs(arrays["label_pairs"], labels)
    for name in ("label_squares", "input_squares"):
        if len(arrays[name]) and not arrays[name].min() > 0:
            raise ModelError(f"the array {name!r} must hold positive numbers")


def _check_sparse_weights(arrays: Arrays, labels: int) -> None:
    indptr, indices = arrays["label_weights_indptr"], arrays["label_weights_indices"]
    if not ends_match(indptr, indices, labels) or not rises(indptr):
        raise ModelError(f"the array 'label_weights_indptr' does not describe {len(indices)} entries of {labels} rows")
    if len(indices) and (indices.min() < 0 or indices.max() >= labels):
        raise ModelError(f"the array 'label_weights_indices' must lie in 0..{labels - 1}")
    if not rows_ascend(indptr, indices):
        raise ModelError("the array 'label_weights_indices' must ascend within every row")


def _check_features(arrays: Arrays, images: int) -> None:
    if "features_indptr" not in arrays:
        given = arrays["features_values"].shape[1]
    else:
        given, indptr = int(arrays["features_columns"][0]), arrays["features_indptr"]
        indices = arrays["features_indices"]
        if not ends_match(indptr, indices, images) or not rises(indptr) or not rows_ascend(indptr, indices):
            raise ModelError("the arrays 'features_indptr' and 'features_indices' do not describe rows of features")
        if len(indices) and (indices.min() < 0 or indices.max() >= given):
            raise ModelError(f"the array 'features_indices' must lie in 0..{given - 1}")
    if len(arrays["feature_map"]) not in (0, given):
        raise ModelError(f"the array 'feature_map' must have {given} rows, got {len(arrays['feature_map'])}")
    if "feature_weights" not in arrays:
        return
    leverages, factors = arrays["feature_leverages"], arrays["feature_factors"]
    if len(leverages) and not (leverages.min() >= 0 and leverages.max() < 1):
        raise ModelError("the array 'feature_leverages' must hold numbers from 0 to below 1")
    if factors.min() < 0 or factors.max() > MAX_SCALE or factors[2] > _MAX_POWER:
        raise ModelError(f"the array 'feature_factors' must hold numbers from 0 to {MAX_SCALE:g}")
    regressions, rest = divmod(len(arrays["feature_logits"]), max(1, len(arrays["feature_weights"])))
    folds = arrays["feature_folds"]
    if rest or regressions == 1:
        raise ModelError("the array 'feature_logits' must hold a row per label for each of several regressions")
    if len(folds) and not (folds.min() >= -1 and folds.max() < max(regressions, 1)):
        raise ModelError(f"the array 'feature_folds' must hold numbers from -1 to {max(regressions, 1) - 1}")
    columns = arrays["feature_weights"].shape[1] - 1
    if columns != min(given, MAX_COLUMNS):
        raise ModelError(f"the array 'feature_weights' must have {min(given, MAX_COLUMNS)} columns and one more")


def _check_calibration(arrays: Arrays, labels: int, kind: str) -> None:
    for name in (f"{kind}shares", f"{kind}values"):
        knots = arrays[name]
        if knots[0] != 0 or knots[-1] > 1 or not (knots[1:] >= knots[:-1]).all():
            raise ModelError(f"the array {name!r} must rise from 0 to at most 1")
    base, exponent = arrays[f"{kind}temperature"].tolist()
    lowest, highest = _TEMPERATURES
    with np.errstate(over="ignore"):
        temperatures = Temperature(base, exponent).of(np.array([1, max(labels, 1)]))
    if not ((temperatures >= lowest) & (temperatures <= highest)).all():
        raise ModelError(f"the array '{kind}temperature' must give temperatures from {lowest:g} to {highest:g}")


def _check_completeness(arrays: Arrays) -> None:
    shares = arrays["confidence_completeness"]
    if not (shares.min() >= np.float32(SMALLEST) and shares.max() <= 1):
        raise ModelError(f"the array 'confidence_completeness' must hold numbers from {SMALLEST:g} to 1")
    shift, slope = arrays["confidence_correction"].tolist()
    if abs(shift) > _MAX_SHIFT or not 0 <= slope <= _MAX_SLOPE:
        raise ModelError(
            f"the array 'confidence_correction' must hold a shift up to {_MAX_SHIFT:g}, a slope of 0 to {_MAX_SLOPE:g}"
        )
    facts = arrays["confidence_facts"]
    if not (facts.min() >= 0 and facts.max() <= _MAX_FACT):
        raise ModelError(f"the array 'confidence_facts' must hold numbers from 0 to {_MAX_FACT:g}")


def _rows(arrays: Arrays, name: str) -> int:
    """Return the length of an array; 0 if there is none."""
    return len(arrays[name]) if name in arrays and arrays[name].ndim else 0


def _mapping(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = settings.get(name)
    if not isinstance(value, Mapping):
        raise ModelError(f"the settings have no {name!r}")
    return value


def _text(settings: Mapping[str, Any], name: str) -> str:
    value = settings.get(name)
    if not isinstance(value, str):
        raise ModelError(f"the setting {name!r} must be text, got {value!r:.40}")
    return value


def _whole(settings: Mapping[str, Any], name: str, most: int) -> int:
    value = settings.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise ModelError(f"the setting {name!r} must be a whole number from 0 to {most}, got {value!r:.40}")
    return value


def _number(settings: Mapping[str, Any], name: str, most: float, above: float = -1.0) -> None:
    value = settings.get(name)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not max(above, 0) <= value <= most
        or value in (above, math.inf)
    ):
        raise ModelError(f"the setting {name!r} must be a number from 0 to {most:g}, got {value!r:.40}")
