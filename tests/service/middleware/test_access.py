from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from tests.support.service_in_process import Client
from vse_ens.service.keys import Key
from vse_ens.service.settings import Limits

KEY = "a-key-of-thirty-two-characters-x"
OPEN = ("/health", "/ready", "/", "/static/app.js", "/openapi.json")
CLOSED = ("/api/model", "/api/labels", "/metrics", "/no/such/thing", "/api/feedback/pairs")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def basic(key: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"user:{key}".encode()).decode()}


def test_with_a_key_only_what_tells_nothing_is_open(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY),))
    assert {client.get(path).status_code for path in OPEN} == {200}
    for path in CLOSED:
        answer = client.get(path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert "Authorization: Bearer" in answer.json()["error"]
    for path in ("/static/../api/model", "/static/%2e%2e/api/model", "//api/model", "/API/model", "/api/model/"):
        url = httpx.URL("http://127.0.0.1:8765").copy_with(raw_path=path.encode())
        assert client.run(client.http.send(httpx.Request("GET", url))).status_code in (401, 404)
    assert client.get("/api/model", headers=bearer(KEY)).status_code == 200
    assert client.get("/metrics", headers=bearer(KEY)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        bearer(KEY + "x"),
        bearer(KEY[:-1]),
        bearer(""),
        bearer("ключ"),
        {"Authorization": KEY},
        {"Authorization": "Basic !!!"},
        basic(KEY),
    ],
)
def test_a_wrong_key_is_refused_before_the_body_is_looked_at(
    serve: Callable[..., Client], headers: dict[str, str]
) -> None:
    client = serve(keys=(Key(KEY),))
    raw = {name: value.encode() for name, value in headers.items()}
    assert client.post("/api/annotate", content=b"{", headers=raw).status_code == 401
    assert client.post("/api/reload", headers={**raw, "X-VSE-Reload": b"yes"}).status_code == 401


def test_label_studio_may_send_the_key_as_a_password(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY),))
    body = {"project": "1", "schema": "<View/>"}
    assert client.post("/setup", json=body).status_code == 401
    assert client.post("/setup", json=body, headers=basic("wrong")).status_code == 401
    assert client.post("/setup", json=body, headers=basic(KEY)).status_code == 200


def test_with_a_key_it_also_reloads(serve: Callable[..., Client]) -> None:
    assert serve(keys=(Key(KEY),)).post("/api/reload", headers=bearer(KEY)).status_code == 200


def test_keys_are_compared_in_constant_time(serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key is compared, also after one was right."""
    compared = []
    real = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    client = serve(keys=(Key(KEY), Key(READ, read_only=True)))
    monkeypatch.setattr(hmac, "compare_digest", compare)
    client.get("/api/model", headers=bearer("guess"))
    client.get("/api/model", headers=bearer(KEY))
    both = [KEY.encode(), READ.encode()]
    assert compared == [(given, key) for given in (b"guess", KEY.encode()) for key in both]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8765", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1", 200),
        ("[::1]:8765", 200),
        ("evil.example", 403),
        ("evil.example:8765", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:80", 403),
        ("", 403),
        ("127.0.0.1:8765:8765", 403),
    ],
)
def test_a_foreign_name_that_leads_here_is_refused(client: Client, host: str, status: int) -> None:
    assert client.get("/api/model", headers={"Host": host}).status_code == status
    assert client.get("/", headers={"Host": host}).status_code == status


def test_past_this_machine_any_name_will_do(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY),), host="0.0.0.0")
    assert client.get("/api/model", headers={"Host": "labels.example", **bearer(KEY)}).status_code == 200


def test_pages_of_other_sites_may_not_ask(client: Client) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert client.get("/api/model", headers={"Sec-Fetch-Site": site}).status_code == status
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_cannot_send_a_body(client: Client, kind: str) -> None:
    answer = client.post("/api/annotate", content=b'{"images": ["img_0000001"]}', headers={"Content-Type": kind})
    assert (answer.status_code, "application/json" in answer.json()["error"]) == (415, True)

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"images": ["img_0000001"]}'

    chunked = client.post("/api/annotate", content=pieces(), headers={"Content-Type": kind})
    assert chunked.request.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in chunked.request.headers
    assert chunked.status_code == 415


def test_a_refusal_discards_the_body_and_closes_the_connection(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY),), limits=Limits(body_bytes=100))
    taken = 0

    async def pieces(count: int) -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(count):
            taken += 1
            yield b" " * 100

    for count, received in ((10, 10), (1_000, 21)):  # of an endless body, a multiple of the limit
        taken = 0
        answer = client.post("/api/annotate", content=pieces(count))
        assert (answer.status_code, answer.headers["connection"], taken) == (401, "close", received)
    taken = 0
    waiting = client.post("/api/annotate", content=pieces(10), headers={"Expect": "100-continue"})
    assert (waiting.status_code, taken) == (401, 0)


def test_a_refused_body_that_does_not_arrive_is_not_awaited(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY),), limits=Limits(receive_seconds=0.05))

    async def pieces() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(600)

    assert client.post("/api/annotate", content=pieces()).status_code == 401


def test_no_other_origin_is_allowed(client: Client) -> None:
    answer = client.run(
        client.http.options(
            "/api/annotate", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        )
    )
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_tells_browsers_to_be_strict(serve: Callable[..., Client]) -> None:
    client = serve(image_url="https://pictures.example:8443/{image}")
    for path in ("/", "/static/app.js", "/api/model", "/no/such/thing", "/health", "/api/image?id=nobody"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert "img-src 'self' data: https://pictures.example:8443;" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "camera=()" in headers["permissions-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
    assert client.get("/api/model").headers["cache-control"] == "no-store"
    refused = client.get("/api/model", headers={"Host": "evil.example"})
    assert "content-security-policy" in refused.headers


READ = "r" * 24
READING = (
    ("GET", "/api/model", None),
    ("GET", "/api/feedback", None),
    ("GET", "/metrics", None),
    ("POST", "/api/annotate", {"images": ["img_0000001"]}),
    ("POST", "/api/search", {"labels": ["sea"]}),
    ("POST", "/api/explain", {"image": "img_0000001", "label": "sea"}),
    ("POST", "/api/together", {"images": ["img_0000001", "img_0000002"]}),
)
WRITING = (
    ("POST", "/api/feedback", {"image": "img_0000001", "label": "sea", "verdict": "accept"}),
    ("POST", "/api/feedback/undo", {"event": 1}),
    ("POST", "/api/feedback/batch", {"events": []}),
    ("POST", "/api/rules", {"kind": "alias", "label": "a", "other": "b"}),
    ("POST", "/api/rules/undo", {"rule": 1}),
    ("POST", "/api/reload", None),
    ("POST", "/webhook", {}),
    ("POST", "/setup", {"project": "1", "schema": "<View/>"}),
    ("POST", "/api/anything/new", {}),
    ("DELETE", "/api/model", None),
    ("PUT", "/api/search", {}),
)


def test_a_key_for_reading_reads_and_writes_nothing(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY), Key(READ, read_only=True)))
    for method, path, body in READING:
        assert client.run(client.http.request(method, path, json=body, headers=bearer(READ))).status_code == 200, path
    for method, path, body in WRITING:
        answer = client.run(client.http.request(method, path, json=body, headers=bearer(READ)))
        assert (answer.status_code, answer.json()["error"]) == (
            403,
            "this API key is for reading only; use one of --api-key-file",
        )
        full = client.run(client.http.request(method, path, json=body, headers=bearer(KEY)))
        assert full.status_code != 403, path
    cards = [client.get("/api/model", headers=bearer(key)).json() for key in (KEY, READ)]
    assert [(card["feedback"], card["read_only"]) for card in cards] == [(True, False), (False, True)]


def test_feedback_has_the_name_of_its_key_not_of_the_request(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key("key-of-anna-0123456789", "Änna K"), Key("key-of-nobody-0123456789")))
    for key in ("key-of-anna-0123456789", "key-of-nobody-0123456789"):
        headers = {**bearer(key), "X-VSE-User": "eve"}
        body = {"image": "img_0000001", "label": "sea", "verdict": "accept"}
        assert client.post("/api/feedback", json=body, headers=headers).status_code == 200
    events = client.get("/api/feedback", headers=bearer("key-of-anna-0123456789")).json()["events"]
    assert [event["by"] for event in events] == ["Änna K", "eve"]
    assert client.get("/api/model", headers=bearer("key-of-anna-0123456789")).json()["user"] == "Änna K"


def test_the_cookie_for_pictures_opens_nothing_else(serve: Callable[..., Client]) -> None:
    client = serve(keys=(Key(KEY), Key(READ, read_only=True)), images="drawn")
    path = "/api/picture?image=img_0000001&size=160"
    assert client.get(path).status_code == 401
    for key in (KEY, READ):
        header = client.get("/api/model", headers=bearer(key)).headers["set-cookie"]
        cookie, *attributes = header.split("; ")
        assert attributes == ["HttpOnly", "SameSite=Strict"]
        assert key not in header
        client.http.cookies.clear()
        assert client.get(path, headers={"Cookie": f"other=1; {cookie}"}).status_code == 200
        assert client.get(path, headers={"Cookie": cookie[:-1]}).status_code == 401
        assert client.get("/api/model", headers={"Cookie": cookie}).status_code == 401
        assert client.post(path, headers={"Cookie": cookie}).status_code == 401
        foreign = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}
        assert client.get(path, headers=foreign).status_code == 403
    assert "set-cookie" not in serve().get("/api/model").headers


@pytest.mark.parametrize("more", [{}, {"host": "0.0.0.0", "keys": (Key(KEY),)}])
def test_two_host_headers_are_refused(serve: Callable[..., Client], more: dict[str, Any]) -> None:
    client = serve(**more)
    hosts = ("127.0.0.1:8765", "elsewhere.example")
    for first, second in (hosts, hosts[::-1], hosts[:1] * 2):
        answer = client.get("/health", headers=[("Host", first), ("Host", second)])
        assert (answer.status_code, answer.json()["error"]) == (400, "a request has one Host header")
