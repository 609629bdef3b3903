"""Finished parts of the work, kept on disk: what was done is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vse_ens.errors import DataError

_FORMAT = 1


@dataclass(frozen=True)
class Parts:
    """A folder with one JSON file for each part."""

    folder: Path
    fresh: bool = False
    """Do every part anew."""

    def get(self, name: str, key: dict[str, Any], work: Callable[[], Any]) -> Any:
        """The result of a part: as it was kept if it was done with the same ``key``, else done now, and kept."""
        path = self.folder / f"{name}.json"
        key = {"format": _FORMAT, **key}
        kept = None if self.fresh else _read(path)
        if kept is not None and kept.get("key") == key:
            return kept["result"]
        result = work()
        write_json(path, {"key": key, "result": result})
        return result


def _read(path: Path) -> dict[str, Any] | None:
    """What a file holds; None where there is none or it is damaged: the part is then done again."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return kept if isinstance(kept, dict) and "result" in kept else None


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
