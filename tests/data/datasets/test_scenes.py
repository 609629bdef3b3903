from __future__ import annotations

import hashlib
from itertools import islice

import numpy as np
import polars as pl
import pytest

from vse_ens import Annotations
from vse_ens.data.datasets.scenes import (
    SCENE_NAMES,
    SceneChunk,
    parent_of,
    scenes,
    stream_scenes,
    write_scene_folder,
    write_scenes,
)
from vse_ens.data.datasets.scenes.drawing import CHUNK, draw, labels_by_source
from vse_ens.data.datasets.scenes.words import SCENES, descriptions, general_share, sights, words_of
from vse_ens.data.datasets.scenes.world import build_world
from vse_ens.errors import ConfigError, DataError
from vse_ens.streams import Streams


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(images=20_000)


def pairs_of(chunks: list[SceneChunk]) -> np.ndarray:
    return np.concatenate([np.stack([chunk.image, chunk.label]) for chunk in chunks], axis=1)


# --- the words ------------------------------------------------------------------------------------------------------


def test_a_person_can_read_the_vocabulary() -> None:
    words = build_world().words
    assert 300 <= len(words) == len(set(words))
    for word in words:
        assert word == word.lower() == " ".join(word.split())
        assert all(character.isascii() and (character.isalpha() or character in " -") for character in word), word


def test_no_word_is_there_under_two_spellings() -> None:
    words = build_world().words
    plain = {word.replace(" ", "").replace("-", "") for word in words}
    assert len(plain) == len(words)
    assert [word for word in words if word + "s" in words or word + "es" in words] == ["glass"]  # and "glasses" to read


def test_the_hierarchy_is_shallow_and_within_the_vocabulary() -> None:
    words = set(build_world().words)
    assert parent_of["beagle"] == "dog"
    assert parent_of["dog"] == "animal"
    for word, parent in parent_of.items():
        assert {word, parent} <= words
        depth, above = 1, word
        while above in parent_of:
            above, depth = parent_of[above], depth + 1
            assert depth <= 3, word
    assert general_share.keys() == set(parent_of.values())


def test_the_tables_refer_to_what_exists() -> None:
    words = set(build_world().words)
    assert set(sights) <= words
    assert set(descriptions) <= words
    for scene in SCENES:
        assert set(words_of(scene.beside)) <= set(SCENE_NAMES) - {scene.name}
        own = words_of(f"{scene.core}, {scene.typical}, {scene.rare}")
        assert len(own) == len(set(own)), scene.name


# --- what people would agree with -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ("sea, sand", "beach, wave"),
        ("sea, sand, umbrella", "beach, swimsuit, towel"),
        ("stove, frying pan", "kitchen, oven, cooking"),
        ("street, night", "street lamp, car"),
        ("lake, mountain", "reflection, forest"),
        ("ball, football player", "football, football pitch"),
        ("candle, balloon", "birthday cake, party"),
        ("tractor, field", "farm, barn"),
        ("book, shelf", "library, bookcase"),
        ("guitar, stage", "concert, musician"),
        ("snow, mountain", "winter, skiing"),
        ("vendor, fruit", "market, vegetable"),
        ("bride", "wedding, groom"),
        ("camel", "desert, sand, animal"),
        ("beagle", "dog, animal"),
        ("doctor", "hospital, nurse"),
        ("grape", "vineyard, vine, fruit"),
        ("pillow", "bedroom, bed"),
    ],
)
def test_labels_come_with_those_a_person_would_name(data: Annotations, known: str, expected: str) -> None:
    image = data.image_numbers()
    asked = data.labels.numbers(words_of(known))
    has_all = np.bincount(image[np.isin(data.indices, asked)], minlength=len(data.images)) == len(asked)
    together = np.bincount(data.indices[has_all[image]], minlength=len(data.labels))
    together[asked] = 0
    top = data.labels.ids(np.argsort(-together, kind="stable")[:10])
    assert set(words_of(expected)) <= set(top)


def test_a_general_word_comes_often_but_not_always(data: Annotations) -> None:
    image = data.image_numbers()
    with_dog = image[data.indices == data.labels.number("dog")]
    with_animal = image[data.indices == data.labels.number("animal")]
    assert 0.4 < np.isin(with_dog, with_animal).mean() < 0.9


def test_popularity_is_zipf_like(data: Annotations) -> None:
    counts = np.sort(data.images_per_label)[::-1]
    slope = np.polyfit(np.log(np.arange(1, len(counts) + 1)), np.log(counts), 1)[0]
    assert -1.4 < slope < -0.7


def test_labels_per_image(data: Annotations) -> None:
    counts = data.labels_per_image
    assert 5.5 < counts.mean() < 7.5
    assert counts.min() == 1
    assert np.percentile(counts, 99) > 15


def test_most_images_have_one_scene_and_some_two() -> None:
    chunk = next(stream_scenes(CHUNK))
    first, second = chunk.scene.T
    assert len(np.unique(first)) == len(SCENE_NAMES)
    assert 0.05 < (second >= 0).mean() < 0.2
    for one, other in zip(first[second >= 0], second[second >= 0], strict=True):
        assert SCENE_NAMES[other] in words_of(SCENES[one].beside)


# --- any size and vocabulary ------------------------------------------------------------------------------------------


def test_a_longer_vocabulary_keeps_the_short_one_and_is_used() -> None:
    chunks = list(stream_scenes(120_000, labels=6_000))
    words = chunks[0].words
    plain = build_world().words
    assert len(words) == len(set(words)) == 6_000
    assert words[: len(plain)] == plain
    pairs = pairs_of(chunks)
    assert len(np.unique(pairs[1])) > 5_900
    # The images are the same ones: without the compounds nothing else has changed.
    shorter = pairs_of(list(stream_scenes(CHUNK)))
    assert np.array_equal(pairs[:, (pairs[0] < CHUNK) & (pairs[1] < len(plain))], shorter)


@pytest.mark.unhurried
def test_a_compound_comes_with_its_word_and_has_its_own_scenes() -> None:
    chunks = list(stream_scenes(60_000, labels=3_000))
    words = chunks[0].words
    pairs = set(map(tuple, pairs_of(chunks).T.tolist()))
    scene = np.concatenate([chunk.scene[:, 0] for chunk in chunks])
    number = {word: n for n, word in enumerate(words)}

    def share_by_scene(word: str) -> np.ndarray:
        images = [image for image, label in pairs if label == number[word]]
        return np.bincount(scene[images], minlength=len(SCENE_NAMES)) / len(images)

    calm = {image for image, label in pairs if label == number["calm sea"]}
    assert calm
    assert all((image, number["sea"]) in pairs for image in calm)
    assert np.abs(share_by_scene("calm sea") - share_by_scene("green sea")).sum() > 0.3


@pytest.mark.parametrize("labels", [20_000, 200_000])
def test_vocabularies_of_any_length_have_distinct_words(labels: int) -> None:
    words = build_world(labels).words
    assert len(words) == len(set(words)) == labels


def test_a_shorter_vocabulary_keeps_the_popular_words() -> None:
    data = scenes(images=3_000, labels=50)
    assert set(data.labels) == set(build_world().words[:50])
    assert {"sky", "person", "indoors"} <= set(data.labels)
    assert data.labels_per_image.min() >= 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"images": 0}, "images"),
        ({"labels": 49}, "labels"),
        ({"labels": 2_000_000}, "labels"),
        ({"seed": -1}, "seed"),
        ({"images": 10_000_001}, "write_scenes"),
    ],
)
def test_bad_arguments_are_refused_by_name(options: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        scenes(**options)


# --- streaming --------------------------------------------------------------------------------------------------------


def test_fewer_images_are_the_first_of_more() -> None:
    more = pairs_of(list(stream_scenes(2 * CHUNK + 77)))
    fewer = list(stream_scenes(CHUNK + 5))
    assert [len(chunk.scene) for chunk in fewer] == [CHUNK, 5]
    assert np.array_equal(pairs_of(fewer), more[:, more[0] < CHUNK + 5])


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    assert scenes(500, seed=3) == scenes(500, seed=3)
    assert scenes(500, seed=3) != scenes(500, seed=4)


@pytest.mark.parametrize(
    ("labels", "seed", "digest"),
    [
        (None, 0, "2513a9cb5b4ef5d3"),
        (None, 7, "48d2740861e0ecb2"),
        (50, 0, "5612ce81662e76da"),
        (6_000, 0, "6aaea9149b504aa4"),
        (200_000, 0, "8a3b5e74065136b1"),
    ],
)
def test_the_bytes_of_a_file_are_pinned(tmp_path, labels: int | None, seed: int, digest: str) -> None:
    """A change of words or numbers changes every data set made before: let it be on purpose."""
    write_scenes(tmp_path / "scenes.csv", images=CHUNK + 10, labels=labels, seed=seed)
    assert hashlib.sha256((tmp_path / "scenes.csv").read_bytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("kind", "digest"), [("photos", "9be62dafa879bc8f"), ("txt-tags", "6de14f51430ffa24"), ("coco", "a7d49c57b7be05b0")]
)
def test_the_bytes_of_a_folder_are_pinned(tmp_path, kind: str, digest: str) -> None:
    write_scene_folder(tmp_path / "folder", kind, images=40, seed=3)
    found = hashlib.sha256()
    for path in sorted((tmp_path / "folder").rglob("*.*")):
        found.update(f"{path.relative_to(tmp_path).as_posix()}\n".encode() + path.read_bytes())
    assert found.hexdigest()[:16] == digest


def test_in_memory_equals_streamed() -> None:
    data = scenes(CHUNK + 100, labels=2_000, seed=5)
    streamed = [
        (f"img_{image:07d}", chunk.words[label])
        for chunk in stream_scenes(CHUNK + 100, labels=2_000, seed=5)
        for image, label in zip(chunk.image, chunk.label, strict=True)
    ]
    assert data == Annotations.from_pairs(streamed)
    assert len(streamed) == data.pairs


def test_a_huge_data_set_costs_only_what_is_taken() -> None:
    chunks = list(islice(stream_scenes(10**15), 2))
    assert [chunk.first for chunk in chunks] == [0, CHUNK]


# --- files ------------------------------------------------------------------------------------------------------------


def read(path) -> pl.DataFrame:
    name = path.name
    if ".jsonl" in name:
        return pl.read_ndjson(path)
    if ".parquet" in name:
        return pl.read_parquet(path)
    return pl.read_csv(path, separator="\t" if ".tsv" in name else ",")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz"])
def test_written_scenes_read_back_equal(tmp_path, suffix: str) -> None:
    path = tmp_path / "new" / f"scenes{suffix}"
    done: list[int] = []
    counts = write_scenes(path, images=CHUNK + 10, seed=2, progress=done.append)
    expected = scenes(CHUNK + 10, seed=2)
    assert read(path).sort("image", "label").equals(expected.to_frame("polars").sort("image", "label"))
    assert counts == (CHUNK + 10, len(expected.labels), expected.pairs)
    assert done == [CHUNK, CHUNK + 10]
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".parquet", ".csv.gz"])
def test_the_same_scenes_are_the_same_file(tmp_path, suffix: str) -> None:
    for name in ("one", "other"):
        write_scenes(tmp_path / f"{name}{suffix}", images=300)
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"other{suffix}").read_bytes()


def test_a_run_that_fails_leaves_the_old_file_and_no_half_one(tmp_path) -> None:
    path = tmp_path / "scenes.parquet"
    path.write_text("what was there before")

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_scenes(path, images=2 * CHUNK, progress=stop)
    assert path.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"scenes\.xlsx must end in"):
        write_scenes(tmp_path / "scenes.xlsx", images=10)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="could not be written"):
        write_scenes(tmp_path / "file" / "scenes.csv", images=10)


# --- the labels of pictures -------------------------------------------------------------------------------------------


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
        noisy |= {image + chunk * CHUNK for image, _ in pairs[0] - pairs[1]}
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
