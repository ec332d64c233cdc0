"""Homogeneous relaxation by a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _rarefy
from .._results import Array, Result, plotted
from .._run import Backend, Precision, compute
from .solving import Model, gas


@dataclass(frozen=True, repr=False, eq=False)
class ModelRelaxationResult(Result):
    """The relaxation of a uniform gas by a model, in the units of :class:`RelaxationResult`.

    Attributes
    ----------
    time
        Times of the records in units of the relaxation time at the start's unit of temperature, shape ``(records,)``.
    density, ux, temperature, pxx, pyy, qx
        Moments of each record. Those of molecules that rotate have both kinds of energy.
    temperature_translational, temperature_rotational, heat_flux_rotational
        Of molecules that rotate; else not a number.
    exact
        The same columns by the exact equations of the moments.
    discretisation_error
        The largest difference of each moment from the exact one.
    """

    time: Array
    density: Array
    ux: Array
    temperature: Array
    pxx: Array
    pyy: Array
    qx: Array
    temperature_translational: Array
    temperature_rotational: Array
    heat_flux_rotational: Array
    exact: dict[str, Array]
    discretisation_error: dict[str, float]
    device: str

    _columns = tuple("density ux temperature pxx pyy qx temperature_translational temperature_rotational heat_flux_rotational".split())
    _axes = ("time",)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Plot columns over time, by default the temperatures, or the pressures of single atoms; returns the axes of matplotlib."""
        ax = plotted(ax, "time")
        rotates = not np.isnan(self.temperature_rotational[0])
        names = names or (("temperature_translational", "temperature_rotational") if rotates else ("pxx", "pyy"))
        for name in names:
            ax.plot(self.time, getattr(self, name), label=name)
        ax.legend(frameon=False)
        return ax


def relax_model(
    model: Model = "shakhov",
    *,
    beams: tuple[float, float] | None = None,
    temperatures: tuple[float, float] | None = None,
    steps: int | None = None,
    time: float | None = None,
    equilibrium: float = 1e-3,
    dt: float | None = None,
    velocities: tuple[int, float, float] | None = None,
    prandtl: float | None = None,
    omega: float | None = None,
    internal_dof: float | None = None,
    z_rot: float | None = None,
    eucken: tuple[float, float] | None = None,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> ModelRelaxationResult:
    """Relax a uniform gas of density 1 by a model, from two beams or two temperatures, as ``rarefy relax --model`` does.

    Parameters
    ----------
    model
        ``"bgk"``, ``"shakhov"`` or ``"polyatomic"``.
    beams
        Speed of the first beam in ``sqrt(k T0/m)``, and its share of the molecules; the second one balances the momentum. Both have the temperature 1.
    temperatures
        Of translation and of rotation, with ``model="polyatomic"``.
    steps, time
        The end, if the gas is not to come near to equilibrium.
    equilibrium
        The share of its first departure from equilibrium at which a relaxation without ``steps`` and ``time`` ends.
    dt
        Time step; by default one that resolves the relaxation.
    velocities
        Nodes along x and the ends of their box; by default those that hold the start.
    prandtl, omega, internal_dof, z_rot, eucken
        The gas, as for :func:`shock`.
    backend, precision, threads
        Where to compute, the arithmetic, and the threads of the CPU.

    Examples
    --------
    Rotation at twice the temperature of translation:

    >>> import rarefy
    >>> gas = rarefy.relax_model("polyatomic", temperatures=(1.0, 2.0), time=5.0, backend="cpu")
    >>> print(f"{gas.temperature_rotational[-1]:.4f} {gas.exact['temperature_rotational'][-1]:.4f}")
    1.4785 1.4785
    """
    if (beams is None) == (temperatures is None):
        raise TypeError("either beams or temperatures are needed")
    if steps is not None and time is not None:
        raise TypeError("one end is needed, not steps and time")
    where = compute(backend, precision, threads)
    options = gas(model, prandtl, omega, rotation=(internal_dof, z_rot, eucken))
    start = (_pair(temperatures), _pair(beams))
    found, exact, device = _rarefy.relax_model(options, start, velocities, dt, (steps, time, equilibrium), where)
    errors = {name: float(np.max(np.abs(found[name] - exact[name]))) for name in found if name != "time" and not np.isnan(found[name][0])}
    return ModelRelaxationResult(**found, exact=exact, discretisation_error=errors, device=device)


def _pair(numbers: tuple[float, float] | None) -> list[float] | None:
    return None if numbers is None else [float(number) for number in numbers]
