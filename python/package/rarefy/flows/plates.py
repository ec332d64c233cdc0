"""Gas between plates: Couette flow, heat conduction, Poiseuille flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .. import _rarefy
from .._accuracy import Errors
from .._results import Array
from .._run import Backend, Precision, compute, given
from .fields import FlowResult
from .solving import Collisions, Correction, Iteration, Method, Model, Sphere, cubic, gas, molecules, rarefaction, refuse
from .sweep import swept
from .verifying import Flow, Solver, solved

Kind = Literal["couette", "fourier", "poiseuille"]


@dataclass(frozen=True, repr=False, eq=False)
class PlatesResult(FlowResult):
    """Gas between plates; of the linearised equation, perturbations per unit of what drives the flow.

    Attributes
    ----------
    flux
        Couette: the stress ``Pi = -P_xy / (p0 U/v0)``; Fourier: the heat flux ``Q = q / (p0 v0 dT/T0)``; Poiseuille: the reduced flow rate
        ``G``, 2/X times the mean velocity in v0.
    at_wall
        Velocity of the gas at the plate per U or per X/2, or excess of its temperature per dT.
    faces
        What passes each plate, by ``"left"`` and ``"right"``.
    temperature_translational, temperature_rotational, heat_flux_rotational
        Of molecules that rotate: both temperatures, and the part of ``qx`` that is internal energy; else None.
    discretisation_error, accuracy
        Errors of ``flux`` and ``at_wall``, as those of :class:`ShockResult`.
    """

    delta: float
    flux: float
    at_wall: float
    status: str
    residuals: Array
    error_estimate: float
    faces: dict[str, Any]
    temperature_translational: Array | None = None
    temperature_rotational: Array | None = None
    heat_flux_rotational: Array | None = None
    discretisation_error: Errors | None = None
    accuracy: dict[str, Any] | None = None

    _columns = (*FlowResult._columns, "temperature_translational", "temperature_rotational", "heat_flux_rotational")

    def plot(self, name: str | None = None, ax: Any = None) -> Any:
        """Plot a field between the plates, by default that which is driven; returns the axes of matplotlib."""
        driven = "uy" if np.ptp(self.uy) > np.ptp(self.temperature) else "temperature"
        ax = super().plot(name or driven, ax)
        ax.set_title(rf"$\delta$ = {self.delta:.4g}, flux {self.flux:.6f}", fontsize="medium")
        return ax


@dataclass(frozen=True)
class _Gap:
    """The plates, and the velocities between them."""

    kind: Kind
    strength: float
    delta: float
    cells: int | None
    velocities: int | tuple[int, int] | None
    vmax: float | None
    options: dict[str, Any]

    def solver(self, gas: dict[str, Any], linear: bool, accommodation: float, where: dict[str, Any]) -> _rarefy.Steady:
        """That of a relaxation model."""
        normal, along = self._gauss()
        if self.kind == "poiseuille":
            for name, off in (("linear", linear), ("accommodation", accommodation != 1.0), ("scheme", self.options.get("closure", "diamond") != "diamond")):
                if off:
                    raise TypeError(f"{name} is not there for Poiseuille flow by a model, whose plates are diffuse and whose cells have diamond differences")
            if where["backend"] not in ("auto", "cpu") or where["precision"] != "f64":
                raise ValueError("Poiseuille flow by a model runs on the CPU in f64; leave backend and precision out, or use collisions='boltzmann'")
            return _rarefy.Steady.gap(self.delta, "couette", 0.0, self._force, gas, None, (normal, along), self._sweeps())
        resolution = given(cells=self.cells, normal=normal, tangential=along)
        return _rarefy.Steady.plates(self.delta, self.kind, self.strength, gas, accommodation, resolution, linear, self.options | where)

    def by_integral(self, operator: dict[str, Any]) -> _rarefy.Steady:
        """That of the collision integral."""
        drive = "couette" if self.kind == "poiseuille" else self.kind
        strength = 0.0 if self.kind == "poiseuille" else self.strength
        return _rarefy.Steady.gap(self.delta, drive, strength, self._force, None, operator, (cubic(self.velocities), self.vmax), self._sweeps())

    def counts(self, gas: dict[str, Any], linear: bool) -> list[int]:
        """Velocities of a model normal to the plates, and along them."""
        usual = _rarefy.velocities_of_plates(self.delta, self.kind, self.strength, self._force, gas, linear)
        return [own or other for own, other in zip(self._gauss(), usual, strict=True)]

    @property
    def _force(self) -> float:
        """The acceleration that a fall of the pressure over the distance of the plates is."""
        return 0.5 * self.strength / self.delta if self.kind == "poiseuille" else 0.0

    def _gauss(self) -> tuple[int | None, int | None]:
        if self.vmax is not None:
            raise TypeError("vmax belongs to collisions='boltzmann'; the models have Gauss rules")
        given_ = self.velocities
        return given_ if isinstance(given_, tuple) else (given_, None)

    def _sweeps(self) -> dict[str, Any]:
        return given(cells=self.cells, tolerance=self.options.get("rtol"), iterations=self.options.get("iterations"))

    def measured(self, left: dict[str, float], right: dict[str, float], rate: float | None) -> tuple[float, float]:
        """Flux and gas at the plates, per unit of what drives the flow."""
        # Stresses are in rho0 v0^2, which is 2 p0.
        if self.kind == "couette":
            flux, at_wall = left["shear"] - right["shear"], 0.5 * (right["velocity"] - left["velocity"])
        elif self.kind == "fourier":
            flux, at_wall = right["heat"] - left["heat"], 0.5 * (left["temperature"] - right["temperature"])
        else:
            return float(np.nan if rate is None else rate), (left["velocity"] + right["velocity"]) / self.strength
        return flux / self.strength, at_wall / self.strength


def _plates(
    kind: Kind,
    strength: float | None,
    linear: bool,
    delta: float | None,
    kn: float | None,
    collisions: Collisions,
    accommodation: float,
    velocities: tuple[int | None, int | tuple[int, int] | None, float | None],
    gas: dict[str, Any],
    operator: dict[str, Any],
    options: dict[str, Any],
    verify: bool | None,
    accuracy: float | None,
    progress: bool,
    where: dict[str, Any],
) -> PlatesResult:
    delta = rarefaction(delta, kn)
    # Of the force along a channel, which depends on its width.
    driven = _rarefy.gradient(delta) if strength is None else float(strength)
    gap = _Gap(kind, 1.0 if linear else driven, delta, *velocities, options)
    boltzmann = collisions == "boltzmann"
    if boltzmann:
        refuse("model", linear=linear or None, accommodation=None if accommodation == 1.0 else accommodation, scheme=options.get("closure"), **gas)
    else:
        refuse("boltzmann", sphere=operator.pop("spectral", None), **operator)

    def solve(grid: list[int], counts: list[int], step: float | None, most: int | None, *, quiet: bool) -> Solver:
        most_along = 64
        on = gap
        if boltzmann and counts:
            counts, wider = _rarefy.in_box(counts, grid[2])
            on = replace(gap, cells=grid[0], velocities=counts[0], vmax=wider * reach)
        elif counts:
            on = replace(gap, cells=grid[0], velocities=(counts[0], min(counts[1], most_along)))
        solver = on.by_integral(operator | where) if boltzmann else on.solver(gas, linear, accommodation, where)
        return Iteration(solver, kind, quiet=quiet)

    def measured(solver: Solver) -> tuple[float, float]:
        faces, rate = solver.found("faces", "flow_rate")
        left, right = ({name: float(value[0]) for name, value in faces[side].items()} for side in ("left", "right"))
        return gap.measured(left, right, rate)

    def quantities(solver: Solver) -> tuple[list[Any], float]:
        (estimate,) = solver.found("error_estimate")
        return _rarefy.quantities_of_plates(*measured(solver), kind != "poiseuille"), estimate

    first = solve([], [], None, None, quiet=False)
    assert isinstance(first, Iteration)
    reach = first.solver.reach
    counts = [first.solver.cubic] if boltzmann else gap.counts(gas, linear)
    flow = Flow(kind, boltzmann, False, int(boltzmann), len(first.solver.centres(0)), counts, 0.0, solve, first, quantities)

    def result(solver: Solver, course: dict[str, Any]) -> PlatesResult:
        fields, rotation, faces, estimate = solver.found("fields", "rotation", "faces", "error_estimate")
        left, right = ({name: float(value[0]) for name, value in faces[side].items()} for side in ("left", "right"))
        flux, at_wall = measured(solver)
        return PlatesResult(
            x=solver.solver.centres(0),
            y=None,
            **fields,
            **course,
            time=float("inf"),
            device=solver.solver.device,
            delta=gap.delta,
            flux=flux,
            at_wall=at_wall,
            error_estimate=estimate,
            faces={"left": left, "right": right},
            **rotation,
        )

    return solved(flow, result, verify, accuracy, progress)


@swept("delta", "kn")
def couette(
    delta: float | None = None,
    *,
    kn: float | None = None,
    u: float = 0.02,
    linear: bool = False,
    collisions: Collisions = "model",
    accommodation: float = 1.0,
    cells: int | None = None,
    velocities: int | tuple[int, int] | None = None,
    vmax: float | None = None,
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
    scheme: Literal["diamond", "upwind"] | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
    verify: bool | None = None,
    accuracy: float | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> PlatesResult:
    """Steady flow between plates that slide with ``-u/2`` and ``u/2`` along y.

    Parameters
    ----------
    delta, kn
        Distance of the plates in l0, or the Knudsen number. A list of them gives a :class:`Sweep`.
    u
        Relative velocity of the plates in v0.
    linear
        Whether to solve the linearised equation, whose results are per unit of ``u``.
    collisions
        ``"model"``: BGK or Shakhov; ``"boltzmann"``: the collision integral, by default that of hard spheres.
    accommodation
        Of the plates; 1 with the collision integral.
    cells
        Cells between the plates; 200, or 60 with the collision integral.
    velocities, vmax
        Normal velocities of either sign and tangential ones, (20, 8), or more normal ones where the gas needs them. Or, with the collision integral, one number for each axis of a cube of half-width
        ``vmax``; 0.4 apart by default, and half a thermal speed of the colder plate.
    model, prandtl, omega, internal_dof, z_rot, eucken, scattering, method, order, correction, sphere, scheme, rtol, iterations, verify, accuracy, progress, backend, precision, threads
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
    return _plates(
        "couette",
        u,
        linear,
        delta,
        kn,
        collisions,
        accommodation,
        (cells, velocities, vmax),
        gas(model, prandtl, omega, rotation=(internal_dof, z_rot, eucken)),
        molecules(scattering, method, order, correction, sphere),
        given(closure=scheme, rtol=rtol, iterations=iterations),
        verify,
        accuracy,
        progress,
        compute(backend, precision, threads),
    )


@swept("delta", "kn")
def fourier(
    delta: float | None = None,
    *,
    kn: float | None = None,
    temperature_difference: float = 0.02,
    linear: bool = False,
    collisions: Collisions = "model",
    accommodation: float = 1.0,
    cells: int | None = None,
    velocities: int | tuple[int, int] | None = None,
    vmax: float | None = None,
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
    scheme: Literal["diamond", "upwind"] | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
    verify: bool | None = None,
    accuracy: float | None = None,
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
    return _plates(
        "fourier",
        temperature_difference,
        linear,
        delta,
        kn,
        collisions,
        accommodation,
        (cells, velocities, vmax),
        gas(model, prandtl, omega, rotation=(internal_dof, z_rot, eucken)),
        molecules(scattering, method, order, correction, sphere),
        given(closure=scheme, rtol=rtol, iterations=iterations),
        verify,
        accuracy,
        progress,
        compute(backend, precision, threads),
    )


@swept("delta", "kn")
def poiseuille(
    delta: float | None = None,
    *,
    kn: float | None = None,
    gradient: float | None = None,
    collisions: Collisions = "model",
    accommodation: float = 1.0,
    cells: int | None = None,
    velocities: int | tuple[int, int] | None = None,
    vmax: float | None = None,
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
    scheme: Literal["diamond", "upwind"] | None = None,
    rtol: float | None = None,
    iterations: int | None = None,
    verify: bool | None = None,
    accuracy: float | None = None,
    progress: bool = False,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> PlatesResult:
    """Steady flow along a channel, which a fall of the pressure or a force drives.

    Parameters
    ----------
    gradient
        Fall X of the pressure along a width of the channel in units of p0; 0.01, or less where the flow would not be linear. A uniform force per mass acts instead of it.

    Other parameters are those of :func:`couette`. Plates are diffuse. A model runs on the CPU in f64.

    Examples
    --------
    >>> import rarefy
    >>> flow = rarefy.poiseuille(1.0, backend="cpu")
    >>> print(f"{flow.flux:.3f}")
    1.539
    """
    return _plates(
        "poiseuille",
        gradient,
        False,
        delta,
        kn,
        collisions,
        accommodation,
        (cells, velocities, vmax),
        gas(model, prandtl, omega, rotation=(internal_dof, z_rot, eucken)),
        molecules(scattering, method, order, correction, sphere),
        given(closure=scheme, rtol=rtol, iterations=iterations),
        verify,
        accuracy,
        progress,
        compute(backend, precision, threads),
    )
