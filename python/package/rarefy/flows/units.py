"""The units of flows in SI units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .. import _rarefy
from .._results import Result


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


