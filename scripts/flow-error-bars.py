#!/usr/bin/env python3
"""Errors of cells over their error bars, as the table of docs/flow-axis.md in Markdown.

    python3 scripts/flow-error-bars.py [path of rarefy]

The truth of each flow has cells a quarter as wide, by the same map, with the same velocities and sides. So its difference is the error of the cells alone,
which the part `cells` of the error bar is to cover.
"""

from flow_case import command, result_of

REFINED = 4
SPHERE = 'symmetry = "axis", core = [[-0.7, 0.7], [0, 0.7]], x = [-2.5, 2.5], y = [0, 2.5]'
PLANE = "core = [[-0.7, 0.7], [0, 0.7]], x = [-2.5, 2.5], y = [0, 2.5]"
ROUND = '[[body]]\nshape = "circle"\nradius = 0.5\ntemperature = {wall}\n'
PLATE = '[[body]]\nshape = "rectangle"\nsize = [0.06, 1]\n'
SLOW = "velocities = { angles = 16, speeds = 8, axial = 8 }\n"


def stream(domain: str, body: str, mach: float, delta: float, h: float, wall: float = 1, extra: str = "", mirror: bool = False) -> tuple:
    """A body in a stream: its case with the width of the cells open, that width, and the results that have errors."""
    state = f'{{ kind = "stream", mach = {mach} }}'
    sides = "".join(f"{name} = {state}\n" for name in ("left", "right", "top"))
    if mirror:
        sides += 'bottom = { kind = "mirror" }\n'
    text = f"gas = {{ delta = {delta} }}\n{extra}solver = {{ tolerance = 1e-5 }}\n"
    text += "domain = {" + domain + ", h = %(h)r, growth = %(growth)r, largest = %(largest)r }\n"
    text += "[sides]\n" + sides + body.format(wall=wall)
    return text, h, ("drag_coefficient", "heat_coefficient")


def opening(length: float, delta: float, h: float, low: float) -> tuple:
    """A hole or a tube from a vessel to a lower density."""
    text = f"""\
gas = {{ model = "bgk", delta = {delta}, omega = 0.5 }}
{SLOW}solver = {{ tolerance = 1e-5 }}
[domain]
symmetry = "axis"
x = [-6, {length + 6}]
y = [0, 6]
core = [[-0.2, {length + 0.2}], [0.6, 1.2]]
h = %(h)r
growth = %(growth)r
largest = %(largest)r
[sides]
left = {{ kind = "reservoir", density = 1 }}
right = {{ kind = "reservoir", density = {low} }}
top = {{ kind = "split", at = {length / 2}, left = {{ density = 1 }}, right = {{ density = {low} }} }}
[[body]]
shape = "rectangle"
centre = [{length / 2}, 101]
size = [{length}, 200]
"""
    return text, h, ("transmission",)


def flows():
    for h in (0.16, 0.08):
        yield f"sphere, Mach 5, delta = 4, cells {h}", stream(SPHERE, ROUND, 5, 4, h)
    for mach, delta in ((5, 0.1), (5, 30), (2, 2), (2, 10), (0.5, 0.3), (0.5, 3)):
        yield f"sphere, Mach {mach}, delta = {delta}", stream(SPHERE, ROUND, mach, delta, 0.1, 1.2)
    for mach, delta in ((5, 4), (2, 10), (0.5, 1)):
        yield f"cylinder, Mach {mach}, delta = {delta}", stream(PLANE, ROUND, mach, delta, 0.1, 1.2, mirror=True)
    for mach, delta in ((3, 1), (3, 10)):
        yield f"plate across, Mach {mach}, delta = {delta}", stream(PLANE, PLATE, mach, delta, 0.1, mirror=True)
    yield "disc, Mach 3, delta = 5", stream(SPHERE, PLATE, 3, 5, 0.1)
    for delta in (1, 10):
        yield f"hole, ratio 0.01, delta = {delta}", opening(0.001, delta, 0.125, 0.01)
    for delta in (1, 10):
        yield f"tube of L = R, ratio 0.5, delta = {delta}", opening(1, delta, 0.125, 0.5)


def filled(text: str, h: float, refined: int) -> str:
    """A case with cells of a width over `refined`, by the same map."""
    return text % {"h": h / refined, "growth": 1.2 ** (1 / refined), "largest": 4 * h / refined}


def place(result: dict) -> dict:
    return result["passages"][0] if result.get("passages") else result["bodies"][0]


def row(program: str, name: str, flow: tuple) -> None:
    text, h, keys = flow
    found = place(result_of(program, filled(text, h, 1), "--verify"))
    truth = place(result_of(program, filled(text, h, REFINED), "--no-verify"))
    for key in keys:
        bar = found["discretisation_error"][key]
        off = abs(found[key] - truth[key])
        numbers = [f"{found[key]:.4f}", f"{bar['total']:.4f}", f"{bar['cells']:.4f}", f"{off:.4f}", f"{off / bar['cells']:.2f}"]
        print(f"| {name} | {key} | {' | '.join(numbers)} |", flush=True)


def main() -> None:
    program = command()
    print("| flow | result | value | error bar | that of cells | error of cells | over the bar |\n|---|---|---|---|---|---|---|")
    for name, flow in flows():
        row(program, name, flow)


if __name__ == "__main__":
    main()
