"""Pictures drawn from labels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vse_ens.data.datasets.scenes.words import SCENES, words_of
from vse_ens.data.datasets.scenes.world import build_world
from vse_ens.service.pictures.drawings import Dice, draw_labels, is_known, people_of, scene_of, things_of
from vse_ens.service.pictures.sheet import Drawing, Painter, Shape, read_sheet

BEACH = ["beach", "sea", "sand", "umbrella"]
BLUE = Drawing((Shape("rect", (0, 0, 2000, 1500, 0), (0x33, 0x66, 0x99)),))


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB")).astype(int)


def painted(drawing: Drawing, height: float) -> np.ndarray:
    """Which pixels a drawing changes on a blue ground, where it stands at (200, 160)."""
    painter = Painter(80)
    painter.layer(BLUE)
    painter.paint(drawing, 200, 160, height)
    return (abs(pixels(painter.finished()) - (0x33, 0x66, 0x99)) > 3).any(axis=2)


def test_every_word_of_the_data_set_leaves_a_mark() -> None:
    assert [word for word in build_world().words if not is_known(word)] == []


def test_every_thing_stands_where_it_was_put() -> None:
    """A drawing changes the pixels around its place, and draws nothing in a far corner."""
    things = {name: drawing for name, drawing in read_sheet().items() if "zone" in drawing.data}
    assert len(things) > 600
    for name, drawing in things.items():
        changed = np.argwhere(painted(drawing, height=40))
        assert len(changed) > 4, name
        y, x = changed.mean(axis=0) * 400 / 80
        assert abs(x - 200) < 40, name
        assert 100 < y < 175, name
        assert float(drawing.data["height"]) > 0, name
        assert float(drawing.data["width"]) > 0, name


def test_every_person_can_wear_everything() -> None:
    sheet = read_sheet()
    roles = [name for name in sheet if name.startswith("person.")]
    worn = [name for name in sheet if name.startswith("worn.")]
    assert len(roles) > 100
    assert len(worn) > 50
    for role in roles:
        assert painted(sheet[role], height=100).any(), role
    for name in worn:  # a shape of its own, or a color of the person
        sets_color = {"set-top", "set-legs"} & sheet[name].data.keys()
        assert sets_color or painted(sheet[name], height=100).any(), name
    people = people_of({"man", "woman", *(name.removeprefix("worn.").replace("-", " ") for name in worn)}, Dice())
    assert {len(one.drawings) for one in people} == {1 + len(worn) // 2, 1 + -(-len(worn) // 2)}


def test_a_drawing_depends_on_its_id_and_labels_only() -> None:
    first = draw_labels("a", BEACH, 160)
    assert (pixels(first) == pixels(draw_labels("a", BEACH[::-1], 160))).all()
    assert (pixels(first) != pixels(draw_labels("b", BEACH, 160))).any()
    assert (pixels(first) != pixels(draw_labels("a", BEACH[:3], 160))).any()


@pytest.mark.unhurried
def test_a_drawing_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Nothing depends on the order of sets, which differs between processes."""
    labels = ["street", "hat", "scarf", "man", "woman", "dog", "car", "rain"]
    program = (
        "import sys; from vse_ens.service.pictures.drawings import draw_labels;"
        "draw_labels('a', sys.argv[2:], 160).save(sys.argv[1])"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.png"), *labels]
    subprocess.run(command, check=True, env={"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)})
    assert (pixels(Image.open(tmp_path / "a.png")) == pixels(draw_labels("a", labels, 160))).all()


def test_a_drawing_has_the_size_asked_for() -> None:
    for size in (160, 320, 640, 1280):
        assert draw_labels("a", BEACH, size).size == (size, size * 3 // 4)


def test_the_first_words_of_a_scene_lead_to_it() -> None:
    for scene in SCENES:
        assert scene_of({*words_of(scene.core), scene.name}) == f"scene.{scene.name.replace(' ', '-')}"


def test_every_scene_and_light_has_all_its_layers() -> None:
    sheet = read_sheet()
    stacks = {name: drawing.data["stack"].split() for name, drawing in sheet.items() if "stack" in drawing.data}
    assert {f"scene.{scene.name.replace(' ', '-')}" for scene in SCENES} <= stacks.keys()
    slots = {key for name, drawing in sheet.items() if name.startswith("label.") for key in drawing.data}
    zones = {drawing.data["zone"] for drawing in sheet.values() if "zone" in drawing.data}
    for name, stack in stacks.items():
        for step in stack:
            if "@" in step:
                assert set(step.partition("@")[0].split("+")) <= zones, name
            else:
                assert step in sheet or step in slots or f"{step}.{sheet[name].data['light']}" in sheet, (name, step)
    lights = {drawing.data.get("light") for drawing in sheet.values()} - {None}
    assert {f"sky.{light}" for light in lights} | {f"weather.{light}" for light in lights} <= sheet.keys()
    for slot in ("over", "sky", "backdrop", "road", "shore-road", "waves", "crowd"):
        assert {name for drawing in sheet.values() for name in drawing.data.get(slot, "").split()} <= sheet.keys(), slot


def test_night_is_dark_and_rooms_have_no_sky() -> None:
    day, night = (pixels(draw_labels("a", [*BEACH, light], 160))[:20].mean() for light in ("daytime", "night"))
    assert night < 100 < day

    def has_sky(words: set[str]) -> bool:
        return "sky" in read_sheet()[scene_of(words)].data["stack"].split()

    assert not has_sky({"kitchen", "sink", "oven"})
    assert not has_sky({"indoors"})
    assert has_sky({"forest", "tree"})
    assert has_sky({"word of no scene"})


def test_describing_words_give_color_and_size() -> None:
    red, blue = (pixels(draw_labels("a", ["beach", f"{color} car"], 320)) for color in ("red", "blue"))

    def share(image: np.ndarray, color: tuple[int, int, int]) -> float:
        return float((abs(image - color).sum(axis=2) < 12).mean())

    assert share(red, (0xD9, 0x47, 0x3C)) > 0.005 > share(blue, (0xD9, 0x47, 0x3C))
    assert share(blue, (0x4C, 0x86, 0xC9)) > 0.005 > share(red, (0x4C, 0x86, 0xC9))
    small, large = (things_of([f"{size} car"])[0].height for size in ("small", "large"))
    assert 1.4 < large / small < 1.6


def test_a_general_word_adds_nothing_to_a_special_one() -> None:
    assert [one.label for one in things_of(["animal", "beagle", "dog"])] == ["beagle"]
    assert [one.label for one in things_of(["kitchen", "sink"])] == ["sink"]
    assert [one.label for one in things_of(["kitchen", "old kitchen"])] == ["old kitchen"]
    assert len(people_of({"person", "man"}, Dice())) == 1
    assert len(people_of({"couple", "man", "woman"}, Dice())) == 2


def test_labels_of_any_data_set_have_a_picture() -> None:
    """Unknown words give shapes of their own; strange ones, and those that look like an id of the sheet, do no harm."""
    ids = ["sky.night", "room.", "label.car", "x|", "person.man", "worn.hat", "part.cloud", ":", "_"]
    strange = ["qzx|wvu", "日本", "\ud800", "", "a" * 900, "<b>", "place|beach", *ids]
    assert not any(map(is_known, ["qzx", *ids]))
    assert is_known("place|beach")
    assert len(np.unique(pixels(draw_labels("a", ["qzx", "wvu"], 160)).reshape(-1, 3), axis=0)) > 20
    for labels in (strange, strange[:1], [], *([label] for label in ids)):
        assert draw_labels("x", labels, 160).size == (160, 120)
