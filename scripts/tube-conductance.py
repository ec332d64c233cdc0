#!/usr/bin/env python3
"""Transmission and conductance of tubes, as the tables of docs/conductance.md and docs/flow-axis.md in Markdown.

    python3 scripts/tube-conductance.py [path of rarefy]

Transmissions are those of `rarefy flow` for a linearised flow round an axis, and of `rarefy tube`. The first two tables have no collisions and the
reservoirs at the ends: tubes beside Clausing's integral equation, and the tube of ten radii on cells that are long along the tube, with the seconds of
processor time. The others have both vessels in the domain, over length and rarefaction: transmission, conductance, the rule for longer tubes, gases.
"""

import itertools
import json
import math
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from flow_case import command, result_of

# Transmission by Clausing's integral equation.
EXACT = {0.1: 0.952399, 0.5: 0.801271, 1: 0.671984, 2: 0.514231, 5: 0.310525, 10: 0.190942, 20: 0.109321}
# Cells a radius, angles, speeds and points along the axis.
GRIDS = [(10, 16, 8), (20, 32, 12)]
# Long cells: cells a radius, angles, speeds, points along the axis.
LONG = [(20, 32, 12, 8), (20, 64, 16, 8), (25, 64, 16, 8), (30, 96, 16, 8)]
# A plate of this thickness acts as one without.
THIN = 1e-3
LENGTHS = [THIN, 0.1, 0.5, 1, 2, 5, 10, 20]
# From free flow to the continuum.
RAREFACTIONS = [0.1, 1, 10, 100]
# Cells beside the lip of the tube, in radii, up to this length. In dense gas the lips of short tubes take finer ones,
# and vessels twice as large.
CELLS = {0.5: 0.03, 1: 0.04, 2: 0.0625, math.inf: 0.1}
LIPS = (0.5, 100, 0.02)
# Vessels reach this many radii beyond the ends. The tube of this length finds how their sides act.
VESSEL, NEAR, MEASURED = 20, 10, 1
# Radius of the tubes in m, and temperature in K, of the conductances.
RADIUS, TEMPERATURE = 0.01, 293.15
GASES = ["air", "nitrogen", "oxygen", "hydrogen", "helium", "neon", "argon", "krypton", "xenon"]

CASE = """\
gas = {{ delta = {delta}, linear = true }}
velocities = {{ {velocities} }}
solver = {{ tolerance = 1e-4, depth = 20 }}
[domain]
symmetry = "axis"
x = [{left}, {right}]
y = [0, {vessel}]
h = {h}
core = [[-{margin}, {end}], [{inner}, 1.1]]
growth = {growth}
largest = 4
[sides]
left = {{ kind = "reservoir", density = 1 }}
right = {{ kind = "reservoir" }}
top = {{ kind = "split", at = {middle}, left = {{ density = 1 }}, right = {{}} }}
[[body]]
shape = "rectangle"
centre = [{middle}, 101]
size = [{length}, 200]
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


def passage(program: str, length: float, delta: float, vessel: float, flag: str) -> dict:
    """The passage through a tube between vessels whose sides are this many radii from its ends."""
    h = next(h for limit, h in CELLS.items() if length <= limit)
    margin, inner, growth = 0.2, 0.8, 1.1 if delta <= 1 else 1.2
    if length <= LIPS[0] and delta >= LIPS[1]:
        h, margin, inner, growth = LIPS[2], 0.12, 0.9, 1.15
    text = CASE.format(
        delta=delta,
        length=length,
        left=-vessel,
        right=length + vessel,
        vessel=vessel,
        margin=margin,
        end=length + margin,
        inner=inner,
        middle=length / 2,
        h=h,
        growth=growth,
        velocities="angles = 24, speeds = 12, axial = 8" if delta <= 1 else "angles = 24, speeds = 8, axial = 6",
    )
    return result_of(program, text, flag, "--threads", "1")["passages"][0]


def resistance(program: str, delta: float) -> float:
    """Resistance of the sides, c in 1/W(D) = 1/W + c/D^2, by vessels of two sizes at a tube of one radius."""
    near, far = (passage(program, MEASURED, delta, vessel, "--no-verify")["transmission"] for vessel in (NEAR, VESSEL))
    c = (1 / near - 1 / far) / (1 / NEAR**2 - 1 / VESSEL**2)
    print(f"delta = {delta}: c = {c:.4f}", file=sys.stderr, flush=True)
    return c


def transmission(program: str, length: float, delta: float, c: float) -> tuple[float, float]:
    """The transmission without sides, and its relative error: cells and velocities by the command, and a quarter of the step from the sides."""
    vessel = 2 * VESSEL if length <= LIPS[0] and delta >= LIPS[1] else VESSEL
    found = passage(program, length, delta, vessel, "--verify")
    with_sides, errors = found["transmission"], found["discretisation_error"]["transmission"]
    value = 1 / (1 / with_sides - c / vessel**2)
    error = (errors["cells"] + errors["velocities"] + errors["iteration"] + abs(value - with_sides) / 4) / value
    print(f"L/R = {length}, delta = {delta}: {value:.5f} +- {100 * error:.2f}%", file=sys.stderr, flush=True)
    return value, error


def object_of(program: str, *flags: str) -> dict:
    """The record of a command."""
    line = [program, *flags, "--json", "--quiet", "--no-verify"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def scales(program: str, gas: str) -> tuple[float, float]:
    """The conductance of the opening in l/s, and the pressure in Pa at which delta is 1."""
    si = ["--gas", gas, "--pressure", "1", "--temperature", str(TEMPERATURE), "--size", str(RADIUS)]
    units = object_of(program, "couette", *si)["units"]
    opening = math.pi * RADIUS**2 * units["velocity_m_s"] / (2 * math.sqrt(math.pi))
    return 1e3 * opening, units["length_m"] / RADIUS


def tables(program: str) -> None:
    """The tables of docs/conductance.md."""
    print("| L/R | delta = 0 | " + " | ".join(f"{delta}" for delta in RAREFACTIONS) + " |")
    print("|---|---|" + "---|" * len(RAREFACTIONS))
    cases = list(itertools.product(LENGTHS, RAREFACTIONS))
    with ThreadPoolExecutor(2) as pool:
        sides = dict(zip(RAREFACTIONS, pool.map(lambda delta: resistance(program, delta), RAREFACTIONS), strict=True))
        values = pool.map(lambda case: transmission(program, *case, sides[case[1]]), cases)
        errors = dict(zip(cases, values, strict=True))
    found = {case: value for case, (value, _) in errors.items()}
    for length in LENGTHS:
        found[length, 0] = 1 if length == THIN else EXACT[length]
        row = [f"{found[length, delta]:.4f} ({100 * errors[length, delta][1]:.1f}%)" for delta in RAREFACTIONS]
        print(f"| {0 if length == THIN else length} | {found[length, 0]:.4f} | {' | '.join(row)} |", flush=True)
    # sqrt(pi) G_P, the transmission times L/R of a tube without ends.
    endless = {0: 8 / 3}
    for delta in RAREFACTIONS:
        endless[delta] = math.sqrt(math.pi) * object_of(program, "tube", "--delta", str(delta))["result"]["tube"][0]["g_p"]
    columns = [0, *RAREFACTIONS]
    print("| infinite, times L/R | " + " | ".join(f"{endless[delta]:.4f}" for delta in columns) + " |\n")

    opening, pressure = scales(program, "air")
    print("| L/R | " + " | ".join(f"{delta * pressure:.3g} Pa" for delta in columns) + " |\n|---|" + "---|" * len(columns))
    for length in LENGTHS:
        row = [f"{opening * found[length, delta]:.4g}" for delta in columns]
        print(f"| {0 if length == THIN else length} | {' | '.join(row)} |")
    print("| infinite, times L/R | " + " | ".join(f"{opening * endless[delta]:.4g}" for delta in columns) + " |\n")

    print("| delta | e | error of the rule at L/R = 10 | at 5 |\n|---|---|---|---|")
    for delta in columns:
        ends = endless[delta] / found[20, delta] - 20
        errors = [f"{100 * (endless[delta] / (length + ends) / found[length, delta] - 1):.1f}%" for length in (10, 5)]
        print(f"| {delta} | {ends:.3f} | {' | '.join(errors)} |")

    print("\n| gas | opening, l/s | pressure of delta = 1, Pa |\n|---|---|---|")
    for gas in GASES:
        opening, pressure = scales(program, gas)
        print(f"| {gas} | {opening:.3f} | {pressure:.4f} |", flush=True)


def main() -> None:
    program = command()
    without_collisions(program)
    print()
    long_cells(program)
    print()
    tables(program)


if __name__ == "__main__":
    main()
