"""The routes of rules and vocabulary, answered in the browser: a page under test decides, nothing is stored."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

LABELS = [
    {"label": "sea", "images": 412, "namespace": None},
    {"label": "beach", "images": 210, "namespace": None},
    {"label": "place|harbour", "images": 98, "namespace": "place"},
    {"label": "boat", "images": 31, "namespace": None},
]
PROPOSALS: dict[str, Any] = {
    "total_implications": 2,
    "total_aliases": 2,
    "implications": [
        {"label": "beach", "implies": "sea", "support": 210, "confidence": 0.967, "exceptions": 7},
        {"label": "kitchen", "implies": "table", "support": 90, "confidence": 1.0, "exceptions": 0},
    ],
    "aliases": [
        {"label": "boat", "other": "ship", "evidence": "hardly ever on one image"},
        {"label": "sand", "other": "beach", "evidence": "same word; on 3 and 33 images"},
    ],
}


def install(page: Any) -> list[dict[str, Any]]:
    """Answer the routes on a page; returns the list of rules, in force or rejected, which requests change."""
    rules: list[dict[str, Any]] = []

    def vocabulary(route: Any) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        asked = query.get("query", [""])[0]
        found = [one for one in LABELS if asked in str(one["label"])]
        if query.get("sort") == ["name"]:
            found = sorted(found, key=lambda one: str(one["label"]))
        route.fulfill(json={"labels": found, "total": len(found)})

    def change(route: Any) -> None:
        if route.request.method == "GET":
            route.fulfill(json={"rules": rules, "version": len(rules)})
            return
        body = json.loads(route.request.post_data)
        number = max((one["id"] for one in rules), default=0) + 1
        rules.append({"id": number, **body, "by": "anna", "at": "2026-11-17T09:00:00Z", "exceptions": 0})
        route.fulfill(json={"rule": number, "changed": 0 if body["kind"] == "rejected" else 12})

    def undo(route: Any) -> None:
        number = json.loads(route.request.post_data)["rule"]
        rules[:] = [one for one in rules if one["id"] != number]
        route.fulfill(json={"rule": number})

    page.route("**/api/vocabulary?*", vocabulary)
    page.route("**/api/rules?*", change)
    page.route("**/api/rules", change)
    page.route("**/api/rules/undo", undo)
    page.route("**/api/rules/proposals?*", lambda route: route.fulfill(json=PROPOSALS))
    page.route(
        "**/api/export?*",
        lambda route: route.fulfill(content_type="text/csv", body="image,label\r\nimg_0000017,sea\r\n"),
    )
    return rules
