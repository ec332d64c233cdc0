"""Runs: progress, interruption, and the compute options that all functions share."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from . import _rarefy

Backend = Literal["auto", "cuda", "cpu", "emulator", "reference"]
Precision = Literal["f32", "f64"]


class RarefyWarning(UserWarning):
    """A grid, box or step that is allowed and costs accuracy; the text names a better one."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run between two steps.

    Attributes
    ----------
    run
        The run as it is, which goes on with ``run()``. Runs of classes can be read, and saved by their ``checkpoint``.
    """

    def __init__(self, run: Any) -> None:
        super().__init__("the run was interrupted; the attribute `run` holds it, and `run.run()` goes on")
        self.run = run


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None, as plain numbers, texts and lists."""
    return {name: plain(value) for name, value in options.items() if value is not None}


def plain(value: Any) -> Any:
    """A value without NumPy's types."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def compute(backend: str, precision: str | None = None, threads: int | None = None) -> dict[str, Any]:
    """The options that say where and how precisely to compute, checked."""
    _rarefy.enter(backend)
    return given(backend=backend, precision=precision, threads=threads)


def warn(texts: Iterable[str]) -> None:
    """Warnings of the library as warnings of Python, at the line that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    for text in texts:
        warnings.warn(text, RarefyWarning, stacklevel=level)


class _Bar:
    """A bar of tqdm, or nothing."""

    def __init__(self, progress: bool, what: str) -> None:
        self._bar = None
        if progress:
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError("progress=True needs tqdm: pip install tqdm") from error
            self._bar = tqdm(total=100, desc=what, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}")

    def show(self, share: float) -> None:
        if self._bar is not None:
            self._bar.update(max(0.0, 100.0 * share - self._bar.n))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def drive(
    run: _rarefy._Driven,
    state: Any,
    *,
    steps: int | None = None,
    residual: float | None = None,
    every: int | None = None,
    seen: list[tuple[int, float, float]] | None = None,
    progress: bool = False,
    what: str = "rarefy",
) -> str:
    """Advance a run to its end; return how it ended.

    ``steps`` is the last step. A run to a ``residual``, taken ``every`` so many steps, adds step, time and residual to those ``seen`` before.
    On the way Python sees Ctrl-C, which raises :class:`Interrupted` with ``state``.
    """
    bar = _Bar(progress, what)
    try:
        return run.drive((steps, residual, every), [] if seen is None else seen, bar.show)
    except KeyboardInterrupt:
        raise Interrupted(state) from None
    finally:
        bar.close()


R = TypeVar("R")


class Unfinished(Generic[R]):
    """The run of a function that Ctrl-C ended."""

    def __init__(self, work: Callable[[bool], R]) -> None:
        self._work = work

    def run(self, *, progress: bool = False) -> R:
        """Go on, and return the result of the function."""
        return complete(self._work, progress)


def complete(work: Callable[[bool], R], progress: bool) -> R:
    """The result of work that can be begun again where Ctrl-C ended it; it takes whether to show a bar."""
    try:
        return work(progress)
    except Interrupted as stop:
        stop.run = Unfinished(work)
        raise


class LongRun:
    """Everything that runs in steps of time has this."""

    _run: Any

    @property
    def time(self) -> float:
        """Time reached."""
        return float(self._run.time)

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self._run.steps)

    @property
    def dt(self) -> float:
        """Time step."""
        return float(self._run.dt)

    @property
    def device(self) -> str:
        """Where it is computed."""
        return str(self._run.device)

    def advance(self, steps: int) -> int:
        """Take steps, or fewer where the run ends before; returns how many were taken."""
        return int(self._run.advance(steps))

    def _advance(self, steps: int | None, time: float | None, progress: bool) -> None:
        """Take so many steps, or those that are left to a time."""
        if (steps is None) == (time is None):
            raise TypeError("either steps or time is needed")
        end = self.steps + steps if steps is not None else int(np.ceil((time or 0.0) / self.dt - 1e-9))
        drive(self._run, self, steps=end, progress=progress, what=type(self).__name__.lower())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(time={self.time:.6g}, steps={self.steps}, device={self.device!r})"
