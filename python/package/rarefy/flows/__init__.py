"""Flows of rarefied gas: shock waves, driven cavities, gas between plates, and problems of one's own.

Velocities are in units of ``v0 = sqrt(2 R T0)``, times in ``1/nu0``, lengths in ``l0 = v0/nu0``; density and temperature in those of a
reference state. Pressures are in ``rho0 v0^2``, so that ``p = n T/2``, and heat fluxes in ``rho0 v0^3``.
"""

from .bodies import BodiesResult, flow
from .cavity import CavityResult, cavity
from .fields import FlowResult
from .homogeneous import ModelRelaxationResult, relax_model
from .plates import PlatesResult, couette, fourier, poiseuille
from .shock import ShockResult, shock
from .simulation import Simulation, inflow, wall
from .sweep import Sweep
from .tubes import TubeResult, tube
from .units import Units, units

__all__ = [
    "BodiesResult",
    "CavityResult",
    "FlowResult",
    "ModelRelaxationResult",
    "PlatesResult",
    "ShockResult",
    "Simulation",
    "Sweep",
    "TubeResult",
    "Units",
    "cavity",
    "couette",
    "flow",
    "fourier",
    "inflow",
    "poiseuille",
    "relax_model",
    "shock",
    "tube",
    "units",
    "wall",
]
