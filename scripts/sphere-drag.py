#!/usr/bin/env python3
"""Drag of a sphere in a slow stream over rarefaction, as the table of docs/flow-axis.md in Markdown.

    python3 scripts/sphere-drag.py [path of rarefy]

Each number is that of `rarefy flow` for a linearised flow round an axis, at three distances D of the far sides. Its inverse falls by a/(D + b), as the
sides reflect the flow of a force at a point. That gives the drag for sides far away. Errors are those of the cells and the velocities, by repeats at
the least distance, and of the far field, by a fit through distances half as long.

The reference is sphere_reference.py, which needs numpy and scipy. Without collisions the drag is (8/3) sqrt(pi) (1 + pi/8) (Epstein, 1924), by Stokes
3 pi/delta, both in rho0 v0^2 R^2 for a stream of the speed v0.
"""

import math

from flow_case import command, result_of

MODELS = {"bgk": 1.0, "shakhov": 2 / 3}
# By the radius.
RAREFACTIONS = [0.01, 0.1, 0.3, 1, 3, 10, 30]
# Far sides, in radii.
DISTANCES = [5, 10, 20, 40]
FREE = 8 * math.sqrt(math.pi) / 3 * (1 + math.pi / 8)
# Cells a radius; angles, speeds and points along the axis.
GRID = (10, (16, 8, 8))
FEWER_CELLS = (5, (16, 8, 8))
MORE_VELOCITIES = (10, (24, 12, 12))

CASE = """\
gas = {{ model = "{model}", delta = {delta}, linear = true }}
velocities = {{ angles = {angles}, speeds = {speeds}, axial = {axial} }}
[domain]
symmetry = "axis"
x = [-{far}, {far}]
y = [0, {far}]
h = {h}
core = [[-1.5, 1.5], [0, 1.5]]
growth = 1.2
[sides]
left = {{ kind = "stream", speed_ratio = 1 }}
right = {{ kind = "stream", speed_ratio = 1 }}
top = {{ kind = "stream", speed_ratio = 1 }}
[[body]]
shape = "circle"
radius = 1
"""


def drag(program: str, model: str, delta: float, far: float, grid: tuple) -> float:
    """The drag with far sides at a distance."""
    cells, (angles, speeds, axial) = grid
    text = CASE.format(model=model, delta=delta, far=far, h=1 / cells, angles=angles, speeds=speeds, axial=axial)
    return result_of(program, text, "--no-verify")["bodies"][0]["force_x"]


def far_away(drags: list[float], least: float) -> float:
    """The drag for sides far away, by three distances of which each is twice the one before: 1/F = 1/F_far - a/(D + b)."""
    first, second, third = (1 / value for value in drags)
    rise, next_rise = second - first, third - second
    # rise/next_rise = (4 D + b)/(2 (D + b))
    ratio = 2 * rise / next_rise
    if next_rise <= 0 or ratio <= 1:
        # The sides are within a free path and hardly act.
        return drags[-1]
    b = least * (4 - ratio) / (ratio - 1)
    a = next_rise * (2 * least + b) * (4 * least + b) / (2 * least)
    return 1 / (third + a / (4 * least + b))


def main() -> None:
    program = command()
    from sphere_reference import drag as reference

    names = " | ".join(f"D = {far}" for far in DISTANCES)
    print(f"| delta | model | {names} | far away | error | reference | difference | over Stokes | over no collisions |")
    print("|---|" + "---|" * (len(DISTANCES) + 7))
    for delta in RAREFACTIONS:
        for model, prandtl in MODELS.items():
            drags = [drag(program, model, delta, far, GRID) for far in DISTANCES]
            found = far_away(drags[1:], DISTANCES[1])
            cells = abs(drag(program, model, delta, DISTANCES[0], FEWER_CELLS) - drags[0]) / 3
            velocities = abs(drag(program, model, delta, DISTANCES[0], MORE_VELOCITIES) - drags[0])
            domain = abs(far_away(drags[:3], DISTANCES[0]) - found)
            error = (cells + velocities) * found / drags[0] + domain
            exact = reference(delta, prandtl)[0]
            row = [f"{delta}", model, *(f"{value:.4f}" for value in drags), f"{found:.4f}", f"{100 * error / found:.2f}%"]
            row += [f"{exact:.4f}", f"{100 * (found / exact - 1):.2f}%", f"{exact * delta / (3 * math.pi):.4f}", f"{exact / FREE:.4f}"]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
