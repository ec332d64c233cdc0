"""Flows in time of a problem of one's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _checkpoints, _rarefy
from .._results import Array
from .._run import Backend, LongRun, Precision, compute, given, plain
from .fields import FlowResult
from .solving import Collisions, Correction, March, Method, Model, Sphere, gas, molecules, refuse

Axis = tuple[str, int, float, float] | dict[str, Any]


def inflow(density: float = 1.0, velocity: tuple[float, float] = (0.0, 0.0), temperature: float = 1.0) -> dict[str, Any]:
    """A boundary through which a gas in equilibrium comes in."""
    return {"inflow": {"density": float(density), "velocity": plain(velocity), "temperature": float(temperature)}}


def wall(temperature: float = 1.0, velocity: tuple[float, float] = (0.0, 0.0), accommodation: float = 1.0) -> dict[str, Any]:
    """A wall that sends molecules back at its temperature and velocity, or mirrors the share ``1 - accommodation``."""
    return {"wall": {"temperature": float(temperature), "velocity": plain(velocity), "accommodation": float(accommodation)}}


Boundary = dict[str, Any] | Literal["specular", "periodic"]
Field = float | ArrayLike | Callable[..., ArrayLike]


class Simulation(LongRun):
    """A flow in time, of a problem of one's own.

    Parameters
    ----------
    x
        Cells along x, and the lower and upper end, as ``(100, -10.0, 10.0)``.
    y
        The same along y; None on a line.
    velocities
        One to three axes: ``("uniform", n, low, high)``, ``("half-range", n, 0, 0)``, ``("hermite", n, 0, 0)``, or a dict of ``nodes`` and
        ``weights``. Components without an axis are integrated out. With ``collisions="boltzmann"`` a pair: nodes along each axis of a cube, and its
        half-width.
    collisions
        ``"model"``: BGK, Shakhov or polyatomic; ``"boltzmann"``: the collision integral.
    left, right, bottom, top
        Boundaries: :func:`wall`, :func:`inflow`, ``"specular"`` or ``"periodic"``.
    density, velocity, temperature
        The state at the start: numbers, arrays of the shape of space, or functions of ``x`` (and ``y``). ``velocity`` is a pair of them.
    dt
        Time step; by default that in which nothing passes half a cell, 0.05 at most.
    model, prandtl, omega, frequency
        The gas of a model, and its relaxation frequency at unit density and temperature.
    internal_dof, z_rot, eucken
        Of ``model="polyatomic"``, whose molecules rotate, on one or two axes of velocity: as for :func:`shock`.
    scattering, method, order, correction
        Of the collision integral, as for :func:`rarefy.collide`; by default of hard spheres, spectral and balanced.
    sphere
        Degree of the rule on the sphere of the spectral method, as for :func:`shock`.
    stepping
        With the collision integral, ``"penalised"`` (default): streaming bounds the step, which is half of the longest one by default;
        or ``"split"``: collisions bound it, and ``dt`` is needed.
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

    _run: _rarefy.Simulation

    def __init__(
        self,
        x: tuple[int, float, float],
        y: tuple[int, float, float] | None = None,
        *,
        velocities: Sequence[Axis] | tuple[int, float],
        collisions: Collisions = "model",
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
        internal_dof: float | None = None,
        z_rot: float | None = None,
        eucken: tuple[float, float] | None = None,
        scattering: str | None = None,
        method: Method | None = None,
        order: Literal[2, 4] | None = None,
        correction: Correction | None = None,
        sphere: Sphere | None = None,
        stepping: Literal["penalised", "split"] | None = None,
        scheme: Literal["vanleer", "upwind"] | None = None,
        conservative: bool = True,
        backend: Backend = "auto",
        precision: Precision = "f64",
        threads: int | None = None,
    ) -> None:
        where = compute(backend, precision, threads)
        integral = molecules(scattering, method, order, correction, sphere)
        relaxation = gas(model, prandtl, omega, frequency, (internal_dof, z_rot, eucken))
        boltzmann = collisions == "boltzmann"
        if boltzmann:
            refuse("model", **relaxation)
            nodes, reach = _cube(velocities)
            axes: list[Any] = [("uniform", nodes, -reach, reach)] * 2
        else:
            refuse("boltzmann", stepping=stepping, sphere=integral.pop("spectral", None), **integral)
            axes = _axes(velocities)
        space = [x] if y is None else [x, y]
        start = _start(space, density, velocity, temperature)
        problem = _rarefy.Problem.new(
            [int(n) for n, _, _ in space],
            [float(x[1]), float(x[2])],
            [float(y[1]), float(y[2])] if y is not None else [0.0, 1.0],
            axes,
            2 if y is not None or (len(axes) > 1 and (bool(np.any(start[2])) or _slides(left, right))) else 1,
            relaxation,
            {"left": left, "right": right, "bottom": bottom, "top": top},
            start,
            conservative,
        )
        if boltzmann:
            if stepping == "split" and dt is None:
                raise TypeError("dt is needed with stepping='split'")
            self._run = _rarefy.Simulation.boltzmann(problem, (nodes, reach), dt, scheme, stepping, integral | where)
        else:
            self._run = _rarefy.Simulation(problem, dt or problem.time_step, given(scheme=scheme) | where)

    @classmethod
    def resume(cls, checkpoint: str | os.PathLike[str]) -> Simulation:
        """Go on from a checkpoint of :meth:`checkpoint`."""
        data, unknowns, by_integral = _checkpoints.read_flow(checkpoint)
        config = data["config"]
        _rarefy.enter(config["operator"]["backend"] if by_integral else config["backend"])
        self = cls.__new__(cls)
        self._run = _rarefy.Simulation.resume(data, unknowns, by_integral)
        return self

    @property
    def populations(self) -> Array:
        """Populations of all nodes and cells, weights included, shape ``(jx, jy, m, ny, nx)``.

        With the collision integral, distributions in ``n0/v0^3``, shape ``(ny, nx, n, n, n)``.
        """
        return self._run.populations()

    def residual(self) -> float:
        """How fast the fields have changed since the last call, relative to them; infinite at the first."""
        return self._run.residual()

    def rotation(self) -> dict[str, Array]:
        """Both temperatures and the heat flux of internal energy, as :class:`ShockResult` and :class:`CavityResult` have them; empty of single atoms."""
        return self._run.rotation()

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
            March(self._run, None, rtol, None, "flow")(progress)
        else:
            self._advance(steps, time, progress)
        return self.result()

    def result(self) -> FlowResult:
        """The fields now."""
        fields = self._run.fields()
        plane = fields["density"].ndim > 1
        centres = self._run.centres
        return FlowResult(x=centres(0), y=centres(1) if plane else None, **fields, time=self.time, device=self.device)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that :meth:`resume` needs to go on to the same bits."""
        _checkpoints.write_flow(path, *self._run.checkpoint())


def _cube(velocities: Any) -> tuple[int, float]:
    """Nodes along each axis, and the half-width of their cube."""
    try:
        nodes, reach = velocities
        return int(nodes), float(reach)
    except (TypeError, ValueError):
        raise TypeError("the collision integral takes velocities=(nodes along each axis, half-width of their cube)") from None


def _axes(velocities: Sequence[Axis] | tuple[int, float]) -> list[Any]:
    """Axes of velocities of a model."""
    axes: list[Any] = list(velocities)
    if any(isinstance(axis, (int, float)) for axis in axes):
        nodes, *reach = axes
        example = f"[('uniform', {nodes}, {-reach[0]}, {reach[0]})]" if len(reach) == 1 else "[('uniform', 28, -5.0, 5.0)]"
        raise TypeError(f"velocities = {velocities!r} is a cube for collisions='boltzmann'; a model takes a rule for each axis, as in {example}")
    return axes


def _start(space: Sequence[tuple[int, float, float]], density: Field, velocity: tuple[Field, Field], temperature: Field) -> list[Array]:
    """Density, velocities and temperature in the cells."""
    centres = [low + (np.arange(n) + 0.5) * (high - low) / n for n, low, high in space]
    mesh = np.meshgrid(*centres) if len(space) > 1 else centres
    shape = mesh[0].shape

    def field(name: str, value: Field) -> Array:
        values = np.asarray(value(*mesh) if callable(value) else value, dtype=float)
        try:
            return np.ascontiguousarray(np.broadcast_to(values, shape))
        except ValueError:
            raise ValueError(f"{name} has the shape {values.shape}; {shape} is needed") from None

    return [field("density", density), field("velocity[0]", velocity[0]), field("velocity[1]", velocity[1]), field("temperature", temperature)]


def _slides(left: Boundary, right: Boundary) -> bool:
    """Whether something at the ends of a line moves along y."""
    ends = [next(iter(end.values())) for end in (left, right) if isinstance(end, dict)]
    return any(end["velocity"][1] != 0.0 for end in ends)
