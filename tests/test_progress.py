"""Progress bars: only where a person sees them, only past a second, and gone when the work is done."""

from __future__ import annotations

import io
import sys
import threading
import types
from typing import Any

import pytest

from vse_ens import progress
from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes
from vse_ens.progress import ProgressBar, display_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Drawn:
    """A display that remembers what it showed."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.drawn: list[tuple[float, str]] = []
        self.closed = False
        made.append(self)

    def draw(self, share: float, text: str) -> None:
        self.drawn.append((share, text))

    def close(self) -> None:
        self.closed = True


class Now:
    """A timer that fires at once."""

    daemon = False

    def __init__(self, _seconds: float, work: Any) -> None:
        self.start = work

    def cancel(self) -> None:
        pass


made: list[Drawn] = []


@pytest.fixture
def displays(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    """The displays that are made; bars appear at once."""
    made.clear()
    monkeypatch.setattr(progress, "display_for", lambda wanted: None if wanted is False else Drawn)
    monkeypatch.setattr(threading, "Timer", Now)
    return made


def kernel_shell() -> Any:
    return types.SimpleNamespace(kernel=object())


@pytest.mark.parametrize(
    ("wanted", "prompt", "terminal", "shell", "expected"),
    [
        (None, True, True, None, progress._TerminalBar),
        (None, False, True, None, None),  # a script
        (True, False, True, None, progress._TerminalBar),
        (None, True, False, None, None),  # a pipe or a file
        (True, True, False, None, None),
        (None, False, False, kernel_shell, progress._NotebookBar),
        (True, False, True, kernel_shell, progress._NotebookBar),
        (None, False, True, object, progress._TerminalBar),  # IPython in a terminal
        (False, True, True, kernel_shell, None),
    ],
)
def test_a_bar_is_shown_where_a_person_sees_it(
    wanted: bool | None, prompt: bool, terminal: bool, shell: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sys, "ps1", raising=False)
    if prompt:
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=shell or (lambda: None)))
    assert display_for(wanted) is expected


def test_work_below_a_second_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    monkeypatch.setattr(progress, "display_for", lambda wanted: Drawn)
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 3600.0)
    with ProgressBar("working") as bar:
        bar.update(0.5, "half")
    assert made == []
    assert not bar._timer.is_alive() or bar._timer.finished.is_set()


def test_a_bar_shows_the_share_the_text_and_the_time_left(displays: list[Drawn]) -> None:
    with ProgressBar("working") as bar:
        count = bar.counter(200, "images")
        count(50)
        count(200)
        [one] = displays
        assert not one.closed
    assert (one.task, one.closed) == ("working", True)
    assert [share for share, _ in one.drawn] == [0.0, 0.25, 1.0]
    assert one.drawn[1][1].startswith("50 of 200 images, about ")


def test_steps_are_added_up(displays: list[Drawn]) -> None:
    with ProgressBar("working") as bar:
        add = bar.adder(10, "rows")
        add(4)
        add(5)
    assert [share for share, _ in displays[0].drawn] == [0.0, 0.4, 0.9]


def test_a_function_is_called_and_no_bar_is_shown(displays: list[Drawn]) -> None:
    counted: list[int] = []
    with ProgressBar("working", counted.append) as bar:
        bar.counter(10, "rows")(3)
        bar.adder(10, "rows")(4)
    assert counted == [3, 4]
    assert displays == []


def test_the_bar_closes_after_an_error(displays: list[Drawn]) -> None:
    with pytest.raises(KeyError), ProgressBar("working"):
        raise KeyError
    assert displays[0].closed


def test_training_auditing_and_evaluating_have_a_bar(displays: list[Drawn]) -> None:
    train, test = scenes(images=60, labels=50, seed=0).leave_one_out()
    model = Annotator("opt-auc", sampler="uniform", dimensions=8, epochs=3, workers=1)
    works: list[tuple[str, Any]] = [
        ("training", lambda progress: model.fit(train, progress=progress)),
        ("auditing", lambda progress: model.audit(progress=progress)),
        ("evaluating", lambda progress: model.evaluate(test, progress=progress)),
        ("training", lambda progress: model.partial_fit([("new", "sky")], progress=progress)),
    ]
    for task, work in works:
        displays.clear()
        work(None)
        [one] = displays
        assert (one.task, one.closed) == (task, True)
        assert one.drawn[-1][0] > 0.5
    displays.clear()
    for _, work in works:
        work(False)
    assert displays == []


def test_a_terminal_shows_a_bar_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    bar = progress._TerminalBar("training")
    bar.draw(0.5, "epoch 3 of [6]")
    bar._live.refresh()
    bar.close()
    assert "training" in terminal.getvalue()
    assert "epoch 3 of [6]" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased


def test_a_notebook_updates_one_output(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[Any] = []
    handle = types.SimpleNamespace(update=lambda data, raw: outputs.append(data))
    module = types.SimpleNamespace(display=lambda data, raw, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    bar = progress._NotebookBar("auditing")
    bar.draw(0.25, "5 of 20 rows")
    bar.draw(0.26, "too soon to be drawn again")
    bar.close()
    assert [one["text/plain"] for one in outputs] == ["auditing 5 of 20 rows (25%)", ""]
    assert '<progress value="0.250" max="1" aria-label="auditing">' in outputs[0]["text/html"]
