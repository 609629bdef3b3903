"""Typical mistakes: each command gives one message that names what is wrong, and what to do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Answer
from tests.support.photos import jpeg, packet

Vse = Callable[..., Answer]

PAIRS = "image,label\na,sea\nb,sea\na,sand\nb,dog\nc,dog\nc,sea\n"
# Six images, each with two labels, in the wrong order and without a header.
SWAPPED = "".join(f"{label},{number}.jpg\n" for number in range(6) for label in ("sea", "sand"))
FIFTYONE = {"name": "d", "media_type": "image", "sample_fields": [], "samples": [{"filepath": "a.jpg"}]}

FILES: dict[str, bytes | str] = {
    "pairs.csv": PAIRS,
    "swapped.csv": SWAPPED,
    "headless.csv": "a.jpg,sea\nb.jpg,sand\n",
    "onehot.csv": "image,sea,sand\na,1,0\nb,1,1\nc,0,1\n",
    "lists.csv": "image,labels\na,\"['sea', 'sand']\"\nb,\"['sea']\"\n",
    "joined.csv": "image,labels\n" + "".join(f'{number},"sea, {number % 3}"\n' for number in range(20)),
    "semicolons.csv": "image;label\na;sea\nb;sand\n",
    "one label.csv": "image,label\na,sea\nb,dog\n",
    "empty.csv": "",
    "header only.csv": "image,label\n",
    "blank.csv": "image,label\na,sea\nb,\n",
    "ragged.csv": "image,label\na,sea\nb\n",
    "latin.csv": "image,label\na,Gebäude\n".encode("latin-1"),
    "utf16.csv": "image,label\na,sea\n".encode("utf-16"),
    "book.xlsx": b"PK\3\4",
    "samples.json": json.dumps(FIFTYONE),
    "broken.json": '{"images": [}',
    "strangers.csv": "image,x,y\nx,1,2\ny,2,3\n",
    "few.csv": "image,x,y\na,1,2\n",
    "nan.csv": "image,x,y\na,1,2\nb,nan,3\nc,1,2\n",
    "vectors.ids.txt": "a\nb\nc\n",
    "bare/a.jpg": jpeg(),
    "two/a.jpg": jpeg(),
    "two/a.xmp": packet(["sea"]),
    "two/a.jpg.xmp": packet(["dog"]),
    "empty/": "",
}


@pytest.fixture
def workplace(tmp_path: Path, small_model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files and models of the commands below; the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, content in FILES.items():
        path = tmp_path / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    np.save("vectors.npy", np.ones((2, 4), np.float32))
    np.save("anonymous.npy", np.ones((2, 4), np.float32))
    for name in ("model", "damaged", "cut"):
        shutil.copytree(small_model, name)
    arrays = Path("damaged/arrays.safetensors").read_bytes()
    Path("damaged/arrays.safetensors").write_bytes(arrays[:-1] + bytes([arrays[-1] ^ 1]))
    Path("cut/arrays.safetensors").write_bytes(arrays[:-1])
    return tmp_path


MISTAKES: dict[str, tuple[str, str]] = {
    # pairs
    "no file": ("info pears.csv", "pears.csv does not exist; did you mean pairs.csv or headless.csv"),
    "empty file": ("train empty.csv --out m", "empty.csv is empty"),
    "header only": ("train header#only.csv --out m", "header only.csv has a header and no pair below it"),
    "blank label": ("info blank.csv", "blank.csv has a blank label id on 1 line (3); fill in or remove it"),
    "missing field": (
        "info ragged.csv",
        "ragged.csv, line 3 has 1 field where line 1 has 2 (split at ','); fix it",
    ),
    "not UTF-8": ("info latin.csv", "latin.csv, line 2 is not UTF-8 (byte 0xe4); re-encode the file, for example with"),
    "UTF-16": ("info utf16.csv", "looks like UTF-16 text; re-encode it, for example with iconv -f UTF-16 -t UTF-8"),
    "workbook": ("train book.xlsx --out m", "; save the sheet that has the pairs as CSV"),
    "FiftyOne": ("info samples.json", "it looks like FiftyOne's: export it as COCO, with dataset_type=fo.types.COCO"),
    "damaged JSON": (
        "info broken.json",
        "; it is not the JSON of COCO or Label Studio; check it, or convert",
    ),
    "misspelled column": (
        "info pairs.csv --label-column labl",
        "pairs.csv has no column 'labl'; it has 'image', 'label'",
    ),
    "one label per image": ("train one#label.csv --out m", "no image has two labels, so none can be held out for"),
    # folders
    "no pictures": ("train empty --out m", "empty has no Parquet files, nor pictures or annotations; check the path"),
    "no keywords": (
        "train bare --out m",
        "bare has images, but a sample of them has no keywords and no files of tags",
    ),
    "another collection": (
        "annotate model --all --write two",
        "two has none of the 300 images, such as 'img_",
    ),
    # models and their names
    "model in place of pairs": ("info model", "model is a model; name a file of pairs"),
    "file as a model": (
        "annotate pairs.csv a",
        "pairs.csv is a file, not a model directory; check the order",
    ),
    "swapped arguments": ("evaluate pairs.csv model", "not a model directory; check the order"),
    "image before the model": (
        "annotate img_0000001 model",
        "there is no model img_0000001; check the path and the order of the arguments",
    ),
    "misspelled model": ("annotate modle x", "there is no model modle; did you mean model?"),
    "damaged model": (
        "search damaged animal",
        "damaged/arrays.safetensors is damaged: its contents are not what",
    ),
    "model cut off": ("search cut animal", "; copy the model again or retrain it"),
    "misspelled label": ("search model anmial", "unknown label 'anmial'; did you mean 'animal'?"),
    "misspelled image": (
        "annotate model img_000001",
        "unknown image 'img_000001'; did you mean 'img_0000201'",
    ),
    # options
    "misspelled preset": (
        "train pairs.csv --preset thorugh --out m",
        "--preset must be one of context, quick",
    ),
    "misspelled option": (
        "train pairs.csv --outt m",
        "no such option '--outt'. (Did you mean one of: '--layout', '--out'",
    ),
    "no output": ("train pairs.csv model", "missing option '--out' (see 'vse train --help')"),
    "--out that is not a model": ("train pairs.csv --out two", "two is not a model directory; choose another --out"),
    "--out below a file": ("train pairs.csv --out pairs.csv/m", "pairs.csv/m could not be written: Not a directory"),
    "--all alone": ("annotate model --all", "--all and --out FILE or --write SOURCE must be given together"),
    "unknown suffix": ("annotate model --all --out x.xls", "x.xls must end in .parquet, .csv, .jsonl, or its format"),
    "not a number": ("train pairs.csv --epochs ten --out m", "--epochs must be a whole number, got 'ten'"),
    "not a journal": ("undo pairs.csv", "pairs.csv is not a journal of vse; name the journal that the write reported"),
    "no pictures there": ("serve model --images none", "--images none does not exist; give the folder of the pictures"),
    # features
    "other IDs": (
        "train pairs.csv --features strangers.csv --out m",
        "no image of the features is in the pairs: the features have 'x', the pairs 'a'; use the same ids in both",
    ),
    "not a number in features": (
        "train pairs.csv --features nan.csv --out m",
        "nan.csv, line 3 has no number in column 'x'; features must be finite",
    ),
    "rows missing": (
        "train pairs.csv --features vectors.npy --out m",
        "vectors.ids.txt has 3 ids, but vectors.npy has 2 rows; they must match",
    ),
    "no IDs": (
        "train pairs.csv --features anonymous.npy --out m",
        "anonymous.npy has no image ids, and there is no anonymous.ids.txt beside it; write one id per line to it",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_one_message(mistake: str, vse: Vse, workplace: Path) -> None:
    command, message = MISTAKES[mistake]
    answer = vse(*(word.replace("#", " ") for word in command.split()))
    assert answer.status in (1, 2), answer
    assert answer.out == ""
    assert message in answer.err
    assert answer.err.count("error: ") == len(answer.err.splitlines()) == 1
    assert not Path("m").exists()


NOTES = {
    "wrong order": (
        "swapped.csv",
        "the columns may be swapped: 6 labels, such as '0.jpg', of 2 images, such as",
    ),
    "no header": ("headless.csv", "read line 1 as a pair, not a header: 2 lines are too few to decide; if it"),
    "one-hot": ("onehot.csv", "read 2 columns of 0 and 1, such as 'sea', as labels; unless --layout long"),
    "lists as text": ("lists.csv", "read the labels as Python lists; --layout long keeps them whole"),
    "several labels in a field": ("joined.csv", "split labels such as 'sea, 0' at ','; --layout long keeps them whole"),
}


@pytest.mark.parametrize("case", NOTES)
def test_a_guess_is_noted(case: str, vse: Vse, workplace: Path) -> None:
    file, note = NOTES[case]
    answer = vse("info", file, "--json")
    assert answer.status == 0
    assert note in " ".join(answer.document["notes"]), answer.document


def test_semicolons_and_two_sidecars_are_no_mistake(vse: Vse, workplace: Path) -> None:
    assert vse("info", "semicolons.csv", "--json").document["labels"] == 2
    both = vse("info", "two", "--json").document
    assert (both["images"], both["labels"]) == (1, 2)


def test_a_port_in_use_is_named(vse: Vse, workplace: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = vse("serve", "model", "--port", port)
    assert answer.status == 1
    assert f"cannot listen on --host 127.0.0.1 --port {port}: Address already in use" in answer.err
    assert answer.err.endswith("choose another --port\n")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Make the import of a package fail, also where one of our modules has imported it."""

    def remove(package: str, importer: str) -> None:
        for name in list(sys.modules):
            if name.split(".")[0] == package or name.startswith(importer):
                monkeypatch.delitem(sys.modules, name)
                # The next import sets the attribute of the package, too: both are undone after the test.
                parent, _, child = name.rpartition(".")
                if child in getattr(sys.modules.get(parent), "__dict__", {}):
                    monkeypatch.delattr(sys.modules[parent], child)
        monkeypatch.setitem(sys.modules, package, None)

    return remove


@pytest.mark.parametrize(
    ("package", "importer", "command", "extra"),
    [
        ("starlette", "vse_ens.service", ("serve", "model"), "service"),
        ("huggingface_hub", "vse_ens.export.hub", ("push", "model", "me/x"), "hub"),
        ("ray", "vse_ens.run.ray", ("train", "pairs.csv", "--out", "m", "--cluster", "ray"), "cluster"),
    ],
)
def test_a_missing_extra_is_named(
    package: str,
    importer: str,
    command: tuple[str, ...],
    extra: str,
    vse: Vse,
    workplace: Path,
    without: Callable[[str, str], None],
) -> None:
    without(package, importer)
    answer = vse(*command)
    assert answer.status == 1
    assert answer.err.endswith(f": pip install 'vse-ens[{extra}]'\n")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that nobody can write to")
@pytest.mark.parametrize(
    "command", ["train pairs.csv --out {}/m", "split pairs.csv --out {}", "annotate model --all --out {}/x.csv"]
)
def test_a_folder_that_cannot_be_written_is_named(command: str, vse: Vse, workplace: Path) -> None:
    folder = "/proc/none" if os.geteuid() == 0 else str(workplace / "locked")
    if os.geteuid():
        Path(folder).mkdir(mode=0o555)
    answer = vse(*command.format(folder).split())
    assert answer.status == 1
    assert folder in answer.err
    assert "could not be written: " in answer.err
    assert answer.err.endswith("; correct this or choose another path\n")


def test_undo_of_a_folder_that_was_moved_says_so(vse: Vse, workplace: Path) -> None:
    for number in range(8):
        Path("photos").mkdir(exist_ok=True)
        Path(f"photos/{number}.jpg").write_bytes(jpeg(packet(["sea", "sand", "dog"][: number % 3 + 1])))
    assert vse("train", "photos", "--out", "m", "--epochs", 1).status == 0
    done = vse("annotate", "m", "--all", "--write", "photos", "--min-confidence", 0, "--journal", "undo.jsonl")
    assert done.status == 0
    Path("photos").rename("moved")
    answer = vse("undo", "undo.jsonl")
    assert answer.status == 1
    assert f"undo.jsonl is of {workplace / 'photos'}, which is gone; move it back and run vse undo again" in answer.err
    Path("moved").rename("photos")
    assert vse("undo", "undo.jsonl", "--json").document["files"]
    assert not list(Path("photos").glob("*.xmp"))
