"""exiftool, exiv2 and darktable agree: their keywords are read, and ours are read by them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.photos import MAKERS, jpeg, packet
from vse_ens.data.collections import LabelEdit
from vse_ens.data.collections.photos import PhotoFolder

DOCS = Path(__file__).parents[3] / "docs"
EXIFTOOL = ("-Subject", "-HierarchicalSubject", "-TagsList", "-LastKeywordXMP", "-Keywords")


def run(program: str, *arguments: str, folder: Path) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exiftool(folder: Path, file: str, *arguments: str) -> dict[str, Any]:
    [found] = json.loads(run("exiftool", "-j", "-charset", "iptc=utf8", *arguments, file, folder=folder))
    return {name: value if isinstance(value, list) else [value] for name, value in found.items()}


def labels(folder: Path, image: str) -> set[str]:
    return {item.image: set(item.labels) for item in PhotoFolder(folder).items()}[image]


def write(folder: Path, image: str, *added: str, removed: tuple[str, ...] = ()) -> Path:
    [change] = PhotoFolder(folder).changes({image: LabelEdit(added, removed)})
    change.path.write_bytes(change.after)
    return change.path


@pytest.fixture(params=["jpg", "png", "tif", "webp", "avif", "heic"])
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"image.{request.param}"
    if request.param == "heic":
        heif = pytest.importorskip("pillow_heif", reason="no writer of HEIC files (pip install pillow-heif)")
        heif.from_bytes("RGB", (8, 8), bytes(8 * 8 * 3)).save(path)
        return path
    path.write_bytes(MAKERS[request.param](b"" if request.param == "jpg" else b"<x/>"))
    return path


@pytest.mark.unhurried
def test_keywords_of_exiftool_are_read_completely(image: Path) -> None:
    tags = ["-Subject=Zürich & Ulm", "-Subject=sea", "-HierarchicalSubject=place|beach", "-TagsList=Nature/Water"]
    tags += ["-LastKeywordXMP=People/Bob"]
    wanted = {"Zürich & Ulm", "sea", "place|beach", "Nature|Water", "People|Bob"}
    if image.suffix in (".jpg", ".png", ".tif"):  # the others have no place for IPTC
        tags += ["-IPTC:Keywords=Łódź", "-IPTC:Keywords=sand", "-CodedCharacterSet=UTF8"]
        wanted |= {"Łódź", "sand"}
    run("exiftool", "-q", "-m", "-overwrite_original", "-XMP:all=", *tags, image.name, folder=image.parent)
    assert labels(image.parent, image.name) == wanted


def test_iptc_of_exiftool_in_another_character_set_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(MAKERS["jpg"](b""))
    arguments = ("-q", "-overwrite_original", "-charset", "iptc=Latin", "-IPTC:Keywords=Zürich", "a.jpg")
    run("exiftool", *arguments, folder=tmp_path)
    assert labels(tmp_path, "a.jpg") == {"Zürich"}


def test_keywords_of_exiv2_are_read_completely(tmp_path: Path) -> None:
    for suffix in ("jpg", "png", "tif", "webp"):
        name = f"image.{suffix}"
        (tmp_path / name).write_bytes(MAKERS[suffix](b"" if suffix == "jpg" else b"<x/>"))
        commands = ["set Xmp.dc.subject Zürich", "set Xmp.dc.subject sea", "set Xmp.lr.hierarchicalSubject place|beach"]
        wanted = {"Zürich", "sea", "place|beach"}
        if suffix != "webp":
            commands += ["add Iptc.Application2.Keywords String sand", "add Iptc.Application2.Keywords String sun"]
            wanted |= {"sand", "sun"}
        run("exiv2", *(f"-M{command}" for command in commands), name, folder=tmp_path)
        assert labels(tmp_path, name) == wanted, suffix


def test_new_sidecar_is_valid_and_read_alike_by_both(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(MAKERS["jpg"](b""))
    sidecar = write(tmp_path, "a.jpg", "sea", "place|beach", "Zürich & <Ulm>").name
    found = exiftool(tmp_path, sidecar, "-validate", "-warning", "-a", *EXIFTOOL)
    assert found["Validate"] == ["OK"]
    assert "Warning" not in found
    assert found["Subject"] == ["sea", "beach", "Zürich & <Ulm>"]
    assert found["HierarchicalSubject"] == ["sea", "place|beach", "Zürich & <Ulm>"]
    lines = run("exiv2", "-PXkv", sidecar, folder=tmp_path).splitlines()
    assert dict(line.split(None, 1) for line in lines) == {
        "Xmp.dc.subject": "sea, beach, Zürich & <Ulm>",
        "Xmp.lr.hierarchicalSubject": "sea, place|beach, Zürich & <Ulm>",
        "Xmp.digiKam.TagsList": "sea, place/beach, Zürich & <Ulm>",
    }


@pytest.mark.parametrize("program", ["exiftool", "exiv2"])
def test_a_sidecar_of_another_program_keeps_everything_else(tmp_path: Path, program: str) -> None:
    (tmp_path / "a.jpg").write_bytes(MAKERS["jpg"](b""))
    if program == "exiftool":
        tags = ["-Subject=sea", "-HierarchicalSubject=sea", "-TagsList=sea", "-Rating=4", "-Title=Title", "-City=Ulm"]
        run("exiftool", "-q", *tags, "-o", "a.jpg.xmp", folder=tmp_path)
    else:
        commands = ["set Xmp.dc.subject sea", "set Xmp.xmp.Rating 4", "set Xmp.dc.title lang=x-default Title"]
        run("exiv2", *(f"-M{command}" for command in commands), "a.jpg", folder=tmp_path)
        run("exiv2", "-eX", "a.jpg", folder=tmp_path)
        (tmp_path / "a.xmp").rename(tmp_path / "a.jpg.xmp")
        (tmp_path / "a.jpg").write_bytes(MAKERS["jpg"](b""))
    before = exiftool(tmp_path, "a.jpg.xmp", "-XMP:all")
    write(tmp_path, "a.jpg", "place|beach")
    after = exiftool(tmp_path, "a.jpg.xmp", "-XMP:all", "-validate")
    assert after.pop("Validate") == ["OK"]
    assert after.pop("Subject") == ["sea", "beach"]
    assert after.pop("HierarchicalSubject") == ["sea", "place|beach"]
    if program == "exiftool":
        assert after.pop("TagsList") == ["sea", "place/beach"]
    for name in ("Subject", "HierarchicalSubject", "TagsList"):
        before.pop(name, None)
    assert after == before
    write(tmp_path, "a.jpg", removed=("place|beach",))
    assert exiftool(tmp_path, "a.jpg.xmp", *EXIFTOOL)["Subject"] == ["sea"]


@pytest.mark.slow
def test_darktable_reads_our_sidecars_and_we_read_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(MAKERS["jpg"](b""))
    sidecar = write(tmp_path, "a.jpg", "sea", "place|beach", "Zürich & Ulm").name
    settings = ("--core", "--configdir", str(tmp_path / "config"), "--library", ":memory:")
    run("darktable-cli", "a.jpg", sidecar, "out.jpg", *settings, folder=tmp_path)
    assert labels(tmp_path, "out.jpg") == {"sea", "place|beach", "Zürich & Ulm"}


GERMAN = ["Architektur", "Deutschland", "Menschen", "Motive", "München", "Orte", "Stadt", "Straße"]
PATHS = ["Motive|Architektur", "Motive|Stadt", "Motive|Straße", "Orte|Deutschland|München", "Menschen"]


def immich_tags(folder: Path, sidecar: str) -> list[str]:
    """The tags of a sidecar by the rule of Immich: TagsList, else HierarchicalSubject, else IPTC, never dc:subject."""
    found = exiftool(folder, sidecar, *EXIFTOOL)
    if "TagsList" in found:
        return [str(tag) for tag in found["TagsList"]]
    return [str(tag).replace("|", "/") for tag in found.get("HierarchicalSubject", found.get("Keywords", []))]


# What Immich does with the tags that this package reads.
IMMICH = """
import { exiftool } from "exiftool-vendored";
const found = {};
for (const path of process.argv.slice(2)) {
  const tags = await exiftool.read(path);
  found[path] = tags.TagsList ?? tags.HierarchicalSubject?.map((tag) => tag.replaceAll("|", "/")) ?? tags.Keywords;
}
console.log(JSON.stringify(found));
await exiftool.end();
"""


@pytest.mark.slow
def test_the_library_of_immich_reads_new_sidecars_completely(tmp_path: Path) -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "exiftool-vendored@38.3.0"]
    if subprocess.run(install, cwd=tmp_path, capture_output=True, timeout=300).returncode:
        pytest.skip("exiftool-vendored cannot be installed")
    (tmp_path / "read.mjs").write_text(IMMICH)
    (tmp_path / "flat.jpg").write_bytes(jpeg(packet(["sea", "24/7"])))
    (tmp_path / "paths.jpg").write_bytes(jpeg(packet(GERMAN, PATHS)))
    (tmp_path / "bare.jpg").write_bytes(jpeg())
    sidecars = [write(tmp_path, f"{name}.jpg", "sun", "Orte|Zürich & <Ulm>").name for name in ("flat", "paths", "bare")]
    found = json.loads(run("node", "read.mjs", *sidecars, folder=tmp_path))
    new = ["sun", "Orte/Zürich & <Ulm>"]
    assert list(found.values()) == [["sea", "24/7", *new], [*(path.replace("|", "/") for path in PATHS), *new], new]


def test_immich_sees_the_keywords_of_new_sidecars(tmp_path: Path) -> None:
    (tmp_path / "flat.jpg").write_bytes(jpeg(packet(["sea"])))
    (tmp_path / "paths.jpg").write_bytes(jpeg(packet(GERMAN, PATHS)))
    assert immich_tags(tmp_path, write(tmp_path, "flat.jpg", "sun").name) == ["sea", "sun"]
    tags = [path.replace("|", "/") for path in PATHS]
    assert immich_tags(tmp_path, write(tmp_path, "paths.jpg", "Orte|Rom").name) == [*tags, "Orte/Rom"]


@pytest.mark.unhurried
def test_documented_copy_back_keeps_every_keyword_of_images(tmp_path: Path) -> None:
    lines = [line for line in (DOCS / "photographers.md").read_text().splitlines() if line.startswith("exiftool ")]
    folder = tmp_path / "Pictures"
    for style in ("name", "stem"):
        folder.mkdir()
        (folder / "paths.jpg").write_bytes(jpeg(packet(GERMAN, PATHS)))
        (folder / "flat.jpeg").write_bytes(jpeg(packet(["sea", "24/7"])))
        (folder / "less.jpg").write_bytes(jpeg(packet(["sea", "moon"])))
        (folder / "none.jpg").write_bytes(jpeg(packet(["stone"])))
        (folder / ("less.jpg.xmp" if style == "name" else "less.xmp")).write_bytes(packet(["sea"]))
        before = {path.name: exiftool(folder, path.name, *EXIFTOOL) for path in folder.glob("*.jp*g")}
        new = {"paths.jpg": "Orte|Italien|Rom", "flat.jpeg": "sun", "less.jpg": "rain"}
        for image, label in new.items():
            write(folder, image, label)
        wanted = {image: labels(folder, image) for image in before}
        for line in lines:
            run(*shlex.split(line), folder=tmp_path)
        for sidecar in folder.glob("*.xmp"):
            sidecar.unlink()
        for image, held in before.items():
            after = exiftool(folder, image, *EXIFTOOL)
            for name, keywords in held.items():
                assert name == "SourceFile" or set(map(str, keywords)) <= set(map(str, after[name])), (image, name)
            for keywords in after.values():
                assert len(keywords) == len(set(keywords))
            assert labels(folder, image) == wanted[image]
            assert new.get(image) is None or new[image] in wanted[image]
        assert set(exiftool(folder, "paths.jpg", "-Subject")["Subject"]) == {*GERMAN, "Italien", "Rom"}
        shutil.rmtree(folder)
