"""Homogeneous relaxation to equilibrium in velocity space."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from . import _checkpoints, _rarefy
from ._accuracy import NOTHING, Errors, Found, choice, known, repeats
from ._results import Array, Result, plotted
from ._run import Backend, LongRun, Precision, compute, drive, given, warn
from .collision import Box, CorrectionMethod, Method, cube, operator

__all__ = ["Relaxation", "RelaxationResult"]

# The distribution on n^3 cells in a box.
Start = Callable[[int, Box], Array]


@dataclass(frozen=True, repr=False, eq=False)
class RelaxationResult(Result):
    """What a relaxation has come to.

    Attributes
    ----------
    time
        Times of the records, shape ``(records,)``.
    density, ux, uy, uz, temperature, pxx, pyy, pzz, pxy, pxz, pyz, qx, qy, qz, m4, H, min_f, activity, below_zero
        Moments of each record, as in the command's ``history.csv``; ``H`` is Boltzmann's, ``activity`` the sum of ``|I|``.
    f
        The distribution now, shape ``(n, n, n)``.
    discretisation_error
        Estimated errors of the last moments: for each by axis of the grid, and their ``total``. None where they are not estimated, and where
        the run began with an array.
    accuracy
        The ``accuracy`` that was asked for, as ``wanted``, whether it is ``reached``, the ``grid`` and ``grids_computed``; else None.
    """

    step: Array
    time: Array
    density: Array
    ux: Array
    uy: Array
    uz: Array
    temperature: Array
    pxx: Array
    pyy: Array
    pzz: Array
    pxy: Array
    pxz: Array
    pyz: Array
    qx: Array
    qy: Array
    qz: Array
    m4: Array
    H: Array
    min_f: Array
    activity: Array
    below_zero: Array
    f: Array
    box: Box
    device: str
    discretisation_error: Errors | None = None
    accuracy: dict[str, Any] | None = None

    _columns = tuple("step density ux uy uz temperature pxx pyy pzz pxy pxz pyz qx qy qz m4 H min_f activity below_zero".split())
    _axes = ("time",)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Plot columns over time, by default the pressures; returns the axes of matplotlib."""
        ax = plotted(ax, "time")
        names = names or ("pxx", "pyy", "pzz")
        for name in names:
            ax.plot(self.time, getattr(self, name), label=name)
        if len(names) > 1:
            ax.legend(frameon=False)
        else:
            ax.set_ylabel(names[0])
        return ax


class Relaxation(LongRun):
    """A homogeneous relaxation ``df/dt = I(f, f)`` under way.

    Parameters
    ----------
    f
        Initial distribution, shape ``(n, n, n)``, float64; or a function of ``n`` and the box that returns one, such as
        :func:`two_maxwellians`. Errors are estimated of a function alone, for an array is known on one grid.
    n
        Cells along an axis, for a function.
    box
        Lower and upper bound of the velocities.
    time, steps, equilibrium
        The end: a time, a number of steps, or the fraction to which the sum of ``|I|`` falls. One of them.
    dt
        Time step; by default half of the largest stable one.
    integrator
        ``"ssprk2"`` (default), ``"ssprk3"`` or ``"euler"``.
    limited
        Whether what is below zero is taken away after each step.
    scattering, sigma_t, method, order, correction, spectral, backend, precision, threads
        As for :func:`collide`; without ``method``, ``order``, ``correction`` and ``spectral`` the method that suits ``f``.

    Examples
    --------
    >>> import rarefy
    >>> box = (-6.5, 6.5)
    >>> run = rarefy.Relaxation(rarefy.two_maxwellians(12, box), box, time=0.5, backend="cpu")
    >>> result = run.run()
    >>> bool(result.H[-1] < result.H[0])
    True

    With the errors of its grid, box, directions and steps:

    >>> result = rarefy.Relaxation(rarefy.two_maxwellians, box, n=12, steps=5, backend="cpu").run()
    >>> sorted(result.discretisation_error["pxx"])
    ['box', 'cells', 'iteration', 'steps', 'total']
    """

    _run: _rarefy.Relaxation
    _start: Start | None = None

    def __init__(
        self,
        f: Array | Start,
        box: Box,
        *,
        n: int | None = None,
        time: float | None = None,
        steps: int | None = None,
        equilibrium: float | None = None,
        dt: float | None = None,
        integrator: Literal["euler", "ssprk2", "ssprk3"] | None = None,
        limited: bool | None = None,
        scattering: str | None = None,
        sigma_t: float | None = None,
        method: Method | None = None,
        order: Literal[2, 4] | None = None,
        correction: CorrectionMethod | None = None,
        spectral: dict[str, Any] | None = None,
        backend: Backend = "auto",
        precision: Precision = "f64",
        threads: int | None = None,
    ) -> None:
        if callable(f):
            if n is None:
                raise TypeError("n, the cells along an axis, is needed where f is a function")
            self._start, f = f, f(n, box)
        elif n is not None:
            raise TypeError("n belongs to a function f; an array has its own")
        f = cube(f)
        end = _end(time, steps, equilibrium)
        if end is None:
            raise TypeError("one of time, steps and equilibrium is needed")
        options = operator(scattering, sigma_t, method, order, correction, spectral, compute(backend, precision, threads))
        run = given(dt=dt, integrator=integrator, limited=limited)
        self._run = _rarefy.Relaxation(f, f.shape[0], box, end, options, run)
        self._box = box
        warn(self._run.warnings)

    @classmethod
    def resume(cls, checkpoint: str | os.PathLike[str], *, time: float | None = None, steps: int | None = None, equilibrium: float | None = None) -> Relaxation:
        """Go on from a checkpoint of :meth:`checkpoint` or of ``rarefy relax``, to another end where one is given."""
        data = _checkpoints.read_checkpoint(checkpoint, "relax")
        self = cls.__new__(cls)
        grid = data["config"]["operator"]["grid"]
        self._box = (grid["min"], grid["max"])
        _rarefy.enter(data["config"]["operator"]["backend"])
        self._run = _rarefy.Relaxation.resume(data, _end(time, steps, equilibrium))
        return self

    @property
    def f(self) -> Array:
        """The distribution now, shape ``(n, n, n)``."""
        return self._run.distribution()

    def run(self, *, verify: bool | None = None, accuracy: float | None = None, progress: bool = False) -> RelaxationResult:
        """Run to the end, or until an equilibrium comes no nearer. Ctrl-C raises :class:`rarefy.Interrupted`; the run keeps its state and goes on when called again.

        Parameters
        ----------
        verify
            Whether to repeat the run on other grids to estimate errors: by default where that takes seconds, ``True`` always, ``False`` never.
        accuracy
            A relative accuracy, such as 1e-3: grid, box, directions and steps are refined until all moments have it at the end, and the run
            becomes that on the refined grid.
        """
        choice(verify, accuracy)
        if self._start is None and (accuracy is not None or verify):
            raise ValueError("an array is known on one grid; begin with a function f of n and the box")
        drive(self._run, self, progress=progress, what="relaxation")
        start, run = self._start, self._run
        if start is None or verify is False or self.steps == 0:
            return self.result()
        if accuracy is None:
            return self._result(known(repeats(self, lambda: run.estimate(start, verify))))
        fine, box, found = repeats(self, lambda: run.search(start, accuracy))
        self._run, self._box = fine, box
        drive(self._run, self, progress=progress, what="relaxation")
        return self._result(known(found))

    def result(self) -> RelaxationResult:
        """The history so far and the distribution now."""
        return self._result(NOTHING)

    def _result(self, errors: Found) -> RelaxationResult:
        columns: dict[str, Any] = self._run.history()
        return RelaxationResult(**columns, f=self.f, box=self._box, device=self.device, **errors)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that :meth:`resume` needs to go on to the same bits."""
        _checkpoints.write_checkpoint(path, "relax", self._run.checkpoint(), self.device)


def _end(time: float | None, steps: int | None, equilibrium: float | None) -> tuple[str, float] | None:
    ends = given(time=time, steps=steps, equilibrium=equilibrium)
    if len(ends) > 1:
        raise TypeError(f"one end is needed, not {' and '.join(ends)}")
    for name, number in ends.items():
        return name, float(number)
    return None
