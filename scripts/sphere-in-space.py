#!/usr/bin/env python3
"""A sphere in a fast stream, round an axis and in space, as the table of docs/flow-axis.md in Markdown.

    python3 scripts/sphere-in-space.py [path of rarefy]

Both are the same body, gas and sides: round an axis half of a section, in space a quarter between two mirrors. Coefficients refer to the frontal area.
"""

from flow_case import command, result_of

# Mach number, rarefaction by the diameter, exponent of the viscosity, temperature of the wall; cells in space and round the axis.
CASES = [(2, 2, 0.74, 1.5), (5, 4, 0.81, 1)]
AXIS = [0.08, 0.04]
SPACE = [0.12, 0.08]

CASE = """\
[gas]
delta = {delta}
omega = {omega}
[domain]
{domain}
x = [-2.5, 2.5]
y = [0, 2.5]
h = {h}
growth = 1.2
largest = 0.3
[sides]
left = {{ kind = "stream", mach = {mach} }}
right = {{ kind = "stream", mach = {mach} }}
top = {{ kind = "stream", mach = {mach} }}
{sides}
[[body]]
shape = "{shape}"
radius = 0.5
temperature = {wall}
[solver]
tolerance = {tolerance}
"""
ROUND = {"domain": 'symmetry = "axis"\ncore = [[-0.7, 0.7], [0, 0.7]]', "sides": "", "shape": "circle", "tolerance": 1e-4}
FULL = {
    "domain": "z = [0, 2.5]\ncore = [[-0.7, 0.7], [0, 0.7], [0, 0.7]]",
    "sides": """\
front = { kind = "stream", mach = MACH }
bottom = { kind = "mirror" }
back = { kind = "mirror" }""",
    "shape": "sphere",
    "tolerance": 1e-3,
}


def coefficients(program: str, form: dict, h: float, case: tuple, flag: str) -> str:
    """Drag and heat, with their error bars where they are found."""
    mach, delta, omega, wall = case
    form = form | {"sides": form["sides"].replace("MACH", str(mach))}
    text = CASE.format(**form, h=h, mach=mach, delta=delta, omega=omega, wall=wall)
    body = result_of(program, text, flag)["bodies"][0]
    found = []
    for name in ("drag_coefficient", "heat_coefficient"):
        bar = f" +- {body['discretisation_error'][name]['total']:.3f}" if flag == "--verify" else ""
        found.append(f"{body[name]:.4f}{bar}")
    return " | ".join(found)


def main() -> None:
    program = command()
    print("| Mach | delta | flow | cells | C_D | C_H |\n|---|---|---|---|---|---|")
    for case in CASES:
        for name, form, widths in (("round an axis", ROUND, AXIS), ("in space", FULL, SPACE)):
            for h in widths:
                flag = "--verify" if form is ROUND else "--no-verify"
                print(f"| {case[0]} | {case[1]} | {name} | {h} | {coefficients(program, form, h, case, flag)} |", flush=True)


if __name__ == "__main__":
    main()
