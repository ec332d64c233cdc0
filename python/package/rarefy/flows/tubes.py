"""Flows along tubes and other ducts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .. import _rarefy
from .._accuracy import choice, known
from .._results import Result
from .solving import gas
from .sweep import swept


@dataclass(frozen=True, repr=False, eq=False)
class TubeResult(Result):
    """The flow along an infinite duct by small falls of pressure and temperature.

    The mass flow is ``area * rho0 * v0 / 2 * (g_p * X_P - g_t * X_T)``, with ``X = (a / value) d(value)/dx`` against and along the axis and the
    radius or smaller side ``a``.

    Attributes
    ----------
    delta, section, accommodation
        What was asked for.
    g_p, g_t
        The coefficients of pressure and temperature.
    discretisation_error
        Estimated errors of both, each by axis with their ``total``; None without repeats.
    accuracy
        The accuracy that was asked for, whether the results have it, and the grid of the search.
    """

    delta: float
    section: str
    accommodation: float
    g_p: float
    g_t: float
    discretisation_error: dict[str, Any] | None = None
    accuracy: dict[str, Any] | None = None

    _swept = "g_p"


@swept("delta")
def tube(
    delta: float,
    *,
    section: str = "circle",
    model: Literal["bgk", "shakhov", "polyatomic"] = "shakhov",
    accommodation: float = 1.0,
    prandtl: float | None = None,
    internal_dof: float | None = None,
    z_rot: float | None = None,
    verify: bool | None = None,
    accuracy: float | None = None,
) -> TubeResult:
    """Coefficients of the flow along an infinite duct, by integral equations on the CPU.

    Parameters
    ----------
    delta
        Rarefaction parameter, 1e-9 to 300: the radius or smaller side over ``mu0 v0 / p0``. A list of values has a :class:`Sweep` as its result.
    section
        ``"circle"``, ``"slit"``, or ``"rectangle:RATIO"`` with the longer side over the smaller one, 1 to 100.
    model
        Relaxation model.
    accommodation
        Share of the molecules that the wall emits diffusely: 1e-6 to 1 in a circle, 0.01 to 1 in other ducts.
    prandtl, internal_dof, z_rot
        Of ``model="polyatomic"``: Prandtl number, 0.72; internal degrees of freedom, 2; collisions in which rotation relaxes, 5.5.
    verify
        Whether to estimate errors by repeats on coarser grids; by default where that takes seconds.
    accuracy
        Refine the solution until both coefficients have this relative accuracy.

    Returns
    -------
    TubeResult

    Examples
    --------
    >>> import rarefy
    >>> flow = rarefy.tube(1.0)
    >>> print(f"{flow.g_p:.6f}")
    1.476445
    >>> rarefy.tube([0.1, 1.0, 10.0]).g_p.round(4).tolist()
    [1.409, 1.4764, 3.5762]
    """
    choice(verify, accuracy)
    if model != "polyatomic" and prandtl is not None:
        raise TypeError("prandtl belongs to model='polyatomic'")
    options = gas(model, prandtl, None, rotation=(internal_dof, z_rot, None))
    (g_p, g_t), errors = _rarefy.duct_flow(delta, section, model, accommodation, options.get("rotation"), verify, accuracy)
    return TubeResult(delta, section, accommodation, g_p, g_t, **known(errors))
