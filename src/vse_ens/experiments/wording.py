"""Runs in words."""

from __future__ import annotations

from vse_ens.experiments.record import Run


def remarks(run: Run, budget: float | None) -> list[str]:
    """What a reader must know of a run to judge its figures."""
    if run.state != "done":
        return [f"{run.state}: {run.error}"]
    found = []
    if run.stopped:
        why = f"budget of {budget:g} s" if run.stopped == "budget" else "interrupt"
        found.append(f"stopped by the {why} at epoch {run.epochs:.4g} of {run.epochs_planned}")
    if run.over_budget:
        found.append(f"took longer than the budget of {budget:g} s")
    return found


def seconds_text(seconds: float | None) -> str:
    """Seconds with about three digits."""
    if seconds is None:
        return "–"
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}" if seconds >= 0.001 else "<0.001"


def speed_text(draws_per_second: float | None) -> str:
    """Draws a second, in millions where there are that many."""
    if draws_per_second is None:
        return "–"
    return f"{draws_per_second / 1e6:.1f} M" if draws_per_second >= 1e6 else f"{draws_per_second:,.0f}"
