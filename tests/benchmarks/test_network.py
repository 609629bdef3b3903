"""The parts of the network benchmark that do not need root."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.core.results import load
from benchmarks.scale import namespaces, network, transfer
from benchmarks.scale.cost_model import SECONDS_PER_BYTE_ACROSS, SHARE_OF_LINK, STEP, predict, simulate

from vse_ens.config import Config
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train.sharded.merge import shared_tables
from vse_ens.train.trainer import Trainer


def found(nodes: int, labels: int, megabits: float) -> dict[str, Any]:
    """Return measurements that follow the formula exactly."""
    case: dict[str, Any] = {"nodes": nodes, "labels": labels, "bytes": labels * 420, "megabits": megabits}
    one = {"seconds": 0.5 + predict(network.case_of(case)).moving, "computing": 0.5}
    return case | {way: [one] for way in ("round", "down", "up")}


CASES = [found(nodes, labels, 1000) for nodes in (2, 4) for labels in (20_000, 80_000)]


def test_fit_recovers_the_constants() -> None:
    best = network.fit([*CASES, found(4, 20_000, 200)])
    assert best.share_of_link == pytest.approx(SHARE_OF_LINK)
    assert best.seconds_per_byte_across == pytest.approx(SECONDS_PER_BYTE_ACROSS)
    assert best.step == pytest.approx(STEP)


def test_score_shows_each_case_with_its_formula() -> None:
    score = network.score({"links": {"1000": 955.0}, "cases": CASES})
    assert [row[1:3] for row in score.tables[0].rows][::3] == [("2", "8.4 MB"), ("4", "33.6 MB")]
    assert {row[-1] for row in score.tables[0].rows} == {"1.00"}
    assert "955 of 1000" in score.notes[0]
    assert f"{SHARE_OF_LINK:.3f} of the link" in score.notes[1]


def test_one_node_needs_no_network() -> None:
    alone = replace(network.case_of(CASES[-1]), nodes=1)
    assert predict(alone).moving == pytest.approx(0.0, abs=1e-3)
    assert simulate(alone).moving == pytest.approx(0.0, abs=1e-3)


def test_every_shard_changes_every_label() -> None:
    data = transfer.every_label(250, shards=3)
    for shard in range(3):
        rows = [data.indices[data.indptr[image] : data.indptr[image + 1]] for image in range(shard, 9, 3)]
        np.testing.assert_array_equal(np.concatenate(rows), np.arange(250))
    config = Config(sampler="uniform", loss="logistic", dimensions=8, shards=3, exchanges=1, slices=1, epochs=1)
    with Workers(1) as workers:
        trainer = Trainer(config, data, pool=LocalPool(workers))
        before = trainer.embeddings
        list(trainer.epochs())
    for name, table in shared_tables(trainer.embeddings).items():
        assert (table != before.arrays()[name]).reshape(250, -1).any(axis=1).all()


def test_transferred_results_are_merged() -> None:
    with Workers(1) as workers:
        pool = LocalPool(workers)
        pool.open("benchmarks.scale.transfer.TransferOnly", {"floats": 5}, [{}] * 3)
        np.testing.assert_array_equal(pool.run({}, {}, transfer.MERGING).merged["changes"], np.full(5, 3.0))


def test_pieces_have_the_size_of_the_whole() -> None:
    with Workers(1) as workers:
        parcels = transfer.TransferOnly({"floats": 6}, workers)
    pieces = transfer.MERGING.split_shared({"tables": np.arange(7)}, 3)
    np.testing.assert_array_equal(np.concatenate([piece["tables"] for piece in pieces]), np.arange(7))
    results, _ = parcels.run_shard(0, pieces, {})
    np.testing.assert_array_equal(transfer.MERGING.join_results(results)["changes"], np.ones(6))


def test_missing_requirement_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert "root and iproute2" in (namespaces.missing_requirement() or "")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which everything was measured already."""
    monkeypatch.setattr(network, "missing_requirement", lambda: None)
    monkeypatch.setattr(network, "measure", lambda *_: {"links": {"1000": 955.0}, "cases": CASES})
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("measured")
def test_the_result_is_stored_with_the_machine_and_the_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network.main(["--rounds", "3"], tmp_path)
    found = load("network", tmp_path)
    assert found is not None
    assert found.raw["cases"] == CASES
    assert found.machine["repetitions"] == 3
    assert {"run", "train/sharded"} == (found.sources or {}).keys()
    assert str(tmp_path / "network.json") in capsys.readouterr().out


@pytest.mark.usefixtures("measured")
def test_command_can_be_printed_only(tmp_path: Path) -> None:
    network.main(["--no-store"], tmp_path)
    assert load("network", tmp_path) is None
