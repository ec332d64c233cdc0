"""Errors of a discretisation: a result on other grids, and the grid that has an accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _rarefy
from ._run import Interrupted, warn

# By quantity, and for each by axis of the grid, with their sum as ``total``; None where one is unknown.
Errors = dict[str, dict[str, float | None]]

Found = dict[str, Any]

NOTHING: Found = {"discretisation_error": None, "accuracy": None}


def choice(verify: bool | None, accuracy: float | None) -> None:
    """Refuse both."""
    if accuracy is not None and verify is not None:
        raise TypeError("accuracy estimates all errors by itself; leave verify out")


def known(found: dict[str, Any]) -> Found:
    """What a result says of its errors, after the warnings of them."""
    warn(found["warnings"])
    return {name: found[name] for name in NOTHING}


def repeats(run: Any, work: Callable[[], Any]) -> Any:
    """The value of work with repeats of a run, which Ctrl-C ends as it ends the run."""
    try:
        return work()
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(run) from None


class Grids:
    """A run on other grids, as the library's search and its estimates take it."""

    def __init__(
        self,
        axes: _rarefy.Axes,
        grid: list[int],
        tolerance: float,
        work: Callable[[list[int]], float],
        repeat: Callable[[list[int]], list[Any] | None],
    ) -> None:
        self.axes, self.grid, self.tolerance, self.work, self.repeat = axes, grid, tolerance, work, repeat
