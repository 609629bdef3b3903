"""The panel in darktable, on a display of its own, and its pure parts by lua; skipped where a program is missing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.journal import Suggested, note_suggested
from vse_ens.data.collections.review import collect
from vse_ens.data.collections.write import writable, write_labels

HERE = Path(__file__).parent
VSE = Path(sys.executable).with_name("vse")
# Imports pictures, does what the panel's buttons do, and writes what the panel says and which tags images have.
DRIVER = """
local dt = require "darktable"
local panel = require "vse_ens/panel"
local function run()
  local report = {}
  local function note(text) report[#report + 1] = text end
  local images = {}
  for i, name in ipairs({ "a.jpg", "b.jpg", "c.jpg" }) do images[i] = dt.database.import("PICTURES/" .. name) end
  dt.gui.selection({})
  panel.suggest(); note(panel.message)
  panel.add(); note(panel.message)
  dt.gui.selection({ images[1], images[2] })
  panel.suggest(); note(panel.message)
  for i, row in ipairs(panel.rows) do
    note(panel.boxes[i].label)
    panel.boxes[i].value = row.label == "place|beach"
  end
  panel.add(); note(panel.message)
  for i, image in ipairs(images) do
    for _, tag in ipairs(dt.tags.get_tags(image)) do
      if tag.name:sub(1, 10) ~= "darktable|" then note(i .. " " .. tag.name) end
    end
  end
  dt.preferences.write("vse_ens", "root", "directory", "PICTURES/other")
  panel.suggest(); note(panel.message)
  dt.preferences.write("vse_ens", "root", "directory", "PICTURES")
  dt.gui.selection({ dt.database.import("PICTURES/new.jpg") })
  panel.suggest(); note(panel.message)
  local file = io.open("REPORT.part", "w")
  file:write(table.concat(report, "\\n") .. "\\n")
  file:close()
  os.rename("REPORT.part", "REPORT")
end
dt.control.dispatch(function()
  local ok, message = pcall(run)
  if not ok then
    local file = io.open("REPORT", "w")
    file:write("error: " .. tostring(message))
    file:close()
  end
end)
"""


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def test_parts_that_need_no_darktable() -> None:
    need("lua")
    done = subprocess.run(["lua", "test_core.lua"], cwd=HERE, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three pictures that the model next to it knows, and a new one."""
    folder = tmp_path_factory.mktemp("darktable") / "pictures"
    folder.mkdir()
    for number, name in enumerate(("a.jpg", "b.jpg", "c.jpg", "new.jpg")):
        Image.new("RGB", (64, 48), (200, 100, 50 * number)).save(folder / name)
    rows = ["image,label", *(f"{image},sea" for image in ("a.jpg", "b.jpg")), "c.jpg,dog"]
    for number in range(40):
        labels = ("sea", "place|beach", "sand") if number % 2 else ("dog", "park")
        rows += [f"{number}.jpg,{label}" for label in labels]
    pairs = folder.with_name("pairs.csv")
    pairs.write_text("\n".join(rows), encoding="utf-8")
    subprocess.run([VSE, "train", pairs, "--out", pairs.with_name("model")], check=True, capture_output=True)
    return folder


@pytest.fixture
def server(pictures: Path) -> Iterator[str]:
    """The address of a running vse serve."""
    command = [VSE, "serve", pictures.with_name("model"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split(" at ")[1].split()[0]
        finally:
            process.terminate()


def answers(
    folder: Path, pictures: Path, script: str = DRIVER, sidecars: str = "never", **preferences: str
) -> list[str]:
    """Start darktable with the panel and a script; return the lines that it reports."""
    need("darktable", "xvfb-run", "dbus-run-session", "curl")
    lua = folder / "config" / "lua"
    shutil.copytree(HERE / "vse_ens", lua / "vse_ens")
    report = folder / "report"
    driver = script.replace("PICTURES", str(pictures)).replace("REPORT", str(report))
    (folder / "config" / "luarc").write_text(driver)
    settings = {"root": str(pictures), "top": "3", **preferences}
    lines = [f"lua/vse_ens/{name}={value}" for name, value in settings.items()]
    lines += ["lua/_scripts_install/dont_show=TRUE", f"write_sidecar_files={sidecars}"]
    (folder / "config" / "darktablerc").write_text("\n".join(lines) + "\n")
    command = ["dbus-run-session", "xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", "darktable", "--disable-opencl"]
    command += ["--configdir", str(folder / "config"), "--cachedir", str(folder / "cache"), "--library", ":memory:"]
    environment = {**os.environ, "HOME": str(folder)}
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
        try:
            for _ in range(1200):
                if report.exists() or process.poll() is not None:
                    break
                time.sleep(0.1)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)
            with contextlib.suppress(ProcessLookupError):  # darktable may outlive the display
                os.killpg(process.pid, signal.SIGKILL)
    assert report.exists(), log.read_text()[-2000:]
    return report.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("source", ["program", "server"])
def test_chosen_suggestions_become_tags_in_darktable(
    source: str, pictures: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if source == "server":
        lines = answers(tmp_path, pictures, server=request.getfixturevalue("server"))
    else:
        lines = answers(tmp_path, pictures, program=str(VSE), model=str(pictures.with_name("model")))
    assert lines[:3] == ["select images", "choose suggestions first", f"{len(lines[3:-5])} suggestions"]
    shown = dict(line.split(", ", 1) for line in lines[3:-5])
    assert shown["place|beach"].endswith(" %, 2 of 2 images")
    assert "sand" in shown
    assert lines[-5:-2] == ["1 tags added to 2 images", "1 place|beach", "2 place|beach"]
    assert lines[-2] == f"select images below {pictures}/other (preferences, lua options)"
    assert lines[-1].startswith("unknown image 'new.jpg'")


# Reviews the suggestions of a.jpg: dog is right, sea belongs below nature, car is wrong; those of b.jpg stay.
REVIEW = """
local dt = require "darktable"
dt.control.dispatch(function()
  local ok, message = pcall(function()
    dt.database.import("PICTURES/b.jpg")
    local image = dt.database.import("PICTURES/a.jpg")
    local names = {}
    for _, tag in ipairs(dt.tags.get_tags(image)) do
      names[#names + 1] = tag.name
      if tag.name:sub(1, 10) == "suggested|" then dt.tags.detach(tag, image) end
    end
    dt.tags.attach(dt.tags.create("dog"), image)
    dt.tags.attach(dt.tags.create("nature|sea"), image)
    table.sort(names)
    local file = io.open("REPORT.part", "w")
    file:write(table.concat(names, "\\n") .. "\\n")
    file:close()
    os.rename("REPORT.part", "REPORT")
  end)
  if not ok then
    local file = io.open("REPORT", "w")
    file:write("error: " .. tostring(message))
    file:close()
  end
end)
"""


@pytest.mark.slow
def test_a_review_in_darktable_becomes_feedback(tmp_path: Path) -> None:
    folder, journal = tmp_path / "pictures", tmp_path / "journal.jsonl"
    folder.mkdir()
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (64, 48)).save(folder / name)
    suggested: dict[str, dict[str, float | None]] = {name: {"dog": 0.5} for name in ("a.jpg", "b.jpg")}
    suggested["a.jpg"] |= {"sea": 0.4, "car": 0.3}
    collection = writable(open_collection(folder, "photos"))
    edits = {image: LabelEdit(tuple(labels)) for image, labels in suggested.items()}
    write_labels(collection, edits, journal, prefix="suggested|")
    note_suggested(journal, Suggested(folder, "photos", "suggested|", "abc", suggested))
    lines = answers(tmp_path, folder, REVIEW, "on import")
    assert [line for line in lines if line.startswith("suggested")] == [
        f"suggested|{one}" for one in ("car", "dog", "sea")
    ]
    found = collect(journal)
    assert {(one.image, one.label, one.verdict) for one in found.verdicts} == {
        ("a.jpg", "dog", "accept"),
        ("a.jpg", "sea", "accept"),
        ("a.jpg", "car", "reject"),
        ("b.jpg", "dog", "accept"),
    }
    assert found.counts == {"moved": 2, "deleted": 1, "kept": 1}
