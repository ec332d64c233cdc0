"""The driven cavity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .. import _rarefy
from .._results import Array
from .._run import Backend, Precision, complete, compute, given
from .fields import FlowResult, draw_map
from .solving import Collisions, Correction, Iteration, March, Method, Model, Sphere, cubic, gas, molecules, rarefaction, refuse

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

    def plot(self, name: str = "temperature", ax: Any = None) -> Any:
        """Plot a field with streamlines; returns the axes of matplotlib."""
        ax = self._plotted(ax, r"$x/l_0$")
        assert self.y is not None
        draw_map(ax, self.x, self.y, getattr(self, name), name)
        # Streamlines want points at equal distances to the last digit.
        x, y = (np.linspace(axis[0], axis[-1], len(axis)) for axis in (self.x, self.y))
        ax.streamplot(x, y, self.ux, self.uy, color="white", linewidth=0.7, density=1.1, arrowsize=0.8)
        ax.set_xlim(x[0], x[-1])
        ax.set_ylim(y[0], y[-1])
        ax.set_title(rf"$\delta$ = {self.delta:.4g}, drag {self.drag_wall:.4f}, flow rate {self.flow:.4f}", fontsize="medium")
        return ax


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
    scattering: str | None = None,
    method: Method | None = None,
    order: Literal[2, 4] | None = None,
    correction: Correction | None = None,
    sphere: Sphere | None = None,
    dt: float | None = None,
    scheme: str | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> CavityResult:
    """The flow in a square cavity whose upper wall slides along x.

    Parameters
    ----------
    delta, kn
        Rarefaction parameter, the side in l0; or the Knudsen number, ``delta = (sqrt(pi)/2)/kn``.
    cells
        Cells along a side.
    collisions
        ``"model"``: BGK or Shakhov; ``"boltzmann"``: the collision integral, which wants a GPU beyond a few hundred cells.
    velocities, quadrature, vmax
        ``"polar"``: directions of a quadrant and speeds (steady only, default there); ``"half-range"``: Gauss nodes along x and y;
        ``"midpoint"``: of a box of half-width ``vmax`` (4.5). v_z is integrated out. With ``collisions="boltzmann"`` one number (20) along each
        axis of a cube of half-width ``vmax`` (4).
    lid, accommodation
        Speed of the lid and accommodation coefficient of the walls.
    steady, linear
        Whether to solve for the steady flow directly, and linearised about rest. With ``time`` or ``dt`` the flow runs in time.
    time, rtol, iterations, dt, scheme, model, prandtl, omega, scattering, method, order, correction, sphere, progress, backend, precision, threads
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
    walls = given(lid=lid, accommodation=accommodation, gas=gas(model, prandtl, omega))
    solver: Iteration | March
    if boltzmann:
        refuse("model", model=model, prandtl=prandtl, omega=omega, quadrature=quadrature, linear=linear or None)
        n = cubic(velocities) or _rarefy.CAVITY_NODES[0]
        reach = _rarefy.CAVITY_REACH[1] if vmax is None else vmax
        problem = _rarefy.Problem.cavity(delta, cells, [("uniform", n, -reach, reach)] * 2, walls, True)
        operator = molecules(scattering, method, order, correction, sphere) | where
        if steady:
            options = given(closure=scheme, rtol=rtol, iterations=iterations) | where
            solver = Iteration(_rarefy.Steady.by_integral(problem, (n, reach), operator, options), "cavity")
        else:
            run = _rarefy.Simulation.boltzmann(problem, (n, reach), dt, scheme, None, operator)
            solver = March(run, time, rtol, iterations, "cavity")
    else:
        refuse("boltzmann", scattering=scattering, method=method, order=order, correction=correction, sphere=sphere)
        counts = [velocities] if isinstance(velocities, int) else velocities
        polar, axes = _nodes(quadrature or ("polar" if steady else "half-range"), counts, _rarefy.CAVITY_REACH[0] if vmax is None else vmax, delta, steady)
        problem = _rarefy.Problem.cavity(delta, cells, axes, walls)
        if steady:
            options = given(closure=scheme, rtol=rtol, iterations=iterations) | where
            solver = Iteration(_rarefy.Steady.of_problem(problem, polar, linear, options), "cavity")
        else:
            run = _rarefy.Simulation(problem, dt or problem.time_step, given(scheme=scheme) | where)
            solver = March(run, time, rtol, iterations, "cavity")

    def work(progress: bool) -> CavityResult:
        course = solver(progress)
        fields, results = solver.found("fields", "cavity")
        return CavityResult(
            x=problem.centres(0),
            y=problem.centres(1),
            **fields,
            **results,
            **course,
            delta=delta,
            time=solver.solver.time if isinstance(solver, March) else float("inf"),
            device=solver.solver.device,
        )

    return complete(work, progress)


def _nodes(rule: str, counts: Sequence[int] | None, vmax: float, delta: float, steady: bool) -> tuple[tuple[int, int] | None, list[Any]]:
    """Directions and speeds, or none; and the axes of the velocities."""
    if rule == "polar":
        if not steady:
            raise ValueError("quadrature='polar' is for steady flows; in time half-range and midpoint are there")
        if counts is not None and len(counts) != 2:
            raise ValueError("quadrature='polar' takes velocities=(directions of a quadrant, speeds)")
        angles, speeds = counts or _rarefy.directions(delta)
        return (int(angles), int(speeds)), [("half-range", 20, 0.0, 0.0)] * 2
    kinds = {"half-range": ("half-range", 0.0, 0.0), "midpoint": ("uniform", -vmax, vmax)}
    if rule not in kinds:
        raise ValueError(f"'{rule}' is no quadrature; choose polar, half-range or midpoint")
    kind, low, high = kinds[rule]
    in_time, half_range, midpoint = _rarefy.CAVITY_NODES
    usual = [in_time if not steady else half_range if rule == "half-range" else midpoint] * 2
    counts = usual if counts is None else list(counts) * 2 if len(counts) == 1 else counts
    return None, [(kind, int(n), low, high) for n in counts]
