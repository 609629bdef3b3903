from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.pictures.conftest import IMAGES, decoded, save
from tests.service.pictures.test_thumbnail import png_of
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.pictures import DRAWN, Pictures
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError, MissingPartError
from vse_ens.service.keys import Key
from vse_ens.service.pictures import sources
from vse_ens.service.settings import Settings

Show = Callable[..., Client]


@pytest.fixture
def show(trained: Path, folder: Path) -> Iterator[Show]:
    """Start a service with the folder of pictures, or with other settings."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Client:
            given = {"model": trained, "images": str(folder), **settings}
            return stack.enter_context(closing(Client(Settings(**given))))

        yield start


def trained_from(pictures: Pictures, path: Path, images: tuple[str, ...] = IMAGES) -> Path:
    data = Annotations.from_pairs([(image, label) for image in images for label in ("sea", "sand")])
    data = Annotations(data.images, data.labels, data.indptr, data.indices, pictures=pictures)
    Annotator(epochs=1, dimensions=8, validate=False).fit(data).save(path)
    return path


def picture(client: Client, image: str, size: int = 320, **how: Any) -> httpx.Response:
    return client.get("/api/picture", params={"image": image, "size": size}, **how)


def test_a_picture_is_a_small_image_that_the_browser_may_keep(show: Show) -> None:
    client = show()
    answer = picture(client, "red.jpg", 160)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert decoded(answer.content).size == (160, 80)
    assert answer.headers["cache-control"] == "private, max-age=3600"
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = picture(client, "red.jpg", 160, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    assert picture(client, "red.jpg", 320).headers["etag"] != answer.headers["etag"]


def test_every_url_that_the_service_gives_leads_to_a_picture(show: Show) -> None:
    client = show()
    assert client.get("/api/model").json()["image_url"] == "/api/picture?image={image}&size=320"
    urls = {
        client.get("/api/image", params={"id": "sub/blue.png"}).json()["url"],
        *(
            one["url"]
            for one in client.post("/api/search", json={"labels": ["sea"], "tagged": True}).json()["images"]
            if one["image"] == "sub/blue.png"
        ),
        *(
            one["url"]
            for one in client.get("/api/similar/images", params={"image": "red.jpg"}).json()["similar"]
            if one["image"] == "sub/blue.png"
        ),
    }
    assert urls == {"/api/picture?image=sub%2Fblue.png&size=320"}
    assert client.get(urls.pop()).status_code == 200


def test_a_thumbnail_is_made_again_only_when_the_file_changes(
    show: Show, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = sources.make_thumbnail

    def counted(file: Any, size: int) -> bytes:
        made.append(size)
        return make(file, size)

    monkeypatch.setattr(sources, "make_thumbnail", counted)
    first = picture(show(), "red.jpg")
    assert picture(show(), "red.jpg").content == first.content  # of another process
    assert made == [320]
    save(folder / "red.jpg", "yellow", (10, 10))
    assert picture(show(), "red.jpg").headers["etag"] != first.headers["etag"]
    assert made == [320, 320]


def test_files_that_must_not_be_shown_are_refused(show: Show, folder: Path) -> None:
    (folder / "link.jpg").symlink_to(folder.parent / "outside.jpg")
    (folder / "text.jpg").write_text("root:x:0:0")
    (folder / "bomb.png").write_bytes(png_of(100_000, 100_000))
    os.mkfifo(folder / "pipe.jpg")
    client = show()
    found = {image: picture(client, image) for image in IMAGES}
    assert {image: answer.status_code for image, answer in found.items()} == {
        "red.jpg": 200, "sub/blue.png": 200, "stem": 200, "away.jpg": 404, "../outside.jpg": 404, "link.jpg": 404,
        "text.jpg": 415, "pipe.jpg": 404, "bomb.png": 415,
    }  # fmt: skip
    for answer in found.values():
        if answer.status_code != 200:
            assert "\n" not in answer.json()["error"]
            assert answer.headers["cache-control"] == "no-store"


def test_only_images_of_the_model_have_pictures(show: Show, folder: Path) -> None:
    save(folder / "private.jpg", "red", (10, 10))
    client = show()
    answer = picture(client, "private.jpg")
    assert (answer.status_code, answer.json()["error"][:14]) == (404, "unknown image ")
    served = client.service.models.loaded
    assert served is not None
    assert client.service.pictures.url(served, "private.jpg") is None
    assert picture(client, "red.jpg", 100).json() == {"error": "size: must be one of 160, 320, 640, 1280, got 100"}


def test_without_pictures_it_says_how_to_get_them(show: Show) -> None:
    client = show(images=None)
    assert picture(client, "red.jpg").json() == {"error": "this service has no pictures; start it with --images FOLDER"}
    assert client.get("/api/image", params={"id": "red.jpg"}).json()["url"] is None
    assert client.get("/api/model").json()["image_url"] is None


def test_a_slow_picture_delays_no_answers_and_cached_pictures(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    client = show()
    picture(client, "red.jpg")
    begun, gate = threading.Semaphore(0), threading.Event()

    def slow(_: Any, size: int) -> bytes:
        begun.release()
        gate.wait(300)
        return b"at last"

    monkeypatch.setattr(sources, "make_thumbnail", slow)

    async def ask() -> None:
        # More than there are threads.
        waiting = [
            asyncio.create_task(client.http.get("/api/picture", params={"image": "stem", "size": size}))
            for size in (160, 320, 640, 1280)
        ]
        await asyncio.to_thread(begun.acquire)
        await asyncio.to_thread(begun.acquire)
        answers = [
            await client.http.get("/api/picture", params={"image": "red.jpg", "size": 320}),
            await client.http.post("/api/search", json={"labels": ["sea"], "tagged": True}),
            await client.http.get("/api/image", params={"id": "red.jpg"}),
        ]
        assert [one.status_code for one in answers] == [200, 200, 200]
        assert not any(one.done() for one in waiting)
        gate.set()
        assert [one.content for one in await asyncio.gather(*waiting)] == [b"at last"] * 4

    client.run(ask())


def test_pictures_that_do_not_fit_into_the_queue_are_refused(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    client = show()
    gate = threading.Event()
    monkeypatch.setattr(sources, "make_thumbnail", lambda *_: gate.wait(300) and b"at last")

    async def ask() -> list[int]:
        asked = [
            asyncio.create_task(client.http.get("/api/picture", params={"image": "stem", "size": size}))
            for size in (160, 320, 640, 1280) * 25
        ]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert {one.result().status_code for one in done} == {503}
        gate.set()
        return [one.status_code for one in await asyncio.gather(*asked)]

    statuses = client.run(ask())
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= 4


def test_own_pictures_are_shown_if_requested_and_present(show: Show, folder: Path, tmp_path: Path) -> None:
    model = trained_from(Pictures(str(folder), "photos", {"stem": str(folder / "stem.jpg")}), tmp_path / "model")
    client = show(model=model, images=None, own_images=True)
    assert [picture(client, image).status_code for image in ("red.jpg", "stem")] == [200, 200]
    served = client.service.models.loaded
    assert served is not None
    note = f"pictures: {folder} (where the model was trained; --no-images hides them)"
    assert client.service.pictures.note(served) == note
    assert picture(show(model=model, images=None), "red.jpg").status_code == 404


@pytest.mark.parametrize(
    ("root", "settings", "note"),
    [
        ("/nowhere/at/all", {}, "no pictures: /nowhere/at/all does not exist here; give their folder with --images"),
        ("/", {}, "no pictures: they lie anywhere below /; give their folder with --images"),
        (None, {"host": "0.0.0.0", "keys": (Key("x" * 16),)}, "no pictures: other machines can reach this service;"),
    ],
)
def test_pictures_that_nobody_named_are_not_shown_without_care(
    show: Show, folder: Path, tmp_path: Path, root: str | None, settings: dict[str, Any], note: str
) -> None:
    model = trained_from(Pictures(root or str(folder), "photos"), tmp_path / "model")
    client = show(model=model, images=None, own_images=True, **settings)
    served = client.service.models.loaded
    assert served is not None
    assert client.service.pictures.note(served).startswith(note)
    assert client.service.pictures.url(served, "red.jpg") is None


def test_a_folder_without_the_pictures_is_noticed_at_the_start(show: Show, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    client = show(images=str(tmp_path / "empty"))
    served = client.service.models.loaded
    assert served is not None
    assert client.service.pictures.note(served) == (
        f"no picture of the first images is in {tmp_path}/empty; give their folder with --images"
    )


def test_a_renamed_folder_has_the_locations_of_the_model(show: Show, folder: Path, tmp_path: Path) -> None:
    stored = Pictures("/once/here", "coco", {"stem": "sub/blue.png", "away.jpg": "/once/here/red.jpg"})
    client = show(model=trained_from(stored, tmp_path / "model"))
    assert decoded(picture(client, "stem").content).size == (30, 50)
    assert decoded(picture(client, "away.jpg").content).size == (320, 160)


def test_a_collection_says_where_its_pictures_are(show: Show, folder: Path) -> None:
    """The names in a COCO file may lead out of its folder; such pictures are not shown."""
    names = {1: "red.jpg", 2: "../outside.jpg"}
    images = [{"id": number, "file_name": name} for number, name in names.items()]
    boxes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 1, 1]} for n in names]
    file = folder / "coco.json"
    file.write_text(json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "sea"}]}))
    client = show(images=str(file))
    assert [picture(client, name).status_code for name in names.values()] == [200, 404]


def test_pictures_on_other_servers_are_named_in_the_policy(show: Show, folder: Path, tmp_path: Path) -> None:
    locations = {"stem": "https://a.example/x.jpg", "away.jpg": "https://evil.example;script-src */x.jpg"}
    model = trained_from(Pictures(str(folder), "label-studio", locations), tmp_path / "model")
    client = show(model=model, images=None, own_images=True)
    served = client.service.models.loaded
    assert served is not None
    url = client.service.pictures.url
    assert url(served, "stem") == "https://a.example/x.jpg"
    assert url(served, "away.jpg") == "/api/picture?image=away.jpg&size=320"
    assert picture(client, "stem").status_code == picture(client, "away.jpg").status_code == 404
    policy = client.get("/").headers["content-security-policy"]
    assert "img-src 'self' data: https://a.example;" in policy
    assert "https:" not in show().get("/").headers["content-security-policy"]


def test_drawings_show_what_was_held_out(show: Show, tmp_path: Path) -> None:
    data = scenes(images=300)
    assert data.pictures is not None
    train, _ = data.leave_one_out()
    assert train.pictures == data.pictures == Pictures("scenes:seed=0", DRAWN)
    Annotator(epochs=1, dimensions=8, validate=False).fit(train).save(tmp_path / "model")
    client = show(model=tmp_path / "model", images=None, own_images=True)
    answer = picture(client, "img_0000019", 160)
    assert answer.status_code == 200
    assert decoded(answer.content).width == 160
    served = client.service.models.loaded
    assert served is not None
    source = client.service.pictures.source(served)
    assert isinstance(source, sources.DrawnPictures)
    assert source.state("img_0000019").split("\0")[3:] == data.labels_of("img_0000019")
    assert client.service.pictures.note(served) == "pictures: drawn from the labels (--no-images hides them)"


def test_any_model_can_have_drawings(show: Show) -> None:
    assert picture(show(images="drawn"), "away.jpg").status_code == 200


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        ("/no/such/folder", "--images /no/such/folder does not exist"),
        (
            "https://a.example/x",
            '--images https://a.example/x is an address; use --image-url "https://a.example/x/{image}"',
        ),
        ("pairs.csv", "--images pairs.csv does not say where pictures are; give their folder"),
    ],
)
def test_a_source_without_pictures_is_refused_at_the_start(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("image,label\na,sea\nb,sand\n")
    with pytest.raises(ConfigError, match="--images") as refused:
        show(images=images)
    assert sentence in str(refused.value)


def test_without_pillow_it_says_how_to_get_it(
    show: Show, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = trained_from(Pictures(str(folder), "photos"), tmp_path / "model")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingPartError, match=r"Pillow: pip install 'vse-ens\[service\]'"):
        show()
    client = show(model=model, images=None, own_images=True)
    served = client.service.models.loaded
    assert served is not None
    assert "pip install" in client.service.pictures.note(served)
    assert client.service.pictures.url(served, "red.jpg") is None
