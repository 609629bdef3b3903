from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.errors import ConfigError
from vse_ens.service.settings import Settings

MODEL = Path("model")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_needs_no_key(host: str) -> None:
    assert Settings(MODEL, host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "labels.example", ""])
def test_another_address_is_refused_without_a_key(host: str) -> None:
    with pytest.raises(ConfigError, match=r"can be reached by others.*--api-key-file"):
        Settings(MODEL, host=host)
    assert not Settings(MODEL, host=host, api_key="key").is_loopback


@pytest.mark.parametrize("key", ["", "ключ", "a\nb", "tab\t"])
def test_a_key_must_fit_into_a_header(key: str) -> None:
    with pytest.raises(ConfigError, match="the API key must be printable ASCII"):
        Settings(MODEL, api_key=key)


@pytest.mark.parametrize(
    ("template", "origin"),
    [
        ("https://pictures.example/{image}.jpg", "https://pictures.example"),
        ("http://[::1]:80/?id={image}", "http://[::1]:80"),
        ("/pictures/{image}", None),
    ],
)
def test_pictures_have_an_origin(template: str, origin: str | None) -> None:
    settings = Settings(MODEL, image_url=template)
    assert settings.image_origin == origin
    assert settings.picture_url("a/b ?ü") == template.replace("{image}", "a/b%20%3F%C3%BC")


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("https://pictures.example/", "lacks {image}"),
        ("https://{image}.example/", "must begin with"),
        ("https://a.example;script-src *;/{image}", "must begin with"),
        ("https://a.example 'unsafe-inline'/{image}", "must begin with"),
        ("javascript:alert({image})", "must begin with"),
        ("data:{image}", "must begin with"),
        ("//a.example/{image}", "must begin with"),
        ("ftp://a.example/{image}", "must begin with"),
        ("{image}", "must begin with"),
    ],
)
def test_a_template_that_could_break_the_page_is_refused(template: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Settings(MODEL, image_url=template)


def test_the_address_is_what_a_browser_takes() -> None:
    assert Settings(MODEL).address == "http://127.0.0.1:8765/"
    assert Settings(MODEL, host="::1", port=80).address == "http://[::1]:80/"
