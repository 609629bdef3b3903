from __future__ import annotations

import pytest

from tests.support.mutations import mutated
from tests.support.photos import iptc, packet
from vse_ens.data.collections.containers import DamagedFileError, Metadata
from vse_ens.data.collections.keywords import FileKeywords, from_metadata, from_xmp, merge, read_iptc
from vse_ens.data.collections.xmp import SUBJECT, Keywords, read_keywords

START = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
END = "</rdf:RDF></x:xmpmeta>"
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def labels(xmp: bytes = b"", record: bytes = b"") -> tuple[str, ...]:
    return merge([from_metadata(Metadata(xmp=[xmp] if xmp else [], iptc=[record] if record else []))])


def subjects(body: str) -> list[str]:
    return from_xmp(f"{START}{body}{END}".encode()).flat


def test_keyword_written_five_times_is_one_label() -> None:
    xmp = packet(["beach", "place"], ["place|beach"], ["place", "place/beach"], ["place/beach"])
    assert labels(xmp, iptc([b"beach", b"place"])) == ("place|beach", "place")


def test_keywords_of_all_places_are_merged_without_loss() -> None:
    xmp = packet(["flat"], ["a|b"], ["c/d"], ["e/f"])
    assert set(labels(xmp, iptc([b"iptc"]))) == {"flat", "a|b", "c|d", "e|f", "iptc"}


def test_a_slash_of_a_flat_keyword_is_no_hierarchy() -> None:
    assert labels(packet(["24/7"], last_keyword=["24/7", "place/beach"])) == ("24/7", "place|beach")


def test_keyword_cut_by_iptc_is_not_a_second_label() -> None:
    long = "ä" * 40
    assert labels(packet([long]), iptc([long.encode()[:64]])) == (long,)
    assert labels(packet([long]), iptc([long.encode()[:63]])) == (long,)  # inside a character


def test_internal_tags_of_programs_are_not_labels() -> None:
    xmp = packet(["darktable", "exported", "sea"], ["darktable|exported"], ["_Digikam_Internal_Tags_/Color Label None"])
    assert labels(xmp) == ("sea",)


def test_keywords_of_an_image_and_its_sidecar_are_joined() -> None:
    assert merge([FileKeywords(["beach", "sea"], []), FileKeywords(["sun"], ["place|beach"])]) == (
        "place|beach",
        "sea",
        "sun",
    )


@pytest.mark.parametrize(
    "body",
    [
        f"<rdf:Description {DC}><dc:subject><rdf:Bag><rdf:li>sea</rdf:li></rdf:Bag></dc:subject></rdf:Description>",
        f"<rdf:Description {DC}><dc:subject><rdf:Seq><rdf:li>sea</rdf:li></rdf:Seq></dc:subject></rdf:Description>",
        f"<rdf:Description {DC}><dc:subject>sea</dc:subject></rdf:Description>",
        f'<rdf:Description rdf:about="" {DC} dc:subject="sea"/>',
        (
            f'<rdf:Description {DC}><dc:subject><rdf:Bag><rdf:li rdf:parseType="Resource"><rdf:value>sea</rdf:value>'
            "<dc:source>not a keyword</dc:source></rdf:li></rdf:Bag></dc:subject></rdf:Description>"
        ),
        (
            f"<rdf:Description {DC}><dc:subject><rdf:Bag><rdf:li>\n sea\n</rdf:li><rdf:li/></rdf:Bag></dc:subject>"
            "<dc:title>not a keyword</dc:title></rdf:Description>"
        ),
    ],
    ids=["bag", "sequence", "text", "attribute", "qualified", "white space"],
)
def test_every_form_of_a_keyword_in_xmp_is_read(body: str) -> None:
    assert subjects(body) == ["sea"]


def test_xmp_in_utf_16_is_read() -> None:
    assert from_xmp(packet(["Zürich"]).decode().encode("utf-16")).flat == ["Zürich"]


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://example.invalid/x.dtd">',
    ],
    ids=["bomb", "external entity", "external subset"],
)
def test_a_document_type_is_refused(declaration: str) -> None:
    found = from_xmp(declaration.encode() + packet(["&amp;"]))
    assert (found.flat, found.fault) == ([], "has XMP with a document type declaration, which is refused")


def test_keywords_before_a_fault_are_kept() -> None:
    found = from_xmp(packet(["sea"]).replace(b"</rdf:RDF>", b"</oops>"))
    assert found.flat == ["sea"]
    assert (found.fault or "").startswith("has XMP that is not well-formed XML")


def test_a_packet_without_keywords_is_not_parsed() -> None:
    found: Keywords = {}
    read_keywords(b"<not xml at all", found)
    assert found == {}
    with pytest.raises(DamagedFileError):
        read_keywords(b"<not xml at all: subject", found)


def test_damaged_packets_raise_only_the_error_of_damage() -> None:
    content = packet(["beach"], ["place|beach"], ["place/beach"])
    for damaged in mutated(content, 200):
        found: Keywords = {}
        try:
            read_keywords(damaged, found)
        except DamagedFileError:
            continue
        assert all(isinstance(keyword, str) for keyword in found.get(SUBJECT, []))


@pytest.mark.parametrize(
    ("value", "character_set", "text"),
    [
        ("Zürich".encode(), b"\x1b%G", "Zürich"),
        ("Zürich".encode(), None, "Zürich"),  # not declared, but valid UTF-8
        ("Zürich".encode("cp1252"), None, "Zürich"),
        ("Zürich".encode("cp1252"), b"\x1b%G", "Zürich"),  # declared wrongly
        ("Łódź".encode("iso8859-2"), b"\x1b-B", "Łódź"),
        ("Москва".encode("iso8859-5"), b"\x1b-L", "Москва"),
        ("Zürich".encode("latin-1"), b"\x1b.A", "Zürich"),
    ],
)
def test_iptc_is_decoded_by_its_character_set(value: bytes, character_set: bytes | None, text: str) -> None:
    assert read_iptc(iptc([value], character_set)) == [text]


def test_200_damaged_iptc_records_raise_nothing() -> None:
    content = iptc([b"beach", "Zürich".encode(), b"x" * 64])
    for damaged in mutated(content, 200):
        for keyword in read_iptc(damaged):
            keyword.encode()  # valid text


@pytest.mark.parametrize(
    ("lists", "found"),
    [
        # What darktable left of sea, place|beach and suggested|dog after the last two were replaced by dog.
        ((["sea", "dog"], ["sea", "dog"], ["sea", "place/beach", "suggested/dog"]), {"sea", "dog"}),
        # One suggestion of two was moved.
        (
            (["suggested", "cat", "dog"], ["suggested|cat", "dog"], ["suggested/cat", "suggested/dog"]),
            {"suggested|cat", "dog"},
        ),
        # All tags were removed.
        (([], [], ["sea", "place/beach"]), set()),
        # An export without hierarchies.
        ((["sea", "place", "beach"], [], ["sea", "place/beach", "suggested/dog"]), {"sea", "place|beach"}),
    ],
)
def test_tags_that_darktable_no_longer_has_are_not_read(lists: tuple[list[str], ...], found: set[str]) -> None:
    written = packet(*lists, last_keyword=lists[2])
    by_darktable = written.replace(b'rdf:about=""', b'rdf:about="" darktable:xmp_version="5" xmlns:darktable="x"')
    assert set(labels(by_darktable)) == found
    assert set(labels(written)) >= {tag.replace("/", "|") for tag in lists[2]}
