"""Runs of the functions: to a steady flow by iterations, or in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .. import _rarefy
from .._run import drive, given, warn

Model = Literal["bgk", "shakhov", "polyatomic"]
Collisions = Literal["model", "boltzmann"]
Method = Literal["fast", "direct", "spectral"]
Correction = Literal["balanced", "paper", "none"]
Sphere = Literal[5, 7, 9, 11, 15, 17, 21]


Rotation = tuple[float | None, float | None, tuple[float, float] | None]


def gas(
    model: str | None, prandtl: float | None, omega: float | None, frequency: float | None = None, rotation: Rotation = (None, None, None)
) -> dict[str, Any]:
    """Options of the gas. ``rotation`` has the internal degrees of freedom, the collisions in which they relax, and both Eucken factors."""
    freedom, collisions, eucken = rotation
    if model != "polyatomic":
        for name in given(internal_dof=freedom, z_rot=collisions, eucken=eucken):
            raise TypeError(f"{name} belongs to model='polyatomic'")
        return given(model=model, prandtl=prandtl, omega=omega, frequency=frequency)
    if prandtl is not None and eucken is not None:
        raise TypeError("prandtl follows from eucken; give one of them")
    turning = given(freedom=freedom, collisions=collisions, prandtl=prandtl, eucken=eucken)
    return given(model=model, omega=omega, frequency=frequency, rotation=turning)


def molecules(
    scattering: str | None, method: Method | None, order: int | None, correction: Correction | None, sphere: Sphere | None
) -> dict[str, Any]:
    """Options of the collision integral. ``sphere``, the degree of the rule on the sphere, implies the spectral method."""
    spectral = None
    if sphere is not None:
        if method not in (None, "spectral"):
            raise TypeError("sphere belongs to method='spectral'")
        method, spectral = "spectral", {"degree": sphere}
    return given(scattering=scattering, method=method, order=order, correction=correction, spectral=spectral)


def refuse(of: Collisions, **options: Any) -> None:
    """Refuse options that belong to the other collisions."""
    for name in given(**options):
        raise TypeError(f"{name} belongs to collisions='{of}'")


def cubic(velocities: int | Sequence[int] | None) -> int | None:
    """Velocities along each axis for the collision integral, if they are given."""
    if velocities is None or isinstance(velocities, int):
        return velocities
    if len(set(velocities)) > 1:
        raise ValueError("the collision integral has as many velocities along each axis; give one number")
    return int(velocities[0])


def rarefaction(delta: float | None, kn: float | None) -> float:
    """The rarefaction parameter, of the Knudsen number where that is given."""
    if (delta is None) == (kn is None):
        raise TypeError("either delta or kn is needed")
    return float(delta) if delta is not None else float(np.sqrt(np.pi) / 2.0 / (kn or np.nan))


class Iteration:
    """A steady solver, which a call takes to its end."""

    def __init__(self, solver: _rarefy.Steady, what: str, *, quiet: bool = False) -> None:
        self.solver, self._what = solver, what
        warn([] if quiet else solver.warnings)

    @property
    def tolerance(self) -> float:
        """The change of an iteration that ends it."""
        return self.solver.course()[2]

    @property
    def settled(self) -> bool:
        """Whether the flow is found."""
        return self.solver.course()[0] in ("converged", "at-roundoff")

    @property
    def steps_ahead(self) -> int:
        """Steps in time."""
        return 1

    def quantities(self) -> tuple[list[Any], float]:
        """Quantities whose errors are estimated, and the error that the iteration leaves."""
        return self.solver.quantities()

    def __call__(self, progress: bool) -> dict[str, Any]:
        """Iterate; return how it ended and the residuals."""
        status = drive(self.solver, self.solver, progress=progress, what=self._what)
        _, residuals, _ = self.solver.course()
        return {"status": status, "residuals": residuals}

    def found(self, *names: str) -> list[Any]:
        """Parts of the solution: ``fields``, ``faces``, ``shock``, ``cavity`` and so on."""
        solution = self.solver.solution()
        return [solution[name] for name in names]


class March:
    """A run in time, which a call takes to an end, or until little changes."""

    def __init__(
        self, solver: _rarefy.Simulation, time: float | None, residual: float | None, most: int | None, what: str, *, quiet: bool = False
    ) -> None:
        self.solver, self._what = solver, what
        warn([] if quiet else solver.warnings)
        dt = solver.dt
        self._time = time is not None
        self._end = int(np.ceil(time / dt - 1e-9)) if time is not None else _rarefy.MOST_STEPS if most is None else most
        # The residual is taken once in a unit of time.
        goal = solver.goal if residual is None else residual
        self._residual = None if self._time else goal
        self._every = None if self._time else max(1, int(np.ceil(1.0 / dt)))
        self._seen: list[tuple[int, float, float]] = []
        if not self._time:
            solver.residual()

    @property
    def tolerance(self) -> float:
        """Steps in time have none."""
        return 0.0

    @property
    def settled(self) -> bool | None:
        """Whether little changes any more; None of a run to a time."""
        return None if self._residual is None else self._last <= self._residual

    @property
    def _last(self) -> float:
        return self._seen[-1][2] if self._seen else float("inf")

    @property
    def steps_ahead(self) -> int:
        """Steps to the end, about."""
        return max(1, self._end - self.solver.steps) if self._time else _rarefy.STEPS_AHEAD

    def quantities(self) -> tuple[list[Any], float]:
        """Quantities whose errors are estimated, and the error that the end of the run leaves."""
        return self.solver.quantities(0.0 if self._time else self._last)

    def __call__(self, progress: bool) -> dict[str, Any]:
        """Advance; return how it ended and the residuals on the way."""
        run, residual, every = self.solver, self._residual, self._every
        status = drive(run, run, steps=self._end, residual=residual, every=every, seen=self._seen, progress=progress, what=self._what)
        return {"status": "time" if self._time else status, "residuals": np.asarray([row[2] for row in self._seen])}

    def found(self, *names: str) -> list[Any]:
        """The state now: ``fields``, ``shock`` or ``cavity``."""
        return [getattr(self.solver, name)() for name in names]
