#!/usr/bin/env python3
"""Transmission of tubes, as the tables of docs/flow-axis.md in Markdown.

    python3 scripts/tube-conductance.py [path of rarefy]

Each number is that of `rarefy flow` for a linearised flow round an axis. The first table has no collisions and the reservoirs at the ends, beside
Clausing's integral equation. The second is the tube of ten radii again, on cells that are long along the tube, with the seconds of processor time. The
third has both vessels in the domain, over length and rarefaction.
"""

import resource

from flow_case import command, result_of

# Transmission by Clausing's integral equation.
EXACT = {0.1: 0.952399, 0.5: 0.801271, 1: 0.671984, 2: 0.514231, 5: 0.310525, 10: 0.190942, 20: 0.109321}
# Cells a radius, angles, speeds and points along the axis.
GRIDS = [(10, 16, 8), (20, 32, 12)]
# Long cells: cells a radius, angles, speeds, points along the axis.
LONG = [(20, 32, 12, 8), (20, 64, 16, 8), (25, 64, 16, 8), (30, 96, 16, 8)]
LENGTHS = [1, 2, 5, 10]
# From free flow to the continuum.
RAREFACTIONS = [0.01, 0.1, 1, 10, 100]
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


BARE = """\
gas = {{ delta = 1e-9, linear = true }}
domain = {{ symmetry = "axis", x = [0, {length}], y = [0, 1], h = {h}{cells} }}
velocities = {{ angles = {angles}, speeds = {speeds}, axial = {axial} }}
[sides]
left = {{ kind = "reservoir", density = 1 }}
right = {{ kind = "vacuum" }}
top = {{ kind = "wall" }}
"""


def without_collisions(program: str) -> None:
    """The table of tubes without collisions."""
    names = " | ".join(f"{cells} cells a radius, {angles} angles, {speeds} x {speeds} | error" for cells, angles, speeds in GRIDS)
    print(f"| L/R | exact | {names} |")
    print("|---|---|" + "---|---|" * len(GRIDS))
    for length, exact in EXACT.items():
        row = [f"{length}", f"{exact}"]
        for cells, angles, speeds in GRIDS:
            case = BARE.format(length=length, h=1 / cells, cells="", angles=angles, speeds=speeds, axial=speeds)
            value = result_of(program, case, "--no-verify")["passages"][0]["transmission"]
            row += [f"{value:.5f}", f"{100 * (value / exact - 1):.3f}%"]
        print(f"| {' | '.join(row)} |", flush=True)


def long_cells(program: str) -> None:
    """The table of cells that are long along the tube."""
    print("| cells a radius | angles | speeds | error | processor time |\n|---|---|---|---|---|")
    for cells, angles, speeds, axial in LONG:
        extra = ", core = [[0, 0.2], [0, 1]], growth = 1.5, largest = 0.25"
        case = BARE.format(length=10, h=1 / cells, cells=extra, angles=angles, speeds=speeds, axial=axial)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        value = result_of(program, case, "--no-verify")["passages"][0]["transmission"]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"| {cells} | {angles} | {speeds} x {axial} | {value / EXACT[10] - 1:.1e} | {seconds:.1f} s |", flush=True)


def transmission(program: str, length: float, delta: float) -> tuple[float, float]:
    """The transmission, and its relative error."""
    text = CASE.format(
        delta=delta,
        length=length,
        left=-VESSEL,
        right=length + VESSEL,
        vessel=VESSEL,
        end=length + 0.3,
        middle=length / 2,
    )
    passage = result_of(program, text, "--verify")["passages"][0]
    value = passage["transmission"]
    return value, passage["discretisation_error"]["transmission"]["total"] / value


def main() -> None:
    program = command()
    without_collisions(program)
    print()
    long_cells(program)
    print()
    names = " | ".join(f"L/R = {length}" for length in LENGTHS)
    print(f"| delta | {names} |")
    print("|---|" + "---|" * len(LENGTHS))
    for delta in RAREFACTIONS:
        cells = []
        for length in LENGTHS:
            value, error = transmission(program, length, delta)
            cells.append(f"{value:.4f} ({100 * error:.1f}%)")
        print(f"| {delta} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
