"""The isotropic Boltzmann equation in energy space, and economies as gases of agents.

Mass and Boltzmann's constant are 1: a Maxwellian is ``exp(-E/T)``. Cell ``i`` of ``cells`` has its centre at ``(i + 1/2) emax/cells``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _checkpoints, _rarefy
from ._accuracy import NOTHING, Errors, Found, choice, known, repeats
from ._results import Array, Result, plotted
from ._run import Backend, LongRun, Precision, compute, given, warn

__all__ = ["Isotropic", "IsotropicRates", "IsotropicResult", "Market", "MarketResult", "isotropic_initial", "isotropic_rates", "lorenz"]

# The distribution on so many cells up to an energy.
Start = Callable[[int, float], Array]

LawName = Literal["power", "isotropic", "money", "gamma", "saving"]
_NUMBER = {"power": "theta", "isotropic": "gamma", "gamma": "alpha", "saving": "lambda"}


def _law(name: str, theta: float | None, gamma: float | None, alpha: float | None, saved: float | None) -> dict[str, Any]:
    numbers = {"theta": theta, "gamma": gamma, "alpha": alpha, "lambda": saved}
    wanted = _NUMBER.get(name)
    surplus = [key for key, value in numbers.items() if value is not None and key != wanted]
    if surplus:
        raise TypeError(f"the law '{name}' has no number {surplus[0]}")
    usual = {"theta": 0.0, "gamma": 0.0, "alpha": 1.5, "lambda": 0.5}
    if wanted is None:
        return {"law": name}
    number = numbers[wanted]
    return {"law": name, wanted: usual[wanted] if number is None else float(number)}


def isotropic_initial(
    kind: Literal["maxwellian", "bkw", "delta", "two-temperature"],
    cells: int,
    emax: float,
    *,
    temperature: float = 1.0,
    k: float = 0.7,
    energy: float = 1.0,
    second: float = 3.0,
    share: float = 0.5,
    law: LawName = "power",
    theta: float | None = None,
    gamma: float | None = None,
    alpha: float | None = None,
    saved: float | None = None,
) -> Array:
    """A distribution to start from, shape ``(cells,)``.

    ``"maxwellian"`` has the ``temperature``, ``"bkw"`` is the exact solution of Bobylev, Krook and Wu with parameter ``k``, ``"delta"`` has
    all particles at ``energy``, and ``"two-temperature"`` is a mixture with the ``share`` at ``temperature`` and the rest at ``second``.
    """
    numbers = {
        "maxwellian": (temperature, 0.0, 0.0),
        "bkw": (k, 0.0, 0.0),
        "delta": (energy, 0.0, 0.0),
        "two-temperature": (temperature, second, share),
    }
    if kind not in numbers:
        raise ValueError(f"'{kind}' is no initial distribution; choose {', '.join(numbers)}")
    return _rarefy.isotropic_initial(kind, cells, emax, _law(law, theta, gamma, alpha, saved), numbers[kind])


@dataclass(frozen=True, repr=False, eq=False)
class IsotropicRates(Result):
    """Gain, collision frequency and ``df/dt`` of a distribution, shape ``(cells,)`` each."""

    energy: Array
    gain: Array
    frequency: Array
    rate: Array
    largest_frequency: float
    warnings: list[str]
    device: str

    _columns = ("gain", "frequency", "rate")
    _axes = ("energy",)


def isotropic_rates(
    f: ArrayLike,
    emax: float,
    *,
    law: LawName = "power",
    theta: float | None = None,
    gamma: float | None = None,
    alpha: float | None = None,
    saved: float | None = None,
    storage: Literal["pairs", "compact", "full"] | None = None,
    weights: Literal["center", "cell"] | None = None,
    backend: Backend = "auto",
    precision: Precision = "f64",
    threads: int | None = None,
) -> IsotropicRates:
    """Evaluate gain, frequency and rate of a distribution once.

    Parameters are those of :class:`Isotropic`; ``f`` has the shape ``(cells,)``.

    Examples
    --------
    >>> import rarefy
    >>> f = rarefy.isotropic_initial("bkw", 64, 16.0, k=0.7)
    >>> found = rarefy.isotropic_rates(f, 16.0, backend="cpu")
    >>> found.rate.shape
    (64,)
    """
    f = np.asarray(f)
    of = _law(law, theta, gamma, alpha, saved)
    options = given(storage=storage, weights=weights) | compute(backend, precision, threads)
    found, device = _rarefy.isotropic_rates(f, emax, of, options)
    warn(found["warnings"])
    energy, _ = _rarefy.energy_grid(len(f), emax, of)
    return IsotropicRates(energy=energy, **found, device=device)


@dataclass(frozen=True, repr=False, eq=False)
class IsotropicResult(Result):
    """What a relaxation in energy space has come to.

    Attributes
    ----------
    time
        Times of the records, shape ``(records,)``.
    number, energy, second, third, H, min_f, largest_frequency
        Moments of each record; of the first state where there are many.
    grid
        Energies of the cells, shape ``(cells,)``.
    f
        Distributions now, shape ``(cells,)`` or ``(states, cells)``.
    particles
        Particles, or agents, of each cell: ``f`` times the measure of the cells.
    histories
        The columns of every state, by name.
    discretisation_error
        Estimated errors of the last moments of a single state: for each by axis of the grid, and their ``total``; None where they are not
        estimated.
    accuracy
        The ``accuracy`` that was asked for, as ``wanted``, whether it is ``reached``, the ``grid`` and ``grids_computed``; else None.
    """

    step: Array
    time: Array
    number: Array
    energy: Array
    second: Array
    third: Array
    H: Array
    min_f: Array
    largest_frequency: Array
    grid: Array
    f: Array
    particles: Array
    histories: list[dict[str, Array]]
    device: str
    discretisation_error: Errors | None = None
    accuracy: dict[str, Any] | None = None

    _columns = ("step", "number", "energy", "second", "third", "H", "min_f", "largest_frequency")
    _axes = ("time",)

    def plot(self, ax: Any = None) -> Any:
        """Plot the distribution of particles over energy; returns the axes of matplotlib."""
        ax = plotted(ax, "energy")
        width = self.grid[1] - self.grid[0]
        for row in np.atleast_2d(self.particles):
            ax.plot(self.grid, row / (row.sum() * width))
        ax.set_ylabel("density of particles")
        return ax


class _EnergyRun(LongRun):
    """What runs in energy space share."""

    _law: dict[str, Any]
    _emax: float
    _command: str

    def _start_run(self, kind: Any, states: Array, emax: float, law: dict[str, Any], options: dict[str, Any], run: dict[str, Any]) -> None:
        self._law, self._emax = law, float(emax)
        self._run = kind(states, emax, law, options, run)
        warn(self._run.warnings)

    def _go_on(self, kind: Any, data: dict[str, Any]) -> None:
        """Go on from a checkpoint of the library."""
        operator = data["config"]["operator"]
        self._law, self._emax = operator["law"], operator["grid"]["emax"]
        _rarefy.enter(operator["backend"])
        self._run = kind.resume(data)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that ``resume`` needs to go on to the same bits."""
        _checkpoints.write_checkpoint(path, self._command, self._run.checkpoint(), self.device)


class Isotropic(_EnergyRun):
    """A relaxation in energy space under way, of one state or of many that share the coefficients.

    Parameters
    ----------
    f
        Initial state, shape ``(cells,)``, or many, ``(states, cells)``; float64. Or a function of cells and ``emax`` that returns one, whose
        errors are estimated on finer grids too; an array is known on its own cells and coarser ones.
    cells
        Cells of energy, for a function.
    emax
        The end of the energies.
    law
        ``"power"`` with ``theta``, ``"isotropic"`` with ``gamma``, ``"money"``, ``"gamma"`` with ``alpha``, ``"saving"`` with ``saved``.
    dt
        Time step; by default half of the largest that keeps f nonnegative.
    every
        Steps between two records.
    integrator
        ``"ssprk3"`` (default), ``"rk4"`` or ``"euler"``.
    storage, weights, corrected
        How coefficients are kept, the weights of the quadrature, and whether number and energy are conserved exactly.
    backend, precision, threads
        Where to compute, the arithmetic, and the threads of the CPU.

    Examples
    --------
    >>> import rarefy
    >>> run = rarefy.Isotropic(rarefy.isotropic_initial("bkw", 64, 16.0, k=0.7), 16.0, dt=0.1, every=10, backend="cpu")
    >>> result = run.run(steps=50)
    >>> bool(result.H[-1] < result.H[0])
    True
    >>> sorted(result.discretisation_error["second"])
    ['cells', 'emax', 'iteration', 'steps', 'total']
    """

    _command = "isotropic"
    _start: Start | Array | None

    def __init__(
        self,
        f: ArrayLike | Start,
        emax: float,
        *,
        cells: int | None = None,
        law: LawName = "power",
        theta: float | None = None,
        gamma: float | None = None,
        alpha: float | None = None,
        saved: float | None = None,
        dt: float | None = None,
        every: int | None = None,
        integrator: Literal["euler", "ssprk3", "rk4"] | None = None,
        storage: Literal["pairs", "compact", "full"] | None = None,
        weights: Literal["center", "cell"] | None = None,
        corrected: bool | None = None,
        backend: Backend = "auto",
        precision: Precision = "f64",
        threads: int | None = None,
    ) -> None:
        if callable(f):
            if cells is None:
                raise TypeError("cells is needed where f is a function")
            states = np.asarray(f(cells, emax))
        elif cells is None:
            states = np.asarray(f)
        else:
            raise TypeError("cells belongs to a function f; an array has its own")
        self._start = f if callable(f) else np.array(states) if states.ndim == 1 else None
        if states.ndim not in (1, 2):
            raise ValueError(f"f has the shape {states.shape}; (cells,) or (states, cells) is needed")
        self._one = states.ndim == 1
        options = given(storage=storage, weights=weights, corrected=corrected) | compute(backend, precision, threads)
        run = given(dt=dt, every=every, integrator=integrator)
        self._start_run(_rarefy.Isotropic, np.atleast_2d(states), emax, _law(law, theta, gamma, alpha, saved), options, run)

    @classmethod
    def resume(cls, checkpoint: str | os.PathLike[str]) -> Isotropic:
        """Go on from a checkpoint of :meth:`checkpoint` or of ``rarefy isotropic``."""
        data = _checkpoints.read_checkpoint(checkpoint, "isotropic")
        self = cls.__new__(cls)
        self._one, self._start = len(data["states"]) == 1, None
        self._go_on(_rarefy.Isotropic, data)
        return self

    def run(
        self,
        *,
        steps: int | None = None,
        time: float | None = None,
        verify: bool | None = None,
        accuracy: float | None = None,
        progress: bool = False,
    ) -> IsotropicResult:
        """Run on for ``steps``, or to a ``time``. Ctrl-C raises :class:`rarefy.Interrupted`; the run keeps its state.

        Parameters
        ----------
        verify
            Whether to repeat the run on other grids to estimate errors: by default where that takes seconds, ``True`` always, ``False`` never.
        accuracy
            A relative accuracy, such as 1e-3: cells, end and steps are refined until all results have it, and the run becomes that on the refined
            grid. It is for a run from its start.
        """
        choice(verify, accuracy)
        start, fresh = self._start, self.steps == 0
        if start is None and (verify or accuracy is not None):
            raise ValueError("errors are estimated of one state from its start; many, and a run from a checkpoint, have none")
        if accuracy is not None and not fresh:
            raise ValueError(f"accuracy is for a run from its start; this one has taken {self.steps} steps")
        self._advance(steps, time, progress)
        run = self._run
        if start is None or verify is False or self.steps == 0:
            return self.result()
        if accuracy is None:
            return self._result(known(repeats(self, lambda: run.estimate(start, verify))))
        fine, found = repeats(self, lambda: run.search(start, accuracy))
        self._run = fine
        self._emax = float(fine.config()["operator"]["grid"]["emax"])
        self._advance(None, run.time, progress)
        return self._result(known(found))

    def result(self) -> IsotropicResult:
        """The history so far and the states now."""
        return self._result(NOTHING)

    def _result(self, errors: Found) -> IsotropicResult:
        f = self._run.distributions()
        grid, measure = _rarefy.energy_grid(f.shape[1], self._emax, self._law)
        histories = [self._run.history(state) for state in range(f.shape[0])]
        states = f[0] if self._one else f
        return IsotropicResult(**histories[0], grid=grid, f=states, particles=states * measure, histories=histories, device=self.device, **errors)


def lorenz(agents: ArrayLike, emax: float) -> tuple[float, Array, Array]:
    """Gini coefficient and Lorenz curve of agents.

    Parameters
    ----------
    agents
        Agents of each cell of wealth, shape ``(cells,)``.
    emax
        The end of wealth.

    Returns
    -------
    gini : float
        0 if all have the same, 1 if one has all.
    agents, wealth : ndarray, shape (cells + 1,)
        Share of the agents up to each cell, and of all wealth that they have.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> wealth = (np.arange(400) + 0.5) * 0.05
    >>> gini, _, _ = rarefy.lorenz(np.exp(-wealth), 20.0)
    >>> round(gini, 3)
    0.5
    """
    gini, curve = _rarefy.inequality(np.ascontiguousarray(np.asarray(agents, dtype=float)), emax)
    return gini, curve["agents"], curve["wealth"]


@dataclass(frozen=True, repr=False, eq=False)
class MarketResult(Result):
    """An economy: the density of agents over wealth, in units of the mean, and what it says of inequality.

    Attributes
    ----------
    wealth, density
        Centres of the cells and density of agents there, shape ``(cells,)``.
    initial
        The density at the start.
    gini, gini_initial
        Gini coefficients now and at the start.
    lorenz_agents, lorenz_wealth
        The Lorenz curve now, shape ``(cells + 1,)``.
    trade_volume
        Value that an agent trades in a unit of time, now.
    history
        Columns of the records by name: ``step``, ``time``, ``wealth``, ``traded``, ``trade_rate``, ``gini``.
    discretisation_error
        Estimated errors of ``gini``, ``trade_volume``, the second moment ``m2`` of wealth and the share ``p_below_half`` of agents below half of the
        mean: for each by axis of the grid, and their ``total``; None where they are not estimated.
    accuracy
        The ``accuracy`` that was asked for, as ``wanted``, whether it is ``reached``, the ``grid`` and ``grids_computed``; else None.
    """

    wealth: Array
    density: Array
    initial: Array
    gini: float
    gini_initial: float
    lorenz_agents: Array
    lorenz_wealth: Array
    trade_volume: float
    history: dict[str, Array]
    time: float
    device: str
    discretisation_error: Errors | None = None
    accuracy: dict[str, Any] | None = None

    _columns = ("density", "initial")
    _axes = ("wealth",)

    def plot(self, ax: Any = None) -> Any:
        """Plot the density of agents at the start and now; returns the axes of matplotlib."""
        ax = plotted(ax, "wealth / mean wealth")
        ax.plot(self.wealth, self.initial, color="0.6", label=f"start, Gini {self.gini_initial:.3f}")
        ax.plot(self.wealth, self.density, label=f"time {self.time:.3g}, Gini {self.gini:.3f}")
        ax.set_ylabel("density of agents")
        ax.set_ylim(0.0, 1.15 * float(self.density.max()))
        ax.set_xlim(0.0, float(self.wealth[np.cumsum(self.density) < 0.999 * self.density.sum()][-1]))
        ax.legend(frameon=False)
        return ax


class Market(_EnergyRun):
    """An economy of agents who trade, under way.

    Parameters
    ----------
    agents
        Agents of each cell of wealth, shape ``(cells,)``; ``"equal"``, all with the mean; or rows ``(low, high, share)`` of a histogram of
        wealth or income, in any unit.
    law
        ``"money"`` splits what two agents have at random; ``"gamma"`` with ``alpha`` and ``"saving"`` with ``saved`` as for
        :class:`Isotropic`.
    cells, emax
        Cells of wealth, of an array its length, and the end of wealth in units of the mean. Where all begin with the mean, the grid ends about there, and the mean is the centre of a cell.
        By default 512 cells up to 16, or up to 2048 cells where the law needs them; an array ends at 16.
    dt, every, integrator, backend, precision, threads
        As for :class:`Isotropic`; the integrator is ``"rk4"`` by default.

    Examples
    --------
    >>> import rarefy
    >>> market = rarefy.Market("equal", law="saving", saved=0.5, cells=256, emax=8.0, backend="cpu")
    >>> result = market.run(time=10.0)
    >>> 0.2 < result.gini < 0.35
    True
    """

    _command = "market"
    _origin: tuple[str, list[tuple[float, ...]], float]

    def __init__(
        self,
        agents: ArrayLike | Literal["equal"],
        *,
        law: Literal["money", "gamma", "saving"] = "money",
        alpha: float | None = None,
        saved: float | None = None,
        cells: int | None = None,
        emax: float | None = None,
        dt: float | None = None,
        every: int | None = None,
        integrator: Literal["euler", "ssprk3", "rk4"] | None = None,
        backend: Backend = "auto",
        precision: Precision = "f64",
        threads: int | None = None,
    ) -> None:
        of = _law(law, None, None, alpha, saved)
        rows: list[tuple[float, ...]] = []
        if isinstance(agents, str):
            if agents != "equal":
                raise ValueError(f"'{agents}' is no economy to start from; use 'equal', an array, or rows of a histogram")
            cells, about, emax = _rarefy.economy_grid(of, rows, cells, emax)
            self._origin = ("equal", rows, about)
            start = _rarefy.isotropic_initial("delta", cells, emax, of, (1.0, 0.0, 0.0))
        else:
            table = np.asarray(agents, dtype=float)
            if table.ndim == 2 and table.shape[1] == 3:
                rows = [tuple(row) for row in table.tolist()]
                cells, about, emax = _rarefy.economy_grid(of, rows, cells, emax)
                self._origin = ("histogram", rows, about)
                start, _ = _rarefy.rebin(rows, cells, emax)
            elif table.ndim == 1:
                start = np.ascontiguousarray(table)
                emax = 16.0 if emax is None else emax
                self._origin = ("array", rows, emax)
            else:
                raise ValueError(f"agents has the shape {table.shape}; (cells,), or (bins, 3) with rows of low, high and share, is needed")
        run = given(dt=dt, every=every, integrator=integrator)
        self._start_run(_rarefy.Market, np.atleast_2d(start), emax, of, compute(backend, precision, threads), run)
        self._start = start

    @classmethod
    def resume(cls, checkpoint: str | os.PathLike[str]) -> Market:
        """Go on from a checkpoint of :meth:`checkpoint`."""
        data = _checkpoints.read_checkpoint(checkpoint, "market")
        self = cls.__new__(cls)
        self._start = np.asarray(data["config"]["economies"][0]["agents"])
        self._origin = ("array", [], float(data["config"]["operator"]["grid"]["emax"]))
        self._go_on(_rarefy.Market, data)
        return self

    def run(
        self,
        *,
        steps: int | None = None,
        time: float | None = None,
        verify: bool | None = None,
        accuracy: float | None = None,
        progress: bool = False,
    ) -> MarketResult:
        """Run on for ``steps``, or to a ``time``. Ctrl-C raises :class:`rarefy.Interrupted`; the run keeps its state.

        Parameters
        ----------
        verify
            Whether to repeat the run on other grids to estimate errors: by default where that takes seconds, ``True`` always, ``False`` never.
        accuracy
            A relative accuracy, such as 1e-3: cells, end of wealth and steps are refined until all results have it, and the run becomes that on the refined
            grid. It is for a run from its start.
        """
        choice(verify, accuracy)
        if accuracy is not None and self.steps != 0:
            raise ValueError(f"accuracy is for a run from its start; this one has taken {self.steps} steps")
        self._advance(steps, time, progress)
        run = self._run
        if verify is False or self.steps == 0:
            return self.result()
        if accuracy is None:
            return self._result(known(repeats(self, lambda: run.estimate(*self._origin, verify))))
        fine, found = repeats(self, lambda: run.search(*self._origin, accuracy))
        self._run, self._emax = fine, fine.emax()
        (self._start,) = fine.distributions()
        self._advance(None, run.time, progress)
        return self._result(known(found))

    def result(self) -> MarketResult:
        """The economy now."""
        return self._result(NOTHING)

    def _result(self, errors: Found) -> MarketResult:
        (agents,) = self._run.distributions()
        grid, _ = _rarefy.energy_grid(len(agents), self._emax, self._law)
        width = grid[1] - grid[0]
        gini, share, wealth = lorenz(agents, self._emax)
        before, _, _ = lorenz(self._start, self._emax)
        return MarketResult(
            wealth=grid,
            density=agents / (agents.sum() * width),
            initial=self._start / (self._start.sum() * width),
            gini=gini,
            gini_initial=before,
            lorenz_agents=share,
            lorenz_wealth=wealth,
            trade_volume=self._run.trade_rates()[0],
            history=self._run.history(0),
            time=self.time,
            device=self.device,
            **errors,
        )
