#!/usr/bin/env python3
"""Times of flows past bodies, and rates of their sweeps on a GPU, as the tables of docs/benchmarks/flow.md.

    scripts/flow-rates.py [RAREFY] [CYLINDER]

RAREFY is the command (target/release/rarefy), CYLINDER its case (examples/flow/cylinder.toml). Sweeps are measured by Nsight Compute, `ncu`; without it there are the times alone.
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
    "1 thread": ["--backend", "cpu", "--threads", "1"],
    "2 threads": ["--backend", "cpu", "--threads", "2"],
    "all threads": ["--backend", "cpu"],
    "GPU, f64": ["--backend", "cuda"],
    "GPU, f32": ["--backend", "cuda", "--precision", "f32"],
}
# Cells along an axis; step of uniform velocities, none for the linearised equation.
SWEEPS = [(512, 0.4), (1024, 0.4), (1024, 0.2), (512, 0.1), (512, None)]
METRICS = {
    "gpu__time_duration.sum": "ns",
    "sm__inst_executed.sum": "instructions of warps",
    "smsp__issue_active.avg.pct_of_peak_sustained_elapsed": "issue slots",
    "dram__bytes.sum": "bytes",
}


def fine(text: str) -> str:
    """The cylinder's case with 40 cells a diameter."""
    for key, value in (("h", 0.025), ("growth", 1.0392), ("largest", 0.1)):
        text = re.sub(rf"^{key} = \S+", f"{key} = {value}", text, flags=re.MULTILINE)
    return text


def sweep_case(cells: int, step: float | None, disc: bool) -> str:
    linear = step is None
    stream, wall = 'kind = "stream", speed_ratio = 1.5', 'kind = "wall"'
    velocities = 'kind = "polar", angles = 48, speeds = 12' if linear else f'kind = "uniform", step = {step}'
    sides = "\n".join(f"{side} = {{ {wall if linear else stream} }}" for side in ("left", "right", "bottom"))
    top = f"{wall}, velocity = 1" if linear else stream
    body = '\n[[body]]\nshape = "circle"\nradius = 0.5\n' if disc else ""
    return f"""gas = {{ delta = 3, omega = 0.74, linear = {str(linear).lower()} }}
domain = {{ x = [-2, 2], y = [-2, 2], h = {4 / cells} }}
velocities = {{ {velocities} }}
solver = {{ iterations = 4, acceleration = "none" }}
[sides]
{sides}
top = {{ {top} }}
{body}"""


def commands(rarefy: str, cylinder: Path, folder: Path) -> None:
    for name, text in (("20", cylinder.read_text()), ("40", fine(cylinder.read_text()))):
        case = folder / f"cylinder{name}.toml"
        case.write_text(text)
        for machine, options in MACHINES.items():
            seconds, memory, result = [], 0, {}
            for _ in range(3):
                start = time.perf_counter()
                line = [rarefy, "flow", str(case), *QUIET, "--out", str(folder / "out"), *options]
                done = nsight.run(["/usr/bin/time", "-f", "%M", *line])
                seconds.append(time.perf_counter() - start)
                if done.returncode != 0:
                    print(f"{name} cells a diameter, {machine}: {done.stderr.strip().splitlines()[0]}")
                    break
                memory = int(done.stderr.split()[-1]) // 1024
                result = json.loads(done.stdout)["result"]
            else:
                found = f"{result['cells']} cells, {result['nodes']} velocities, {result['iterations']} sweeps"
                drag = result["bodies"][0]["force_x"]
                print(f"{name} cells a diameter, {machine}: {min(seconds):.2f} s, {memory} MB; {found}; force {drag:.12g}")


def sweeps(rarefy: str, folder: Path) -> None:
    for cells, step in SWEEPS:
        for disc in (False, True):
            case = folder / "sweep.toml"
            case.write_text(sweep_case(cells, step, disc))
            for precision in ("f32", "f64"):
                line = [rarefy, "flow", str(case), *QUIET, "--out", str(folder / "out"), "--backend", "cuda", "--precision", precision]
                # Nonlinear flows sweep two coarser grids before, four times each. A sweep is a kernel, and four that add up its sums.
                skip = 5 * (2 if step is None else 8)
                chosen = ["-k", "regex:flow_(plane|cells)", "--launch-skip", str(skip), "-c", "5"]
                launches, record, last_line = nsight.measured(line, METRICS, chosen)
                kernel = next((launch.metrics for launch in launches if launch.kernel.startswith("flow_plane")), None)
                if kernel is None or record is None:
                    print(f"{cells}: {last_line}")
                    continue
                adding = sum(launch.metrics["gpu__time_duration.sum"] for launch in launches if not launch.kernel.startswith("flow_plane"))
                result = record["result"]
                work = result["cells"] * result["nodes"]
                nanoseconds, warps, issued, memory = (kernel[metric] for metric in METRICS)
                kind = "linearised" if step is None else "soft blend"
                print(
                    f"{cells} x {cells}, {result['nodes']} velocities, {kind}, {'disc' if disc else 'no body'}, {precision}: {nanoseconds * 1e-6:.2f} ms and {adding * 1e-6:.2f} ms, "
                    f"{work / nanoseconds * 1e9:.2e} nodes and cells a second, {32 * warps / work:.0f} instructions each, "
                    f"issue slots {issued:.0f}%, {memory * 1e-9:.2f} GB"
                )


def main() -> None:
    arguments = sys.argv[1:]
    rarefy = str(Path(arguments[0] if arguments else "target/release/rarefy").absolute())
    cylinder = Path(arguments[1] if len(arguments) > 1 else "examples/flow/cylinder.toml")
    with tempfile.TemporaryDirectory() as folder:
        commands(rarefy, cylinder, Path(folder))
        if shutil.which("ncu"):
            sweeps(rarefy, Path(folder))


if __name__ == "__main__":
    main()
