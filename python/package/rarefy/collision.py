"""The Boltzmann collision integral on a grid of velocities, relaxation to equilibrium, and transport rates.

Mass of a molecule and Boltzmann's constant are 1: a Maxwellian of temperature T has the variance T along each axis. Distributions have the
shape ``(n, n, n)``, ``f[ix, iy, iz]``, on the centres of ``n^3`` equal cells of the cube ``[box[0], box[1]]^3``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _files, _rarefy
from ._results import Array, Result
from ._run import Backend, Precision, compute, drive, given, warn

__all__ = [
    "CellCollisions",
    "Evaluation",
    "Rates",
    "Relaxation",
    "RelaxationResult",
    "bkw",
    "collide",
    "maxwellian",
    "rates",
    "two_maxwellians",
    "velocities",
    "velocity_moments",
]

Box = tuple[float, float]
Method = Literal["fast", "direct", "spectral"]
CorrectionMethod = Literal["balanced", "paper", "none"]


def velocities(n: int, box: Box) -> Array:
    """Centres of the cells along an axis.

    Parameters
    ----------
    n
        Cells along the axis.
    box
        Lower and upper bound of the velocities.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> import rarefy
    >>> rarefy.velocities(4, (-2.0, 2.0)).tolist()
    [-1.5, -0.5, 0.5, 1.5]
    """
    width = (box[1] - box[0]) / n
    return np.asarray(box[0] + (np.arange(n) + 0.5) * width)


def maxwellian(n: int, box: Box, *, density: float = 1.0, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0), temperature: float = 1.0) -> Array:
    """A Maxwellian at the centres of the cells, shape ``(n, n, n)``.

    Examples
    --------
    >>> import rarefy
    >>> f = rarefy.maxwellian(16, (-5.0, 5.0), temperature=1.0)
    >>> round(rarefy.velocity_moments(f, (-5.0, 5.0))["temperature"], 3)
    1.0
    """
    return _rarefy.initial("maxwellian", n, box, density=density, velocity=list(velocity), temperature=temperature)


def two_maxwellians(n: int, box: Box, *, density: float = 1.0, speed: float = 1.5, temperature: float = 1.0) -> Array:
    """Two Maxwellians that fly against each other along x with ``speed``, shape ``(n, n, n)``; scaled so that the density is exact."""
    return _rarefy.initial("two-maxwellians", n, box, density=density, speed=speed, temperature=temperature)


def bkw(n: int, box: Box, *, k: float = 0.65) -> Array:
    """The exact solution of Bobylev, Krook and Wu for pseudo-Maxwell molecules with the parameter ``k`` from 3/5 to 1, shape ``(n, n, n)``."""
    return _rarefy.initial("bkw", n, box, k=k)


def _cube(f: ArrayLike, batched: bool = False) -> Array:
    """A distribution as an array of float64; what is one already is not copied."""
    f = np.asarray(f)
    dimensions = (3, 4) if batched else (3,)
    if f.ndim not in dimensions or len(set(f.shape[-3:])) != 1:
        wanted = "(n, n, n) or (k, n, n, n)" if batched else "(n, n, n)"
        raise ValueError(f"f has the shape {f.shape}; {wanted} is needed")
    return f


def velocity_moments(f: Array, box: Box) -> dict[str, Any]:
    """Moments of a distribution.

    Parameters
    ----------
    f
        Distribution, shape ``(n, n, n)``, float64.
    box
        Lower and upper bound of the velocities.

    Returns
    -------
    dict
        ``density``, ``velocity`` (3), ``temperature``, ``pressure`` (xx, yy, zz, xy, xz, yz), ``heat_flux`` (3), ``fourth``, ``entropy``
        (Boltzmann's H), ``minimum`` and ``below_zero``.
    """
    f = _cube(f)
    return _rarefy.velocity_moments(f, f.shape[0], box)


def _operator(
    scattering: str | None,
    sigma_t: float | None,
    method: str | None,
    order: int | None,
    correction: str | None,
    spectral: dict[str, Any] | None,
    where: dict[str, Any],
) -> dict[str, Any]:
    return given(scattering=scattering, sigma_t=sigma_t, method=method, order=order, correction=correction, spectral=spectral) | where


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Result):
    """The collision integral of a distribution.

    Attributes
    ----------
    rate
        The integral ``I = gain - loss``, shape ``(n, n, n)``.
    gain, frequency
        Inverse collision integral and collision frequency.
    correction
        How mass, momentum and energy were made to be conserved, and the residuals afterwards.
    device
        Where it was computed.
    """

    rate: Array
    gain: Array
    frequency: Array
    correction: dict[str, Any]
    warnings: list[str]
    device: str

    _columns = ("rate", "gain", "frequency")

    def plot(self, ax: Any = None, box: Box | None = None) -> Any:
        """Plot the integral along x through the middle of the grid; returns the axes of matplotlib."""
        n = self.rate.shape[0]
        x = velocities(n, box) if box else np.arange(n)
        ax = self._plotted(ax, r"$\xi_x$" if box else "cell along x")
        low, high = (n - 1) // 2, n // 2
        ax.plot(x, 0.5 * (self.rate[:, low, low] + self.rate[:, high, high]), marker=".")
        ax.axhline(0.0, color="0.6", lw=0.8)
        ax.set_ylabel("collision integral")
        return ax


def collide(
    f: Array,
    box: Box,
    *,
    scattering: str | None = None,
    sigma_t: float | None = None,
    method: Method | None = None,
    order: Literal[2, 4] | None = None,
    correction: CorrectionMethod | None = None,
    spectral: dict[str, Any] | None = None,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> Evaluation | list[Evaluation]:
    """Evaluate the collision integral of a distribution, or of many.

    Parameters
    ----------
    f
        Distribution of shape ``(n, n, n)``, or ``k`` of them of shape ``(k, n, n, n)``; float64, C-contiguous. It is not copied.
    box
        Lower and upper bound of the velocities along each axis.
    scattering
        ``"hard-sphere"`` (default), ``"maxwell"``, ``"vhs:OMEGA"`` or, by the spectral method, ``"vss:OMEGA:ALPHA"``.
    sigma_t
        Total cross-section at unit relative speed; 1 by default.
    method
        ``"fast"`` (default) and ``"direct"`` sum over the nodes, ``"spectral"`` transforms.
    order
        Order of the coefficients of the sums, 4 (default) or 2.
    correction
        ``"balanced"``, ``"paper"`` or ``"none"``.
    spectral
        ``degree``, ``rank`` and ``period`` of the spectral method.
    backend, precision, threads
        Where to compute, the arithmetic of the sums, and the threads of the CPU.

    Returns
    -------
    Evaluation, or a list of them

    Raises
    ------
    ValueError
        A shape, value or option that is not acceptable; the text names what would be.
    rarefy.DeviceError, MemoryError
        No GPU, or too little memory.

    Examples
    --------
    >>> import rarefy
    >>> box = (-5.0, 5.0)
    >>> f = rarefy.two_maxwellians(10, box)
    >>> found = rarefy.collide(f, box, backend="cpu")
    >>> max(found.correction["residuals"]) < 1e-14
    True
    """
    f = _cube(f, batched=True)
    options = _operator(scattering, sigma_t, method, order, correction, spectral, compute(backend, precision, threads))
    found, device = _rarefy.collide(f, f.shape[-1], box, options)
    all_ = [Evaluation(**one, device=device) for one in found]
    for one in all_:
        warn(one.warnings)
    return all_[0] if f.ndim == 3 else all_


class CellCollisions:
    """Collisions in many cells of space, whose distributions stay in GPU memory: the collision step of a solver of one's own.

    Arrays are those of CuPy, PyTorch, JAX or Numba. They are read and written where they are; nothing passes the host.

    Parameters
    ----------
    cells
        Cells of space.
    n
        Velocities along an axis.
    box
        Lower and upper bound of the velocities along each axis.
    dt
        Time of a step.
    largest
        About the largest value of a distribution; the arithmetic is scaled by it.
    integrator
        ``"ssprk2"`` (default), ``"ssprk3"`` or ``"euler"``.
    scattering, sigma_t, method, order, correction, spectral, precision
        As for :func:`collide`. ``precision`` is that of the sums; distributions are float64.

    Raises
    ------
    rarefy.DeviceError
        No GPU.

    Examples
    --------
    >>> import rarefy
    >>> box = (-5.0, 5.0)
    >>> f = cupy.asarray(rarefy.two_maxwellians(16, box))[None].repeat(100, axis=0)  # doctest: +SKIP
    >>> after = cupy.empty_like(f)  # doctest: +SKIP
    >>> rarefy.CellCollisions(100, 16, box, dt=0.05, largest=1.0).collide(f, after)  # doctest: +SKIP
    """

    def __init__(
        self,
        cells: int,
        n: int,
        box: Box,
        *,
        dt: float,
        largest: float,
        integrator: Literal["euler", "ssprk2", "ssprk3"] = "ssprk2",
        scattering: str | None = None,
        sigma_t: float | None = None,
        method: Method | None = None,
        order: Literal[2, 4] | None = None,
        correction: CorrectionMethod | None = None,
        spectral: dict[str, Any] | None = None,
        precision: Precision = "f64",
    ) -> None:
        options = _operator(scattering, sigma_t, method, order, correction, spectral, compute("cuda", precision, None))
        self._cells = _rarefy.CellCollisions(cells, n, box, (dt, largest, integrator), options)

    def collide(self, before: Any, after: Any) -> None:
        """Write the distributions ``before`` into ``after``, a step later.

        Parameters
        ----------
        before, after
            Arrays of float64 in GPU memory, shape ``(cells, n, n, n)``, C-contiguous, without memory in common.
        """
        self._cells.collide(before, after)


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

    _columns = tuple("step density ux uy uz temperature pxx pyy pzz pxy pxz pyz qx qy qz m4 H min_f activity below_zero".split())
    _axes = ("time",)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Plot columns over time, by default the pressures; returns the axes of matplotlib."""
        ax = self._plotted(ax, "time")
        names = names or ("pxx", "pyy", "pzz")
        for name in names:
            ax.plot(self.time, getattr(self, name), label=name)
        if len(names) > 1:
            ax.legend(frameon=False)
        else:
            ax.set_ylabel(names[0])
        return ax


class Relaxation:
    """A homogeneous relaxation ``df/dt = I(f, f)`` under way.

    Parameters
    ----------
    f
        Initial distribution, shape ``(n, n, n)``, float64.
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
        As for :func:`collide`.

    Examples
    --------
    >>> import rarefy
    >>> box = (-6.5, 6.5)
    >>> run = rarefy.Relaxation(rarefy.two_maxwellians(12, box), box, time=0.5, backend="cpu")
    >>> result = run.run()
    >>> bool(result.H[-1] < result.H[0])
    True
    """

    def __init__(
        self,
        f: Array,
        box: Box,
        *,
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
        f = _cube(f)
        end = _end(time, steps, equilibrium)
        if end is None:
            raise TypeError("one of time, steps and equilibrium is needed")
        operator = _operator(scattering, sigma_t, method, order, correction, spectral, compute(backend, precision, threads))
        run = given(step=dt, integrator=integrator, limited=limited)
        self._run = _rarefy.Relaxation(f, f.shape[0], box, end, operator, run)
        self._box = box
        warn(self._run.warnings)

    @classmethod
    def resume(cls, checkpoint: str | os.PathLike[str], *, time: float | None = None, steps: int | None = None, equilibrium: float | None = None) -> Relaxation:
        """Go on from a checkpoint of :meth:`checkpoint` or of ``rarefy relax``, to another end where one is given."""
        data = _files.read_checkpoint(checkpoint, "relax")
        self = cls.__new__(cls)
        grid = data["config"]["operator"]["grid"]
        self._box = (grid["min"], grid["max"])
        _rarefy.enter(data["config"]["operator"]["backend"])
        self._run = _rarefy.Relaxation.resume(data, _end(time, steps, equilibrium))
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
    def device(self) -> str:
        """Where it is computed."""
        return self._run.device

    @property
    def f(self) -> Array:
        """The distribution now, shape ``(n, n, n)``."""
        return self._run.distribution()

    def advance(self, steps: int) -> int:
        """Take steps, or fewer where the run ends before; returns how many were taken."""
        return self._run.advance(steps)

    def run(self, *, progress: bool = False) -> RelaxationResult:
        """Run to the end. Ctrl-C raises :class:`rarefy.Interrupted`; the run keeps its state and goes on when called again."""
        drive(self._run, self, self._run.progress, progress=progress, what="relaxation")
        return self.result()

    def result(self) -> RelaxationResult:
        """The history so far and the distribution now."""
        return RelaxationResult(**self._run.history(), f=self.f, box=self._box, device=self.device)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that :meth:`resume` needs to go on to the same bits."""
        _files.write_checkpoint(path, "relax", self._run.checkpoint(), self.device)

    def __repr__(self) -> str:
        return f"Relaxation(time={self.time:.6g}, steps={self.steps}, device={self.device!r})"


def _end(time: float | None, steps: int | None, equilibrium: float | None) -> tuple[str, float] | None:
    ends = given(time=time, steps=steps, equilibrium=equilibrium)
    if len(ends) > 1:
        raise TypeError(f"one end is needed, not {' and '.join(ends)}")
    for name, number in ends.items():
        return name, float(number)
    return None


@dataclass(frozen=True, repr=False, eq=False)
class Rates(Result):
    """How fast the discrete operator relaxes, beside exact values; for density, temperature and mass 1.

    Attributes
    ----------
    shear, heat
        Decay rates of shear stress and heat flux in the first approximation of Chapman and Enskog.
    viscosity
        The viscosity by the full linear equation.
    shear_exact, heat_exact, viscosity_exact
        Their exact values; the last is None where it is not known.
    bkw_error
        Relative L2 error of the integral at the solution of Bobylev, Krook and Wu.
    equilibrium_error
        L2 norm of ``I(M)`` over that of the loss.
    """

    n: int
    shear: float
    shear_exact: float
    heat: float
    heat_exact: float
    viscosity: float
    viscosity_exact: float | None
    bkw_error: float
    equilibrium_error: float


def rates(
    n: int = 20,
    *,
    scattering: str | None = None,
    sigma_t: float | None = None,
    method: Method | None = None,
    order: Literal[2, 4] | None = None,
    correction: CorrectionMethod | None = None,
    spectral: dict[str, Any] | None = None,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> Rates:
    """Measure decay rates, viscosity and errors of the collision operator on ``n^3`` velocities.

    Parameters are those of :func:`collide`.

    Examples
    --------
    >>> import rarefy
    >>> found = rarefy.rates(12, backend="cpu")
    >>> abs(found.shear / found.shear_exact - 1) < 2e-4
    True
    """
    options = _operator(scattering, sigma_t, method, order, correction, spectral, compute(backend, precision, threads))
    study, exact, warning = _rarefy.rates(n, options)
    warn([warning] if warning else [])
    return Rates(
        n=n,
        shear=study["shear"],
        shear_exact=exact["shear"],
        heat=study["heat"],
        heat_exact=exact["heat"],
        viscosity=study["viscosity"]["value"],
        viscosity_exact=exact["viscosity"],
        bkw_error=study["bkw"]["relative"],
        equilibrium_error=study["equilibrium"],
    )
