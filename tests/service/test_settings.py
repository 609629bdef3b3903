from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from vse_ens.errors import ConfigError
from vse_ens.service.keys import Key
from vse_ens.service.pictures import PictureService
from vse_ens.service.settings import Settings

MODEL = Path("model")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_needs_no_key(host: str) -> None:
    assert Settings(MODEL, host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "labels.example", ""])
def test_another_address_is_refused_without_a_key(host: str) -> None:
    with pytest.raises(ConfigError, match=r"is reachable from other machines.*--api-key-file"):
        Settings(MODEL, host=host)
    assert Settings(MODEL, host=host, keys=(Key("a-key-nobody-guesses"),)).is_loopback is False


@pytest.mark.parametrize("key", ["ключ" * 10, "a-key-nobody-\nguesses", "a-key-nobody-guesses\t"])
def test_a_key_must_fit_into_a_header(key: str) -> None:
    with pytest.raises(ConfigError, match="the API key must consist of printable ASCII"):
        Settings(MODEL, keys=(Key(key),))


@pytest.mark.parametrize("length", [0, 5, 15])
def test_a_key_that_can_be_guessed_is_refused(length: int) -> None:
    with pytest.raises(ConfigError, match=f"has {length} characters.*create one with: openssl rand -hex 32"):
        Settings(MODEL, keys=(Key("x" * length),))
    assert Settings(MODEL, keys=(Key("x" * 16),)).keys[0].secret == "x" * 16


@pytest.mark.parametrize(
    ("template", "origin"),
    [
        ("https://pictures.example/{image}.jpg", "https://pictures.example"),
        ("http://[::1]:80/?id={image}", "http://[::1]:80"),
        ("/pictures/{image}", None),
    ],
)
def test_pictures_have_an_origin(template: str, origin: str | None) -> None:
    pictures, served = PictureService(Settings(MODEL, image_url=template)), cast("Any", None)
    assert pictures.origins == ({origin} if origin else set())
    assert pictures.url(served, "a/b ?ü") == template.replace("{image}", "a/b%20%3F%C3%BC")


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("https://pictures.example/", "does not contain {image}"),
        ("https://{image}.example/", "must start with"),
        ("https://a.example;script-src *;/{image}", "must start with"),
        ("https://a.example 'unsafe-inline'/{image}", "must start with"),
        ("javascript:alert({image})", "must start with"),
        ("data:{image}", "must start with"),
        ("//a.example/{image}", "must start with"),
        ("ftp://a.example/{image}", "must start with"),
        ("{image}", "must start with"),
    ],
)
def test_a_template_that_could_break_the_page_is_refused(template: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Settings(MODEL, image_url=template)


@pytest.mark.parametrize(
    "template", ["{}/{{image}}.jpg", "{}/{{image}}", "{}/img_{{image}}.jpg", "{}", "file://{}/{{image}}"]
)
def test_a_path_as_image_url_is_refused_with_the_right_option(template: str, tmp_path: Path) -> None:
    given = template.format(tmp_path)
    with pytest.raises(ConfigError, match="which a browser cannot open") as refused:
        Settings(MODEL, image_url=given)
    assert str(refused.value).endswith(f"use --images {tmp_path}")


@pytest.mark.parametrize(
    ("template", "folder"),
    [("./photos/{image}", "./photos"), ("~/photos/{image}", "~/photos"), ("C:\\photos\\{image}", "C:\\photos")],
)
def test_a_template_that_must_be_a_path_is_refused_too(template: str, folder: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings(MODEL, image_url=template)
    assert str(refused.value).endswith(f"use --images {folder}")


def test_the_address_is_what_a_browser_takes() -> None:
    assert Settings(MODEL).address == "http://127.0.0.1:8765/"
    assert Settings(MODEL, host="::1", port=80).address == "http://[::1]:80/"
