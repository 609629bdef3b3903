"""What is mutated: modules in areas, and the tests that are to notice it."""

from __future__ import annotations

from typing import NamedTuple


class Area(NamedTuple):
    """Modules that are mutated and tests that are run; of these, only tests that execute the changed line."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    "feedback": Area(
        (
            "data/current_labels",
            "data/feedback/store",
            "data/feedback/pairs",
            "data/feedback/verdict_index",
            "data/feedback/verdicts",
        ),
        (
            "tests/data/feedback",
            "tests/data/test_suggestion_verdicts.py",
            "tests/data/test_current_labels.py",
            "tests/service/routes/test_current_labels.py",
            "tests/service/test_batches.py",
            "tests/service/routes/test_feedback.py",
            "tests/cli/commands/test_feedback.py",
        ),
    ),
    "security": Area(
        (
            "service/middleware",
            "service/operations",
            "service/connection",
            "service/settings",
        ),
        (
            "tests/service/middleware",
            "tests/service/test_operations.py",
            "tests/service/test_connection.py",
            "tests/service/test_limited_protocol.py",
            "tests/service/test_settings.py",
        ),
    ),
    "label-studio": Area(
        ("service/label_studio/config", "service/label_studio/tasks", "service/label_studio/webhook"),
        ("tests/service/label_studio", "tests/service/routes/test_current_labels.py"),
    ),
    "metrics": Area(("evaluate/metrics", "evaluate/bootstrap"), ("tests/evaluate",)),
    "calibration": Area(
        ("evaluate/calibrate", "model/calibration"), ("tests/evaluate", "tests/model/test_calibration.py")
    ),
    "artifact": Area(
        ("storage/artifact", "storage/atomic", "storage/reader", "storage/tensors", "storage/writer", "model/store"),
        (
            "tests/storage",
            "tests/model/test_store.py",
            "tests/model/test_checkpoint_store.py",
            "tests/model/test_hostile_models.py",
        ),
    ),
    "checkpoint": Area(
        ("train/checkpoint", "model/checkpoint_store"),
        ("tests/train/test_checkpoint.py", "tests/model/test_checkpoint_store.py"),
    ),
    "rules": Area(
        (
            "data/rules/rule_set",
            "data/rules/store",
            "data/rules/apply",
            "data/rules/exceptions",
            "data/cleaning",
            "data/decisions",
            "curate/rules/implications",
            "curate/rules/aliases",
            "curate/rules/propose",
            "curate/label_similarity",
            "data/rules/label_names",
        ),
        (
            "tests/data/rules",
            "tests/data/test_current_labels.py",
            "tests/service/routes/test_current_labels.py",
            "tests/data/test_cleaning.py",
            "tests/data/test_decisions.py",
            "tests/curate/rules",
            "tests/curate/test_label_similarity.py",
            "tests/service/routes/test_rules.py",
            "tests/cli/commands/test_rules.py",
        ),
    ),
    "journal": Area(
        ("data/collections/journal",),
        (
            "tests/data/collections/test_journal.py",
            "tests/data/collections/test_untrusted.py",
            "tests/cli/commands/test_write_back.py",
        ),
    ),
    "write-back": Area(
        ("data/collections/write",),
        (
            "tests/data/collections/test_journal.py",
            "tests/data/collections/test_write.py",
            "tests/cli/commands/test_write_back.py",
            "tests/cli/commands/test_apply.py",
        ),
    ),
}

_DIGEST = "digest = hashlib.blake2b(digest_size=16)"
_SUMS = "sums = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, last.max(initial=0) + 1))])"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("train/checkpoint", _DIGEST, _DIGEST.replace("16", "17")): "a digest may have any length",
    ("evaluate/metrics", _SUMS, _SUMS.replace("initial=0", "initial=1")): "a table that is longer than it must be",
    ("evaluate/metrics", _SUMS, _SUMS.replace("+ 1)", "+ 2)")): "a table that is longer than it must be",
    (
        "evaluate/metrics",
        "several = np.flatnonzero((own > 1) & (tied > 0))",
        "several = np.flatnonzero((own > 1) & (tied > 1))",
    ): "more than one held-out label is among the tied ones",
    (
        "evaluate/bootstrap",
        "cumulated = np.cumsum([math.exp(-1.0) / math.factorial(number) for number in range(12)])",
        "cumulated = np.cumsum([math.exp(-1.0) / math.factorial(number) for number in range(13)])",
    ): "the probability of a 12 is far below 2^-16",
    (
        "evaluate/bootstrap",
        "table = np.zeros((images, sum(1 + sample.values.shape[1] for sample in samples)), np.float32)",
        "table = np.zeros((images, sum(2 + sample.values.shape[1] for sample in samples)), np.float32)",
    ): "columns that nothing reads",
    (
        "service/middleware",
        "await _receive(receive, limits, keep=0)",
        "await _receive(receive, limits, keep=1)",
    ): "the byte that is kept is dropped with the rest",
    (
        "curate/rules/aliases",
        "if one == other or abs(len(one) - len(other)) > 1:",
        "if one == other or abs(len(one) - len(other)) > 2:",
    ): "with two letters more, the rests have other lengths and are not the same",
    (
        "data/feedback/store",
        'connection.execute("PRAGMA synchronous = FULL")  # a commit returns when it is on disk',
        "pass  # a commit returns when it is on disk",
    ): "the default of SQLite, unless it was compiled with another; tests/data/feedback checks the value",
}
"""Mutants that behave like the original: by module and the two texts, with the reason. They do not count."""
