"""Hostile preset files and spaces: other kinds of files, endless nesting, and every setting with odd values."""

from __future__ import annotations

import dataclasses
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.robustness.attacks.attack import Attack, Case, Outcome, all_limited
from vse_ens.config import Config
from vse_ens.experiments.tune.space import read_space
from vse_ens.presets import configure

_ODD = (
    *("-1", "0", "2.5", "1e308", "1e-320", "nan", "-inf", "true", "[]", "{}", '""', '"x"'),
    *("4294967296", "9223372036854775808", "1" + "0" * 400, '"' + "x" * 16_000 + '"', "1979-05-27", "[[[[]]]]"),
)
_TEXTS = {
    "nested arrays": "a = " + "[" * 8_000,
    "nested tables": "a = " + "{a = " * 8_000,
    "nested names": "a" + ".a" * 8_000 + " = 1",
    "nested headers": "[a" + ".a" * 8_000 + "]",
    "a number of 5,000 digits": "a = " + "9" * 5_000,
    "a hexadecimal number of 100,000 digits": "a = 0x" + "f" * 8_000,
    "a text longer than a preset file": 'preset = "' + "x" * 900_000,
    "a long text": 'preset = "' + "x" * 16_000,
    "a long name": "x" * 16_000 + " = 1",
    "many names": "".join(f"n{number} = 1\n" for number in range(1_500)),
    "many headers": "".join(f"[n{number}]\n" for number in range(1_500)),
    "NUL": 'preset = "\0"',
    "a surrogate": 'preset = "\\ud800"',
    "an escape sequence": 'preset = "\\u001b[2J"',
    "lines": 'preset = """a\nb"""',
    "another preset": 'preset = "/etc/passwd"',
    "itself": 'preset = "hostile.toml"',
    "no preset": "",
    "settings of another kind": 'preset = "warp"\nsettings = 3',
    "an odd setting": 'preset = "warp"\n[settings]\n"__class__" = 3',
}


def _with_file(place: Callable[[Path], object], read: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hostile.toml"
        place(path)
        read(path)


def _terabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _configure(path: Path) -> None:
    configure(str(path))


def _cases() -> Iterator[Case]:
    places: dict[str, Callable[[Path], object]] = {
        "a pipe": os.mkfifo,
        "a folder": Path.mkdir,
        "an endless device": lambda path: path.symlink_to("/dev/zero"),
        "a link to itself": lambda path: path.symlink_to(path),
        "a terabyte": _terabyte,
        "no UTF-8": lambda path: path.write_bytes(b'preset = "\xff"'),
        "UTF-16": lambda path: path.write_text('preset = "warp"', encoding="utf-16"),
    }
    places |= {name: partial(Path.write_text, data=text) for name, text in _TEXTS.items()}
    for name, place in places.items():
        yield f"{name} as a preset", partial(_with_file, place, _configure)
        yield f"{name} as a space", partial(_with_file, place, read_space)
    for field, value in itertools.product(dataclasses.fields(Config), _ODD):
        text = f'preset = "context"\n[settings]\n{field.name} = {value}\n'
        yield f"{field.name} = {value[:30]}", partial(_with_file, partial(Path.write_text, data=text), _configure)
        low = f"[{field.name}]\nlow = {value}\nhigh = 1\n"
        yield f"{field.name} from {value[:30]}", partial(_with_file, partial(Path.write_text, data=low), read_space)


def presets(times: int) -> Outcome:
    """Read every hostile file."""
    return all_limited(itertools.islice(_cases(), times), seconds=20)


SETTINGS = {
    "presets": Attack(
        "preset files and spaces: pipes, devices, nesting, odd and huge values of every setting",
        presets,
        10_000,
        30,
    )
}
