"""Flows on other grids, and the errors of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeVar

from .. import _rarefy
from .._accuracy import NOTHING, Found, Grids, choice, known, repeats
from .._run import complete
from .solving import Iteration, March

Solver = Iteration | March
R = TypeVar("R")


class Solve(Protocol):
    """The solver on so many cells and velocities of a grid, in time with a step and at most so many steps; ``quiet`` without warnings.

    The parts of a grid beyond its cells and velocities are those of the extent of their box, and of the domain's length.
    """

    def __call__(self, grid: list[int], counts: list[int], step: float | None, most: int | None, *, quiet: bool) -> Solver: ...


@dataclass
class Flow:
    """A flow on cells and velocities, and the way to solve it on others."""

    case: str
    boltzmann: bool
    polar: bool
    # Numbers of extents that a grid has: of the box of velocities, and of the length.
    extents: int
    cells: int
    counts: list[int]
    unknowns: float
    solve: Solve
    first: Solver
    quantities: Callable[[Solver], tuple[list[Any], float]] = lambda solver: solver.quantities()

    @property
    def grid(self) -> list[int]:
        return [self.cells, self.counts[0]] + [_rarefy.EXTENT] * self.extents

    def on(self, grid: list[int], *, most: int | None = None, quiet: bool = True) -> Solver:
        """The solver on another grid; in time with steps that suit its cells."""
        plates = self.case not in ("shock", "cavity")
        step, least = (1, 3) if plates and not self.boltzmann else (1, 4) if self.polar else (2, 4)
        counts = _rarefy.scaled(self.counts, grid[1], step, least)
        dt = None
        if isinstance(self.first, March):
            dt = self.first.solver.dt * min(1.0, self.cells / grid[0])
        return self.solve(grid, counts, dt, most, quiet=quiet)

    def work(self, grid: list[int], steps: int) -> float:
        """Updates of an unknown."""
        if self.case not in ("shock", "cavity"):
            return _rarefy.work_of_plates(grid, self.boltzmann, self.case == "fourier")
        share = (grid[0] / self.cells) ** (1 if self.case == "shock" else 2)
        nodes = prod(_rarefy.scaled(self.counts, grid[1], 1, 1)) / prod(self.counts)
        box, *length = [extent / _rarefy.EXTENT for extent in grid[2:]] or [1.0]
        unknowns = self.unknowns * share * nodes * box ** len(self.counts) * prod(length)
        if isinstance(self.first, Iteration):
            return _rarefy.work_of(unknowns, self.boltzmann, None)
        return _rarefy.work_of(unknowns, self.boltzmann, steps * max(1.0, grid[0] / self.cells))

    def grids(self, steps: int) -> Grids:
        """The flow as the library repeats it; a run in time took so many steps."""

        def repeat(grid: list[int]) -> list[Any] | None:
            solver = self.on(grid, most=_rarefy.TIMES_THE_STEPS * steps)
            solver(False)
            return self.quantities(solver)[0] if solver.settled is not False else None

        axes = _rarefy.axes_of(self.case, self.boltzmann, self.polar, self.extents > 0)
        return Grids(axes, self.grid, self.first.tolerance, lambda grid: self.work(grid, steps), repeat)


def solved(flow: Flow, result: Callable[[Solver, dict[str, Any]], R], verify: bool | None, accuracy: float | None, progress: bool) -> R:
    """The result of a flow from its solver and what is known of its end and errors; on the grid that has an accuracy, if one is asked for."""
    choice(verify, accuracy)
    taken: list[tuple[Solver, Found]] = []

    def work(progress: bool) -> R:
        if accuracy is not None and not taken:
            steps = flow.first.steps_ahead
            grid, found = repeats(None, lambda: _rarefy.search_grid(flow.grids(steps), accuracy))
            taken.append((flow.first if grid == flow.grid else flow.on(grid, quiet=False), known(found)))
        solver, errors = taken[0] if taken else (flow.first, NOTHING)
        course = solver(progress)
        if not taken and verify is not False:
            quantities, left = flow.quantities(solver)
            steps = 1 if isinstance(solver, Iteration) else int(solver.solver.steps)
            settled = solver.settled is True
            found = repeats(None, lambda: _rarefy.estimate_errors(flow.grids(steps), quantities, left, verify, settled))
            errors = known(found)
        return result(solver, course | errors)

    return complete(work, progress)
