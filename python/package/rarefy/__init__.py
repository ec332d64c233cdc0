"""Deterministic numerical methods on the GPU and the CPU: kinetic theory, oscillatory integrals, exact sums.

=====================  ====================================================================================
exact sums             `sum`, `mean`, `var`, `std`, `cumsum`, `segment_sum`, `norm`, `dot`, `ExactAccumulator`, `decimal_sum`, `decimal_dot`, `dft`
oscillatory integrals  `longman`, `longman_between`, `hankel`, `fourier_cos`, `fourier_sin`
collision integral     `collide`, `Relaxation`, `CellCollisions`, `rates`
energy space           `Isotropic`, `isotropic_rates`, `Market`
flows                  `shock`, `cavity`, `couette`, `fourier`, `poiseuille`, `Simulation`, `units`;
                       of a uniform gas `relax_model`; past bodies `flow`; along ducts `tube`; lists of a parameter give a `Sweep`
files and devices      `load`, `doctor`
=====================  ====================================================================================

Computations take ``backend``: ``"auto"`` is the GPU if there is one, else the CPU; ``"cuda"``, ``"cpu"``, ``"emulator"`` and
``"reference"`` are the others. Sums are computed on the CPU by default, where their data are.

Errors are `ValueError` and `TypeError` for input, `MemoryError` for too little memory, `DeviceError` for a GPU that is not there or fails, and
`NumericalError` for a state that became unusable. Warnings are of the class `RarefyWarning`. Ctrl-C raises `Interrupted`, whose attribute ``run``
holds the state.
"""

from . import _rarefy
from ._files import Run, load
from ._rarefy import DeviceError, NumericalError, __version__
from ._results import Result
from ._run import Interrupted, RarefyWarning
from .collision import (
    CellCollisions,
    Evaluation,
    Rates,
    bkw,
    collide,
    maxwellian,
    rates,
    two_maxwellians,
    velocities,
    velocity_moments,
)
from .flows import (
    BodiesResult,
    CavityResult,
    FlowResult,
    ModelRelaxationResult,
    PlatesResult,
    ShockResult,
    Simulation,
    Sweep,
    TubeResult,
    Units,
    cavity,
    couette,
    flow,
    fourier,
    inflow,
    poiseuille,
    relax_model,
    shock,
    tube,
    units,
    wall,
)
from .integrals import Integrals, fourier_cos, fourier_sin, hankel, longman, longman_between
from .isotropic import (
    Isotropic,
    IsotropicRates,
    IsotropicResult,
    Market,
    MarketResult,
    isotropic_initial,
    isotropic_rates,
    lorenz,
)
from .relaxation import Relaxation, RelaxationResult
from .sums import (
    ExactAccumulator,
    Spectrum,
    cumsum,
    decimal_dot,
    decimal_sum,
    dft,
    dot,
    exact_value,
    mean,
    norm,
    segment_sum,
    std,
    sum,
    var,
)

__all__ = [
    "BodiesResult",
    "CavityResult",
    "CellCollisions",
    "DeviceError",
    "Doctor",
    "Evaluation",
    "ExactAccumulator",
    "FlowResult",
    "Integrals",
    "Interrupted",
    "Isotropic",
    "IsotropicRates",
    "IsotropicResult",
    "Market",
    "MarketResult",
    "ModelRelaxationResult",
    "NumericalError",
    "PlatesResult",
    "RarefyWarning",
    "Rates",
    "Relaxation",
    "RelaxationResult",
    "Result",
    "Run",
    "ShockResult",
    "Simulation",
    "Spectrum",
    "Sweep",
    "TubeResult",
    "Units",
    "__version__",
    "bkw",
    "cavity",
    "collide",
    "couette",
    "cumsum",
    "decimal_dot",
    "decimal_sum",
    "dft",
    "doctor",
    "dot",
    "exact_value",
    "flow",
    "fourier",
    "fourier_cos",
    "fourier_sin",
    "hankel",
    "inflow",
    "isotropic_initial",
    "isotropic_rates",
    "load",
    "longman",
    "longman_between",
    "lorenz",
    "maxwellian",
    "mean",
    "norm",
    "poiseuille",
    "rates",
    "relax_model",
    "segment_sum",
    "shock",
    "std",
    "sum",
    "tube",
    "two_maxwellians",
    "units",
    "var",
    "velocities",
    "velocity_moments",
    "wall",
]


class Doctor(dict[str, object]):
    """The findings of `doctor` as a dictionary; printed, they are the report for people."""

    def __init__(self, text: str, data: dict[str, object]) -> None:
        super().__init__(data)
        self._text = text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def doctor() -> Doctor:
    """Look for devices, driver and kernels: what there is, what is missing, and how to get it.

    Examples
    --------
    >>> import rarefy
    >>> "host" in rarefy.doctor()
    True
    """
    return Doctor(*_rarefy.doctor())
