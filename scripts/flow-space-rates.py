#!/usr/bin/env python3
"""Times of flows in space and round an axis, and rates of their sweeps on a GPU, as the tables of docs/benchmarks/flow-space.md.

    scripts/flow-space-rates.py [RAREFY]

RAREFY is the command (target/release/rarefy). Sweeps are measured by Nsight Compute, `ncu`; without it there are the times alone.
"""

import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nsight

QUIET = ["--no-verify", "--json", "--quiet", "--overwrite"]
MACHINES = {
    "2 threads": ["--backend", "cpu", "--threads", "2"],
    "all threads": ["--backend", "cpu"],
    "GPU, f64": ["--backend", "cuda"],
    "GPU, f32": ["--backend", "cuda", "--precision", "f32"],
}
# Cells along an axis, and points above zero of each half axis of the velocities.
SWEEPS = [(64, 8), (64, 12), (96, 12), (128, 12)]
# Rings along each direction of a square; angles, speeds and axial velocities.
RINGS = [(64, (16, 12, 12)), (128, (16, 12, 12)), (128, (32, 16, 16)), (256, (16, 12, 12))]


def sphere(cells: int, mach: float, delta: float, iterations: int, tolerance: float, velocities: str) -> str:
    stream = f'{{ kind = "stream", mach = {mach} }}'
    return f"""gas = {{ delta = {delta}, omega = 0.81 }}
domain = {{ x = [-1.5, 1.5], y = [-1.5, 1.5], z = [-1.5, 1.5], h = {3 / cells} }}
velocities = {{ {velocities} }}
solver = {{ iterations = {iterations}, tolerance = {tolerance} }}
output = {{ plots = false }}
[sides]
left = {stream}
right = {stream}
bottom = {stream}
top = {stream}
back = {stream}
front = {stream}
[[body]]
shape = "sphere"
radius = 0.5
"""


def orifice(cells: int, delta: float, iterations: int, tolerance: float, velocities: str) -> str:
    """A wall with a hole of radius 1, in front of a thousandth of the density and vacuum."""
    return f"""gas = {{ model = "shakhov", delta = {delta} }}
domain = {{ x = [-4, 4], y = [0, 8], h = {8 / cells}, symmetry = "axis" }}
velocities = {{ {velocities} }}
solver = {{ iterations = {iterations}, tolerance = {tolerance} }}
output = {{ plots = false }}
[sides]
left = {{ kind = "reservoir" }}
right = {{ kind = "vacuum" }}
top = {{ kind = "split", at = 0, left = {{ density = 1 }}, right = {{ density = 1e-3 }} }}
[[body]]
shape = "rectangle"
centre = [0, 5]
size = [0.5, 8]
"""


def commands(rarefy: str, folder: Path) -> None:
    for name, text, machines in (
        ("sphere at Mach 5, delta 9, 96^3 cells", sphere(96, 5, 9, 1000, 1e-2, 'kind = "uniform", step = 0.7'), ["GPU, f64", "GPU, f32"]),
        ("orifice into a thousandth of the density, delta 1, 64^2 rings", orifice(64, 1, 1000, 1e-6, 'kind = "axis", angles = 16, speeds = 12, axial = 12'), list(MACHINES)),
        ("sphere at Mach 2, delta 2, 32^3 cells", sphere(32, 2, 2, 1000, 1e-2, 'kind = "uniform", step = 1'), list(MACHINES)),
    ):
        case = folder / "case.toml"
        case.write_text(text)
        for machine in machines:
            start = time.perf_counter()
            line = [rarefy, "flow", str(case), *QUIET, "--out", str(folder / "out"), *MACHINES[machine]]
            done = nsight.run(["/usr/bin/time", "-f", "%M", *line])
            seconds = time.perf_counter() - start
            if done.returncode != 0:
                print(f"{name}, {machine}: {nsight.last_line(done)}", flush=True)
                continue
            memory = int(done.stderr.split()[-1]) // 1024
            result = json.loads(done.stdout)["result"]
            found = f"{result['cells']} cells, {result['nodes']} velocities, {result['iterations']} iterations"
            drag = result["bodies"][0].get("drag_coefficient")
            value = f"W {result['mass_flow']:.6g}" if drag is None else f"C_D {drag:.6g}"
            print(f"{name}, {machine}: {seconds:.2f} s, {memory} MB; {found}; {value}", flush=True)


def sweeps(rarefy: str, folder: Path) -> None:
    for cells, points in SWEEPS:
        text = sphere(cells, 1.5, 3, 2, 1e-9, f'kind = "gauss", points = {points}')
        sweep(rarefy, folder, f"{cells}^3 cells", text, "flow_volume", "flow_volume_fields")
    for cells, (angles, speeds, axial) in RINGS:
        velocities = f'kind = "axis", angles = {angles}, speeds = {speeds}, axial = {axial}'
        sweep(rarefy, folder, f"{cells}^2 rings", orifice(cells, 1, 2, 1e-9, velocities), "flow_ring", "flow_ring_f")


def sweep(rarefy: str, folder: Path, name: str, text: str, kernels: str, first: str) -> None:
    """The last of two sweeps, whose first kernel begins with a name."""
    case = folder / "sweep.toml"
    case.write_text(text)
    for precision in ("f32", "f64"):
        line = [rarefy, "flow", str(case), *QUIET, "--out", str(folder / "out"), "--backend", "cuda", "--precision", precision]
        launches, record, last_line = nsight.measured(line, ["gpu__time_duration.sum"], ["-k", f"regex:{kernels}"])
        starts = [at for at, launch in enumerate(launches) if launch.kernel.startswith(first)]
        if not starts or record is None:
            print(f"{name}, {precision}: {last_line}", flush=True)
            continue
        result = record["result"]
        times: dict[str, float] = {}
        for launch in launches[starts[-1] :]:
            part = re.sub(r"_f(32|64)$", "", launch.kernel).removeprefix(kernels).strip("_") or "sweep"
            times[part] = times.get(part, 0.0) + launch.metrics["gpu__time_duration.sum"] * 1e-6
        total = sum(times.values())
        work = result["cells"] * result["nodes"]
        parts = ", ".join(f"{part} {value:.2f}" for part, value in times.items())
        print(f"{name}, {result['nodes']} velocities, {precision}: {total:.2f} ms ({parts}), {work / total * 1e3:.2e} nodes and cells a second", flush=True)


def main() -> None:
    rarefy = str(Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/rarefy").absolute())
    with tempfile.TemporaryDirectory() as folder:
        commands(rarefy, Path(folder))
        if shutil.which("ncu"):
            sweeps(rarefy, Path(folder))


if __name__ == "__main__":
    main()
