"""Errors of the discretisation, and an accuracy that is asked for."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import rarefy
from rarefy.flows import verifying

BOX = (-6.5, 6.5)


def total(result: Any, name: str) -> float:
    errors = result.discretisation_error[name]
    parts = [error for axis, error in errors.items() if axis != "total"]
    assert math.isclose(sum(parts), errors["total"], rel_tol=1e-9)
    return float(errors["total"])


@pytest.mark.parametrize(
    ("solve", "name", "truth"),
    [
        (rarefy.couette, "flux", 0.3389251),
        (rarefy.fourier, "flux", 0.3615623),
    ],
)
def test_errors_cover_known_values(solve: Any, name: str, truth: float) -> None:
    flow = solve(1.0, linear=True, backend="cpu")
    assert abs(getattr(flow, name) - truth) < 3.0 * total(flow, name) + 1e-7
    assert total(flow, name) < 1e-4
    assert set(flow.discretisation_error[name]) == {"cells", "velocities", "iteration", "total"}
    assert flow.accuracy is None


def test_errors_cover_those_of_coarse_grids() -> None:
    cases: list[tuple[Any, str, dict[str, Any], dict[str, Any]]] = [
        (rarefy.poiseuille, "flux", {"cells": 400, "velocities": (40, 8)}, {"cells": 30, "velocities": (12, 6)}),
        (rarefy.cavity, "drag_wall", {"cells": 40, "velocities": (48, 12)}, {"cells": 16, "velocities": (16, 8)}),
        (rarefy.cavity, "centre", {"cells": 40, "velocities": (48, 12)}, {"cells": 16, "velocities": (16, 8)}),
    ]
    for solve, name, fine, coarse in cases:
        truth = getattr(solve(1.0, verify=False, backend="cpu", **fine), name)
        flow = solve(1.0, backend="cpu", **coarse)
        assert abs(getattr(flow, name) - truth) < 3.0 * total(flow, name)
        assert flow.discretisation_error is not None
    wave = rarefy.shock(2.0, cells=300, sides=(40.0, 20.0), backend="cpu")
    fine_wave = rarefy.shock(2.0, cells=1200, sides=(40.0, 20.0), verify=False, backend="cpu")
    assert fine_wave.discretisation_error is None
    assert abs(wave.thickness - fine_wave.thickness) < 3.0 * total(wave, "thickness")


def test_errors_cover_cut_boxes_and_domains() -> None:
    with pytest.warns(rarefy.RarefyWarning, match="a larger vmax"):
        boxed = rarefy.shock(1.2, cut=3.0, velocities=20, backend="cpu")
    assert 0.01 < abs(boxed.thickness - 11.3391) < 3.0 * total(boxed, "thickness")
    with pytest.warns(rarefy.RarefyWarning, match="a longer domain"):
        short = rarefy.shock(2.0, cells=60, sides=(3.0, 3.0), backend="cpu")
    assert 0.01 < abs(short.thickness - 3.06094) < 3.0 * total(short, "thickness")
    assert short.discretisation_error is not None
    assert set(short.discretisation_error["thickness"]) == {"cells", "velocities", "box", "length", "iteration", "total"}
    with warnings.catch_warnings():
        # Of the domain that it begins with.
        warnings.simplefilter("ignore", rarefy.RarefyWarning)
        found = rarefy.shock(2.0, cells=60, sides=(4.0, 4.0), cut=3.0, velocities=14, accuracy=3e-3, backend="cpu")
    assert found.accuracy is not None and found.accuracy["reached"]
    assert found.accuracy["grid"]["length"] > 1.0
    assert len(found.x) == found.accuracy["grid"]["cells"]
    assert abs(found.thickness / 3.06094 - 1.0) < 3e-3
    with pytest.warns(rarefy.RarefyWarning, match="use more"):
        flow = rarefy.cavity(1.0, cells=10, linear=True, quadrature="midpoint", velocities=(12, 12), backend="cpu")
    assert flow.discretisation_error is not None
    assert flow.discretisation_error["drag_wall"]["box"] is not None


def test_coarse_velocities_warn_and_an_accuracy_refines_them() -> None:
    options: dict[str, Any] = {"temperature_difference": 1.0, "backend": "cpu"}
    with pytest.warns(rarefy.RarefyWarning, match="flux by .*velocities: use more"):
        coarse = rarefy.fourier(0.1, velocities=4, **options)
    fine = rarefy.fourier(0.1, velocities=4, accuracy=1e-3, **options)
    truth = rarefy.fourier(0.1, velocities=48, verify=False, **options).flux
    assert abs(coarse.flux / truth - 1.0) > 0.01
    assert abs(fine.flux / truth - 1.0) < 1e-3
    assert fine.accuracy is not None
    assert fine.accuracy["reached"] and fine.accuracy["wanted"] == 1e-3
    assert fine.accuracy["grid"]["velocities"] > 4
    assert len(fine.x) == fine.accuracy["grid"]["cells"]
    with pytest.raises(TypeError, match="leave verify out"):
        rarefy.couette(1.0, verify=True, accuracy=1e-3, backend="cpu")
    with pytest.raises(ValueError, match="from 1e-12 to 0.5"):
        rarefy.couette(1.0, accuracy=2.0, backend="cpu")


def test_runs_in_time_have_errors_where_they_are_asked_for() -> None:
    options: dict[str, Any] = {"cells": 8, "velocities": (8, 8), "steady": False, "rtol": 1e-3, "backend": "cpu"}
    flow = rarefy.cavity(1.0, verify=True, **options)
    assert flow.status == "converged"
    errors = flow.discretisation_error
    assert errors is not None and errors["drag_wall"]["iteration"] is not None
    truth = 0.6349
    assert abs(flow.drag_wall - truth) < 3.0 * total(flow, "drag_wall")


def test_relaxations_have_errors_of_a_function() -> None:
    def run(n: int, **options: Any) -> rarefy.RelaxationResult:
        return rarefy.Relaxation(rarefy.two_maxwellians, BOX, n=n, time=0.2, dt=0.05, backend="cpu").run(**options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coarse, fine = run(10), run(20, verify=False)
    for name in ("pxx", "m4", "H"):
        assert abs(getattr(coarse, name)[-1] - getattr(fine, name)[-1]) < 3.0 * total(coarse, name)
    array = rarefy.Relaxation(rarefy.two_maxwellians(10, BOX), BOX, time=0.2, backend="cpu")
    with pytest.raises(ValueError, match="an array is known on one grid"):
        array.run(verify=True)
    assert array.run().discretisation_error is None
    with pytest.raises(TypeError, match="n, the cells along an axis"):
        rarefy.Relaxation(rarefy.two_maxwellians, BOX, time=0.2)


def test_an_accuracy_of_a_relaxation_changes_its_grid() -> None:
    run = rarefy.Relaxation(rarefy.two_maxwellians, BOX, n=10, steps=2, dt=0.05, backend="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run.run(accuracy=0.05)
    assert result.accuracy is not None and result.accuracy["reached"]
    n = result.accuracy["grid"]["grid"]
    assert result.f.shape == (n, n, n) and n > 10
    assert result.box == (result.accuracy["grid"]["vmin"], result.accuracy["grid"]["vmax"])
    assert math.isclose(result.time[-1], 0.1)


def test_rates_have_errors() -> None:
    found = rarefy.rates(12, backend="cpu")
    for name in ("shear", "heat"):
        assert abs(getattr(found, name) - getattr(found, f"{name}_exact")) < 3.0 * total(found, name)
    assert rarefy.rates(8, verify=False, backend="cpu").discretisation_error is None


def bkw(cells: int, emax: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return rarefy.isotropic_initial("bkw", cells, emax, k=0.7)


def test_relaxations_in_energy_have_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_function = rarefy.Isotropic(bkw, 16.0, cells=64, dt=0.1, backend="cpu").run(time=1.0)
        of_arrays = [rarefy.Isotropic(bkw(cells, 16.0), 16.0, dt=0.1, backend="cpu").run(time=1.0) for cells in (64, 128)]
        fine = rarefy.Isotropic(bkw(512, 24.0), 24.0, dt=0.05, backend="cpu").run(time=1.0, verify=False)
        many = rarefy.Isotropic(np.stack([bkw(64, 16.0)] * 2), 16.0, dt=0.1, backend="cpu").run(time=1.0)
    for name in ("number", "second", "third", "H"):
        assert abs(getattr(of_function, name)[-1] - getattr(fine, name)[-1]) < 3.0 * total(of_function, name)
    for name in ("second", "third", "H"):
        # Particles of wider cells are those of the array: their number has no error.
        assert total(of_arrays[1], name) < 0.5 * total(of_arrays[0], name)
    assert many.discretisation_error is None
    run = rarefy.Isotropic(bkw, 16.0, cells=64, dt=0.1, backend="cpu")
    result = run.run(time=0.5, accuracy=3e-3)
    assert result.accuracy is not None and result.accuracy["reached"]
    assert len(result.grid) == result.accuracy["grid"]["cells"] > 64
    assert math.isclose(result.time[-1], 0.5)
    with pytest.raises(ValueError, match="from its start"):
        run.run(time=1.0, accuracy=3e-3)


def test_markets_have_errors() -> None:
    def market(cells: int) -> rarefy.Market:
        return rarefy.Market("equal", law="saving", saved=0.5, cells=cells, emax=8.0, dt=0.05, backend="cpu")

    coarse, fine = market(128).run(time=2.0), market(1024).run(time=2.0, verify=False)
    for name in ("gini", "trade_volume"):
        assert abs(getattr(coarse, name) - getattr(fine, name)) < 3.0 * total(coarse, name)
    rows = [(0.0, 1.0, 0.5), (1.0, 2.0, 0.3), (2.0, 4.0, 0.2)]
    found = rarefy.Market(rows, cells=128, emax=8.0, backend="cpu").run(time=1.0, accuracy=2e-2)
    assert found.accuracy is not None and found.accuracy["reached"]
    assert len(found.wealth) == found.accuracy["grid"]["cells"]
    array = rarefy.Market(found.density, emax=8.0 * len(found.wealth) / 128, backend="cpu") if len(found.wealth) >= 64 else None
    assert array is not None and array.run(time=0.5).discretisation_error is not None


def test_ctrl_c_ends_repeats_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def start(cells: int, emax: float) -> Any:
        calls.append(cells)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return bkw(cells, emax)

    run = rarefy.Isotropic(start, 16.0, cells=64, dt=0.1, backend="cpu")
    with pytest.raises(rarefy.Interrupted) as stopped:
        run.run(time=0.5)
    assert stopped.value.run is run
    assert run.run(time=0.6).discretisation_error is not None

    on = verifying.Flow.on
    seen: list[int] = []

    def stop(self: verifying.Flow, grid: list[int], **options: Any) -> Any:
        seen.append(grid[0])
        if len(seen) == 1:
            raise KeyboardInterrupt
        return on(self, grid, **options)

    monkeypatch.setattr(verifying.Flow, "on", stop)
    with pytest.raises(rarefy.Interrupted) as halted:
        rarefy.couette(1.0, linear=True, cells=40, backend="cpu")
    assert halted.value.run.run().discretisation_error["flux"]["total"] > 0.0


def test_an_error_of_a_start_is_not_hidden() -> None:
    def start(cells: int, emax: float) -> Any:
        if cells != 64:
            raise RuntimeError("no such grid")
        return bkw(cells, emax)

    with pytest.raises(RuntimeError, match="no such grid"):
        rarefy.Isotropic(start, 16.0, cells=64, dt=0.1, backend="cpu").run(time=0.5)
