"""Flows against converged values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rarefy


def test_a_steady_shock() -> None:
    wave = rarefy.shock(2.0, cells=300, sides=(40.0, 20.0), backend="cpu")
    assert wave.status == "converged"
    assert wave.density[0] == pytest.approx(1.0, abs=1e-3)
    assert wave.density[-1] == pytest.approx(16 / 7, abs=1e-3)
    assert np.abs(wave.flux_spread).max() < 1e-6
    assert wave.normalised("density")[[0, -1]] == pytest.approx([0.0, 1.0], abs=2e-3)
    assert len(wave.plot().lines) == 3
    assert wave.to_pandas().attrs["mach"] == 2.0
    assert 0.1 < wave.inverse_thickness < 0.3


def test_a_shock_in_time_comes_to_the_steady_one() -> None:
    options: dict[str, Any] = {"cells": 120, "sides": (25.0, 15.0), "backend": "cpu"}
    steady = rarefy.shock(1.8, **options)
    run = rarefy.shock(1.8, time=60.0, **options)
    assert run.status == "time"
    assert run.thickness == pytest.approx(steady.thickness, rel=0.05)


def test_a_shock_with_the_collision_integral() -> None:
    wave = rarefy.shock(1.4, collisions="boltzmann", cells=16, sides=(8.0, 8.0), velocities=8, time=1.0, method="fast", backend="cpu")
    assert wave.status == "time"
    assert 4.0 < wave.thickness < 12.0
    with pytest.raises(TypeError, match="boltzmann"):
        rarefy.shock(1.4, scattering="maxwell")


@pytest.mark.parametrize(("delta", "stress", "slip"), [(0.1, 0.522325, 0.07292), (1.0, 0.338925, 0.25186)])
def test_couette_flow_as_in_the_tables(delta: float, stress: float, slip: float) -> None:
    flow = rarefy.couette(delta, linear=True, backend="cpu")
    assert flow.flux == pytest.approx(stress, abs=2e-5)
    assert flow.at_wall == pytest.approx(slip, abs=2e-4)
    assert flow.plot().get_ylabel() == "uy"


def test_heat_conduction_as_in_the_tables() -> None:
    flow = rarefy.fourier(1.0, linear=True, backend="cpu")
    assert flow.flux == pytest.approx(0.361563, abs=2e-5)
    assert flow.at_wall == pytest.approx(0.23978, abs=2e-4)
    thin = rarefy.fourier(kn=np.sqrt(np.pi) / 2, linear=True, backend="cpu")
    assert thin.flux == pytest.approx(flow.flux)
    with pytest.raises(TypeError, match="delta or kn"):
        rarefy.fourier()


def test_poiseuille_flow_as_in_the_tables() -> None:
    flow = rarefy.poiseuille(1.0, backend="cpu")
    # C. Cercignani, A. Daneri, J. Appl. Phys. 34 (1963) 3509 and later tables of BGK.
    assert flow.flux == pytest.approx(1.5386, abs=2e-4)
    assert flow.plot().get_ylabel() == "uy"
    with pytest.raises(TypeError, match="diffuse"):
        rarefy.poiseuille(1.0, accommodation=0.5)
    with pytest.raises(ValueError, match="in f64"):
        rarefy.poiseuille(1.0, precision="f32")


def test_tubes_over_rarefaction() -> None:
    rows = rarefy.tube([1e-9, 0.1, 10.0], model="bgk")
    # Without collisions 8/(3 sqrt pi); then a separate program, to its last digit.
    assert rows.g_p == pytest.approx([8.0 / (3.0 * np.sqrt(np.pi)), 1.4041, 3.5641], rel=2e-4)
    assert (rows.errors("g_p") < 2e-6 * rows.g_p).all()
    assert rows.plot().get_ylabel() == "g_p"
    assert rarefy.tube(1.0, verify=False).discretisation_error is None
    sharp = rarefy.tube(1.0, accuracy=1e-8)
    assert sharp.accuracy is not None
    assert sharp.accuracy["reached"]
    with pytest.raises(ValueError, match="1e-9 to 300"):
        rarefy.tube(301.0)
    with pytest.raises(ValueError, match="rectangle:RATIO"):
        rarefy.tube(1.0, section="square")
    with pytest.raises(ValueError, match="0.01 to 1"):
        rarefy.tube(1.0, section="slit", accommodation=1e-3)
    with pytest.raises(TypeError, match="polyatomic"):
        rarefy.tube(1.0, z_rot=3.0)
    with pytest.raises(TypeError, match="leave verify out"):
        rarefy.tube(1.0, verify=True, accuracy=1e-3)


def test_relaxation_by_a_model() -> None:
    # The time Z = (pi/4) (3/5) Z_J is 2.
    rotation = rarefy.relax_model("polyatomic", temperatures=(1.0, 2.0), omega=1.0, z_rot=40.0 / (3.0 * np.pi), time=3.0, backend="cpu")
    # L. D. Landau and E. Teller, 1936: without a change of the frequency the temperatures approach by exp(-t/Z).
    equilibrium = (3.0 + 2.0 * 2.0) / 5.0
    own = equilibrium + (1.0 - equilibrium) * np.exp(-rotation.time / 2.0)
    assert rotation.temperature_translational == pytest.approx(own, rel=1e-12)
    assert rotation.discretisation_error["temperature_rotational"] < 1e-11
    assert len(rotation.plot().lines) == 2
    beams = rarefy.relax_model("shakhov", beams=(1.0, 0.25), equilibrium=1e-2, backend="cpu")
    # Two thirds of the variance of the beams, u^2/3, are in pxx beyond the mean pressure.
    assert beams.pxx[0] - beams.temperature[0] == pytest.approx(2.0 / 9.0, rel=1e-10)
    assert beams.pxx[-1] - beams.temperature[-1] < 0.02 * 2.0 / 9.0
    assert np.isnan(beams.temperature_rotational).all()
    assert "temperature_rotational" not in beams.discretisation_error
    with pytest.raises(TypeError, match="either beams or temperatures"):
        rarefy.relax_model("bgk")
    with pytest.raises(ValueError, match="single atoms"):
        rarefy.relax_model("bgk", temperatures=(1.0, 2.0), backend="cpu")
    with pytest.raises(ValueError, match="above 0 and below 1"):
        rarefy.relax_model("bgk", beams=(1.0, 1.0), backend="cpu")
    with pytest.raises(ValueError, match="1000000 steps"):
        rarefy.relax_model("bgk", beams=(1.0, 0.5), time=1e9, dt=0.1, backend="cpu")
    with pytest.raises(ValueError, match="time"):
        rarefy.relax_model("bgk", beams=(1.0, 0.5), time=-1.0, backend="cpu")


@pytest.mark.filterwarnings("ignore::rarefy.RarefyWarning")
def test_plates_by_the_collision_integral() -> None:
    for flow, flux in ((rarefy.couette, 0.346122), (rarefy.fourier, 0.431726), (rarefy.poiseuille, 1.364589)):
        found = flow(1.0, collisions="boltzmann", cells=12, velocities=12, rtol=1e-4, backend="cpu")
        assert found.status == "converged"
        # As `rarefy couette --collision boltzmann --nx 12 --velocities 12 --until-residual 1e-4` and its likes.
        assert found.flux == pytest.approx(flux, abs=2e-6)
    with pytest.raises(TypeError, match="linear belongs to collisions='model'"):
        rarefy.couette(1.0, collisions="boltzmann", linear=True)
    with pytest.raises(TypeError, match="scattering belongs to collisions='boltzmann'"):
        rarefy.couette(1.0, scattering="maxwell")
    with pytest.raises(ValueError, match="give one number"):
        rarefy.fourier(1.0, collisions="boltzmann", velocities=(12, 8))


@pytest.mark.filterwarnings("ignore::rarefy.RarefyWarning")
def test_a_steady_cavity_by_the_collision_integral() -> None:
    with pytest.warns(rarefy.RarefyWarning, match="do not resolve the corners"):
        flow = rarefy.cavity(1.0, collisions="boltzmann", cells=4, velocities=8, backend="cpu")
    assert flow.status == "converged"
    assert flow.time == np.inf
    # As `rarefy cavity --delta 1 --cells 4 --collision boltzmann --velocities 8 --steady`.
    assert flow.drag_wall == pytest.approx(0.654446, abs=2e-6)
    assert flow.flow == pytest.approx(0.126534, abs=2e-6)
    again = rarefy.cavity(1.0, collisions="boltzmann", cells=4, velocities=8, dt=0.02, iterations=3, backend="cpu")
    assert again.time == pytest.approx(0.06)
    with pytest.raises(TypeError, match="linear belongs to collisions='model'"):
        rarefy.cavity(1.0, collisions="boltzmann", linear=True)
    with pytest.raises(ValueError, match="diamond"):
        rarefy.cavity(1.0, collisions="boltzmann", cells=4, velocities=8, scheme="van-leer", backend="cpu")


@pytest.mark.filterwarnings("ignore::rarefy.RarefyWarning")
def test_a_cavity_by_the_collision_integral() -> None:
    flow = rarefy.cavity(1.0, collisions="boltzmann", cells=5, velocities=8, time=0.2, backend="cpu")
    assert flow.time == pytest.approx(0.2)
    # As `rarefy cavity --delta 1 --cells 5 --collision boltzmann --velocities 8 --steps 14`.
    assert flow.drag_wall == pytest.approx(0.562237, abs=2e-6)
    assert flow.drag_cell == pytest.approx(0.289622, abs=2e-6)
    assert flow.flow == pytest.approx(0.109590, abs=2e-6)


def test_a_problem_of_ones_own_by_the_collision_integral(tmp_path: Path) -> None:
    plates = {"left": rarefy.wall(1.1), "right": rarefy.wall(0.9), "backend": "cpu"}
    run = rarefy.Simulation((8, 0.0, 1.0), velocities=(10, 4.0), collisions="boltzmann", temperature=lambda x: 1.1 - 0.2 * x, **plates)  # type: ignore[arg-type]
    assert run.result().temperature == pytest.approx(1.1 - 0.2 * (np.arange(8) + 0.5) / 8, abs=1e-2)
    run.run(steps=3)
    run.checkpoint(tmp_path / "c")
    rest = rarefy.Simulation.resume(tmp_path / "c")
    assert rest.steps == 3
    assert np.array_equal(rest.run(steps=2).temperature, run.run(steps=2).temperature)
    assert run.populations.shape == (1, 8, 10, 10, 10)
    result = run.run(time=0.5)
    assert result.temperature[0] > result.temperature[-1]
    assert result.density.mean() == pytest.approx(1.0, rel=1e-9)
    with pytest.raises(TypeError, match="nodes along each axis"):
        rarefy.Simulation((8, 0.0, 1.0), velocities=[("uniform", 10, -4.0, 4.0)], collisions="boltzmann")


def test_a_cavity_steady_and_in_time() -> None:
    steady = rarefy.cavity(1.0, cells=20, velocities=(16, 8), backend="cpu")
    assert steady.status == "converged"
    assert steady.ux.shape == (20, 20)
    assert steady.ux[-1, 10] > 0
    run = rarefy.cavity(1.0, cells=20, velocities=(12, 12), time=20.0, backend="cpu")
    assert run.flow == pytest.approx(steady.flow, rel=0.1)
    assert run.drag_wall == pytest.approx(steady.drag_wall, rel=0.1)
    assert steady.to_xarray()["ux"].dims == ("y", "x")
    assert len(steady.to_pandas()) == 400
    assert steady.plot().get_ylabel() == "$y/l_0$"


def tube(**options: object) -> rarefy.Simulation:
    return rarefy.Simulation(
        (60, -6.0, 6.0),
        velocities=[("uniform", 20, -5.0, 5.0)],
        left=rarefy.inflow(1.0),
        right=rarefy.inflow(0.125, temperature=0.8),
        density=lambda x: np.where(x < 0, 1.0, 0.125),
        temperature=lambda x: np.where(x < 0, 1.0, 0.8),
        backend="cpu",
        **options,  # type: ignore[arg-type]
    )


def test_a_problem_of_ones_own(tmp_path: Path) -> None:
    run = tube(dt=0.05)
    assert run.advance(10) == 10
    run.checkpoint(tmp_path / "c")
    rest = rarefy.Simulation.resume(tmp_path / "c")
    assert np.array_equal(rest.run(steps=5).density, run.run(steps=5).density)
    assert rest.time == pytest.approx(0.75)
    assert run.populations.shape == (20, 1, 2, 1, 60)
    assert run.result().plot("ux").get_ylabel() == "ux"
    # At rest a gas comes in and goes out, and pushes with p = n T/2.
    assert run.face_fluxes()[0]["momentum"][0] == pytest.approx(0.5, abs=0.01)
    assert run.residual() == np.inf


def test_a_plane_with_walls() -> None:
    hot = rarefy.wall(1.2)
    still = rarefy.wall(1.0)
    run = rarefy.Simulation(
        (8, 0.0, 1.0),
        (6, 0.0, 1.0),
        velocities=[("half-range", 8, 0, 0)] * 2,
        left=hot,
        right=still,
        bottom=still,
        top=still,
        backend="cpu",
    )
    result = run.run(time=1.0)
    assert result.temperature.shape == (6, 8)
    assert result.temperature[3, 0] > result.temperature[3, -1]
    total = result.density.mean()
    assert total == pytest.approx(1.0, rel=1e-9)


def test_bad_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="Mach number above 1"):
        rarefy.shock(0.5)
    with pytest.raises(ValueError, match=r"density has the shape \(3,\)"):
        rarefy.Simulation((10, 0.0, 1.0), velocities=[("uniform", 8, -4, 4)], density=np.ones(3))
    with pytest.raises(ValueError, match="periodic"):
        rarefy.Simulation((10, 0.0, 1.0), velocities=[("uniform", 8, -4, 4)], left=rarefy.wall())
    with pytest.raises(ValueError, match="expected uniform, half-range or hermite"):
        rarefy.Simulation((10, 0.0, 1.0), velocities=[("gauss", 8, -4, 4)])


def test_units() -> None:
    argon = rarefy.units("argon", 101325.0, 273.0)
    assert argon.velocity_m_s == pytest.approx(337.2, abs=0.2)
    with pytest.raises(ValueError, match="positive"):
        rarefy.units("argon", -1.0, 273.0)


def test_flows_by_the_integral_take_a_degree_of_the_sphere() -> None:
    # As `rarefy couette --collision boltzmann --nx 12 --velocities 12 --until-residual 1e-4 --sphere 5` and its likes.
    def couette(**options: Any) -> float:
        return rarefy.couette(1.0, collisions="boltzmann", cells=12, velocities=12, rtol=1e-4, backend="cpu", **options).flux

    usual = couette()
    assert couette(sphere=11) == usual
    coarse = couette(sphere=5)
    assert coarse != usual and abs(coarse / usual - 1.0) < 0.02

    def shock(**options: Any) -> Any:
        return rarefy.shock(1.4, collisions="boltzmann", cells=16, sides=(8.0, 8.0), velocities=12, time=0.5, backend="cpu", **options)

    first, second = shock(sphere=5), shock(sphere=7, method="spectral")
    assert first.thickness != second.thickness
    with pytest.raises(TypeError, match="sphere belongs to method='spectral'"):
        shock(sphere=5, method="fast")
    with pytest.raises(TypeError, match="sphere belongs to collisions='boltzmann'"):
        rarefy.fourier(1.0, sphere=5)
    with pytest.raises(TypeError, match="sphere belongs to collisions='boltzmann'"):
        rarefy.shock(1.4, sphere=5)
    with pytest.raises(ValueError, match="degree"):
        couette(sphere=6)


def _cylinder() -> dict[str, Any]:
    stream = {"kind": "stream", "speed_ratio": 1.82574}
    return {
        "gas": {"delta": 1.0, "omega": 0.734},
        "domain": {"x": [-1.5, 1.5], "y": [0.0, 1.5], "h": 0.1},
        "sides": {"left": stream, "right": stream, "bottom": {"kind": "mirror"}, "top": stream},
        "body": [{"name": "cylinder", "shape": "circle", "radius": 0.5}],
    }


def test_a_flow_past_a_cylinder() -> None:
    flow = rarefy.flow(_cylinder(), tolerance=1e-3)
    assert flow.status == "converged"
    # The upper half of a cylinder, whose drag coefficient on fine cells is 2.36.
    assert 2.0 * flow.bodies["cylinder"]["drag_coefficient"] == pytest.approx(2.45, abs=0.15)
    assert flow.density.shape == (15, 30)
    assert flow.gas.min() == 0.0
    assert flow.walls["length"].sum() == pytest.approx(np.pi / 2, rel=0.02)
    assert set(flow.sides) == {"left", "right", "top"}
    assert flow.plot("density").get_xlabel() == "x"


def _sphere() -> dict[str, Any]:
    stream = {"kind": "stream", "speed_ratio": 1.5}
    mirror = {"kind": "mirror"}
    return {
        "gas": {"delta": 1.0},
        "domain": {"x": [-1.25, 1.25], "y": [0, 1.25], "z": [0, 1.25], "h": 0.25},
        "velocities": {"kind": "uniform", "step": 1.0},
        "sides": {"left": stream, "right": stream, "bottom": mirror, "top": stream, "back": mirror, "front": stream},
        "body": [{"name": "ball", "shape": "sphere", "radius": 0.5}],
        "solver": {"tolerance": 1e-3},
    }


def test_a_flow_in_space() -> None:
    flow = rarefy.flow(_sphere(), backend="cpu")
    ball = flow.bodies["ball"]
    assert ball["drag_newtonian"] < ball["drag_coefficient"] < ball["drag_free_molecular"]
    assert ball["force_y"] == pytest.approx(ball["force_z"], rel=1e-6)
    assert flow.z is not None
    assert flow.uz is not None
    assert flow.density.shape == flow.uz.shape == (5, 5, 10)
    assert flow.z.shape == (5,)
    assert flow.walls["area"].sum() == pytest.approx(ball["area"])
    assert flow.discretisation_error is not None
    assert flow.discretisation_error["bodies"]["ball"]["drag_coefficient"]["cells"] > 0.0
    assert flow.plot("density", z=0.1).get_title() == "z = 0.125"
    assert list(flow.to_xarray().density.dims) == ["z", "y", "x"]
    assert list(rarefy.flow(_cylinder(), tolerance=1e-2, verify=False).to_xarray().density.dims) == ["y", "x"]

    centres = -0.6 + 0.1 * (0.5 + np.arange(12))
    z, y, x = np.meshgrid(centres, centres, centres, indexing="ij")
    solid = x**2 + y**2 + z**2 < 0.25
    case = {**_sphere(), "body": [{"shape": "voxels", "values": solid, "origin": [-0.6] * 3, "spacing": 0.1}]}
    voxels = rarefy.flow(case, verify=False, backend="cpu")
    assert voxels.bodies["body 1"]["drag_coefficient"] == pytest.approx(ball["drag_coefficient"], rel=0.05)
    with pytest.raises(ValueError, match=r"body 1: values: shape \(12, 12\); expected three dimensions"):
        rarefy.flow({**case, "body": [{**case["body"][0], "values": solid[0]}]})


def test_a_flow_round_an_axis() -> None:
    result = rarefy.flow(
        {
            "gas": {"delta": 1e-9, "linear": True},
            "domain": {"symmetry": "axis", "x": [0, 1], "y": [0, 1], "h": 0.1},
            "velocities": {"angles": 16, "speeds": 8, "axial": 8},
            "sides": {"left": {"kind": "reservoir", "density": 1}, "right": {"kind": "vacuum"}, "top": {"kind": "wall"}},
        },
        backend="cpu",
    )
    # Clausing's transmission of a tube as long as its radius.
    flow = 0.671984 * np.sqrt(np.pi) / 2
    assert abs(result.sides["right"]["mass"] / flow - 1) < 6e-4
    assert result.z is None


def test_air_has_two_temperatures() -> None:
    stream = {"kind": "stream", "mach": 2}
    result = rarefy.flow(
        {
            "gas": {"gas": "air", "pressure": 1, "temperature": 250, "length": 0.01},
            "domain": {"x": [-1.5, 1.5], "y": [0, 1.5], "h": 0.5},
            "sides": {"left": stream, "right": stream, "top": stream, "bottom": {"kind": "mirror"}},
            "body": [{"shape": "circle", "radius": 0.5, "temperature": 1.2}],
        },
        verify=False,
        backend="cpu",
    )
    moving, rotating = result.temperature_translational, result.temperature_rotational
    assert moving is not None
    assert rotating is not None
    np.testing.assert_allclose(result.temperature, (3 * moving + 2 * rotating) / 5, rtol=1e-12)
    # In front of the body the molecules move hotter than they rotate.
    assert (moving - rotating).max() > 0.05
    assert result.qx_rotational is not None
    assert result.qz_rotational is None
    assert result.negative_equilibrium is not None
    assert 0 <= result.negative_equilibrium["internal_energy"] < 0.05


def test_bars_of_a_flow_past_a_cylinder() -> None:
    flow = rarefy.flow(_cylinder(), tolerance=1e-4)
    error = flow.discretisation_error
    assert error is not None
    drag = error["bodies"]["cylinder"]["drag_coefficient"]
    assert set(drag) == {"total", "cells", "velocities", "domain", "iteration"}
    assert abs(2.0 * flow.bodies["cylinder"]["drag_coefficient"] - 2.3632) < 3.0 * 2.0 * drag["total"]
    assert set(error["sides"]) == {"left", "right", "top"}
    assert error["mass_flow"]["total"] > 0.0
    assert flow.mass_flow > 0.0
    alone = rarefy.flow(_cylinder(), tolerance=1e-4, verify=False)
    assert alone.discretisation_error is None
    assert alone.bodies == flow.bodies
    with pytest.raises(TypeError, match="leave verify out"):
        rarefy.flow(_cylinder(), verify=True, accuracy=1e-2)
    with pytest.raises(ValueError, match="devices: 2; expected 1 device with the backend cpu"):
        rarefy.flow(_cylinder(), backend="cpu", devices=2)


def test_a_flow_of_an_accuracy_that_is_asked_for() -> None:
    wall = {"kind": "wall"}
    case = {
        "gas": {"delta": 1.0, "model": "bgk", "linear": True},
        "sides": {"left": wall, "right": wall, "bottom": wall, "top": wall},
        "body": [
            {"name": "inner", "shape": "circle", "radius": 0.5, "temperature": 1.0},
            {"name": "outer", "shape": "circle", "radius": 1.0, "hollow": True},
        ],
    }
    flow = rarefy.flow(case, accuracy=3e-3)
    assert flow.accuracy is not None
    assert flow.accuracy["reached"]
    assert tuple(flow.case["domain"]["x"]) == (-1.05, 1.05)
    assert flow.bodies["inner"]["heat"] == pytest.approx(-0.772462, rel=3e-3)


def test_bodies_are_arrays() -> None:
    case = _cylinder()
    circle = rarefy.flow(case, tolerance=1e-3)
    x, y = np.meshgrid(np.arange(-0.6, 0.61, 0.04), np.arange(-0.6, 0.61, 0.04))
    distance = np.hypot(x, y) - 0.5
    body = {"name": "cylinder", "shape": "distance", "values": distance, "origin": [-0.6, -0.6], "spacing": 0.04}
    case["body"] = [body]
    flow = rarefy.flow(case, tolerance=1e-3)
    drag = circle.bodies["cylinder"]["drag_coefficient"]
    assert flow.bodies["cylinder"]["drag_coefficient"] == pytest.approx(drag, rel=5e-3)
    assert flow.case["body"][0]["values"].shape == distance.shape
    # Pixels of which the array holds the centres.
    mask = {**body, "shape": "mask", "values": distance < 0.0, "origin": [-0.62, -0.62]}
    flow = rarefy.flow({**case, "body": [mask]}, tolerance=1e-3)
    assert flow.bodies["cylinder"]["drag_coefficient"] == pytest.approx(drag, rel=1e-2)
    with pytest.raises(TypeError, match="body 1: values: float64; expected bool or uint8"):
        rarefy.flow({**case, "body": [{**mask, "values": distance}]})
    with pytest.raises(ValueError, match=r"body 1: values: shape \(31,\); expected two dimensions"):
        rarefy.flow({**case, "body": [{**body, "values": distance[0]}]})
    with pytest.raises(ValueError, match="samples, all gas"):
        rarefy.flow({**case, "body": [{**mask, "values": np.zeros((4, 4), dtype=bool)}]})


def test_cases_that_are_not_right_are_refused(tmp_path: Path) -> None:
    case = _cylinder()
    case["body"][0]["radius"] = -1.0
    with pytest.raises(ValueError, match=r"body 1: radius: -1; expected a positive number"):
        rarefy.flow(case)
    with pytest.raises(ValueError, match="f64 for flows past bodies on a CPU"):
        rarefy.flow(_cylinder(), backend="cpu", precision="f32")
    (tmp_path / "case.toml").write_text("[gas\n")
    with pytest.raises(ValueError, match=r"case\.toml"):
        rarefy.flow(tmp_path / "case.toml")


def test_a_list_of_a_parameter_is_a_sweep() -> None:
    options: dict[str, Any] = {"cells": 120, "sides": (30.0, 20.0), "velocities": 24, "verify": False, "backend": "cpu"}
    waves = rarefy.shock([1.5, 2.0], **options)
    assert waves.parameter == "mach"
    assert [wave.mach for wave in waves] == [1.5, 2.0]
    alone = rarefy.shock(2.0, **options)
    assert waves[1].thickness == alone.thickness
    np.testing.assert_array_equal(waves.thickness, [wave.thickness for wave in waves])
    assert len(waves.density) == len(waves) == 2
    with pytest.raises(AttributeError):
        waves.nothing  # noqa: B018

    plates = rarefy.couette(kn=np.array([0.5, 5.0]), linear=True, cells=60, backend="cpu")
    assert plates.parameter == "kn"
    np.testing.assert_array_equal(plates.delta, [rarefy.couette(kn=kn, linear=True, cells=60, backend="cpu").delta for kn in (0.5, 5.0)])
    assert (plates.errors("flux") > 0.0).all()
    assert np.isnan(plates.errors("error_estimate")).all()
    ax = plates.plot()
    assert ax.get_xscale() == "log"
    frame = plates.to_pandas()
    assert frame.index.name == "kn"
    np.testing.assert_array_equal(frame["flux_error"], plates.errors("flux"))
    rows = rarefy.fourier([1.0], linear=True, verify=False, backend="cpu")
    assert rows.flux[0] == pytest.approx(0.3616, abs=1e-4)


def test_a_sweep_that_fails_keeps_its_results() -> None:
    with pytest.raises(ValueError, match="mach") as failure:
        rarefy.shock([1.5, 0.5], cells=120, sides=(30.0, 20.0), velocities=24, verify=False, backend="cpu")
    assert [wave.mach for wave in failure.value.results] == [1.5]  # type: ignore[attr-defined]
    for values in ([], [[1.5, 2.0]]):
        with pytest.raises(ValueError, match="mach has the shape"):
            rarefy.shock(values, backend="cpu")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="either delta or kn"):
        rarefy.couette([1.0], kn=[1.0], backend="cpu")


def test_a_cube_is_no_rule_of_a_model() -> None:
    with pytest.raises(TypeError, match=r"\[\('uniform', 16, -4.5, 4.5\)\]"):
        rarefy.Simulation((20, -1.0, 1.0), velocities=(16, 4.5), backend="cpu")


def test_molecules_that_rotate_have_two_temperatures() -> None:
    wave = rarefy.shock(3.0, model="polyatomic", z_rot=5.5, prandtl=0.72, backend="cpu", verify=False)
    assert wave.temperature_translational is not None and wave.temperature_rotational is not None
    np.testing.assert_allclose((3 * wave.temperature_translational + 2 * wave.temperature_rotational) / 5, wave.temperature, rtol=1e-12)
    # The ratio of the specific heats is 7/5.
    assert abs(wave.downstream["density"] - 6 * 9 / 14) < 1e-12
    assert max(wave.flux_spread) < 1e-6
    flow = rarefy.fourier(1.0, temperature_difference=2 / 3, model="polyatomic", eucken=(2.325106, 1.392220), z_rot=5.659, backend="cpu", verify=False)
    assert abs(flow.flux / 3 - 0.187194) < 2e-6
    assert flow.heat_flux_rotational is not None and "temperature_rotational" in flow.to_pandas()
    # The flow rate of an independent program.
    flow = rarefy.poiseuille(1.0, model="polyatomic", eucken=(2.325106, 1.392220), z_rot=5.659, backend="cpu", verify=False)
    assert flow.flux == pytest.approx(1.54768, rel=3e-4)
    cavity = rarefy.cavity(1.0, cells=16, velocities=(16, 8), model="polyatomic", backend="cpu", verify=False)
    assert cavity.temperature_translational is not None and cavity.temperature_rotational is not None
    assert cavity.qx_rotational is not None and cavity.qx_rotational.shape == (16, 16)
    np.testing.assert_allclose((3 * cavity.temperature_translational + 2 * cavity.temperature_rotational) / 5, cavity.temperature, rtol=1e-12)
    assert rarefy.couette(1.0, backend="cpu", verify=False).temperature_rotational is None
    with pytest.raises(TypeError, match="polyatomic"):
        rarefy.couette(1.0, z_rot=5.0)
    early = rarefy.shock(2.0, model="polyatomic", time=0.5, cells=200, backend="cpu", verify=False)
    assert early.temperature_rotational is not None and early.temperature_translational is not None
    # Collisions have not yet brought rotation to the temperature of translation.
    assert np.abs(early.temperature_translational - early.temperature_rotational).max() > 0.1


def test_a_simulation_of_molecules_that_rotate_has_their_temperatures() -> None:
    tube = rarefy.Simulation(
        (60, -6.0, 6.0),
        velocities=[("uniform", 24, -5.0, 5.0)],
        left=rarefy.inflow(1.0),
        right=rarefy.inflow(0.25, temperature=0.8),
        density=lambda x: np.where(x < 0, 1.0, 0.25),
        temperature=lambda x: np.where(x < 0, 1.0, 0.8),
        model="polyatomic",
        z_rot=5.5,
        backend="cpu",
    )
    result = tube.run(time=2.0)
    own = tube.rotation()
    np.testing.assert_allclose((3 * own["temperature_translational"] + 2 * own["temperature_rotational"]) / 5, result.temperature, rtol=1e-12)
    # In the expansion rotation is late.
    assert (own["temperature_rotational"] - own["temperature_translational"]).max() > 0.01
    atoms = rarefy.Simulation((10, 0.0, 1.0), velocities=[("uniform", 12, -4.0, 4.0)], backend="cpu")
    assert atoms.rotation() == {}
