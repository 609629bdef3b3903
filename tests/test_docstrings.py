"""Every public method has an example, and the examples do what they show."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator
from vse_ens.completer import LabelCompleter
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes

CLASSES: tuple[type, ...] = (Annotations, Annotator, LabelCompleter)


def public_methods(cls: type) -> dict[str, str]:
    """The docstrings of the public methods that a class defines itself."""
    found = {
        name: getattr(getattr(cls, name), "__func__", getattr(cls, name))
        for name in vars(cls)
        if not name.startswith("_")
    }
    return {name: inspect.getdoc(one) or "" for name, one in found.items() if inspect.isfunction(one)}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_public_method_has_an_example(cls: type) -> None:
    # `trusted` and its like are for other packages; the estimator's methods are shown by the example of its class.
    internal = {"trusted", "from_numbers", "from_keys"} if cls is not LabelCompleter else set(public_methods(cls))
    methods = public_methods(cls)
    assert [name for name, text in methods.items() if ">>>" not in text and name not in internal] == []
    assert methods


@pytest.mark.docs
def test_examples_do_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"scenes": scenes, **{cls.__name__: cls for cls in CLASSES}}
    complaints: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)

    def run(name: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
        example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
        runner.run(example, out=complaints.append, clear_globs=False)
        return example.globs

    names = run("Annotator", inspect.getdoc(Annotator) or "", names)
    data = names["data"]
    Path("parts").mkdir()
    data.to_frame("pandas").to_csv("pairs.csv", index=False)
    data.to_frame("polars").write_parquet("parts/all.parquet")
    names["model"].save("model")
    for cls in CLASSES:
        run(cls.__name__, inspect.getdoc(cls) or "", names)
        for method, text in public_methods(cls).items():
            run(f"{cls.__name__}.{method}", text, names)
    assert "".join(complaints) == "", "".join(complaints)
