"""Plug-ins: the example of docs/interop.md, broken ones, and what is said where one is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks
from vse_ens import Annotations
from vse_ens.data.collections import detect, open_collection
from vse_ens.data.collections.detect import GROUP, PluginError, find_collection, format_names
from vse_ens.data.collections.testing import FormatContract
from vse_ens.data.io.write import write_as
from vse_ens.errors import ConfigError, DataError, MissingPartError

Install = Callable[[dict[str, str], dict[str, str]], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs modules and entry points as the distribution ``example-formats``."""
    site = tmp_path / "site"
    modules: list[str] = []

    def install(points: dict[str, str], sources: dict[str, str]) -> None:
        info = site / "example_formats-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-formats\nVersion: 1.0\n")
        lines = (f"{name} = {module}" for name, module in points.items())
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
        for name, source in sources.items():
            modules.append(name)
            (site / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(site)
        detect.plugins.cache_clear()

    yield install
    detect.plugins.cache_clear()
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture
def without_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "plugins", tuple)


def example() -> tuple[str, dict[str, str], str]:
    """The module, the entry points and the test of docs/interop.md."""
    text = (ROOT / "docs" / "interop.md").read_text(encoding="utf-8").partition("## Write a plug-in")[2]
    module, declared, contract = blocks(text)
    return module.text, tomllib.loads(declared.text)["project"]["entry-points"][GROUP], contract.text


def test_the_documented_example_passes_its_contract(install: Install, tmp_path: Path) -> None:
    source, points, contract = example()
    assert len(source.strip().splitlines()) <= 30
    assert contract.count("(FormatContract)") == 1
    install(points, {"taglist": source})
    names: dict[str, object] = {}
    exec(contract, names)
    cls = next(one for one in names.values() if isinstance(one, type) and FormatContract in one.__bases__)
    tests = [name for name in dir(cls) if name.startswith("test_")]
    assert len(tests) > 8
    for name in tests:
        (tmp_path / name).mkdir()
        getattr(cls(), name)(tmp_path / name)


def test_the_contract_notices_a_broken_promise(install: Install, tmp_path: Path) -> None:
    source, points, contract = example()
    install(points, {"taglist": source.replace("label.strip()", "label")})
    names: dict[str, object] = {}
    exec(contract, names)
    with pytest.raises(AssertionError, match="items: expected"):
        names["TestTagList"]().test_items_are_as_expected(tmp_path)  # type: ignore[operator]


BROKEN = {
    "not importable": ("import nothing_of_this_name", r"ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    "not Python": ("def", "SyntaxError: .*"),
    "without open": ("def detect(glance): return True", "TypeError: broken has no function open"),
    "detect fails": ("def open(path, options): 0\ndef detect(glance): raise OSError('a\\nb')", "OSError: a b"),
    "detect refuses": (
        "from vse_ens.errors import DataError\ndef open(path, options): 0\ndef detect(glance): raise DataError('no')",
        "DataError: no",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_a_note_and_nothing_else(kind: str, install: Install, tmp_path: Path) -> None:
    source, reason = BROKEN[kind]
    install({"broken": "broken"}, {"broken": source})
    (tmp_path / "pairs.csv").write_text("image,label\na,sea\n")
    (tmp_path / "x.inter").write_text("user_id:token\titem_id:token\na\tsea\n")
    expected = rf"the plug-in broken of example-formats does not work \({reason}\); update or uninstall it"
    for name in ("pairs.csv", "x.inter"):
        data = Annotations.read(tmp_path / name)
        assert data == Annotations.from_pairs([("a", "sea")])
        if name == "pairs.csv":
            with pytest.raises(PluginError, match=f"^{expected}$"):
                raise PluginError(data.notes[-1])
    (tmp_path / "unknown").write_text("?")
    for read in (Annotations.read, open_collection):
        with pytest.raises(DataError, match=expected):
            read(tmp_path / "unknown")
    if not kind.startswith("detect"):
        with pytest.raises(PluginError, match=expected):
            Annotations.read(tmp_path / "unknown", format="broken")


def test_an_error_while_reading_names_the_plugin(install: Install, tmp_path: Path) -> None:
    source = "def detect(glance): return glance.path.suffix == '.x'\ndef open(path, options): return 1 / 0\n"
    install({"broken": "broken"}, {"broken": source + "def write(path, data, test): return 1 / 0\n"})
    (tmp_path / "a.x").touch()
    for action in (
        lambda: Annotations.read(tmp_path / "a.x"),
        lambda: write_as(tmp_path / "b.x", Annotations.from_pairs([("a", "sea")]), "broken"),
    ):
        with pytest.raises(PluginError, match=r"plug-in broken of example-formats does not work \(ZeroDivisionError"):
            action()


def test_a_builtin_format_wins_over_a_plugin_of_its_name(install: Install, tmp_path: Path) -> None:
    install({"photos": "broken"}, {"broken": "raise RuntimeError"})
    assert format_names().count("photos") == 1
    assert open_collection(tmp_path, "photos").format == "photos"


FILES = {
    "recbole": ("x.inter", "user_id:token\titem_id:token\na\tsea\n"),
    "lenskit": ("schema.json", '{"entities": {}, "relationships": {}}'),
    "movielens": ("ratings.csv", "userId,movieId,rating,timestamp\n1,10,4.0,5\n"),
    "movielens, 100k": ("u.data", "1\t10\t4\t5\n"),
    "xmc": ("trn_X_Y.txt", "2 30\n10:1 20:1\n10:1\n"),
    "cvat": ("annotations.xml", '<?xml version="1.0"?>\n<annotations>\n  <version>1.1</version>\n</annotations>'),
    "voc": ("Annotations/a.xml", "<annotation><filename>a.jpg</filename></annotation>"),
    "imagefolder": ("metadata.jsonl", '{"file_name": "a.jpg", "labels": ["sea"]}'),
    "yolo": ("data.yaml", "train: images\nnames: [cat]\n"),
    "hydrus": ("client.db", "SQLite format 3\0"),
    "hydrus, an answer of its API": ("metadata.json", '{"metadata": [{"tags": {"6c": {"storage_tags": {}}}}]}'),
    "xmc, libsvm": ("a.svm", "1,5 1:0.5 7:1\n5 2:1\n"),
}


@pytest.mark.usefixtures("without_plugins")
@pytest.mark.parametrize("kind", FILES)
def test_a_missing_plugin_is_named(kind: str, tmp_path: Path) -> None:
    name, text = FILES[kind]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    form = kind.partition(",")[0]
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(MissingPartError, match=f"is {form}, which needs a plug-in: pip install vse-ens-interop"):
            Annotations.read(path)
        with pytest.raises(MissingPartError, match=f"the format {form} needs a plug-in: pip install vse-ens-interop"):
            Annotations.read(path, format=form)
    with pytest.raises(MissingPartError, match="pip install vse-ens-interop"):
        write_as(tmp_path / "out", Annotations.from_pairs([("a", "sea")]), form)


@pytest.mark.usefixtures("without_plugins")
def test_tables_of_similar_names_are_read_without_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("image,label\na,sea\n")
    assert find_collection(tmp_path / "ratings.csv") is None
    (tmp_path / "metadata.csv").write_text("file_name,labels\na,sea\n")
    assert Annotations.read(tmp_path / "metadata.csv").pairs == 1
    (tmp_path / "schema.json").write_text('{"type": "object"}')
    assert find_collection(tmp_path) is None
    with pytest.raises(ConfigError, match=r"format must be one of csv, .*, got 'word'"):
        Annotations.read(tmp_path / "ratings.csv", format="word")


def test_plugins_are_imported_where_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("image,label\na,sea\n")
    script = """
import sys
from vse_ens import Annotations
import vse_ens.cli.app, vse_ens.data.collections
Annotations.read(sys.argv[1], format="csv")
print([name for name in sys.modules if name.startswith("vse_ens_interop")], "pytest" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "pairs.csv")], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[] False"
