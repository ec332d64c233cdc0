#!/usr/bin/env python3
"""Iterations with and without a correction, as the tables of docs/flow-axis.md and docs/flow-gases.md in Markdown.

    python3 scripts/flow-corrections.py [path of rarefy]
    python3 scripts/flow-corrections.py path-of-rarefy gpu

The second form makes the table of docs/benchmarks/flow.md on a GPU. Each number is that of `rarefy flow`, which ends at a change below the tolerance
of the case or after 400 iterations.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST = 400

SOLVER = """\
solver = {{ tolerance = {tolerance}, acceleration = "{acceleration}", iterations = {most} }}
"""

SPHERE = """\
gas = {{ delta = {delta} }}
domain = {{ x = [-2, 2], y = [0, 2], h = 0.125, symmetry = "axis" }}
velocities = {{ kind = "axis", angles = 12, speeds = 8, axial = 12 }}
[sides]
left = {{ kind = "stream", mach = {mach} }}
right = {{ kind = "stream", mach = {mach} }}
top = {{ kind = "stream", mach = {mach} }}
[[body]]
shape = "circle"
radius = 0.5
temperature = 1.5
"""

ORIFICE = """\
gas = {{ {gas}, delta = {delta} }}
domain = {{ x = [-4, 4], y = [0, 4], h = 0.125, symmetry = "axis" }}
velocities = {{ kind = "axis", angles = 10, speeds = 8, axial = 10 }}
[sides]
left = {{ kind = "reservoir" }}
right = {{ kind = "reservoir", density = {behind} }}
top = {{ kind = "wall" }}
[[body]]
shape = "rectangle"
centre = [0, 2.75]
size = [0.5, 3.5]
"""

TUBE = """\
gas = {{ model = "bgk", delta = {delta}, linear = true }}
domain = {{ x = [0, 0.1], y = [0, 1], h = 0.02, core = [[0.0, 0.1], [0.8, 1.0]], growth = 1.2, largest = 0.06, symmetry = "axis" }}
sides = {{ left = {{ kind = "periodic", jump = 0.1 }}, right = {{ kind = "periodic", jump = 0.1 }}, top = {{ kind = "wall" }} }}
"""

WALLS = """\
gas = {{ {gas}, delta = {delta} }}
domain = {{ x = [0, 1], y = [0, 1], h = 0.05 }}
velocities = {{ kind = "polar", angles = 24, speeds = 12 }}
[sides]
left = {{ kind = "wall", temperature = 1.3333333333 }}
right = {{ kind = "wall", temperature = 0.6666666667 }}
bottom = {{ kind = "mirror" }}
top = {{ kind = "mirror" }}
"""

STREAM = """\
gas = {{ {gas}, delta = 50 }}
domain = {{ x = [-2, 2], y = [0, 2], h = 0.025 }}
[sides]
left = {{ kind = "stream", mach = 2 }}
right = {{ kind = "stream", mach = 2 }}
top = {{ kind = "stream", mach = 2 }}
bottom = {{ kind = "mirror" }}
[[body]]
shape = "circle"
radius = 0.5
temperature = 1.5
"""

SHAKHOV = 'model = "shakhov"'
TABLED = 'model = "polyatomic", z_rot = 5.659533, prandtl = 0.7172312'
SLOW = 'model = "polyatomic", z_rot = 636.619772, prandtl = 0.6988166'


def iterations(command: str, case: str, tolerance: float, acceleration: str, backend: str = "cpu") -> str:
    """The iterations of a case, or that it does not converge."""
    text = SOLVER.format(tolerance=tolerance, acceleration=acceleration, most=MOST) + case
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "case.toml").write_text(text)
        line = [command, "flow", "case.toml", "--json", "--quiet", "--no-verify", "--backend", *backend.split()]
        done = subprocess.run(line, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(done.stderr)
    record = json.loads(done.stdout)
    if record["status"] == "converged":
        return str(record["result"]["iterations"])
    return "stalls" if record["result"]["iterations"] < MOST else f"more than {MOST}"


def on_a_gpu(command: str) -> None:
    """The table of a dense stream, with the seconds of the whole command."""
    print("| gas | backend | corrected | by mixing alone |\n|---|---|---|---|")
    for name, gas in (("Z = 2.6", 'model = "polyatomic"'), ("`shakhov`", SHAKHOV)):
        for backend in ("cuda --precision f64", "cuda --precision f32", "cpu"):
            row = []
            for acceleration in ("auto", "none"):
                begun = time.monotonic()
                found = iterations(command, STREAM.format(gas=gas), 1e-5, acceleration, backend)
                row.append(f"{found}, {time.monotonic() - begun:.2f} s")
            print(f"| {name} | `{backend}` | {' | '.join(row)} |", flush=True)


def main() -> None:
    command = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else "rarefy"
    if sys.argv[2:] == ["gpu"]:
        on_a_gpu(command)
        return
    rows = [
        (f"sphere, Mach {mach}, delta = {delta}", SPHERE.format(mach=mach, delta=delta), 1e-6)
        for mach in (0.3, 2)
        for delta in (10, 50)
    ]
    rows += [
        (f"orifice, ratio {behind}, delta = {delta}", ORIFICE.format(gas=TABLED, behind=behind, delta=delta), 1e-5)
        for behind, delta in ((0.5, 3), (0.5, 30), (0.5, 100), (0.01, 30))
    ]
    rows += [(f"infinite tube, delta = {delta}", TUBE.format(delta=delta), 1e-6) for delta in (1, 10, 100)]
    print("| flow | corrected | by mixing alone |\n|---|---|---|")
    for name, case, tolerance in rows:
        both = [iterations(command, case, tolerance, acceleration) for acceleration in ("auto", "none")]
        print(f"| {name} | {' | '.join(both)} |", flush=True)
    print()
    densities = (10, 100, 300)
    print(f"| gas | {' | '.join(f'delta = {delta}' for delta in densities)} |\n|---|---|---|---|")
    for name, gas, acceleration in (
        ("Z = 2.667", TABLED, "auto"),
        ("Z = 300", SLOW, "auto"),
        ("`shakhov`", SHAKHOV, "auto"),
        ("Z = 2.667, by mixing alone", TABLED, "none"),
    ):
        cases = [WALLS.format(gas=gas, delta=delta) for delta in densities]
        found = [iterations(command, case, 1e-6, acceleration) for case in cases]
        print(f"| {name} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
