"""What every reader must do, whatever it reads: a new format passes by being added to `READERS`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from vse_ens import Annotations
from vse_ens.data.io import delimited, jsonl

Pairs = list[tuple[str, str]]
Reader = Callable[[Pairs], Annotations]


def written(suffix: str, encode: Callable[[Pairs], bytes]) -> Reader:
    """Write the pairs to a file of that suffix and read it without options."""

    def read(pairs: Pairs) -> Annotations:
        content = encode(pairs)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"pairs{suffix}"
            path.write_bytes(gzip.compress(content, 1) if suffix.endswith(".gz") else content)
            return Annotations.read(path)

    return read


def delimited_text(separator: str, quoting: int = csv.QUOTE_MINIMAL) -> Callable[[Pairs], bytes]:
    def encode(pairs: Pairs) -> bytes:
        text = io.StringIO(newline="")
        # Python quotes a carriage return only where it is part of the line end.
        end = "\n" if quoting == csv.QUOTE_ALL else "\r\n"
        csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end).writerows(
            [("image", "label"), *pairs]
        )
        return text.getvalue().encode()

    return encode


def json_lines_text(pairs: Pairs) -> bytes:
    return "".join(json.dumps({"image": image, "label": label}) + "\n" for image, label in pairs).encode()


def parquet(pairs: Pairs) -> bytes:
    stream = io.BytesIO()
    polars_frame(pairs).write_parquet(stream)
    return stream.getvalue()


def polars_frame(pairs: Pairs) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"image": pl.String, "label": pl.String}, orient="row")


def pandas_frame(pairs: Pairs) -> pd.DataFrame:
    return pd.DataFrame(pairs, columns=["image", "label"])


def matrix(pairs: Pairs) -> Annotations:
    images = sorted({image for image, _ in pairs}, reverse=True)
    labels = sorted({label for _, label in pairs}, key=lambda label: label[::-1])
    rows = [images.index(image) for image, _ in pairs]
    columns = [labels.index(label) for _, label in pairs]
    shape = (len(images), len(labels))
    return Annotations.from_matrix(
        scipy.sparse.coo_array((np.ones(len(pairs)), (rows, columns)), shape), images, labels
    )


def recbole(pairs: Pairs) -> bytes:
    return delimited_text("\t")(pairs).replace(b"image\tlabel", b"user_id:token\titem_id:token", 1)


def lenskit(pairs: Pairs) -> Annotations:
    """A data set as LensKit writes it: entities by number, in any order."""
    entities = {"user": [image for image, _ in pairs], "item": [label for _, label in pairs]}
    schema = {
        "version": "2025.3",
        "default_interaction": "rating",
        "entities": {"user": {}, "item": {}},
        "relationships": {"rating": {"entities": {"user": None, "item": None}, "interaction": True}},
    }
    with tempfile.TemporaryDirectory() as folder:
        rows = {}
        for name, ids in entities.items():
            known = list(dict.fromkeys(ids))
            pl.DataFrame({f"{name}_id": known}).write_parquet(Path(folder) / f"{name}.parquet")
            rows[f"{name}_num"] = [known.index(one) for one in ids]
        pl.DataFrame(rows).write_parquet(Path(folder) / "rating.parquet")
        (Path(folder) / "schema.json").write_text(json.dumps(schema))
        return Annotations.read(folder)


READERS: dict[str, Reader] = {
    "csv": written(".csv", delimited_text(",")),
    "csv, all quoted": written(".csv", delimited_text(",", csv.QUOTE_ALL)),
    "csv.gz": written(".csv.gz", delimited_text(",")),
    "tsv": written(".tsv", delimited_text("\t")),
    "tsv.gz": written(".tsv.gz", delimited_text("\t")),
    "jsonl": written(".jsonl", json_lines_text),
    "jsonl.gz": written(".jsonl.gz", json_lines_text),
    "parquet": written(".parquet", parquet),
    "parquet.gz": written(".parquet.gz", parquet),
    "polars": lambda pairs: Annotations.from_frame(polars_frame(pairs)),
    "polars lazy": lambda pairs: Annotations.from_frame(polars_frame(pairs).lazy()),
    "pandas": lambda pairs: Annotations.from_frame(pandas_frame(pairs)),
    "pandas categories": lambda pairs: Annotations.from_frame(pandas_frame(pairs).astype("category")),
    "arrow": lambda pairs: Annotations.from_frame(polars_frame(pairs).to_arrow()),
    "arrow batch": lambda pairs: Annotations.from_frame(
        pa.RecordBatch.from_pydict({"image": [image for image, _ in pairs], "label": [label for _, label in pairs]})
    ),
    "matrix": matrix,
    "recbole": written(".inter", recbole),
    "lenskit": lenskit,
}

# Any text that is not blank, with a taste for what text formats trip over. A label in square brackets would rightly be
# taken for a JSON list, and has a test of its own.
ids = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.text("a\"',;|\t\r\n\x00 []{}\\é日😀", min_size=1, max_size=6),
    st.sampled_from(["007", "NA", "null", "nan", "None", "1e5", "-0", "true", "a/b c", "\ufeffa", "#x", '"', '""']),
).filter(lambda one: one.strip() and not one.startswith("["))
some_pairs = st.lists(st.tuples(ids, ids), min_size=1, max_size=12)


@pytest.mark.parametrize("name", READERS)
class TestReader:
    @pytest.mark.unhurried
    @settings(max_examples=40)
    @given(pairs=some_pairs)
    def test_ids_come_back_exactly_and_all_readers_agree(self, name: str, pairs: Pairs) -> None:
        assert READERS[name](pairs) == Annotations.from_pairs(pairs)

    @pytest.mark.unhurried
    @settings(max_examples=15)
    @given(pairs=some_pairs, order=st.randoms())
    def test_the_order_of_rows_does_not_matter_to_a_single_byte(self, name: str, pairs: Pairs, order) -> None:
        shuffled = order.sample(pairs, len(pairs))
        one, other = READERS[name](pairs), READERS[name](shuffled)
        assert one.indptr.tobytes() == other.indptr.tobytes()
        assert one.indices.tobytes() == other.indices.tobytes()
        assert one.images.arrow.equals(other.images.arrow)
        assert one.labels.arrow.equals(other.labels.arrow)

    def test_duplicates_are_merged_and_counted(self, name: str) -> None:
        data = READERS[name]([("a", "sea"), ("b", "sea"), ("a", "sea"), ("a", "sea")])
        assert data.pairs == 2
        assert "merged 2 duplicate pairs" in data.notes

    def test_more_than_one_batch(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delimited, "_BLOCK", 64)
        monkeypatch.setattr(jsonl, "BATCH_ROWS", 7)
        pairs = [(f"image {number % 37}", f"label\n{number % 11}") for number in range(300)]
        assert READERS[name](pairs) == Annotations.from_pairs(pairs)
