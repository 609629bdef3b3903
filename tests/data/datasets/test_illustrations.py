from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.datasets.scenes.drawing import draw
from vse_ens.data.datasets.scenes.illustrations import illustrate
from vse_ens.data.datasets.scenes.illustrations.canvas import Canvas, Dice, Pen
from vse_ens.data.datasets.scenes.illustrations.draw import GLYPHS, is_known
from vse_ens.data.datasets.scenes.illustrations.people import ROLES, WORN, draw_person, person_of
from vse_ens.data.datasets.scenes.illustrations.places import best_scene, place_of
from vse_ens.data.datasets.scenes.truth import labels_by_source
from vse_ens.data.datasets.scenes.world import SCENES, build_world
from vse_ens.streams import Streams

BEACH = ["beach", "sea", "sand", "umbrella"]


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB")).astype(int)


def test_every_word_of_the_data_set_leaves_a_mark() -> None:
    assert [word for word in build_world().words if not is_known(word)] == []


@pytest.mark.parametrize("label", sorted(GLYPHS))
def test_every_drawing_stands_where_it_was_put(label: str) -> None:
    """A drawing changes the pixels around its place, and draws nothing in a far corner."""
    canvas = Canvas(160)
    canvas.tint("#336699", 1.0)
    glyph = GLYPHS[label]
    before = pixels(canvas.image)
    glyph.draw(Pen(canvas, 200, 160, 40, Dice("a")), glyph.colour)
    changed = np.argwhere((pixels(canvas.image) != before).any(axis=2))
    assert len(changed) > 60
    middle = changed.mean(axis=0) / canvas.image.width * 400
    assert abs(middle[1] - 200) < 40
    assert 100 < middle[0] < 175


@pytest.mark.parametrize("label", sorted(ROLES))
def test_every_person_can_be_drawn_with_everything_that_is_worn(label: str) -> None:
    canvas = Canvas(160)
    before = pixels(canvas.image)
    draw_person(Pen(canvas, 200, 200, 100, Dice("a")), person_of(label, sorted(WORN)))
    assert (pixels(canvas.image) != before).any()


def test_a_drawing_depends_on_its_id_and_labels_only() -> None:
    first = illustrate("a", BEACH, 160)
    assert (pixels(first) == pixels(illustrate("a", BEACH[::-1], 160))).all()
    assert (pixels(first) != pixels(illustrate("b", BEACH, 160))).any()
    assert (pixels(first) != pixels(illustrate("a", BEACH[:3], 160))).any()


def test_a_drawing_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Nothing depends on the order of sets, which differs between processes."""
    program = (
        "import sys; from vse_ens.data.datasets.scenes.illustrations import illustrate;"
        "illustrate('a', ['street', 'hat', 'scarf', 'man', 'woman', 'dog', 'car', 'rain'], 160).save(sys.argv[1])"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-c", program, str(tmp_path / f"{seed}.png")]
        subprocess.run(command, check=True, env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)})
    assert (pixels(Image.open(tmp_path / "1.png")) == pixels(Image.open(tmp_path / "2.png"))).all()


@pytest.mark.parametrize("size", [160, 320, 640, 1280])
def test_a_drawing_has_the_size_asked_for(size: int) -> None:
    assert illustrate("a", BEACH, size).size == (size, size * 3 // 4)


@pytest.mark.parametrize("name", [scene.name for scene in SCENES])
def test_the_first_words_of_a_scene_lead_to_it(name: str) -> None:
    scene = next(one for one in SCENES if one.name == name)
    words = tuple(word.strip() for word in scene.core.split(","))
    assert best_scene(tuple(sorted({*words, name}))) == name


def test_night_is_dark_and_rooms_have_no_sky() -> None:
    day, night = (pixels(illustrate("a", [*BEACH, light], 160))[:20].mean() for light in ("daytime", "night"))
    assert night < 100 < day
    assert place_of({"kitchen", "sink", "oven"}).indoors
    assert not place_of({"forest", "tree"}).indoors


def test_describing_words_give_colour() -> None:
    red, blue = (pixels(illustrate("a", ["beach", f"{colour} car"], 320)) for colour in ("red", "blue"))

    def share(image: np.ndarray, colour: tuple[int, int, int]) -> float:
        return float((abs(image - colour).sum(axis=2) < 12).mean())

    assert share(red, (0xD9, 0x47, 0x3C)) > 0.005 > share(blue, (0xD9, 0x47, 0x3C))
    assert share(blue, (0x4C, 0x86, 0xC9)) > 0.005 > share(red, (0x4C, 0x86, 0xC9))


def test_labels_of_any_data_set_have_a_picture() -> None:
    """Unknown words give shapes of their own; strange ones do no harm."""
    strange = ["qzx|wvu", "日本", "\ud800", "", "a" * 900, "<b>", "place|beach"]
    assert not is_known("qzx")
    assert is_known("place|beach")
    assert len(np.unique(pixels(illustrate("a", ["qzx", "wvu"], 160)).reshape(-1, 3), axis=0)) > 20
    for labels in (strange, strange[:1], []):
        assert illustrate("x", labels, 160).size == (160, 120)


def test_a_picture_shows_all_true_labels_and_no_wrong_one() -> None:
    data = scenes(images=5_000, seed=3)
    assert data.pictures is not None
    true_labels = labels_by_source(data.pictures.root, lambda _: ["known"])
    world = build_world()
    noisy, wrong = set(), 0
    for chunk in (0, 1):
        stream = Streams(3).child("scenes").child(chunk)
        with_noise, without = (draw(world, stream, noise=noise)[:2] for noise in (True, False))
        pairs = [set(zip(image.tolist(), label.tolist(), strict=True)) for image, label in (with_noise, without)]
        assert pairs[1] < pairs[0]
        noisy |= {image + chunk * 4096 for image, _ in pairs[0] - pairs[1]}
    for number in range(0, 5_000, 7):
        given, true = set(data.labels_of(f"img_{number:07d}")), set(true_labels(f"img_{number:07d}"))
        assert true <= given
        assert (true != given) == (number in noisy)
        wrong += true != given
    assert wrong > 3
    assert true_labels("photo.jpg") == ["known"]


@pytest.mark.parametrize("root", ["", "elsewhere", "scenes:seed=x"])
def test_without_a_seed_the_known_labels_are_drawn(root: str) -> None:
    assert labels_by_source(root, lambda image: [image])("img_0000001") == ["img_0000001"]
