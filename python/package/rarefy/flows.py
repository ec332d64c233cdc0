"""Flows of rarefied gas: shock waves, driven cavities, gas between plates, and problems of one's own.

Velocities are in units of ``v0 = sqrt(2 R T0)``, times in ``1/nu0``, lengths in ``l0 = v0/nu0``; density and temperature in those of a
reference state. Pressures are in ``rho0 v0^2``, so that ``p = n T/2``, and heat fluxes in ``rho0 v0^3``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _files, _rarefy
from ._results import Array, Result
from ._run import Backend, Precision, compute, drive, given, plain, warn

__all__ = [
    "CavityResult",
    "FlowResult",
    "PlatesResult",
    "ShockResult",
    "Simulation",
    "Units",
    "cavity",
    "couette",
    "fourier",
    "inflow",
    "shock",
    "units",
    "wall",
]

Model = Literal["bgk", "shakhov"]
Axis = tuple[str, int, float, float] | dict[str, Any]
MEAN_FREE_PATH = 8.0 / (5.0 * np.sqrt(np.pi))


def _gas(model: str | None, prandtl: float | None, omega: float | None, frequency: float | None = None) -> dict[str, Any]:
    return given(model=model, prandtl=prandtl, omega=omega, frequency=frequency)


def _rarefaction(delta: float | None, kn: float | None) -> float:
    if (delta is None) == (kn is None):
        raise TypeError("either delta or kn is needed")
    return float(delta) if delta is not None else float(np.sqrt(np.pi) / 2.0 / (kn or np.nan))


@dataclass(frozen=True, repr=False, eq=False)
class Units(Result):
    """What the units of this module are in SI units."""

    length_m: float
    velocity_m_s: float
    time_s: float
    density_kg_m3: float
    temperature_k: float
    pressure_pa: float
    heat_flux_w_m2: float
    omega: float


def units(gas: Literal["helium", "neon", "argon", "krypton", "xenon"], pressure: float, temperature: float) -> Units:
    """The units of this module for a gas whose reference state has a ``pressure`` in Pa and a ``temperature`` in K.

    Examples
    --------
    >>> import rarefy
    >>> round(rarefy.units("argon", 101325.0, 273.0).velocity_m_s, 1)
    337.2
    """
    values, omega = _rarefy.units(gas, pressure, temperature)
    return Units(**values, omega=omega)


@dataclass(frozen=True, repr=False, eq=False)
class ShockResult(Result):
    """The profile of a shock wave.

    Attributes
    ----------
    x
        Positions in l0, from where the density is half-way between both sides; shape ``(cells,)``.
    density, velocity, temperature, pxx, heat_flux
        Moments there.
    thickness
        Maximum-slope density thickness in l0.
    inverse_thickness
        The mean free path upstream over the thickness.
    status
        ``"converged"``, or how else the run ended.
    residuals
        Changes of the iterations of a steady solution.
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

    _columns = ("density", "velocity", "temperature", "pxx", "heat_flux")
    _axes = ("x",)

    @property
    def inverse_thickness(self) -> float:
        """The mean free path upstream over the thickness."""
        return float(MEAN_FREE_PATH / self.thickness)

    def normalised(self, name: Literal["density", "velocity", "temperature"]) -> Array:
        """A field from 0 upstream to 1 downstream."""
        ends = [side["velocity"][0] if name == "velocity" else side[name] for side in (self.upstream, self.downstream)]
        return np.asarray((getattr(self, name) - ends[0]) / (ends[1] - ends[0]))

    def plot(self, ax: Any = None) -> Any:
        """Plot density, temperature and velocity, each from 0 to 1; returns the axes of matplotlib."""
        ax = self._plotted(ax, r"$x/l_0$")
        for name, label in (("density", "density"), ("temperature", "temperature")):
            ax.plot(self.x, self.normalised(name), label=label)  # type: ignore[arg-type]
        ax.plot(self.x, 1.0 - self.normalised("velocity"), label="velocity", ls="--")
        room = 6.0 * self.thickness
        ax.set_xlim(max(float(self.x[0]), -room), min(float(self.x[-1]), room))
        ax.set_ylabel("share of the jump")
        ax.set_title(f"Mach {self.mach:g}, thickness {self.thickness:.3f} $l_0$", fontsize="medium")
        ax.legend(frameon=False)
        return ax


def shock(
    mach: float,
    *,
    collisions: Literal["model", "boltzmann"] = "model",
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
    scattering: str | None = None,
    method: Literal["fast", "direct", "spectral"] | None = None,
    order: Literal[2, 4] | None = None,
    dt: float | None = None,
    scheme: str | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> ShockResult:
    """The structure of a plane shock wave.

    Parameters
    ----------
    mach
        Mach number, above 1.
    collisions
        ``"model"``: BGK or Shakhov; ``"boltzmann"``: the collision integral, in time.
    steady
        Whether to solve for the steady wave directly; with ``collisions="boltzmann"``, or with a ``time``, the run is in time.
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
    scattering, method, order
        Of the collision integral, as for :func:`rarefy.collide`.
    dt, scheme
        Time step, and interpolation: in time ``"vanleer"`` or ``"upwind"``, steady ``"diamond"`` or ``"upwind"``.
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
    """
    where = compute(backend, precision, threads)
    counts = [velocities] if isinstance(velocities, int) else velocities
    if collisions == "boltzmann":
        if counts is not None and len(set(counts)) > 1:
            raise ValueError("the collision integral has as many velocities along each axis; give one number")
        options = given(
            cells=cells,
            sides=sides,
            velocities=counts[0] if counts else None,
            cut=cut,
            scattering=scattering,
            method=method,
            order=order,
            step=dt,
            scheme=scheme,
        )
        line = _rarefy.Line(float(mach), options | where)
        warn(line.warnings)
        status, residuals = _march(line, line.dt, time, rtol or 1e-4, iterations, progress, "shock")
        return ShockResult(**line.shock(), status=status, residuals=residuals, device=line.device)
    surplus = given(scattering=scattering, method=method, order=order)
    if surplus:
        raise TypeError(f"{next(iter(surplus))} belongs to collisions='boltzmann'")
    options = given(cells=cells, sides=sides, velocities=counts, cut=cut, gas=_gas(model, prandtl, omega))
    problem = _rarefy.Problem.shock(float(mach), options)
    if steady and time is None:
        solver, status, residuals = _solve(problem, None, False, scheme, rtol, iterations, progress, where, "shock")
        found = solver.solution()
        return ShockResult(**found["shock"], status=status, residuals=residuals, device=solver.device)
    warn(problem.warnings)
    dt = dt or problem.time_step
    run = _rarefy.Simulation(problem, dt, given(scheme=scheme) | where)
    status, residuals = _march(run, dt, time, rtol or 1e-4, iterations, progress, "shock")
    return ShockResult(**run.shock(), status=status, residuals=residuals, device=run.device)


def _solve(
    problem: Any,
    polar: tuple[int, int] | None,
    linear: bool,
    scheme: str | None,
    rtol: float | None,
    iterations: int | None,
    progress: bool,
    where: dict[str, Any],
    what: str,
) -> tuple[Any, str, Array]:
    solver = _rarefy.Steady.of_problem(problem, polar, linear, given(closure=scheme, tolerance=rtol, iterations=iterations) | where)
    warn(solver.warnings)
    status, residuals = _iterate(solver, progress, what)
    return solver, status, residuals


def _iterate(solver: Any, progress: bool, what: str) -> tuple[str, Array]:
    """Iterate to the end; the share of the way is that of the decades to the tolerance."""

    def share() -> tuple[bool, float]:
        status, residuals, tolerance = solver.course()
        last = float(residuals[-1]) if len(residuals) else 1.0
        part = np.log(last) / np.log(tolerance) if 0.0 < last < 1.0 else 0.0
        return status is not None, float(np.clip(part, 0.0, 1.0))

    drive(solver, solver, share, progress=progress, what=what)
    status, residuals, _ = solver.course()
    return status, residuals


def _march(run: Any, dt: float, time: float | None, residual: float, most: int | None, progress: bool, what: str) -> tuple[str, Array]:
    """Advance in time to an end, or until little changes; returns how it ended, and the changes seen on the way."""
    seen: list[float] = []
    if time is not None:
        end = int(np.ceil(time / dt - 1e-9))

        def share() -> tuple[bool, float]:
            return run.steps >= end, run.steps / max(1, end)

        drive(run, run, share, limit=lambda: end - run.steps, progress=progress, what=what)
        return "time", np.asarray(seen)
    limit = 200_000 if most is None else most
    # The residual is taken once in a unit of time.
    apart = max(1, int(np.ceil(1.0 / dt)))
    start = run.residual()

    def looked() -> tuple[bool, float]:
        if run.steps and run.steps % apart == 0:
            seen.append(run.residual())
        last = seen[-1] if seen else start
        part = np.log(last) / np.log(residual) if 0.0 < last < 1.0 else 0.0
        return last <= residual or run.steps >= limit, float(np.clip(part, 0.0, 1.0))

    drive(run, run, looked, limit=lambda: min(apart - run.steps % apart, limit - run.steps), progress=progress, what=what)
    return "converged" if seen and seen[-1] <= residual else "unfinished", np.asarray(seen)


@dataclass(frozen=True, repr=False, eq=False)
class FlowResult(Result):
    """Fields of a flow.

    Attributes
    ----------
    x, y
        Centres of the cells; ``y`` is None on a line.
    density, ux, uy, temperature, pxx, pyy, pxy, qx, qy
        Fields, shape ``(len(x),)`` or ``(len(y), len(x))``.
    """

    x: Array
    y: Array | None
    density: Array
    ux: Array
    uy: Array
    temperature: Array
    pxx: Array
    pyy: Array
    pxy: Array
    qx: Array
    qy: Array
    time: float
    device: str

    _columns = ("density", "ux", "uy", "temperature", "pxx", "pyy", "pxy", "qx", "qy")

    def _coordinates(self) -> dict[str, Array]:
        return {"x": self.x} if self.y is None else {"y": self.y, "x": self.x}

    def to_xarray(self) -> Any:
        """A ``xarray.Dataset`` over ``(y, x)`` or ``(x,)``."""
        import xarray

        axes = tuple(self._coordinates())
        return xarray.Dataset({name: (axes, column) for name, column in self._table().items()}, coords=self._coordinates(), attrs=self._scalars())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` over ``(y, x)`` or ``x``."""
        return self.to_xarray().to_dataframe()

    def plot(self, name: str = "density", ax: Any = None) -> Any:
        """Plot a field; returns the axes of matplotlib."""
        ax = self._plotted(ax, r"$x/l_0$")
        field = getattr(self, name)
        if self.y is None:
            ax.plot(self.x, field)
            ax.set_ylabel(name)
        else:
            _map(ax, self.x, self.y, field, name)
        return ax


def _map(ax: Any, x: Array, y: Array, field: Array, name: str) -> None:
    ax.grid(False)
    image = ax.pcolormesh(x, y, field, shading="auto", rasterized=True)
    ax.figure.colorbar(image, ax=ax, label=name)
    ax.set_aspect("equal")
    ax.set_ylabel(r"$y/l_0$")


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
        _map(ax, self.x, self.y, getattr(self, name), name)
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
    cells: int = 80,
    velocities: Sequence[int] | None = None,
    quadrature: Literal["polar", "half-range", "midpoint"] | None = None,
    vmax: float = 4.5,
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
    velocities, quadrature, vmax
        ``"polar"``: directions of a quadrant and speeds (steady only, default there); ``"half-range"``: Gauss nodes along x and y;
        ``"midpoint"``: of a box of half-width ``vmax``. v_z is integrated out.
    lid, accommodation
        Speed of the lid and accommodation coefficient of the walls.
    steady, linear
        Whether to solve for the steady flow directly, and linearised about rest.
    time, rtol, iterations, dt, scheme, model, prandtl, omega, progress, backend, precision, threads
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
    delta = _rarefaction(delta, kn)
    steady = steady and time is None
    rule = quadrature or ("polar" if steady else "half-range")
    polar = None
    if rule == "polar":
        if not steady:
            raise ValueError("quadrature='polar' is for steady flows; in time half-range and midpoint are there")
        angles, speeds = velocities or ((60, 14) if delta < 0.5 else (32, 12))
        polar = (int(angles), int(speeds))
        axes: list[Axis] = [("half-range", 20, 0.0, 0.0)] * 2
    else:
        counts = tuple(velocities or (20, 20))
        kinds = {"half-range": ("half-range", 0.0, 0.0), "midpoint": ("uniform", -vmax, vmax)}
        if rule not in kinds:
            raise ValueError(f"'{rule}' is no quadrature; choose polar, half-range or midpoint")
        kind, low, high = kinds[rule]
        axes = [(kind, int(n), low, high) for n in counts]
    gas = _gas(model, prandtl, omega)
    problem = _rarefy.Problem.cavity(delta, cells, axes, given(lid=lid, accommodation=accommodation, gas=gas))
    x, y = problem.centres(0), problem.centres(1)
    if steady:
        solver, status, residuals = _solve(problem, polar, linear, scheme, rtol, iterations, progress, where, "cavity")
        found = solver.solution()
        fields, results, reached = found["fields"], found["cavity"], float("inf")
        device = solver.device
    else:
        warn(problem.warnings)
        dt = dt or problem.time_step
        run = _rarefy.Simulation(problem, dt, given(scheme=scheme) | where)
        status, residuals = _march(run, dt, time, rtol or 1e-6, iterations, progress, "cavity")
        fields, results, reached, device = run.fields(), run.cavity(), run.time, run.device
    return CavityResult(x=x, y=y, **fields, **results, delta=delta, time=reached, status=status, residuals=residuals, device=device)


@dataclass(frozen=True, repr=False, eq=False)
class PlatesResult(FlowResult):
    """Gas between plates; of the linearised equation, perturbations per unit of what drives the flow.

    Attributes
    ----------
    flux
        Couette: the stress ``Pi = -P_xy / (p0 U/v0)``; Fourier: the heat flux ``Q = q / (p0 v0 dT/T0)``.
    at_wall
        Velocity of the gas at the plate per U, or excess of its temperature per dT.
    faces
        What passes each plate, by ``"left"`` and ``"right"``.
    """

    delta: float
    flux: float
    at_wall: float
    status: str
    residuals: Array
    error_estimate: float
    faces: dict[str, Any]

    def plot(self, name: str | None = None, ax: Any = None) -> Any:
        """Plot a field between the plates, by default that which is driven; returns the axes of matplotlib."""
        driven = "uy" if np.ptp(self.uy) > np.ptp(self.temperature) else "temperature"
        ax = super().plot(name or driven, ax)
        ax.set_title(rf"$\delta$ = {self.delta:.4g}, flux {self.flux:.6f}", fontsize="medium")
        return ax


def _plates(
    drive_: str,
    strength: float,
    delta: float | None,
    kn: float | None,
    linear: bool,
    gas: dict[str, Any],
    accommodation: float,
    cells: int,
    velocities: tuple[int, int],
    scheme: str | None,
    rtol: float | None,
    iterations: int | None,
    progress: bool,
    where: dict[str, Any],
) -> PlatesResult:
    delta = _rarefaction(delta, kn)
    strength = 1.0 if linear else float(strength)
    resolution = {"cells": cells, "normal": velocities[0], "tangential": velocities[1]}
    options = given(closure=scheme, tolerance=rtol, iterations=iterations) | where
    solver = _rarefy.Steady.plates(delta, drive_, strength, gas, accommodation, resolution, linear, options)
    warn(solver.warnings)
    status, residuals = _iterate(solver, progress, drive_)
    found = solver.solution()
    left, right = ({key: float(value[0]) for key, value in found["faces"][side].items()} for side in ("left", "right"))
    if drive_ == "couette":
        # Stresses are in rho0 v0^2, which is 2 p0.
        flux, at_wall = (left["shear"] - right["shear"]) / strength, 0.5 * (right["velocity"] - left["velocity"]) / strength
    else:
        flux, at_wall = (right["heat"] - left["heat"]) / strength, 0.5 * (left["temperature"] - right["temperature"]) / strength
    return PlatesResult(
        x=solver.centres(0),
        y=None,
        **found["fields"],
        time=float("inf"),
        device=solver.device,
        delta=delta,
        flux=flux,
        at_wall=at_wall,
        status=status,
        residuals=residuals,
        error_estimate=found["error_estimate"],
        faces={"left": left, "right": right},
    )


def couette(
    delta: float | None = None,
    *,
    kn: float | None = None,
    u: float = 0.02,
    linear: bool = False,
    accommodation: float = 1.0,
    cells: int = 200,
    velocities: tuple[int, int] = (20, 8),
    model: Model | None = None,
    prandtl: float | None = None,
    omega: float | None = None,
    scheme: Literal["diamond", "upwind"] | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> PlatesResult:
    """Steady flow between plates that slide with ``-u/2`` and ``u/2`` along y.

    Parameters
    ----------
    delta, kn
        Distance of the plates in l0, or the Knudsen number.
    u
        Relative velocity of the plates in v0.
    linear
        Whether to solve the linearised equation, whose results are per unit of ``u``.
    accommodation, cells, velocities
        Of the plates; cells between them; normal velocities of either sign and tangential ones.
    model, prandtl, omega, scheme, rtol, iterations, progress, backend, precision, threads
        As for :func:`shock`.

    Returns
    -------
    PlatesResult

    Examples
    --------
    >>> import rarefy
    >>> flow = rarefy.couette(1.0, linear=True, backend="cpu")
    >>> print(f"{flow.flux:.4f}")
    0.3389
    """
    where = compute(backend, precision, threads)
    gas = _gas(model, prandtl, omega)
    return _plates("couette", u, delta, kn, linear, gas, accommodation, cells, velocities, scheme, rtol, iterations, progress, where)


def fourier(
    delta: float | None = None,
    *,
    kn: float | None = None,
    temperature_difference: float = 0.02,
    linear: bool = False,
    accommodation: float = 1.0,
    cells: int = 200,
    velocities: tuple[int, int] = (20, 8),
    model: Model | None = None,
    prandtl: float | None = None,
    omega: float | None = None,
    scheme: Literal["diamond", "upwind"] | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> PlatesResult:
    """Steady heat conduction between plates at ``1 + dT/2`` (left) and ``1 - dT/2`` with ``dT = temperature_difference``.

    Other parameters are those of :func:`couette`.

    Examples
    --------
    >>> import rarefy
    >>> flow = rarefy.fourier(1.0, linear=True, backend="cpu")
    >>> print(f"{flow.flux:.4f}")
    0.3616
    """
    where = compute(backend, precision, threads)
    gas = _gas(model, prandtl, omega)
    return _plates(
        "fourier", temperature_difference, delta, kn, linear, gas, accommodation, cells, velocities, scheme, rtol, iterations, progress, where
    )


def inflow(density: float = 1.0, velocity: tuple[float, float] = (0.0, 0.0), temperature: float = 1.0) -> dict[str, Any]:
    """A boundary through which a gas in equilibrium comes in."""
    return {"inflow": {"density": float(density), "velocity": plain(velocity), "temperature": float(temperature)}}


def wall(temperature: float = 1.0, velocity: tuple[float, float] = (0.0, 0.0), accommodation: float = 1.0) -> dict[str, Any]:
    """A wall that sends molecules back at its temperature and velocity, or mirrors the share ``1 - accommodation``."""
    return {"wall": {"temperature": float(temperature), "velocity": plain(velocity), "accommodation": float(accommodation)}}


Boundary = dict[str, Any] | Literal["specular", "periodic"]
Field = float | ArrayLike | Callable[..., ArrayLike]


class Simulation:
    """A flow in time, of a problem of one's own.

    Parameters
    ----------
    x
        Cells along x, and the lower and upper end, as ``(100, -10.0, 10.0)``.
    y
        The same along y; None on a line.
    velocities
        One to three axes: ``("uniform", n, low, high)``, ``("half-range", n, 0, 0)``, ``("hermite", n, 0, 0)``, or a dict of ``nodes`` and
        ``weights``. Components without an axis are integrated out.
    left, right, bottom, top
        Boundaries: :func:`wall`, :func:`inflow`, ``"specular"`` or ``"periodic"``.
    density, velocity, temperature
        The state at the start: numbers, arrays of the shape of space, or functions of ``x`` (and ``y``). ``velocity`` is a pair of them.
    dt
        Time step; by default that in which nothing passes half a cell, 0.05 at most.
    model, prandtl, omega, frequency
        The gas, and its relaxation frequency at unit density and temperature.
    scheme
        ``"vanleer"`` (default) or ``"upwind"``.
    conservative
        Whether Maxwellians have exact moments on the nodes.
    backend, precision, threads
        Where to compute, the arithmetic, and the threads of the CPU.

    Examples
    --------
    A shock tube:

    >>> import numpy as np, rarefy
    >>> tube = rarefy.Simulation(
    ...     (100, -10.0, 10.0), velocities=[("uniform", 28, -5.0, 5.0)],
    ...     left=rarefy.inflow(1.0), right=rarefy.inflow(0.125, temperature=0.8),
    ...     density=lambda x: np.where(x < 0, 1.0, 0.125), temperature=lambda x: np.where(x < 0, 1.0, 0.8), backend="cpu")
    >>> result = tube.run(time=2.0)
    >>> bool(result.ux[50] > 0.1)
    True
    """

    def __init__(
        self,
        x: tuple[int, float, float],
        y: tuple[int, float, float] | None = None,
        *,
        velocities: Sequence[Axis],
        left: Boundary = "periodic",
        right: Boundary = "periodic",
        bottom: Boundary = "periodic",
        top: Boundary = "periodic",
        density: Field = 1.0,
        velocity: tuple[Field, Field] = (0.0, 0.0),
        temperature: Field = 1.0,
        dt: float | None = None,
        model: Model | None = None,
        prandtl: float | None = None,
        omega: float | None = None,
        frequency: float | None = None,
        scheme: Literal["vanleer", "upwind"] | None = None,
        conservative: bool = True,
        backend: Backend = "auto",
        precision: Precision = "f64",
        threads: int | None = None,
    ) -> None:
        axes = [x] if y is None else [x, y]
        centres = [low + (np.arange(n) + 0.5) * (high - low) / n for n, low, high in axes]
        mesh = np.meshgrid(*centres) if y is not None else centres
        shape = mesh[0].shape

        def field(name: str, value: Field) -> Array:
            values = np.asarray(value(*mesh) if callable(value) else value, dtype=float)
            try:
                return np.ascontiguousarray(np.broadcast_to(values, shape))
            except ValueError:
                raise ValueError(f"{name} has the shape {values.shape}; {shape} is needed") from None

        start = [field("density", density), field("velocity[0]", velocity[0]), field("velocity[1]", velocity[1]), field("temperature", temperature)]
        flow = 2 if y is not None or (len(velocities) > 1 and bool(np.any(start[2]))) or _slides(left, right, velocities) else 1
        problem = _rarefy.Problem.new(
            [int(n) for n, _, _ in axes],
            [float(x[1]), float(x[2])],
            [float(y[1]), float(y[2])] if y is not None else [0.0, 1.0],
            list(velocities),
            flow,
            _gas(model, prandtl, omega, frequency),
            {"left": left, "right": right, "bottom": bottom, "top": top},
            start,
            conservative,
        )
        options = given(scheme=scheme) | compute(backend, precision, threads)
        self._run = _rarefy.Simulation(problem, dt or problem.time_step, options)
        self._centres = (problem.centres(0), problem.centres(1) if y is not None else None)

    @classmethod
    def resume(cls, checkpoint: str | os.PathLike[str]) -> Simulation:
        """Go on from a checkpoint of :meth:`checkpoint`."""
        data = _files.read_checkpoint(checkpoint, "simulation")
        self = cls.__new__(cls)
        config = data["config"]
        _rarefy.enter(config["backend"])
        space = config["problem"]["space"]
        centres = [low + (np.arange(n) + 0.5) * (high - low) / n for n, low, high in zip(space["cells"], space["min"], space["max"], strict=True)]
        self._centres = (centres[0], centres[1] if space["dimensions"] > 1 else None)
        self._run = _rarefy.Simulation.resume(data)
        return self

    @property
    def time(self) -> float:
        """Time reached."""
        return self._run.time

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self._run.steps

    @property
    def dt(self) -> float:
        """Time step."""
        return self._run.dt

    @property
    def device(self) -> str:
        """Where it is computed."""
        return self._run.device

    @property
    def populations(self) -> Array:
        """Populations of all nodes and cells, weights included, shape ``(jx, jy, m, ny, nx)``."""
        return self._run.populations()

    def advance(self, steps: int) -> int:
        """Take steps."""
        return self._run.advance(steps)

    def residual(self) -> float:
        """How fast the fields have changed since the last call, relative to them; infinite at the first."""
        return self._run.residual()

    def face_fluxes(self) -> list[dict[str, Any]]:
        """What the gas received through the left, right, bottom and top face in the last step: ``mass``, ``momentum``, ``energy``."""
        return self._run.face_fluxes()

    def run(self, *, time: float | None = None, steps: int | None = None, rtol: float | None = None, progress: bool = False) -> FlowResult:
        """Run on to a ``time``, for ``steps``, or until the fields change by less than ``rtol`` in a unit of time.

        Ctrl-C raises :class:`rarefy.Interrupted`; the run keeps its state.
        """
        ends = given(time=time, steps=steps, rtol=rtol)
        if len(ends) != 1:
            raise TypeError("one of time, steps and rtol is needed")
        if rtol is not None:
            _march(self._run, self.dt, None, rtol, None, progress, "flow")
            return self.result()
        start = self.steps
        end = start + steps if steps is not None else int(np.ceil((time or 0.0) / self.dt - 1e-9))

        def share() -> tuple[bool, float]:
            return self.steps >= end, (self.steps - start) / max(1, end - start)

        drive(self._run, self, share, limit=lambda: end - self.steps, progress=progress, what="flow")
        return self.result()

    def result(self) -> FlowResult:
        """The fields now."""
        x, y = self._centres
        return FlowResult(x=x, y=y, **self._run.fields(), time=self.time, device=self.device)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that :meth:`resume` needs to go on to the same bits."""
        _files.write_checkpoint(path, "simulation", self._run.checkpoint(), self.device)

    def __repr__(self) -> str:
        return f"Simulation(time={self.time:.6g}, steps={self.steps}, device={self.device!r})"


def _slides(left: Boundary, right: Boundary, velocities: Sequence[Axis]) -> bool:
    """Whether something at the ends of a line moves along y."""
    ends = [next(iter(end.values())) for end in (left, right) if isinstance(end, dict)]
    return len(velocities) > 1 and any(end["velocity"][1] != 0.0 for end in ends)
