#!/usr/bin/env python3
"""Transmission of tubes between two vessels over their length and the rarefaction, as a table in Markdown.

    python3 scripts/tube-conductance.py [path of rarefy]

Each number is that of `rarefy flow` for a linearised flow round an axis, with both vessels in the domain. Without collisions it is
Clausing's transmission.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

LENGTHS = [1, 2, 5, 10]
# Thicker gas needs hundreds of iterations, for no correction by the equations of the continuum is made.
RAREFACTIONS = [0.01, 0.1, 1]
# Vessels reach this many radii beyond the ends.
VESSEL = 10

CASE = """\
gas = {{ delta = {delta}, linear = true }}
velocities = {{ angles = 24, speeds = 12, axial = 8 }}
solver = {{ tolerance = 1e-6, depth = 20 }}
[domain]
symmetry = "axis"
x = [{left}, {right}]
y = [0, {vessel}]
h = 0.0625
core = [[-0.3, {end}], [0.8, 1.1]]
growth = 1.15
largest = 1
[sides]
left = {{ kind = "reservoir", density = 1 }}
right = {{ kind = "reservoir" }}
top = {{ kind = "split", at = {middle}, left = {{ density = 1 }}, right = {{}} }}
[[body]]
shape = "rectangle"
centre = [{middle}, 51]
size = [{length}, 100]
"""


def transmission(command: str, length: float, delta: float) -> tuple[float, float]:
    """The transmission, and the relative error of the flow."""
    text = CASE.format(
        delta=delta,
        length=length,
        left=-VESSEL,
        right=length + VESSEL,
        vessel=VESSEL,
        end=length + 0.3,
        middle=length / 2,
    )
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder, "case.toml")
        case.write_text(text)
        line = [command, "flow", str(case), "--json", "--quiet", "--verify"]
        done = subprocess.run(line, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result = json.loads(done.stdout)["result"]
    error = result["discretisation_error"]["mass_flow"]["total"] / result["mass_flow"]
    return result["passages"][0]["transmission"], error


def main() -> None:
    command = sys.argv[1] if len(sys.argv) > 1 else "rarefy"
    names = " | ".join(f"L/R = {length}" for length in LENGTHS)
    print(f"| delta | {names} |")
    print("|---|" + "---|" * len(LENGTHS))
    for delta in RAREFACTIONS:
        cells = []
        for length in LENGTHS:
            value, error = transmission(command, length, delta)
            cells.append(f"{value:.4f} ({100 * error:.1f}%)")
        print(f"| {delta} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
