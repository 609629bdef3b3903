from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mutations import mutated
from tests.support.photos import packet
from vse_ens.data.collections.containers import DamagedFileError
from vse_ens.data.collections.xmp import (
    HIERARCHICAL,
    LAST_KEYWORD,
    NEW_SIDECAR,
    SUBJECT,
    TAGS_LIST,
    Keywords,
    can_write,
    change_keywords,
    read_keywords,
)

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text and can_write(text)
)


def found(document: bytes) -> Keywords:
    keywords: Keywords = {}
    read_keywords(document, keywords)
    return keywords


def test_a_keyword_is_added_after_the_others_with_their_indent() -> None:
    before = packet(["beach"])
    after = change_keywords(before, {SUBJECT: ["sea & sand"]}, {})
    assert after == before.replace(
        b"     <rdf:li>beach</rdf:li>\n",
        b"     <rdf:li>beach</rdf:li>\n     <rdf:li>sea &amp; sand</rdf:li>\n",
    )


def test_a_keyword_is_removed_with_its_line() -> None:
    assert change_keywords(packet(["beach", "sea", "sun"]), {}, {SUBJECT: ["sea"]}) == packet(["beach", "sun"])


def test_a_missing_list_is_created_and_everything_else_stays() -> None:
    before = packet(["beach"], more="   <!-- a comment --><dc:title>&#x54;itle</dc:title>\n")
    after = change_keywords(before, {HIERARCHICAL: ["place|beach"]}, {})
    assert found(after) == {SUBJECT: ["beach"], HIERARCHICAL: ["place|beach"]}
    start, end = before.split(b"  </rdf:Description>")
    assert after.startswith(start.rstrip(b"\n"))
    assert after.endswith(end)


@pytest.mark.parametrize(
    "document",
    [
        NEW_SIDECAR,
        b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Description r:about=""/></r:RDF>',
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF>',
        (
            b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>\r\n'
            b'<x:xmpmeta xmlns:x="adobe:ns:meta/">\r\n'
            b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\r\n"
            b"<rdf:Description rdf:about='' xmlns:dc='http://purl.org/dc/elements/1.1/' dc:format='a>b'>\r\n"
            b"<dc:subject><rdf:Bag/></dc:subject>\r\n</rdf:Description>\r\n</rdf:RDF>\r\n</x:xmpmeta>"
        ),
        # The prefix dc means something else, and the list is in the second description.
        (
            b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            b'<rdf:Description xmlns:dc="urn:other"><dc:subject>no keyword</dc:subject></rdf:Description>'
            b'<rdf:Description xmlns:d="http://purl.org/dc/elements/1.1/"><d:subject><rdf:Bag> </rdf:Bag></d:subject>'
            b"</rdf:Description></rdf:RDF>"
        ),
    ],
    ids=["new", "empty description", "no description", "empty list", "other prefixes"],
)
def test_every_form_of_a_sidecar_takes_and_loses_keywords(document: bytes) -> None:
    added = change_keywords(document, {SUBJECT: ["sea", "<sand>"], HIERARCHICAL: ["place|sea"]}, {})
    assert found(added) == {SUBJECT: ["sea", "<sand>"], HIERARCHICAL: ["place|sea"]}
    removed = change_keywords(added, {}, {SUBJECT: ["sea", "<sand>"], HIERARCHICAL: ["place|sea"]})
    assert found(removed) == {}


@given(old=st.lists(words, unique=True, max_size=5), new=st.lists(words, unique=True, min_size=1, max_size=5))
def test_added_keywords_are_read_and_their_removal_is_exact(old: list[str], new: list[str]) -> None:
    before = packet(["first", *old], ["a|b"], ["a/b"], ["a/b"])
    known = found(before)
    fresh = [word for word in new if word not in known[SUBJECT]]
    add = dict.fromkeys((SUBJECT, HIERARCHICAL, TAGS_LIST, LAST_KEYWORD), fresh)
    after = change_keywords(before, add, {})
    assert found(after) == {one: [*keywords, *fresh] for one, keywords in known.items()}
    assert change_keywords(after, {}, add) == before


def test_a_change_of_nothing_changes_no_byte() -> None:
    assert change_keywords(packet(["beach"]), {}, {SUBJECT: ["sea"]}) == packet(["beach"])


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (packet(["beach"]).decode().encode("utf-16"), "is not UTF-8"),
        (b'<?xml version="1.0" encoding="latin-1"?><a/>', "is in latin-1, not UTF-8"),
        (b"<a/>", "has no rdf:RDF element"),
        (b"<a", "has XMP that is not well-formed XML"),
        (
            (
                b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
                b'xmlns:dc="http://purl.org/dc/elements/1.1/" dc:subject="sea"/></rdf:RDF>'
            ),
            "has dc:subject without a list",
        ),
    ],
)
def test_a_document_that_cannot_be_changed_in_place_is_refused(document: bytes, reason: str) -> None:
    with pytest.raises(DamagedFileError, match=reason):
        change_keywords(document, {SUBJECT: ["sand"]}, {})


def test_200_damaged_sidecars_are_refused_or_changed_as_wanted() -> None:
    content = packet(["beach"], ["place|beach"], ["place/beach"])
    for document in mutated(content, 200):
        try:
            after = change_keywords(document, {SUBJECT: ["sand"]}, {})
        except DamagedFileError:
            continue
        assert "sand" in found(after)[SUBJECT]
