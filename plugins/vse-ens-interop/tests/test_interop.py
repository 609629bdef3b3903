"""RecBole, LensKit, MovieLens and XMC: what they say, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import open_collection
from vse_ens.data.collections.detect import find_collection
from vse_ens.data.io.write import write_as
from vse_ens.errors import ConfigError, DataError, VseError

DATA = Annotations.from_pairs([("a b.jpg", "sea"), ("a b.jpg", "Zürich, lake"), ("c", "sea"), ("d", 'a "b"')])


def pairs(data: Annotations) -> set[tuple[str, str]]:
    return {(image, label) for image in data.images for label in data.labels_of(image)}


def recbole(folder: Path, text: str, name: str = "x.inter") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\nu1\ti1\t5\t1\nu1\ti2\t2.5\t2\nu2\ti1\t4\t3\n"


class TestRecBole:
    def test_users_are_images_and_items_labels(self, tmp_path: Path) -> None:
        data = Annotations.read(recbole(tmp_path, INTER))
        assert pairs(data) == {("u1", "i1"), ("u1", "i2"), ("u2", "i1")}
        assert data.pictures is None
        assert any("set min_rating to take the higher ones only" in note for note in data.notes)

    def test_a_minimum(self, tmp_path: Path) -> None:
        data = Annotations.read(recbole(tmp_path, INTER), min_rating=4)
        assert pairs(data) == {("u1", "i1"), ("u2", "i1")}
        assert "took 2 of 3 rows as pairs: those with a rating of 4 or more" in data.notes

    def test_a_folder_with_one_file(self, tmp_path: Path) -> None:
        recbole(tmp_path, INTER)
        assert find_collection(tmp_path).format == "recbole"  # type: ignore[union-attr]
        assert Annotations.read(tmp_path).pairs == 3

    def test_a_folder_with_a_split(self, tmp_path: Path) -> None:
        for name in ("x.train.inter", "x.test.inter"):
            recbole(tmp_path, INTER, name)
        with pytest.raises(DataError, match=r"has x\.test\.inter and x\.train\.inter; name one file"):
            Annotations.read(tmp_path)

    def test_columns_in_another_order_and_with_other_names(self, tmp_path: Path) -> None:
        text = "weight:float\ttag:token\tphoto:token\n0.5\tsea\tp1\n"
        assert pairs(Annotations.read(recbole(tmp_path, text))) == {("sea", "p1")}
        named = Annotations.read(recbole(tmp_path, text), image="photo", label="tag")
        assert pairs(named) == {("p1", "sea")}
        assert pairs(Annotations.read(recbole(tmp_path, text), label="tag")) == {("p1", "sea")}

    def test_lists_of_tokens_are_labels(self, tmp_path: Path) -> None:
        path = recbole(tmp_path, "item_id:token\tclass:token_seq\n1\tComedy Drama\n2\t\n", "x.item")
        data = Annotations.read(path)
        assert pairs(data) == {("1", "Comedy"), ("1", "Drama")}
        assert list(data.images) == ["1", "2"]

    def test_several_lists_need_a_name(self, tmp_path: Path) -> None:
        path = recbole(tmp_path, "item_id:token\ttitle:token_seq\tclass:token_seq\n1\tToy Story\tComedy\n", "x.item")
        with pytest.raises(DataError, match="has title and class of the type token_seq; name the column of labels"):
            Annotations.read(path)
        assert pairs(Annotations.read(path, label="class")) == {("1", "Comedy")}

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("user_id\titem_id\nu\ti\n", {}, "line 1 has 'user_id' where a field of RecBole such as user_id:token"),
            ("u:token\ti:text\nu\ti\n", {}, "line 1 has 'i:text' where a field of RecBole"),
            ("user_id:token\titem_id:token\n", {}, "has a header and no pair below it"),
            ("", {}, "is empty"),
            ("u:token\tr:float\nu\t1\n", {}, "has fewer than two fields of the type token"),
            (INTER, {"label": "rating"}, "has float in 'rating', which cannot be labels; name another field"),
            (INTER, {"label": "nothing"}, "has no column 'nothing'; it has 'user_id', 'item_id'"),
            (INTER, {"min_rating": 6}, "has no rating of 6 or more; set a lower min_rating"),
            (INTER.replace("2.5", "two"), {"min_rating": 1}, "line 3 has the rating 'two', which is not a number"),
            (INTER + "u3\n", {}, "line 5 has 1 field where line 1 has 4"),
            (INTER.replace("i2", ""), {}, r"has a blank label id on 1 line \(3\)"),
            (INTER.replace("u2\ti1\t4", "u2\t\t4"), {"min_rating": 4}, r"has a blank label id on 1 line \(4\)"),
            ("user_id:token\titem_id:token\nu\ti\n", {"min_rating": 3}, "min_rating needs a field rating:float"),
        ],
    )
    def test_bad_files_and_options_are_refused(
        self, tmp_path: Path, text: str, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(VseError, match=message):
            Annotations.read(recbole(tmp_path, text), format="recbole", **options)


CSV = "userId,movieId,rating,timestamp\n1,10,4.0,5\n1,20,3.5,6\n2,10,5.0,7\n"


class TestMovieLens:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("ratings.csv", CSV),
            ("u.data", "1\t10\t4\t5\n1\t20\t3\t6\n2\t10\t5\t7\n"),
            ("ratings.dat", "1::10::4::5\n1::20::3::6\n2::10::5::7\n"),
        ],
    )
    def test_a_rating_of_four_makes_a_pair(self, tmp_path: Path, name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        for path in (tmp_path, tmp_path / name):
            data = Annotations.read(path)
            assert pairs(data) == {("1", "10"), ("2", "10")}
            assert "took 2 of 3 rows as pairs: those with a rating of 4 or more" in data.notes
        assert Annotations.read(tmp_path, min_rating=0.5).pairs == 3

    @pytest.mark.parametrize(
        ("ratings", "text", "films", "titles"),
        [
            ("ratings.csv", CSV, "movies.csv", 'movieId,title,genres\n10,"Sea, The (1990)",Drama\n20,Sand,Drama\n'),
            ("u.data", "1\t10\t4\t5\n", "u.item", "10|Sea, The (1990)|01-Jan\n20|Sand|01-Jan\n"),
            ("ratings.dat", "1::10::4::5\n", "movies.dat", "10::Sea, The (1990)::Drama\n20::Sand::Drama\n"),
        ],
    )
    def test_titles(self, tmp_path: Path, ratings: str, text: str, films: str, titles: str) -> None:
        (tmp_path / ratings).write_text(text)
        (tmp_path / films).write_text(titles)
        data = Annotations.read(tmp_path, label="title")
        assert set(data.labels) == {"Sea, The (1990)"}

    def test_two_films_of_one_title_stay_apart(self, tmp_path: Path) -> None:
        (tmp_path / "ratings.csv").write_text(CSV)
        (tmp_path / "movies.csv").write_text("movieId,title,genres\n10,Emma,Drama\n20,Emma,Drama\n")
        data = Annotations.read(tmp_path, label="title", min_rating=1)
        assert set(data.labels) == {"Emma (10)", "Emma (20)"}

    def test_a_film_without_a_title_keeps_its_number(self, tmp_path: Path) -> None:
        (tmp_path / "ratings.csv").write_text(CSV)
        (tmp_path / "movies.csv").write_text("movieId,title,genres\n10,Emma,Drama\n")
        data = Annotations.read(tmp_path, label="title", min_rating=1)
        assert set(data.labels) == {"Emma", "20"}
        assert "1 ratings are of films without a title" in data.notes

    def test_titles_of_the_older_sets_are_latin_1(self, tmp_path: Path) -> None:
        (tmp_path / "u.data").write_text("1\t10\t4\t5\n")
        (tmp_path / "u.item").write_bytes("10|Misérables, Les (1995)|\n".encode("latin-1"))
        assert set(Annotations.read(tmp_path, label="title").labels) == {"Misérables, Les (1995)"}

    @pytest.mark.parametrize(
        ("name", "text", "options", "message"),
        [
            ("ratings.csv", CSV, {"label": "genres"}, "whose label column is movieId or title"),
            ("ratings.csv", CSV, {"label": "title"}, r"movies\.csv is missing, so films have no titles"),
            ("ratings.csv", CSV.replace("3.5", "x"), {}, "line 3 has the rating 'x', which is not a number"),
            ("ratings.dat", "1::10::4::5\n1::20\n", {}, "line 2 has 2 fields where line 1 has 4"),
        ],
    )
    def test_bad_files_and_options_are_refused(
        self, tmp_path: Path, name: str, text: str, options: dict[str, Any], message: str
    ) -> None:
        (tmp_path / name).write_text(text)
        with pytest.raises(VseError, match=message):
            Annotations.read(tmp_path, **options)

    def test_a_folder_of_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"has none of ratings\.csv, u\.data, ratings\.dat"):
            Annotations.read(tmp_path, format="movielens")

    def test_another_file_of_this_name_is_a_file_of_pairs(self, tmp_path: Path) -> None:
        (tmp_path / "ratings.csv").write_text("image,label\na,sea\n")
        assert find_collection(tmp_path / "ratings.csv") is None
        assert find_collection(tmp_path) is None


SCHEMA: dict[str, Any] = {
    "version": "2025.3",
    "name": None,
    "default_interaction": "rating",
    "entities": {"item": {"id_type": "int"}, "user": {"id_type": "str"}},
    "relationships": {"rating": {"entities": {"user": None, "item": None}, "interaction": True}},
}


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """A data set as LensKit 2025.8 writes it."""
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    pl.DataFrame({"user_id": ["a", "b"]}).write_parquet(tmp_path / "user.parquet")
    pl.DataFrame({"item_id": [10, 20, 30]}).write_parquet(tmp_path / "item.parquet")
    rows = {"user_num": [0, 0, 1], "item_num": [0, 1, 0], "rating": [4.0, 2.0, 5.0]}
    pl.DataFrame(rows, schema_overrides={"user_num": pl.Int32, "item_num": pl.Int32}).write_parquet(
        tmp_path / "rating.parquet"
    )
    return tmp_path


class TestLensKit:
    def test_users_are_images_and_items_labels(self, data_set: Path) -> None:
        assert open_collection(data_set).format == "lenskit"
        data = Annotations.read(data_set)
        assert pairs(data) == {("a", "10"), ("a", "20"), ("b", "10")}
        assert pairs(Annotations.read(data_set / "schema.json", format="lenskit")) == pairs(data)

    def test_a_minimum(self, data_set: Path) -> None:
        data = Annotations.read(data_set, min_rating=4)
        assert pairs(data) == {("a", "10"), ("b", "10")}
        assert "took 2 of 3 rows as pairs: those with a rating of 4 or more" in data.notes

    def test_the_other_way_round(self, data_set: Path) -> None:
        assert ("10", "a") in pairs(Annotations.read(data_set, image="item", label="user"))
        assert ("10", "a") in pairs(Annotations.read(data_set, label="user"))

    def test_an_entity_under_another_name(self, data_set: Path) -> None:
        schema = json.loads(json.dumps(SCHEMA))
        schema["relationships"]["rating"]["entities"] = {"viewer": "user", "item": None}
        (data_set / "schema.json").write_text(json.dumps(schema))
        frame = pl.read_parquet(data_set / "rating.parquet").rename({"user_num": "viewer_num"})
        frame.write_parquet(data_set / "rating.parquet")
        assert Annotations.read(data_set).pairs == 3

    @pytest.mark.parametrize(
        ("change", "options", "message"),
        [
            (lambda path: (path / "user.parquet").unlink(), {}, r"has no 'user'\.parquet, which schema\.json names"),
            (lambda path: (path / "schema.json").write_text("{"), {}, r"schema\.json is not JSON"),
            (lambda path: (path / "schema.json").write_text("[]"), {}, r"schema\.json is not a JSON object"),
            (lambda path: (path / "schema.json").write_text("{}"), {}, r"schema\.json describes no interactions"),
            (lambda path: (path / "item.parquet").write_bytes(b"PAR1"), {}, r"item\.parquet is a damaged Parquet file"),
            (
                lambda path: pl.DataFrame({"item_id": [10]}).write_parquet(path / "item.parquet"),
                {},
                "has a number in 'item_num' that no entity has",
            ),
            (
                lambda path: pl.DataFrame({"user_num": [0]}).write_parquet(path / "rating.parquet"),
                {},
                r"has no column 'item_num', which schema\.json says it has",
            ),
            (
                lambda path: pl.DataFrame({"user_num": [0], "item_num": [None]}).write_parquet(path / "rating.parquet"),
                {},
                "column 'item_num' of .* has empty fields",
            ),
            (
                lambda path: pl.DataFrame({"user_num": [0], "item_num": ["x"]}).write_parquet(path / "rating.parquet"),
                {},
                "column 'item_num' of .* holds .*string.*, not numbers",
            ),
            (lambda path: None, {"image": "artist"}, "has no entity 'artist'; it has user, item"),
            (lambda path: None, {"image": "item", "label": "item"}, "are both the entity 'item'"),
            (lambda path: None, {"min_rating": 9}, "has no rating of 9 or more"),
        ],
    )
    def test_bad_files_and_options_are_refused(
        self, data_set: Path, change: Callable[[Path], object], options: dict[str, Any], message: str
    ) -> None:
        change(data_set)
        with pytest.raises(VseError, match=message):
            Annotations.read(data_set, format="lenskit", **options)

    def test_a_folder_of_parquet_files_with_another_schema(self, tmp_path: Path) -> None:
        (tmp_path / "schema.json").write_text('{"type": "object"}')
        assert find_collection(tmp_path) is None


MATRIX = "3 4\n0:1 2:1\n\n3:1.0 1:0\n"
FEATURES = "3 5 4\n0,2 0:0.5 4:1\n 1:0.2\n3 2:1\n"


class TestXmc:
    @pytest.mark.parametrize(("name", "text"), [("X_Y.txt", MATRIX), ("train.txt", FEATURES)])
    def test_rows_and_labels_have_numbers(self, tmp_path: Path, name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        assert find_collection(tmp_path / name).format == "xmc"  # type: ignore[union-attr]
        data = Annotations.read(tmp_path / name)
        assert pairs(data) == {("1", "0"), ("1", "2"), ("3", "3")}
        assert list(data.images) == ["1", "2", "3"]

    def test_libsvm_has_no_first_line(self, tmp_path: Path) -> None:
        (tmp_path / "a.svm").write_text("1,5 1:0.5 7:1\n5 2:1\n 3:1\n")
        assert pairs(Annotations.read(tmp_path / "a.svm")) == {("1", "1"), ("1", "5"), ("2", "5")}

    def test_names_of_labels_and_rows(self, tmp_path: Path) -> None:
        (tmp_path / "trn_X_Y.txt").write_text(MATRIX)
        (tmp_path / "Y.txt").write_text("sea\nsand\nsea\n\n")
        (tmp_path / "trn_X.txt").write_text("a\nb\nc\n")
        assert pairs(Annotations.read(tmp_path)) == {("a", "sea (0)"), ("a", "sea (2)"), ("c", "3")}

    def test_texts_that_are_equal_are_no_ids(self, tmp_path: Path) -> None:
        (tmp_path / "trn_X_Y.txt").write_text(MATRIX)
        (tmp_path / "trn_X.txt").write_text("a\na\nc\n")
        data = Annotations.read(tmp_path)
        assert list(data.images) == ["1", "2", "3"]
        assert any(note.startswith("numbered the images: the lines of") for note in data.notes)

    def test_names_of_another_set_are_not_used(self, tmp_path: Path) -> None:
        (tmp_path / "X_Y.txt").write_text(MATRIX)
        (tmp_path / "Y.txt").write_text("sea\n")
        data = Annotations.read(tmp_path)
        assert set(data.labels) == {"0", "2", "3"}
        assert any("it has another number of lines than there are labels" in note for note in data.notes)

    def test_the_rows_of_a_split(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(FEATURES)
        (tmp_path / "trSplit.txt").write_text("1 3\n2 1\n")
        data = Annotations.read(tmp_path / "a.txt", rows=tmp_path / "trSplit.txt")
        assert list(data.images) == ["1", "2"]
        other = Annotations.read(tmp_path / "a.txt", rows=f"{tmp_path / 'trSplit.txt'}:1")
        assert list(other.images) == ["1", "3"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("2 4\n0:1\n", "has 1 row, but line 1 announces 2; download it again"),
            ("1 4\n0:1\n1:1\n", "line 3 follows the 1 row that line 1 announces"),
            ("1 4\n4:1\n", "line 2 has the label 4, but line 1 announces 4 labels from 0"),
            ("1 4\n0,1\n", "line 2 has '0,1' where label:value should be"),
            ("1 4\n0:a\n", "line 2 has '0:a' where label:value should be"),
            ("1 5 4\nx 0:1\n", "line 2 has the label 'x', which is not a whole number"),
            ("1 5 4\n-1 0:1\n", "line 2 has the label '-1', which is not a whole number"),
            ("1 5 4\n9 0:1\n", "line 2 has the label 9, but line 1 announces 4 labels from 0"),
            ("1 4\n\n", "holds no pair of an image and a label"),
        ],
    )
    def test_bad_files_and_options_are_refused(self, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "X_Y.txt").write_text(text)
        with pytest.raises(DataError, match=message):
            Annotations.read(tmp_path / "X_Y.txt", format="xmc")

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ("0\n", "lists the row 0, but rows are counted from 1"),
            ("9\n", "the rows to read go up to 9, but .* has 3 rows"),
            ("a\n", "line 1 has no row number in column 0"),
            ("", "lists no rows"),
        ],
    )
    def test_a_split_that_does_not_fit(self, tmp_path: Path, rows: str, message: str) -> None:
        (tmp_path / "X_Y.txt").write_text(MATRIX)
        (tmp_path / "split.txt").write_text(rows)
        with pytest.raises(DataError, match=message):
            Annotations.read(tmp_path / "X_Y.txt", rows=tmp_path / "split.txt")

    @pytest.mark.parametrize("text", ["image label\na sea\n", "1 2\n3 4\n5 6\n", "1,2\n3,4\n", "a,b c:d\n"])
    def test_other_texts_are_files_of_pairs(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "pairs.txt").write_text(text)
        assert find_collection(tmp_path / "pairs.txt") is None


@pytest.mark.parametrize(
    ("form", "path", "options"),
    [
        ("parquet", "a.parquet", {}),
        ("csv", "a.csv", {}),
        ("tsv", "a.tsv", {}),
        ("jsonl", "a.jsonl", {}),
        ("recbole", "a.inter", {}),
        ("recbole", "folder", {}),
        ("lenskit", "folder", {}),
        ("movielens", "folder", {"label": "title"}),
        ("xmc", "folder", {}),
    ],
)
def test_written_pairs_are_read_again(tmp_path: Path, form: str, path: str, options: dict[str, Any]) -> None:
    files = write_as(tmp_path / path, DATA, form)
    assert all(file.is_file() for file in files)
    assert Annotations.read(tmp_path / path, **options) == DATA


def test_a_split_for_recbole(tmp_path: Path) -> None:
    test = Annotations.from_pairs([("c", "sand")])
    train_file, test_file = write_as(tmp_path / "holiday", DATA, "recbole", test=test)
    assert (train_file.name, test_file.name) == ("holiday.train.inter", "holiday.test.inter")
    assert Annotations.read(train_file) == DATA
    assert Annotations.read(test_file) == test


def test_a_split_for_xmc_has_the_same_numbers_of_labels(tmp_path: Path) -> None:
    test = Annotations.from_pairs([("c", "sand"), ("c", "sea")])
    write_as(tmp_path, DATA, "xmc", test=test)
    assert (tmp_path / "tst_X_Y.txt").read_text() == "1 4\n2:1 3:1\n"
    assert Annotations.read(tmp_path / "trn_X_Y.txt") == DATA
    assert Annotations.read(tmp_path / "tst_X_Y.txt") == test


@pytest.mark.parametrize(
    ("path", "form", "message"),
    [
        ("a.doc", None, r"a\.doc has none of the suffixes \.parquet, \.csv"),
        ("a.csv", "parquet", r"a\.csv must end in \.parquet"),
        ("a", "word", "format must be one of parquet, csv, tsv, jsonl, .*recbole, .*xmc.*, got 'word'"),
        ("a", "coco", "coco is only read; write one of parquet, csv, tsv, jsonl, lenskit, movielens, recbole, xmc$"),
    ],
)
def test_a_format_that_cannot_be_written(tmp_path: Path, path: str, form: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        write_as(tmp_path / path, DATA, form)


def test_held_out_pairs_need_a_format_for_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="lenskit has no file for held-out pairs; convert them alone"):
        write_as(tmp_path, DATA, "lenskit", test=DATA)
    with pytest.raises(ConfigError, match="movielens has no file for held-out pairs; convert them alone"):
        write_as(tmp_path, DATA, "movielens", test=DATA)
    with pytest.raises(ConfigError, match="csv has no file for held-out pairs; convert them alone"):
        write_as(tmp_path / "a.csv", DATA, test=DATA)
    with pytest.raises(ConfigError, match=r"must be a folder, without \.inter"):
        write_as(tmp_path / "a.inter", DATA, test=DATA)


def test_an_id_that_a_line_cannot_keep(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'a\\nb' has a line break or white space around it"):
        write_as(tmp_path / "x", Annotations.from_pairs([("a\nb", "sea")]), "xmc")


def test_options_of_these_formats_are_for_no_other(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("image,label\na,sea\n")
    with pytest.raises(ConfigError, match=r"min_rating is for the formats of docs/interop\.md, but .* is csv"):
        Annotations.read(tmp_path / "pairs.csv", min_rating=3)
    (tmp_path / "X_Y.txt").write_text(MATRIX)
    with pytest.raises(ConfigError, match=r"min_rating is for ratings, which .* has not"):
        Annotations.read(tmp_path / "X_Y.txt", min_rating=3)


def test_rows_as_items(tmp_path: Path) -> None:
    (tmp_path / "X_Y.txt").write_text(MATRIX)
    items = list(open_collection(tmp_path).items())
    assert [(item.image, item.labels) for item in items] == [("1", ("0", "2")), ("2", ()), ("3", ("3",))]
