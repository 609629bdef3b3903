"""Files made to exhaust memory, time or patience: each is refused with one sentence that names it."""

from __future__ import annotations

import gzip
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vse_ens import Annotations, DataError
from vse_ens.data.features import read_features
from vse_ens.data.io.columns import MAX_COLUMNS
from vse_ens.data.io.formats import MAX_LINE_BYTES, PairsFile
from vse_ens.data.io.records import MAX_BLANK_LINES

LIMIT = f"{MAX_LINE_BYTES:,} bytes"
OVER_THE_LIMIT = MAX_LINE_BYTES + (2 << 20)
TWO = pa.array(["a", "b"])
# Two strings of a byte each that is never part of UTF-8.
NOT_UTF8 = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))


def refusal(path: Path, read: Callable[[Path], object] = Annotations.read) -> str:
    with pytest.raises(DataError) as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message.replace(f"{path.parent}/", "")


def features(path: Path) -> object:
    return read_features(path)


# --- only regular files ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.csv.gz"])
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    for read in (Annotations.read, features):
        assert refusal(tmp_path / name, read) == (
            f"{name} is a pipe or a device, not a regular file; write its content to a file first"
        )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_device_is_refused_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("/dev/zero")
    assert "is a pipe or a device" in refusal(tmp_path / "a.csv")


# --- small compressed files that grow --------------------------------------------------------------------------------


def bomb(path: Path, start: bytes, repeated: bytes, size: int) -> Path:
    """A file that is small on disk: a start, and then the same bytes again and again."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(start)
        for _ in range(size >> 20):
            stream.write(repeated * ((1 << 20) // len(repeated)))
    return path


GROWING = {
    "a line": ("a.csv.gz", b"image,label\na,b\n", b"x", f"line 3 is longer than {LIMIT}; split it"),
    "a line of fields": ("a.csv.gz", b"image,label\n", b"x,", f"line 2 is longer than {LIMIT}; split it"),
    "a line that is not UTF-8": ("a.csv.gz", b"image,label\na,b\n", b"\xff", f"line 3 is longer than {LIMIT}"),
    "a line after an odd quote": ("a.csv.gz", b'image,label\n5" nail,b\n', b"x", f"line 3 is longer than {LIMIT}"),
    "a quote": (
        "a.csv.gz",
        b'image,label\na,"',
        b"b,c\n",
        f"line 2 starts a quoted row that does not end within {LIMIT}",
    ),
    "fields in quotes": (
        "a.tsv.gz",
        b"image\tlabel\n",
        b'"\n"\t',
        "line 2 starts a quoted row that does not end within",
    ),
    "a line of JSON": ("a.jsonl.gz", b'{"image":"a","label":"', b"x", f"line 1 is longer than {LIMIT}; split it"),
    "blank lines of JSON": (
        "a.jsonl.gz",
        b'{"image":"a","label":"b"}\n',
        b"\n",
        f"line {MAX_BLANK_LINES + 2} follows {MAX_BLANK_LINES:,} blank lines; remove them",
    ),
    "blank lines after an odd quote": (
        "a.csv.gz",
        b'image,label\n5" nail,b\n',
        b"\n",
        f"line {MAX_BLANK_LINES + 3} follows {MAX_BLANK_LINES:,} blank lines; remove them",
    ),
}


@pytest.mark.unhurried
@pytest.mark.parametrize("case", GROWING)
def test_input_past_the_limit_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    name, start, repeated, message = GROWING[case]
    path = bomb(tmp_path / name, start, repeated, OVER_THE_LIMIT)
    assert path.stat().st_size < 1 << 20
    assert message in refusal(path)


def test_the_size_of_a_file_of_features_is_limited_by_line_too(tmp_path: Path) -> None:
    path = bomb(tmp_path / "a.csv.gz", b"image,x\na,", b"1", OVER_THE_LIMIT)
    assert refusal(path, features) == f"a.csv.gz, line 2 is longer than {LIMIT}; split it into several"


def test_blank_lines_that_are_quickly_skipped_are_counted(tmp_path: Path) -> None:
    path = bomb(tmp_path / "a.csv.gz", b"image,label\na,b\n", b"\n", 4 << 20)
    assert Annotations.read(path).notes == (f"skipped {4 << 20:,} blank lines",)


# --- deep, wide and odd ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_deeply_nested_json_is_refused(tmp_path: Path, nested: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"image": "a", "label": {nested}}}\n')
    assert refusal(tmp_path / "a.jsonl").startswith("a.jsonl, line 1 is nested too deeply: '{")


def test_a_deeply_nested_cell_is_no_list_of_labels(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("image,labels\na," + "[" * 100_000 + "]" * 100_000 + "\n")
    message = refusal(tmp_path / "a.csv", lambda path: Annotations.read(path, layout="wide"))
    assert message.startswith("a.csv, line 2 has '[[[")


def test_columns_of_the_same_name_are_told_apart_by_their_place(tmp_path: Path) -> None:
    other = pa.array(["c", "d"])
    pq.write_table(
        pa.Table.from_arrays([other, TWO, other, TWO], ["label", "image", "image", "label"]), tmp_path / "a.parquet"
    )
    assert Annotations.read(tmp_path / "a.parquet") == Annotations.from_pairs([("a", "c"), ("b", "d")])
    assert Annotations.read(tmp_path / "a.parquet", image=2, label=3) == Annotations.from_pairs(
        [("c", "a"), ("d", "b")]
    )
    assert "more than one column 'image'; give image as a number" in refusal(
        tmp_path / "a.parquet", lambda path: Annotations.read(path, image="image")
    )


def test_columns_without_a_name_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([TWO, pa.array(["c", "d"])], ["", ""]), tmp_path / "a.parquet")
    assert Annotations.read(tmp_path / "a.parquet") == Annotations.from_pairs([("a", "c"), ("b", "d")])


ODD_COLUMNS = {
    "lists of lists": (
        {"image": TWO, "label": pa.array([[["x"]], [["y"]]])},
        "column 'label' of a.parquet holds list<element: list<element: string>>, but a list of labels holds text",
    ),
    "lists of images": (
        {"image": pa.array([["x"], ["y"]]), "label": TWO},
        "column 'image' of a.parquet holds list<element: string>, but ids are text or whole numbers",
    ),
    "bytes": (
        {"image": NOT_UTF8, "label": TWO},
        "column 'image' of a.parquet holds text that is not UTF-8; write it again as UTF-8",
    ),
    "bytes in lists": (
        {"image": TWO, "label": pa.ListArray.from_arrays([0, 1, 2], NOT_UTF8)},
        "column 'label' of a.parquet holds text that is not UTF-8",
    ),
}


@pytest.mark.parametrize("case", ODD_COLUMNS)
def test_columns_that_are_no_ids_are_refused(tmp_path: Path, case: str) -> None:
    columns, message = ODD_COLUMNS[case]
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert refusal(tmp_path / "a.parquet").startswith(message)


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"image": NOT_UTF8, "x": pa.array([1.0, 2.0])}, "image"),
        ({"image": TWO, "feature": NOT_UTF8, "value": pa.array([1.0, 2.0])}, "feature"),
    ],
)
def test_features_with_ids_that_are_not_utf8_are_refused(
    tmp_path: Path, columns: dict[str, pa.Array], name: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert refusal(tmp_path / "a.parquet", features).startswith(
        f"column {name!r} of a.parquet holds text that is not UTF-8"
    )


@pytest.mark.parametrize(
    "names", ["image," + ",".join(f"f{number}" for number in range(10**6)), "a," + ",".join(["1"] * 10**6)]
)
def test_a_million_columns_are_refused(tmp_path: Path, names: str) -> None:
    (tmp_path / "a.csv").write_text(f"{names}\na,{','.join(['1'] * 10**6)}\n")
    for read in (Annotations.read, features):
        assert refusal(tmp_path / "a.csv", read) == (
            f"a.csv has more than {MAX_COLUMNS:,} columns, which is the limit; write one pair or value per row instead"
        )


# --- not text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.tsv"])
def test_random_bytes_are_not_taken_for_text_in_another_encoding(tmp_path: Path, name: str) -> None:
    for seed in range(5):
        content = random.Random(seed).randbytes(2000)
        (tmp_path / name).write_bytes(b"x" + content)
        message = refusal(tmp_path / name)
        assert "looks like binary data; check that it is the right file" in message
        assert "iconv" not in message


def test_random_bytes_far_behind_text_are_not_either(tmp_path: Path) -> None:
    content = random.Random(0).randbytes(2000).replace(b"\n", b"").replace(b"\r", b"").replace(b'"', b"")
    (tmp_path / "a.csv").write_bytes(b"image,label\n" + b"a,b\n" * 300_000 + b"c,\x01\xff" + content)
    message = refusal(tmp_path / "a.csv")
    assert message.startswith("a.csv, line 300002 is not UTF-8 (byte 0xff); this does not look like text")
    assert "iconv" not in message


def test_text_in_another_encoding_is_told_how_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("image,label\na,Café\n".encode("latin-1"))
    assert refusal(tmp_path / "a.csv").endswith("re-encode the file, for example with iconv -f LATIN1 -t UTF-8")


# --- Arrow's threads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_is_read_by_the_calling_thread_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A thread of Arrow that calls Python code aborts or hangs the process if the interpreter ends meanwhile."""
    content = b"image,label\n" + b"a,b\n" * 20_000 + b"a,b,c\n" + b"a,b\n" * 2_000_000
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    readers: set[int] = set()
    opened = PairsFile.open_text

    def watched(file: PairsFile):
        manager = opened(file)

        class Watched:
            def __enter__(self):
                stream = manager.__enter__()
                read = stream.read

                class Stream:
                    def read(self, size: int) -> bytes:
                        readers.add(threading.get_ident())
                        return read(size)

                return Stream()

            def __exit__(self, *error):
                return manager.__exit__(*error)

        return Watched()

    monkeypatch.setattr(PairsFile, "open_text", watched)
    assert refusal(tmp_path / name).startswith(f"{name}, line 20002 has 3 fields where line 1 has 2")
    assert readers == {threading.get_ident()}


@pytest.mark.slow
def test_large_file_with_a_wrong_line_is_an_error(tmp_path: Path, python) -> None:
    (tmp_path / "a.csv").write_bytes(b"image,label\n" + b"a,b\n" * 300_000 + b"a,b,c\n" + b"a,b\n" * 2_000_000)
    code = (
        "import sys; from vse_ens.errors import DataError; from vse_ens.data.io import delimited\n"
        "from vse_ens.data.io.read import read\n"
        "delimited.find_text_error = lambda *_: DataError('found')  # at once: the file is still being read\n"
        "try: read(sys.argv[1])\n"
        "except DataError as error: sys.exit(str(error))"
    )
    for _ in range(3):
        done = python(code, str(tmp_path / "a.csv"))
        assert (done.returncode, done.stderr) == (1, "found\n")
