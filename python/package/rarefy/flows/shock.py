"""Plane shock waves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from .. import _rarefy
from .._accuracy import Errors
from .._results import Array, Result, plotted
from .._run import Backend, Precision, compute, given
from .solving import Collisions, Correction, Iteration, March, Method, Model, Sphere, cubic, gas, molecules, refuse
from .sweep import swept
from .verifying import Flow, Solver, solved

MEAN_FREE_PATH = 8.0 / (5.0 * np.sqrt(np.pi))


@dataclass(frozen=True, repr=False, eq=False)
class ShockResult(Result):
    """The profile of a shock wave.

    Attributes
    ----------
    x
        Positions in l0, from where the density is half-way between both sides; shape ``(cells,)``.
    density, velocity, temperature, pxx, heat_flux
        Moments there.
    temperature_translational, temperature_rotational, heat_flux_rotational
        Of molecules that rotate: both temperatures, and the part of ``heat_flux`` that is internal energy; else None.
    thickness
        Maximum-slope density thickness in l0.
    inverse_thickness
        The mean free path of hard spheres of the gas's viscosity, upstream, over the thickness.
    status
        ``"converged"``, or how else the run ended.
    residuals
        Changes of the iterations of a steady solution.
    discretisation_error
        Estimated errors of ``thickness``, ``least_heat_flux``, ``largest_temperature`` and ``midpoint``: for each by axis of the grid, and their
        ``total``. None where they are not estimated.
    accuracy
        The ``accuracy`` that was asked for, as ``wanted``, whether it is ``reached``, the ``grid`` and ``grids_computed``; else None.
    """

    mach: float
    x: Array
    density: Array
    velocity: Array
    temperature: Array
    pxx: Array
    heat_flux: Array
    thickness: float
    midpoint: float
    least_heat_flux: float
    largest_temperature: float
    fluxes: list[float]
    flux_spread: list[float]
    upstream: dict[str, Any]
    downstream: dict[str, Any]
    status: str
    residuals: Array
    device: str
    temperature_translational: Array | None = None
    temperature_rotational: Array | None = None
    heat_flux_rotational: Array | None = None
    discretisation_error: Errors | None = None
    accuracy: dict[str, Any] | None = None

    _columns = (
        "density",
        "velocity",
        "temperature",
        "pxx",
        "heat_flux",
        "temperature_translational",
        "temperature_rotational",
        "heat_flux_rotational",
    )
    _axes = ("x",)
    _swept = "inverse_thickness"

    @property
    def inverse_thickness(self) -> float:
        """The mean free path of hard spheres of the gas's viscosity, upstream, over the thickness."""
        return float(MEAN_FREE_PATH / self.thickness)

    def normalised(self, name: Literal["density", "velocity", "temperature"]) -> Array:
        """A field from 0 upstream to 1 downstream."""
        ends = [side["velocity"][0] if name == "velocity" else side[name] for side in (self.upstream, self.downstream)]
        return np.asarray((getattr(self, name) - ends[0]) / (ends[1] - ends[0]))

    def plot(self, ax: Any = None) -> Any:
        """Plot density, temperature and velocity, each from 0 to 1; returns the axes of matplotlib."""
        ax = plotted(ax, r"$x/l_0$")
        for name, label in (("density", "density"), ("temperature", "temperature")):
            ax.plot(self.x, self.normalised(name), label=label)  # type: ignore[arg-type]
        ax.plot(self.x, 1.0 - self.normalised("velocity"), label="velocity", ls="--")
        room = 6.0 * self.thickness
        ax.set_xlim(max(float(self.x[0]), -room), min(float(self.x[-1]), room))
        ax.set_ylabel("share of the jump")
        ax.set_title(f"Mach {self.mach:g}, thickness {self.thickness:.3f} $l_0$", fontsize="medium")
        ax.legend(frameon=False)
        return ax


@swept("mach")
def shock(
    mach: float,
    *,
    collisions: Collisions = "model",
    steady: bool = True,
    time: float | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
    cells: int | None = None,
    sides: tuple[float, float] | None = None,
    velocities: int | Sequence[int] | None = None,
    cut: float | None = None,
    model: Model | None = None,
    prandtl: float | None = None,
    omega: float | None = None,
    internal_dof: float | None = None,
    z_rot: float | None = None,
    eucken: tuple[float, float] | None = None,
    scattering: str | None = None,
    method: Method | None = None,
    order: Literal[2, 4] | None = None,
    correction: Correction | None = None,
    sphere: Sphere | None = None,
    dt: float | None = None,
    scheme: str | None = None,
    verify: bool | None = None,
    accuracy: float | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> ShockResult:
    """The structure of a plane shock wave.

    Parameters
    ----------
    mach
        Mach number, above 1. A list of them gives a :class:`Sweep`.
    collisions
        ``"model"``: BGK, Shakhov or polyatomic; ``"boltzmann"``: the collision integral.
    steady
        Whether to solve for the steady wave directly; with a ``time`` or ``dt`` the run is in time.
    time
        End of a run in time, in ``1/nu0``; by default until the fields change by less than ``rtol`` in a unit of time.
    rtol, iterations
        When to stop, and iterations (or, in time, steps) at most.
    cells, sides
        Cells, and the lengths upstream and downstream in l0.
    velocities, cut
        Nodes along x, or along each axis; and the half-width of their box in units of the square root of the temperatures.
    model, prandtl, omega
        Model of the gas, its Prandtl number, and the exponent of the viscosity.
    internal_dof, z_rot, eucken
        Of ``model="polyatomic"``, whose molecules rotate: internal degrees of freedom, 2; collisions in which rotation relaxes, 5.5; Eucken factors
        of translation and rotation in place of ``prandtl``, 0.72.
    scattering, method, order, correction
        Of the collision integral, as for :func:`rarefy.collide`.
    sphere
        Degree of the rule on the sphere, 5, 7, 9, 11, 15, 17 or 21, with which collisions are spectral; 11 by default, in a shock up to 21 by the Mach number.
    dt, scheme
        Time step, and interpolation: in time ``"vanleer"`` or ``"upwind"``, steady ``"diamond"`` or ``"upwind"``.
    verify
        Whether to repeat the run on other grids to estimate the errors of the results: by default where that takes seconds, ``True`` always,
        ``False`` never. Errors beyond one per cent give a warning.
    accuracy
        A relative accuracy, such as 1e-3: cells and velocities are refined, and box and length widened, until all results have it.
    progress
        Whether to show a bar of tqdm.
    backend, precision, threads
        Where to compute, the arithmetic, and the threads of the CPU.

    Returns
    -------
    ShockResult

    Examples
    --------
    >>> import rarefy
    >>> wave = rarefy.shock(2.0, cells=300, sides=(40.0, 20.0), backend="cpu")
    >>> wave.status
    'converged'
    >>> 3.0 < wave.thickness < 3.2
    True

    Several waves:

    >>> waves = rarefy.shock([1.5, 2.0], cells=300, sides=(40.0, 20.0), verify=False, backend="cpu")
    >>> bool(waves.thickness[0] > waves.thickness[1])
    True
    """
    where = compute(backend, precision, threads)
    boltzmann = collisions == "boltzmann"
    steady = steady and time is None and dt is None
    if boltzmann:
        refuse("model", model=model, prandtl=prandtl, omega=omega, internal_dof=internal_dof, z_rot=z_rot, eucken=eucken)
    else:
        refuse("boltzmann", scattering=scattering, method=method, order=order, correction=correction, sphere=sphere)

    asked: Any = cubic(velocities) if boltzmann else [velocities] if isinstance(velocities, int) else velocities

    def problem_on(grid: list[int]) -> _rarefy.Problem:
        options = given(cells=cells, sides=sides, velocities=asked, cut=cut, gas=gas(model, prandtl, omega, rotation=(internal_dof, z_rot, eucken)))
        return _rarefy.Problem.shock(float(mach), options, grid or None)

    def solve(grid: list[int], counts: list[int], step: float | None, most: int | None, *, quiet: bool) -> Solver:
        step, most = dt if step is None else step, iterations if most is None else most
        if boltzmann:
            options = given(cells=cells, sides=sides, velocities=asked, cut=cut)
            options |= molecules(scattering, method, order, correction, sphere) | where
            if steady:
                iteration = given(closure=scheme, rtol=rtol, iterations=iterations) | where
                return Iteration(_rarefy.Steady.wave(float(mach), options, iteration, grid or None), "shock", quiet=quiet)
            run = _rarefy.Simulation.wave(float(mach), options | given(dt=step, scheme=scheme), grid or None)
            return March(run, time, rtol, most, "shock", quiet=quiet)
        problem = problem_on(grid)
        if steady:
            options = given(closure=scheme, rtol=rtol, iterations=iterations)
            return Iteration(_rarefy.Steady.of_problem(problem, None, False, options | where), "shock", quiet=quiet)
        run = _rarefy.Simulation(problem, step or problem.time_step, given(scheme=scheme) | where)
        return March(run, time, rtol, most, "shock", quiet=quiet)

    first = solve([], [], None, None, quiet=False)
    if isinstance(first, March):
        nodes, functions = first.solver.velocities
    elif boltzmann:
        nodes, functions = [first.solver.cubic] * 3, 1
    else:
        nodes, functions = problem_on([]).velocities
    size = len(first.solver.centres(0))
    unknowns = float(size * functions * prod(nodes))
    flow = Flow("shock", boltzmann, False, 2, size, nodes, unknowns, solve, first)

    def result(solver: Solver, course: dict[str, Any]) -> ShockResult:
        profile, rotation = solver.found("shock", "rotation")
        return ShockResult(**profile, **course, device=solver.solver.device, **rotation)

    return solved(flow, result, verify, accuracy, progress)
