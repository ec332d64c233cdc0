#!/usr/bin/env python3
"""Flow through a hole and short tubes into vacuum, as the tables of docs/flow-axis.md in Markdown.

    python3 scripts/orifice-flow.py [path of rarefy]

Each number is that of `rarefy flow` round an axis: W, the flow over that of the opening in a thin wall without collisions. delta refers to the radius.
Sides at 16 and 32 radii extrapolate it, since the vessel's sides act by the square of their inverse distance. A plate of a hundredth of a cell acts as
one without thickness. The slope of W at delta = 0 is beside the integral of orifice_reference.py, which needs numpy.
"""

import sys

from flow_case import command, result_of

LENGTHS = [0.001, 1, 5]
RAREFACTIONS = {0.001: [0.1, 1, 3, 10, 30], 1: [0.1, 1, 10], 5: [0.1, 1, 10]}
DISTANCES = [16, 32]
# Rarefactions and distance of the slope.
THIN = [0.02, 0.05]
NEAR = 8

CASE = """\
gas = {{ model = "{model}", delta = {delta}, omega = 0.5 }}
velocities = {{ kind = "axis", angles = {angles}, speeds = {speeds}, axial = {speeds} }}
solver = {{ tolerance = 1e-5 }}
[domain]
symmetry = "axis"
x = [-{far}, {behind}]
y = [0, {far}]
h = 0.1
core = [[-0.2, {end}], [0.6, 1.2]]
growth = 1.2
largest = 4
[sides]
left = {{ kind = "reservoir", density = 1 }}
right = {{ kind = "vacuum" }}
top = {{ kind = "split", at = {middle}, left = {{ density = 1 }}, right = {{ density = 1e-6 }} }}
[[body]]
shape = "rectangle"
centre = [{middle}, 101]
size = [{length}, 200]
"""


def flow(program: str, model: str, length: float, delta: float, far: float, velocities: tuple, flag: str) -> tuple:
    """W and its error bar with --verify; or None with the last line of the error."""
    angles, speeds = velocities
    text = CASE.format(
        model=model,
        delta=delta,
        far=far,
        behind=length + far,
        end=length + 0.2,
        middle=length / 2,
        length=length,
        angles=angles,
        speeds=speeds,
    )
    try:
        result = result_of(program, text, flag)
    except SystemExit as failure:
        return None, str(failure).strip().splitlines()[-1]
    passage = result["passages"][0]
    if flag == "--no-verify":
        return passage["transmission"], 0.0
    return passage["transmission"], passage["discretisation_error"]["transmission"]["total"]


def main() -> None:
    program = command()
    velocities = (16, 8)
    print("| L/R | delta | model | sides at 16 R | error bar | at 32 R | far away |\n|---|---|---|---|---|---|---|")
    for length in LENGTHS:
        for delta in RAREFACTIONS[length]:
            for model in ("bgk", "shakhov"):
                flags = ("--verify", "--no-verify")
                pairs = zip(DISTANCES, flags, strict=True)
                found = [flow(program, model, length, delta, far, velocities, flag) for far, flag in pairs]
                if any(value is None for value, _ in found):
                    print([error for _, error in found], file=sys.stderr)
                    print(f"| {length} | {delta} | {model} | not converged | | | |", flush=True)
                    continue
                (near, bar), (far, _) = found
                row = [f"{length}", f"{delta}", model, f"{near:.4f}", f"{bar:.4f}", f"{far:.4f}", f"{far + (far - near) / 3:.4f}"]
                print(f"| {' | '.join(row)} |", flush=True)
    print("\n| model | slope at delta = 0.02 | at 0.05 | of orifice_reference.py in this domain | without sides |\n|---|---|---|---|---|")
    from orifice_reference import coefficient

    for model, prandtl in (("bgk", 1.0), ("shakhov", 2 / 3)):
        slopes = []
        for delta in THIN:
            value, _ = flow(program, model, LENGTHS[0], delta, NEAR, velocities, "--no-verify")
            free, _ = flow(program, model, LENGTHS[0], 1e-9, NEAR, velocities, "--no-verify")
            slopes.append(f"{(value - free) / delta:.4f}")
        row = [model, *slopes, f"{coefficient(prandtl, within=NEAR):.4f}", f"{coefficient(prandtl):.4f}"]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
