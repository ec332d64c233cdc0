"""Calls without options are runs of the command without flags: their defaults are in the library, where both take them from."""

import inspect
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rarefy


def command(line: str) -> dict[str, Any]:
    """The record of a run of the command."""
    built = Path(__file__).parents[2] / "target" / "debug" / "rarefy"
    found = os.environ.get("RAREFY_COMMAND") or shutil.which("rarefy") or str(built)
    if not Path(found).is_file():
        pytest.skip("the command is not built")
    flags = ["--backend", "cpu", "--json", "--quiet"]
    output = subprocess.run([found, *line.split(), *flags], capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    record: dict[str, Any] = json.loads(output.stdout)
    return record


@pytest.mark.parametrize("mach", [1.5, 3.0])
def test_shocks(mach: float) -> None:
    wave = rarefy.shock(mach, backend="cpu")
    run = command(f"shock --mach {mach} --no-verify")
    assert len(wave.x) == run["parameters"]["cells"]
    assert wave.thickness == pytest.approx(run["result"]["thickness"], rel=1e-12)


def test_plates() -> None:
    for line, flow, key in [
        ("couette --delta 1 --u 3", rarefy.couette(1.0, u=3.0, backend="cpu"), "Pi"),
        ("fourier --delta 1 --temperature-difference 1.9", rarefy.fourier(1.0, temperature_difference=1.9, backend="cpu"), "Q"),
        ("poiseuille --delta 0.01", rarefy.poiseuille(0.01, backend="cpu"), "G"),
        ("poiseuille --delta 100", rarefy.poiseuille(100.0, backend="cpu"), "G"),
    ]:
        run = command(f"{line} --no-verify")
        # Both end within the same tolerance; two builds may round differently on the way.
        assert flow.flux == pytest.approx(run["result"][key], rel=1e-10), line


def test_cavities() -> None:
    run = command("cavity --delta 10 --cells 12 --no-verify")
    flow = rarefy.cavity(10.0, cells=12, backend="cpu")
    assert flow.flow == pytest.approx(run["result"]["G"], rel=1e-12)
    parameters = command("cavity --cells 4 --velocities 4x4 --no-verify")["parameters"]
    usual = inspect.signature(rarefy.cavity).parameters
    for name in ("lid", "accommodation", "linear", "steady"):
        assert usual[name].default == parameters[name], name


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("", {}),
        ("--section rectangle:2 --accommodation 0.8", {"section": "rectangle:2", "accommodation": 0.8}),
        ("--section slit --model bgk", {"section": "slit", "model": "bgk"}),
        ("--model polyatomic --z-rot 3", {"model": "polyatomic", "z_rot": 3.0}),
        ("--accuracy 1e-7", {"accuracy": 1e-7}),
    ],
)
def test_tubes(line: str, options: dict[str, Any]) -> None:
    (row,) = command(f"tube --delta 0.5 {line}")["result"]["tube"]
    flow = rarefy.tube(0.5, **options)
    assert (flow.g_p, flow.g_t) == pytest.approx((row["g_p"], row["g_t"]), rel=1e-12)
    errors = flow.discretisation_error
    assert errors is not None
    assert errors["g_p"]["total"] == pytest.approx(row["discretisation_error"]["g_p"], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("n", "box", "method"), [(20, (-6.5, 6.5), "spectral"), (12, (-9.0, 9.0), "fast")])
def test_relaxations(n: int, box: tuple[float, float], method: str) -> None:
    run = command(f"relax --grid {n} --vmax {box[1]} --steps 2 --no-verify")
    relaxation = rarefy.Relaxation(rarefy.two_maxwellians(n, box), box, steps=2, backend="cpu")
    result = relaxation.run()
    assert run["method"]["taken"] == method
    assert relaxation._run.config()["operator"]["method"] == method
    assert result.time[-1] == pytest.approx(run["result"]["time"], rel=1e-12)
    assert result.H[-1] == pytest.approx(run["result"]["final"]["entropy"], rel=1e-12)


@pytest.mark.parametrize(
    ("line", "model", "options"),
    [
        ("--init two-maxwellians:1.5", "bgk", {"beams": (1.5, 0.5)}),
        ("--init temperatures:1,2 --internal-dof 3 --until 1.5", "polyatomic", {"temperatures": (1.0, 2.0), "internal_dof": 3.0, "time": 1.5}),
        ("--init two-maxwellians:1,0.3 --grid 40 --vmax 9 --dt 0.1 --steps 7", "shakhov", {"beams": (1.0, 0.3), "velocities": (40, -9.0, 9.0), "dt": 0.1, "steps": 7}),
    ],
)
def test_relaxations_by_a_model(line: str, model: Any, options: dict[str, Any]) -> None:
    run = command(f"relax --model {model} {line} --no-verify")["result"]
    found = rarefy.relax_model(model, **options, backend="cpu")
    assert found.time[-1] == pytest.approx(run["time"], rel=1e-12)
    final = run["final"]
    assert [found.pxx[-1], found.qx[-1]] == pytest.approx([final["pressure"][0], final["heat_flux"][0]], rel=1e-10, abs=1e-14)
    if model == "polyatomic":
        assert found.temperature_rotational[-1] == pytest.approx(final["temperature_rotational"], rel=1e-12)


@pytest.mark.parametrize(
    ("mode", "law"), [("money", {"law": "money"}), ("gamma:0.5", {"law": "gamma", "alpha": 0.5}), ("saving:0.9", {"law": "saving", "saved": 0.9})]
)
def test_markets(tmp_path: Path, mode: str, law: dict[str, Any]) -> None:
    rows = [(0.0, 1.0, 0.6), (1.0, 3.0, 0.3), (3.0, 5.0, 0.1)]
    table = tmp_path / "incomes.csv"
    table.write_text("x_lo,x_hi,share\n" + "\n".join(f"{low},{high},{share}" for low, high, share in rows))
    run = command(f"market --input {table} --mode {mode} --times 0.1 --dt 0.05 --no-verify")
    market = rarefy.Market(rows, **law, dt=0.05, backend="cpu")
    found = market.run(time=0.1, verify=False)
    assert len(found.wealth) == run["parameters"]["cells"]
    assert found.gini == pytest.approx(run["result"]["rows"][-1]["gini"], rel=1e-10)
