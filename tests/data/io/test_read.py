from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from vse_ens import Annotations, ConfigError, DataError


@pytest.fixture
def write(tmp_path: Path):
    def writer(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


def pairs_of(data: Annotations) -> list[tuple[str, str]]:
    return data.to_frame("polars").rows()


def lines(count: int, separator: str = ",") -> str:
    """Rows of which both columns recur, as they do in real data."""
    return "".join(f"img{row // 3}{separator}label {row % 7}\n" for row in range(count))


# --- the real files ------------------------------------------------------------------------------------------------


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "images", "labels", "pairs"),
    [
        ("iaprtc12", 19_627, 291, 112_241),
        ("corel5k", 5_000, 374, 17_610),
        ("mirflickr25k", 20_015, 1_386, 92_808),
        ("nuswide81", 209_347, 81, 503_849),
        ("openimages_v1val_sample", 8_209, 5_390, 62_049),
    ],
)
def test_the_real_files_are_read_as_they_are(
    shared_data: Path, name: str, images: int, labels: int, pairs: int
) -> None:
    data = Annotations.read(shared_data / name / "pairs.tsv.gz")
    assert (len(data.images), len(data.labels), data.pairs) == (images, labels, pairs)
    assert data.notes == ()


# --- text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "image,label\nx,sea\n007,5\n"),
        ("a.CSV", "image,label\nx,sea\n007,5\n"),
        ("no_final_line_end.csv", "image,label\nx,sea\n007,5"),
        ("crlf.csv", "image,label\r\nx,sea\r\n007,5\r\n"),
        ("cr.csv", "image,label\rx,sea\r007,5\r"),
        ("bom.csv", "\ufeffimage,label\nx,sea\n007,5\n"),
        ("bom_and_quotes.csv", '\ufeff"image","label"\n"x","sea"\n"007","5"\n'),
        ("order.csv", "label,score,image\nsea,0.5,x\n5,1,007\n"),
        ("names.csv", "ImageID,Source,LabelName\nx,human,sea\n007,human,5\n"),
        ("spelling.csv", "Image ID,Tag\nx,sea\n007,5\n"),
        ("a.tsv", "image\tlabel\nx\tsea\n007\t5\n"),
        ("a.jsonl", '{"image": "x", "label": "sea"}\n{"label": 5, "image": "007"}\n'),
        ("a.ndjson", '{"image": "x", "label": "sea", "more": {}}\r\n{"label": "5", "image": "007"}'),
    ],
)
def test_read_without_options_or_notes(write, name: str, content: str) -> None:
    data = Annotations.read(write(name, content))
    assert pairs_of(data) == [("007", "5"), ("x", "sea")]
    assert data.notes == ()


def test_a_single_line_without_line_end(write) -> None:
    assert pairs_of(Annotations.read(write("a.csv", "x,sea"))) == [("x", "sea")]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_found_and_told(write, separator: str) -> None:
    data = Annotations.read(write("a.csv", f"image{separator}label\nx{separator}sea, sand\n"))
    assert pairs_of(data) == [("x", "sea, sand")]
    assert any("as the separator" in note for note in data.notes)


def test_txt_is_split_at_whatever_splits_it(write) -> None:
    assert pairs_of(Annotations.read(write("a.txt", "image\tlabel\nx, y\tsea\n"))) == [("x, y", "sea")]
    assert pairs_of(Annotations.read(write("b.txt", "image|label\nx|sea\n"))) == [("x", "sea")]


def test_a_separator_that_is_said_is_taken(write) -> None:
    assert pairs_of(Annotations.read(write("a.csv", "image#label\nx#a,b\n"), separator="#")) == [("x", "a,b")]


def test_words_for_missing_are_ordinary_ids(write) -> None:
    data = Annotations.read(write("a.csv", "image,label\nNA,null\nnan,None\n"))
    assert pairs_of(data) == [("NA", "null"), ("nan", "None")]


def test_spaces_belong_to_the_id(write) -> None:
    assert pairs_of(Annotations.read(write("a.csv", "image,label\n x ,sea\n"))) == [(" x ", "sea")]


def test_blank_lines_are_passed_over_and_counted(write) -> None:
    data = Annotations.read(write("a.csv", '\nimage,label\r\n\r\n"x\n\n",sea\n\n\ny,sea\n\n'))
    assert pairs_of(data) == [("x\n\n", "sea"), ("y", "sea")]
    assert data.notes == ("skipped 5 blank lines",)
    data = Annotations.read(write("b.csv", 'image,label\nx 5" nail,sea\n\n'))
    assert data.notes == ("skipped 1 blank line",)
    data = Annotations.read(write("a.jsonl", '{"image": "x", "label": "sea"}\n \n{"image": "y", "label": "sea"}\n'))
    assert data.notes == ("skipped 1 blank line",)


def test_a_quote_within_a_field_is_an_ordinary_character(write) -> None:
    data = Annotations.read(write("a.csv", 'image,label\n5" nail,"say ""so"""\nx"y",""""\n'))
    assert pairs_of(data) == [('5" nail', 'say "so"'), ('x"y"', '"')]


def test_quote_none_takes_quotes_as_they_are(write) -> None:
    data = Annotations.read(write("a.tsv", 'image\tlabel\nx\t"sea\ny\t"sand" "\n'), quote=None)
    assert pairs_of(data) == [("x", '"sea'), ("y", '"sand" "')]


# --- columns and headers -------------------------------------------------------------------------------------------


def test_columns_by_name_and_by_number(write) -> None:
    path = write("a.csv", "id,what,who\n1,sea,ann\n2,sand,bob\n")
    assert pairs_of(Annotations.read(path, label="who")) == [("1", "ann"), ("2", "bob")]
    assert pairs_of(Annotations.read(path, image="who", label="what")) == [("ann", "sea"), ("bob", "sand")]
    assert pairs_of(Annotations.read(path, image=2, label=1, header=True)) == [("ann", "sea"), ("bob", "sand")]


def test_header_said(write) -> None:
    path = write("a.csv", "x,y\nx,sea\n")
    assert pairs_of(Annotations.read(path, header=True)) == [("x", "sea")]
    assert pairs_of(Annotations.read(path, header=False)) == [("x", "sea"), ("x", "y")]


def test_an_unknown_header_is_told_by_what_never_recurs(write) -> None:
    data = Annotations.read(write("a.csv", "pic,what\n" + lines(60)))
    assert data.pairs == 60
    assert data.notes == (
        "read line 1, 'pic what', as a header: its values do not occur again",
        "used column 'pic' for images and 'what' for labels",
    )
    data = Annotations.read(write("b.csv", lines(60)))
    assert data.pairs == 60
    assert data.notes == ()


def test_where_nothing_recurs_line_1_is_a_pair(write) -> None:
    data = Annotations.read(write("a.csv", "".join(f"image{row},label{row}\n" for row in range(50))))
    assert data.pairs == 50


def test_too_few_lines_to_tell_a_header_are_told(write) -> None:
    data = Annotations.read(write("a.csv", "pic,what\nx,sea\n"))
    assert data.pairs == 2
    assert data.notes == (
        "read line 1 as a pair, not a header: 2 lines are too few to decide; if it is one, use --header",
    )


# --- wide ----------------------------------------------------------------------------------------------------------

WIDE = [("x", "sand"), ("x", "sea"), ("z", "007")]


def wide_parquet(path: Path) -> Path:
    pl.DataFrame({"image": ["x", "y", "z"], "labels": [["sea", "sand"], [], ["007"]]}).write_parquet(path)
    return path


@pytest.mark.parametrize(
    ("name", "content", "options", "notes"),
    [
        (
            "a.jsonl",
            '{"image":"x","tags":["sea","sand"]}\n{"image":"y","tags":[]}\n{"image":"z","tags":["007"]}\n',
            {},
            (),
        ),
        (
            "a.csv",
            'image,labels\nx,"[""sea"", ""sand""]"\ny,[]\nz,"[""007""]"\n',
            {},
            ("read the labels as JSON lists; --layout long keeps them whole",),
        ),
        ("b.csv", "image,labels\nx,sea|sand\ny,\nz,007\n", {"label_separator": "|"}, ()),
        (
            "c.tsv",
            "image\tlabels\nx\t sea ;; sand;\ny\t\nz\t007\n",
            {"label_separator": ";"},
            ("skipped 2 empty labels between separators",),
        ),
        ("d.csv", "image,labels\nx,sea and sand\ny,\nz,007\n", {"label_separator": " and ", "layout": "wide"}, ()),
    ],
)
def test_wide_files(write, name: str, content: str, options: dict, notes: tuple) -> None:
    data = Annotations.read(write(name, content), **options)
    assert pairs_of(data) == WIDE
    assert list(data.images) == ["x", "y", "z"]
    assert data.labels_of("y") == []
    assert data.notes == notes


def test_wide_parquet(tmp_path: Path) -> None:
    data = Annotations.read(wide_parquet(tmp_path / "a.parquet"))
    assert pairs_of(data) == WIDE
    assert data.labels_of("y") == []


def test_labels_that_partly_look_like_lists_are_kept_and_noted(write) -> None:
    path = write("a.csv", 'image,label\nx,[1]\ny,[untitled]\nz,"[2, 3]"\n')
    data = Annotations.read(path)
    assert list(data.labels) == ["[1]", "[2, 3]", "[untitled]"]
    assert data.notes == ("read the labels as they are, though 2 of 3 look like JSON lists",)


def test_layout_long_takes_brackets_as_they_are(write) -> None:
    data = Annotations.read(write("a.csv", "image,label\nx,[1]\n"), layout="long")
    assert pairs_of(data) == [("x", "[1]")]


def test_filters_only_when_asked(write) -> None:
    path = write("a.csv", "image,labels\nx,sea|sand\ny,\nz,sea\n")
    assert list(Annotations.read(path, label_separator="|").images) == ["x", "y", "z"]
    data = Annotations.read(path, label_separator="|", min_images_per_label=2)
    assert pairs_of(data) == [("x", "sea"), ("z", "sea")]
    assert any(note.startswith("dropped") for note in data.notes)


# --- errors: one sentence that names what is wrong and where ---------------------------------------------------------


def refusal(path: Path, **options) -> str:
    with pytest.raises(DataError) as caught:
        Annotations.read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message.replace(f"{path.parent}/", "")


def test_a_missing_file_and_its_neighbors(write) -> None:
    path = write("pears.csv", lines(9))
    assert refusal(path.with_name("pairs.csv")) == "pairs.csv does not exist; did you mean pears.csv?"
    assert "no file with a similar name" in refusal(path.with_name("zzz.tsv"))
    assert "there is no folder" in refusal(path.parent / "nowhere" / "pairs.csv")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    assert refusal(tmp_path / "a.csv") == "a.csv is a folder; name a file in it"


def test_permission_denied(write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.csv", lines(9))

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(path) == "a.csv cannot be read: permission denied"


def test_an_unknown_suffix_and_the_way_round_it(write) -> None:
    path = write("pairs.dat", lines(30))
    message = refusal(path)
    assert ".csv, .tsv, .txt, .jsonl, .ndjson, .parquet" in message
    assert "give its format: csv, tsv, txt, jsonl, parquet" in message
    assert Annotations.read(path, format="csv").pairs == 30
    assert Annotations.read(write("zipped.dat", gzip.compress(lines(30).encode())), format="csv").pairs == 30


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff", "\ufeff\r\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl", "a.parquet"])
def test_an_empty_file(write, name: str, content: str) -> None:
    path = write(name, gzip.compress(content.encode()) if name.endswith(".gz") else content)
    assert refusal(path) == f"{name} is empty"


def test_an_empty_file_named_gz(write) -> None:
    assert refusal(write("a.csv.gz", b"")) == "a.csv.gz is empty"


@pytest.mark.parametrize("content", ["image,label", "image,label\n", "image,label\r\n\r\n"])
def test_a_header_only(write, content: str) -> None:
    assert refusal(write("a.csv", content)) == "a.csv has a header and no pair below it"


def test_parquet_without_rows(tmp_path: Path) -> None:
    pl.DataFrame(schema={"image": pl.String, "label": pl.String}).write_parquet(tmp_path / "a.parquet")
    assert "no rows" in refusal(tmp_path / "a.parquet")


def test_no_labels_at_all(write) -> None:
    assert "holds no pair" in refusal(write("a.csv", "image,labels\nx,\n"), label_separator="|")


def test_a_missing_column_lists_those_found(write) -> None:
    path = write("a.csv", "image,label,score\nx,sea,1\n")
    assert refusal(path, label="tag") == "a.csv has no column 'tag'; it has 'image', 'label', 'score'"
    assert refusal(path, label=7) == "a.csv has no column 7; its 3 columns are 0 to 2"
    path = write("a.jsonl", '{"image": "x", "label": "sea"}\n{"image": "x", "tag": "sea"}\n')
    assert refusal(path, label="tag") == "a.jsonl has no column 'tag'; it has 'image', 'label'"
    assert refusal(path) == "a.jsonl, line 2 has no 'label'; it has 'image', 'tag'"


def test_a_column_name_that_occurs_twice(write) -> None:
    path = write("a.csv", "image,label,label\nx,sea,sand\n")
    assert "more than one column 'label'" in refusal(path, label="label")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_blank_ids_are_counted_and_the_first_five_lines_named(write, name: str) -> None:
    content = 'image,label\n"two\nlines",sea\n,sea\n\nx,\n \t,sea\nx,""\n' + "x,\n" * 1000
    path = write(name, gzip.compress(content.encode()) if name.endswith("gz") else content)
    assert refusal(path) == (
        f"{name} has a blank image or label id on 1,004 lines (4, 6, 7, 8, 9, ...); fill in or remove them"
    )


def test_one_blank_id(write, tmp_path: Path) -> None:
    assert refusal(write("a.csv", "x,sea\n,sea\n")) == "a.csv has a blank image id on 1 line (2); fill in or remove it"
    text = '{"image": "x", "label": "sea"}\n\n{"image": "x", "label": null}\n'
    assert refusal(write("a.jsonl", text)) == "a.jsonl has a blank label id on 1 line (3); fill in or remove it"
    text = '{"image": "x", "label": ["sea"]}\n{"image": "y", "label": ["sea", " "]}\n'
    assert refusal(write("b.jsonl", text)) == "b.jsonl has a blank label id on 1 line (2); fill in or remove it"
    pl.DataFrame({"image": ["x", None], "label": ["sea", "sea"]}).write_parquet(tmp_path / "a.parquet")
    assert refusal(tmp_path / "a.parquet") == "a.parquet has a blank image id on 1 row (2); fill in or remove it"


@pytest.mark.parametrize(
    ("name", "content", "looks"),
    [
        ("a.csv", b"PAR1....PAR1", "a Parquet file"),
        ("a.csv", b"PK\x03\x04....", "a zip archive or an Excel workbook"),
        ("a.csv", b"<!DOCTYPE html><p>404</p>", "an HTML page"),
        ("a.csv", b'{"image": "x", "label": "sea"}\n', "JSON Lines"),
        ("a.parquet", b"image,label\n", "text"),
        ("a.jsonl", b'[{"image": "x", "label": "sea"}]', "a JSON array"),
        ("a.tsv", "image\tlabel\n".encode("utf-16"), "UTF-16 text"),
        ("a.tsv", "image\tlabel\n".encode("utf-16-le"), "UTF-16 text"),
        ("a.csv.gz", gzip.compress(b"PAR1....PAR1", mtime=0), "a Parquet file"),
    ],
)
def test_a_file_that_is_not_what_its_suffix_says(write, name: str, content: bytes, looks: str) -> None:
    assert f"looks like {looks};" in refusal(write(name, content))


def test_gzip_by_name_or_by_content_only(write) -> None:
    assert refusal(write("a.csv", gzip.compress(b"x,sea\n"))).endswith("rename it to a.csv.gz")
    assert refusal(write("a.csv.gz", "x,sea\n")) == (
        "a.csv.gz is not a gzip file, as its suffix says, but looks like text; rename it"
    )


@pytest.mark.unhurried
@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
def test_a_truncated_or_damaged_gzip(write, name: str) -> None:
    rows = [json.dumps({"image": f"img{row}", "label": f"{row % 7}"}) for row in range(200_000)]
    text = lines(200_000) if "csv" in name else "\n".join(rows)
    whole = gzip.compress(text.encode(), 1)
    assert len(text) > 2 << 20  # more than is read at the start to see what the file is
    assert (
        refusal(write(name, whole[:-20]))
        == f"{name} is a truncated gzip file: it ends early; download or copy it again"
    )
    checksum = bytearray(whole)
    checksum[-6] ^= 0xFF
    assert "is a damaged gzip file" in refusal(write(name, bytes(checksum)))


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"image": ["x"], "label": ["sea"]}).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert "is a damaged Parquet file" in refusal(path)
    path.write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    assert "is a damaged Parquet file" in refusal(path)


def test_a_byte_that_is_not_utf8(write) -> None:
    text = lines(40).encode() + "é,sea\n".encode() + b"caf\xe9,sea\n"
    assert refusal(write("a.csv", text)).startswith("a.csv, line 42 is not UTF-8 (byte 0xe9); re-encode the file")
    assert "line 2 is not UTF-8" in refusal(write("a.jsonl", b'{"image":"x","label":"sea"}\n{"image":"\xe9"}'))


def test_one_column_only(write) -> None:
    assert refusal(write("a.csv", "image\nx\ny\n")) == (
        "a.csv has one column only when split at ',': its first line is 'image'; give its separator"
    )
    assert "split at a tab" in refusal(write("a.tsv", "image,label\nx,sea\n"))
    assert "one column only" in refusal(write("a.jsonl", '{"image": "x"}\n'))


def test_too_many_and_too_few_fields(write) -> None:
    many = write("a.csv", 'image,label\n"x\n",sea\n\ny,sea,sand\n')
    assert refusal(many).startswith("a.csv, line 5 has 3 fields where line 1 has 2 (split at ',')")
    assert refusal(write("b.csv", "image,label,score\nx,sea\n")).startswith(
        "b.csv, line 2 has 2 fields where line 1 has 3"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('image,label\nx,"sea\ny,sand\nz,sea\n', "is never closed"),
        ('image,label\nx,"sea\ny,"sand\nz,sea\n', "is followed by more"),
        ('image,label\nx,"sea" side\ny,sand\n', "is followed by more"),
    ],
)
def test_stray_quotes(write, content: str, reason: str) -> None:
    message = refusal(write("a.csv", content))
    assert message.startswith(f"a.csv, line 2 has a quote that {reason}")
    assert "quote=None" in message


def test_a_stray_quote_far_from_the_next_one(write) -> None:
    text = "image,label\n" + lines(1000) + 'x,"sea\n' + lines(300_000)
    assert refusal(write("a.csv", text)).startswith("a.csv, line 1002 has a quote that is never closed")


def test_a_line_may_be_long_but_not_endless(write) -> None:
    data = Annotations.read(write("a.csv", "image,label,text\nx,sea," + "y" * (5 << 20) + "\n"))
    assert data.labels.id(0) == "sea"
    with pytest.raises(DataError, match=r"label 'yyy.*' has 5,242,880 characters, more than 1,000"):
        Annotations.read(write("b.csv", "image,label\nx," + "y" * (5 << 20) + "\n"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"image": "x",', "is not JSON ("),
        ("x,sea", "is not JSON ("),
        ('{"image": "x", "label": "sea"} {}', "is not JSON ("),
        ('{"image": "x", "label": "sea", "label": "sand"}', "a key occurs twice"),
        ('["x", "sea"]', "is not a JSON object"),
        ('{"image": "x", "label": {"name": "sea"}}', 'has {"name": "sea"} for \'label\''),
        ('{"image": "x", "label": ["sea"]}', "has [\"sea\"] for 'label'"),
        ('{"image": 1.5, "label": "sea"}', "has 1.5 for 'image', but ids are text or whole numbers"),
        ('{"image": true, "label": "sea"}', "has true for 'image'"),
        ('{"image": "\\ud83d", "label": "sea"}', "not valid unicode"),
    ],
)
def test_bad_json_lines(write, line: str, reason: str) -> None:
    message = refusal(write("a.jsonl", f'{{"image": "x", "label": "sea"}}\n\n{line}\n'))
    assert message.startswith("a.jsonl, line 3 ")
    assert reason in message


def test_a_bad_list_is_told_before_a_bad_byte_further_down(write) -> None:
    """Found by the fuzzer: looking for the line of the one stumbled over the other."""
    text = b"image,labels\na,[1.5]\n" + b"b,[1]\n" * 300_000 + b"c,\xff\n"
    assert "a.csv, line 2 has '[1.5]' where a JSON list" in refusal(write("a.csv", text), layout="wide")


def test_bad_lists(write) -> None:
    text = 'image,labels\n\nx,"[""sea""]"\ny,[1.5]\n'
    assert "a.csv, line 4 has '[1.5]' where a JSON list" in refusal(write("a.csv", text), layout="wide")
    text = '{"image": "x", "label": ["sea"]}\n{"image": "x", "label": "sea"}\n'
    assert refusal(write("a.jsonl", text)).startswith("a.jsonl, line 2 has \"sea\" for 'label' where line 1 has a list")
    text = '{"image": "x", "label": ["sea"]}\n{"image": "x", "label": [["sea"]]}\n'
    assert refusal(write("a.jsonl", text)).startswith("a.jsonl, line 2 has [\"sea\"] for 'label', but ids")


@pytest.mark.parametrize("values", [[1.5], [True], [b"x"]])
def test_columns_that_cannot_be_ids(tmp_path: Path, values: list) -> None:
    pl.DataFrame({"image": ["x"], "label": values}).write_parquet(tmp_path / "a.parquet")
    message = refusal(tmp_path / "a.parquet")
    assert message.startswith("column 'label' of a.parquet holds ")
    assert message.endswith("convert it to text first")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"format": "xml"}, "format must be one of"),
        ({"separator": ",,"}, "separator must be a single ASCII character"),
        ({"quote": ""}, "quote must be a single ASCII character"),
        ({"separator": '"'}, "must differ"),
        ({"layout": "tall"}, "layout must be long or wide"),
        ({"layout": "long", "label_separator": "|"}, "leave one of the two out"),
        ({"label_separator": ""}, "label_separator must not be empty"),
        ({"header": False, "image": "image"}, "there is no header"),
        ({"image": "image", "label": "image"}, "name two columns"),
        ({"image": True}, "must be the name or the number of a column"),
        ({"min_images_per_label": 0}, "min_images_per_label must be at least 1"),
    ],
)
def test_options_that_cannot_work(write, options: dict, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Annotations.read(write("a.csv", "image,label\nx,sea\n"), **options)


def test_options_that_do_not_apply(write, tmp_path: Path) -> None:
    path = write("a.jsonl", '{"image": "x", "label": "sea"}\n')
    with pytest.raises(ConfigError, match="header is for delimited text"):
        Annotations.read(path, header=True)
    with pytest.raises(ConfigError, match="got the number 0"):
        Annotations.read(path, image=0)
    path = wide_parquet(tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match="lists already; leave out label_separator"):
        Annotations.read(path, label_separator="|")
    with pytest.raises(ConfigError, match="lists already; leave out layout long"):
        Annotations.read(path, layout="long")
