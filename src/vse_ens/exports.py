"""Names of a package that are imported on first use, so that one module of it does not load all others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package; the stub beside its ``file`` lists the exported names.

    So the names stand once, where type checkers and editors read them: the stub imports each from its module.
    """
    homes: dict[str, str] = {}
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:  # noqa: PTH123  # pathlib takes time to import
        for line in stub:
            if line.startswith("from "):
                _, module, _, name, *_ = line.split()
                homes[name] = module

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes)
