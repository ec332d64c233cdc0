"""The driven cavity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from .. import _rarefy
from .._accuracy import Errors
from .._results import Array, plotted
from .._run import Backend, Precision, compute, given
from .fields import FlowResult, draw_map
from .solving import Collisions, Correction, Iteration, March, Method, Model, Sphere, cubic, gas, molecules, rarefaction, refuse
from .sweep import swept
from .verifying import Flow, Solver, solved

Quadrature = Literal["polar", "half-range", "midpoint"]


@dataclass(frozen=True, repr=False, eq=False)
class CavityResult(FlowResult):
    """The flow in a driven cavity.

    Attributes
    ----------
    drag_wall, drag_cell
        Drag coefficient ``D = -2 <P_xy>/U`` at the lid and in the cells below it.
    flow
        Reduced flow rate ``G`` of the main vortex.
    centre
        Height of its centre on the vertical centre line.
    vertical, horizontal
        Positions and ``u_x/U``, ``u_y/U`` on the centre lines.
    temperature_translational, temperature_rotational, qx_rotational, qy_rotational
        Of molecules that rotate: both temperatures, and the part of the heat flux that is internal energy; else None.
    discretisation_error, accuracy
        Errors of ``drag_wall``, ``flow``, ``centre`` and ``drag_cell``, as those of :class:`ShockResult`.
    """

    delta: float
    drag_wall: float
    drag_cell: float
    flow: float
    centre: float
    vertical: tuple[Array, Array]
    horizontal: tuple[Array, Array]
    status: str
    residuals: Array
    temperature_translational: Array | None = None
    temperature_rotational: Array | None = None
    qx_rotational: Array | None = None
    qy_rotational: Array | None = None
    discretisation_error: Errors | None = None
    accuracy: dict[str, Any] | None = None

    _columns = (*FlowResult._columns, "temperature_translational", "temperature_rotational", "qx_rotational", "qy_rotational")
    _swept = "drag_wall"

    def plot(self, name: str = "temperature", ax: Any = None) -> Any:
        """Plot a field with streamlines; returns the axes of matplotlib."""
        ax = plotted(ax, r"$x/l_0$")
        assert self.y is not None
        draw_map(ax, self.x, self.y, getattr(self, name), name)
        # Streamlines want points at equal distances to the last digit.
        x, y = (np.linspace(axis[0], axis[-1], len(axis)) for axis in (self.x, self.y))
        ax.streamplot(x, y, self.ux, self.uy, color="white", linewidth=0.7, density=1.1, arrowsize=0.8)
        ax.set_xlim(x[0], x[-1])
        ax.set_ylim(y[0], y[-1])
        ax.set_title(rf"$\delta$ = {self.delta:.4g}, drag {self.drag_wall:.4f}, flow rate {self.flow:.4f}", fontsize="medium")
        return ax


@swept("delta", "kn")
def cavity(
    delta: float | None = None,
    *,
    kn: float | None = None,
    collisions: Collisions = "model",
    cells: int = 80,
    velocities: int | Sequence[int] | None = None,
    quadrature: Quadrature | None = None,
    vmax: float | None = None,
    lid: float = 0.02,
    accommodation: float = 1.0,
    steady: bool = True,
    linear: bool = False,
    time: float | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
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
) -> CavityResult:
    """The flow in a square cavity whose upper wall slides along x.

    Parameters
    ----------
    delta, kn
        Rarefaction parameter, the side in l0; or the Knudsen number, ``delta = (sqrt(pi)/2)/kn``. A list of them gives a :class:`Sweep`.
    cells
        Cells along a side.
    collisions
        ``"model"``: BGK, Shakhov or polyatomic; ``"boltzmann"``: the collision integral, which wants a GPU beyond a few hundred cells.
    velocities, quadrature, vmax
        ``"polar"``: directions of a quadrant and speeds (steady only, default there); ``"half-range"``: Gauss nodes along x and y;
        ``"midpoint"``: of a box of half-width ``vmax`` (4.5). v_z is integrated out. With ``collisions="boltzmann"`` one number (20) along each
        axis of a cube of half-width ``vmax`` (4).
    lid, accommodation
        Speed of the lid and accommodation coefficient of the walls.
    steady, linear
        Whether to solve for the steady flow directly, and linearised about rest. With ``time`` or ``dt`` the flow runs in time.
    time, rtol, iterations, dt, scheme, model, prandtl, omega, internal_dof, z_rot, eucken, scattering, method, order, correction, sphere, verify, accuracy, progress, backend, precision, threads
        As for :func:`shock`.

    Returns
    -------
    CavityResult

    Examples
    --------
    >>> import rarefy
    >>> flow = rarefy.cavity(1.0, cells=16, velocities=(16, 8), backend="cpu")
    >>> flow.status, flow.ux.shape
    ('converged', (16, 16))
    """
    where = compute(backend, precision, threads)
    delta = rarefaction(delta, kn)
    boltzmann = collisions == "boltzmann"
    steady = steady and time is None and dt is None
    walls = given(lid=lid, accommodation=accommodation, gas=gas(model, prandtl, omega, rotation=(internal_dof, z_rot, eucken)))
    if boltzmann:
        turning = given(internal_dof=internal_dof, z_rot=z_rot, eucken=eucken)
        refuse("model", model=model, prandtl=prandtl, omega=omega, quadrature=quadrature, linear=linear or None, **turning)
    else:
        refuse("boltzmann", scattering=scattering, method=method, order=order, correction=correction, sphere=sphere)
    rule = quadrature or ("polar" if steady else "half-range")
    reach = _rarefy.CAVITY_REACH[int(boltzmann)] if vmax is None else vmax
    asked = [velocities] if isinstance(velocities, int) else velocities
    counts = [cubic(velocities) or _rarefy.CAVITY_NODES[0]] * 3 if boltzmann else _counts(rule, asked, delta, steady)
    polar = rule == "polar" and not boltzmann
    in_box = boltzmann or rule == "midpoint"

    def problem_on(cells: int, counts: list[int], half: float) -> _rarefy.Problem:
        if boltzmann:
            return _rarefy.Problem.cavity(delta, cells, [("uniform", counts[0], -half, half)] * 2, walls, True)
        return _rarefy.Problem.cavity(delta, cells, _axes(rule, counts, half), walls)

    def solve(grid: list[int], counts: list[int], step: float | None, most: int | None, *, quiet: bool) -> Solver:
        most = iterations if most is None else most
        counts, wider = _rarefy.in_box(counts, grid[2]) if in_box else (counts, 1.0)
        half = wider * reach
        problem = problem_on(grid[0], counts, half)
        if boltzmann:
            operator = molecules(scattering, method, order, correction, sphere) | where
            box = (counts[0], half)
            if steady:
                options = given(closure=scheme, rtol=rtol, iterations=iterations) | where
                return Iteration(_rarefy.Steady.by_integral(problem, box, operator, options), "cavity", quiet=quiet)
            run = _rarefy.Simulation.boltzmann(problem, box, dt if step is None else step, scheme, None, operator)
            return March(run, time, rtol, most, "cavity", quiet=quiet)
        if steady:
            options = given(closure=scheme, rtol=rtol, iterations=iterations) | where
            angles = (counts[0], counts[1]) if polar else None
            return Iteration(_rarefy.Steady.of_problem(problem, angles, linear, options), "cavity", quiet=quiet)
        length = dt or problem.time_step if step is None else min(step, problem.time_step)
        run = _rarefy.Simulation(problem, length, given(scheme=scheme) | where)
        return March(run, time, rtol, most, "cavity", quiet=quiet)

    unknowns = float(problem_on(cells, counts, reach).unknowns)
    if boltzmann:
        unknowns = float(cells**2 * prod(counts))
    elif polar:
        unknowns = 4.0 * cells**2 * prod(counts)
    first = solve([cells, counts[0], _rarefy.EXTENT], counts, None, None, quiet=False)
    flow = Flow("cavity", boltzmann, polar, int(in_box), cells, counts, unknowns, solve, first)

    def result(solver: Solver, course: dict[str, Any]) -> CavityResult:
        fields, results, rotation = solver.found("fields", "cavity", "rotation")
        return CavityResult(
            x=solver.solver.centres(0),
            y=solver.solver.centres(1),
            **fields,
            **rotation,
            **results,
            **course,
            delta=delta,
            time=solver.solver.time if isinstance(solver, March) else float("inf"),
            device=solver.solver.device,
        )

    return solved(flow, result, verify, accuracy, progress)


def _counts(rule: str, counts: Sequence[int] | None, delta: float, steady: bool) -> list[int]:
    """Directions and speeds, or velocities along both axes."""
    if rule == "polar":
        if not steady:
            raise ValueError("quadrature='polar' is for steady flows; in time half-range and midpoint are there")
        if counts is not None and len(counts) != 2:
            raise ValueError("quadrature='polar' takes velocities=(directions of a quadrant, speeds)")
        return list(counts or _rarefy.directions(delta))
    if rule not in ("half-range", "midpoint"):
        raise ValueError(f"'{rule}' is no quadrature; choose polar, half-range or midpoint")
    in_time, half_range, midpoint = _rarefy.CAVITY_NODES
    usual = [in_time if not steady else half_range if rule == "half-range" else midpoint] * 2
    return usual if counts is None else list(counts) * 2 if len(counts) == 1 else list(counts)


def _axes(rule: str, counts: list[int], vmax: float) -> list[Any]:
    """The axes of the velocities; polar nodes replace them."""
    if rule == "polar":
        return [("half-range", 20, 0.0, 0.0)] * 2
    kind, low, high = ("half-range", 0.0, 0.0) if rule == "half-range" else ("uniform", -vmax, vmax)
    return [(kind, int(n), low, high) for n in counts]
