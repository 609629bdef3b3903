from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from vse_ens.service.pictures import cache as cache_module
from vse_ens.service.pictures.cache import ThumbnailCache, default_cache_folder


def key(number: int) -> str:
    return f"{number:040x}"


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_bytes_that_were_written_are_read(tmp_path: Path) -> None:
    cache = ThumbnailCache(tmp_path, 1_000)
    assert cache.read(key(1)) is None
    cache.write(key(1), b"one")
    assert cache.read(key(1)) == b"one"
    assert ThumbnailCache(tmp_path, 1_000).read(key(1)) == b"one"
    assert (tmp_path / "00").stat().st_mode & 0o077 == 0


def test_the_size_stays_in_the_limit_and_least_used_files_go(tmp_path: Path) -> None:
    cache = ThumbnailCache(tmp_path, 10_000)
    for number in range(300):
        cache.write(key(number), bytes(100))
        assert size_of(tmp_path) <= 10_000
        path = cache._path(key(number))
        os.utime(path, (number, number))
        os.utime(cache._path(key(0)), (1_000, 1_000))  # used all the time
    assert cache.read(key(0)) is not None
    assert cache.read(key(1)) is None
    assert cache.read(key(299)) is not None


def test_reading_counts_as_use(tmp_path: Path) -> None:
    cache = ThumbnailCache(tmp_path, 1_000)
    cache.write(key(1), b"one")
    os.utime(cache._path(key(1)), (5, 5))
    cache.read(key(1))
    assert cache._path(key(1)).stat().st_mtime > 1_000_000


def test_two_processes_share_one_limit(tmp_path: Path) -> None:
    one, other = ThumbnailCache(tmp_path, 10_000), ThumbnailCache(tmp_path, 10_000)

    def fill(cache: ThumbnailCache, first: int) -> None:
        for number in range(first, first + 200):
            cache.write(key(number * 1_000), bytes(100))

    threads = [threading.Thread(target=fill, args=given) for given in ((one, 0), (other, 1_000))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 4_000 < size_of(tmp_path) <= 11_000
    assert not list(tmp_path.rglob("*.partial"))


def test_half_a_file_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ThumbnailCache(tmp_path, 1_000)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(cache_module.Path, "replace", fail)
    cache.write(key(1), b"one")
    assert cache.read(key(1)) is None
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ThumbnailCache(tmp_path / "file" / "below", 1_000)
    cache.write(key(1), b"one")
    assert cache.read(key(1)) is None


def test_nothing_is_kept_with_a_limit_of_zero(tmp_path: Path) -> None:
    cache = ThumbnailCache(tmp_path, 0)
    cache.write(key(1), b"one")
    assert cache.read(key(1)) is None
    assert not list(tmp_path.iterdir())


def test_the_folder_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "vse-ens" / "pictures"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / ".cache" / "vse-ens" / "pictures"
