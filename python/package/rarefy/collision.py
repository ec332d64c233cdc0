"""The Boltzmann collision integral on a grid of velocities, and transport rates.

Mass of a molecule and Boltzmann's constant are 1: a Maxwellian of temperature T has the variance T along each axis. Distributions have the
shape ``(n, n, n)``, ``f[ix, iy, iz]``, on the centres of ``n^3`` equal cells of the cube ``[box[0], box[1]]^3``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _rarefy
from ._accuracy import Errors
from ._results import Array, Result, plotted
from ._run import Backend, Precision, compute, given, warn

__all__ = [
    "CellCollisions",
    "Evaluation",
    "Rates",
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


def cube(f: ArrayLike, batched: bool = False) -> Array:
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
    f = cube(f)
    return _rarefy.velocity_moments(f, f.shape[0], box)


def operator(
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
        ax = plotted(ax, r"$\xi_x$" if box else "cell along x")
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
        ``"hard-sphere"`` (default), ``"maxwell"``, ``"vhs:OMEGA"`` or, by the spectral method, ``"vss:OMEGA,ALPHA"``.
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
    f = cube(f, batched=True)
    options = operator(scattering, sigma_t, method, order, correction, spectral, compute(backend, precision, threads))
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
        options = operator(scattering, sigma_t, method, order, correction, spectral, compute("cuda", precision, None))
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
    discretisation_error
        Estimated errors of ``shear``, ``heat``, ``viscosity`` and ``fourth_rate`` by cells and box, and their ``total``; None where they are not
        estimated.
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
    discretisation_error: Errors | None = None


def rates(
    n: int = 20,
    *,
    scattering: str | None = None,
    sigma_t: float | None = None,
    method: Method | None = None,
    order: Literal[2, 4] | None = None,
    correction: CorrectionMethod | None = None,
    spectral: dict[str, Any] | None = None,
    verify: bool | None = None,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> Rates:
    """Measure decay rates, viscosity and errors of the collision operator on ``n^3`` velocities.

    Parameters are those of :func:`collide`; ``verify`` says whether to repeat the measurement on other grids, by default where that takes seconds.

    Examples
    --------
    >>> import rarefy
    >>> found = rarefy.rates(12, backend="cpu")
    >>> abs(found.shear / found.shear_exact - 1) < 2e-4
    True
    """
    options = operator(scattering, sigma_t, method, order, correction, spectral, compute(backend, precision, threads))
    study, exact, warning, found = _rarefy.rates(n, options, verify)
    warn([warning] if warning else [])
    return Rates(
        discretisation_error=found["discretisation_error"],
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
