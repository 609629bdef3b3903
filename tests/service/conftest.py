"""A small model with ids of every kind, and applications that serve it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.build_once import build_once
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.service.settings import Settings

# Ids that break what is careless.
STRANGE_IMAGE = "../img <b>&amp; ünï\u202e/%2e%2e?x=1#\u0001"
STRANGE_LABEL = "<script>alert('ß')</script>"
STRANGE = [(STRANGE_IMAGE, STRANGE_LABEL), (STRANGE_IMAGE, "sea"), ("img_0000001", STRANGE_LABEL), ("日本", "sand")]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small saved model, with confidences."""

    def train(path: Path) -> None:
        data = scenes(images=500).joined(Annotations.from_pairs(STRANGE))
        Annotator(epochs=2, dimensions=8).fit(data).save(path)

    return build_once(tmp_path_factory, "service/model", train)


@pytest.fixture(scope="session")
def other_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another, without a context tower and without confidences."""

    def train(path: Path) -> None:
        Annotator("vse-ens", epochs=2, dimensions=8, validate=False).fit(scenes(images=300, labels=60)).save(path)

    return build_once(tmp_path_factory, "service/other", train)


@pytest.fixture
def serve(model: Path, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Start an application with the given settings in place of the usual ones."""
    with ExitStack() as stack:

        def start(**settings: object) -> Client:
            given = {"model": model, "feedback": tmp_path / "feedback.sqlite", **settings}
            return stack.enter_context(closing(Client(Settings(**given))))  # type: ignore[arg-type]

        yield start


@pytest.fixture(scope="module")
def client(model: Path) -> Iterator[Client]:
    """A service for tests that change nothing."""
    with closing(Client(Settings(model=model))) as started:
        yield started
