#!/usr/bin/env python3
"""Times of flows in space, and rates of their sweeps on a GPU, as the tables of docs/benchmarks/flow-space.md.

    scripts/flow-space-rates.py [RAREFY]

RAREFY is the command (target/release/rarefy). Sweeps are measured by Nsight Compute, `ncu`; without it there are the times alone.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUIET = ["--no-verify", "--json", "--quiet", "--overwrite"]
MACHINES = {
    "2 threads": ["--backend", "cpu", "--threads", "2"],
    "all threads": ["--backend", "cpu"],
    "GPU, f64": ["--backend", "cuda"],
    "GPU, f32": ["--backend", "cuda", "--precision", "f32"],
}
# Cells along an axis, and points above zero of each half axis of the velocities.
SWEEPS = [(64, 8), (64, 12), (96, 12), (128, 12)]


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


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else "no output"


def commands(rarefy: str, folder: Path) -> None:
    for name, text, machines in (
        ("sphere at Mach 5, delta 9, 96^3 cells", sphere(96, 5, 9, 1000, 1e-2, 'kind = "uniform", step = 0.7'), ["GPU, f64", "GPU, f32"]),
        ("sphere at Mach 2, delta 2, 32^3 cells", sphere(32, 2, 2, 1000, 1e-2, 'kind = "uniform", step = 1'), list(MACHINES)),
    ):
        case = folder / "case.toml"
        case.write_text(text)
        for machine in machines:
            start = time.perf_counter()
            line = [rarefy, "flow", str(case), *QUIET, "--out", str(folder / "out"), *MACHINES[machine]]
            done = run(["/usr/bin/time", "-f", "%M", *line])
            seconds = time.perf_counter() - start
            if done.returncode != 0:
                print(f"{name}, {machine}: {last_line(done)}", flush=True)
                continue
            memory = int(done.stderr.split()[-1]) // 1024
            result = json.loads(done.stdout)["result"]
            found = f"{result['cells']} cells, {result['nodes']} velocities, {result['iterations']} iterations"
            drag = result["bodies"][0]["drag_coefficient"]
            print(f"{name}, {machine}: {seconds:.2f} s, {memory} MB; {found}; C_D {drag:.6g}", flush=True)


def sweeps(rarefy: str, folder: Path) -> None:
    for cells, points in SWEEPS:
        case = folder / "sweep.toml"
        case.write_text(sphere(cells, 1.5, 3, 2, 1e-9, f'kind = "gauss", points = {points}'))
        for precision in ("f32", "f64"):
            line = [rarefy, "flow", str(case), *QUIET, "--out", str(folder / "out"), "--backend", "cuda", "--precision", precision]
            done = run(["ncu", "--csv", "--print-units", "base", "--metrics", "gpu__time_duration.sum", "-k", "regex:flow_volume", *line])
            rows = re.findall(r'"(flow_volume\w*)[^"]*",.*?"gpu__time_duration.sum","[^"]*","([^"]*)"', done.stdout)
            record = re.search(r"\n\{.*?\n\}", done.stdout, re.DOTALL)
            starts = [at for at, (kernel, _) in enumerate(rows) if kernel.startswith("flow_volume_fields")]
            if not starts or not record:
                print(f"{cells}^3, {precision}: {last_line(done)}", flush=True)
                continue
            result = json.loads(record.group(0))["result"]
            times: dict[str, float] = {}
            for kernel, value in rows[starts[-1] :]:
                name = re.sub(r"_f(32|64)$", "", kernel)
                times[name] = times.get(name, 0.0) + float(value.replace(",", "")) * 1e-6
            total = sum(times.values())
            work = result["cells"] * result["nodes"]
            parts = ", ".join(f"{name.removeprefix('flow_volume').strip('_') or 'sweep'} {value:.2f}" for name, value in times.items())
            print(f"{cells}^3 cells, {result['nodes']} velocities, {precision}: {total:.2f} ms ({parts}), {work / total * 1e3:.2e} nodes and cells a second", flush=True)


def main() -> None:
    rarefy = str(Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/rarefy").absolute())
    with tempfile.TemporaryDirectory() as folder:
        commands(rarefy, Path(folder))
        if shutil.which("ncu"):
            sweeps(rarefy, Path(folder))


if __name__ == "__main__":
    main()
