#!/usr/bin/env python3
"""Flows past bodies beside exact and published values, as verification.csv in a folder.

    scripts/flow-verification.py [RAREFY] [FOLDER]

RAREFY is the command (target/release/rarefy), FOLDER the place of the table (target/flow-verification).
"""

import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

POLAR = 'kind = "polar"\nangles = 96\nspeeds = 12'
SIDES = ("left", "right", "bottom", "top")


def case(gas: str, domain: str, velocities: str, sides: dict[str, str], *bodies: str) -> str:
    tables = [f"[gas]\n{gas}", f"[domain]\n{domain}", f"[velocities]\n{velocities}", "[sides]"]
    tables += [f"{name} = {{ {sides[name]} }}" for name in SIDES]
    tables += [f"[[body]]\n{body}" for body in bodies]
    return "\n".join(tables) + "\n"


def everywhere(side: str) -> dict[str, str]:
    return dict.fromkeys(SIDES, side)


def body(key: str, scale: float = 1.0, at: int = 0):
    return lambda result: scale * result["bodies"][at][key]


def through_slot(result) -> float:
    """Flow through half a slot, in that through an opening without length."""
    left = result["sides"]["left"]["mass"] + result["sides"]["top"]["left"]["mass"]
    return -left / (0.25 / math.sqrt(math.pi))


def cases():
    stream = 'kind = "stream", speed_ratio = {}'.format
    square = "x = [-1, 1]\ny = [-1, 1]\nh = 0.05\ncore = [[-0.6, 0.6], [-0.6, 0.6]]\ngrowth = 1.2\nlargest = 0.3"
    circle = 'shape = "circle"\nradius = 0.5'
    yield (
        "cylinder, S = 1, no collisions",
        case("delta = 1e-9", square, POLAR, everywhere(stream(1)), circle),
        [("C_D", 4.666193, body("drag_coefficient")), ("C_H", 1.637055, body("heat_coefficient"))],
        "exact",
    )
    yield (
        "cylinder, S = 9.129, T_w = 2.5 T, no collisions",
        case("delta = 1e-9", square, 'kind = "uniform"', everywhere(stream(9.129185)), f"{circle}\ntemperature = 2.5"),
        [("C_D", 2.259074, body("drag_coefficient")), ("C_H", 0.972881, body("heat_coefficient"))],
        "exact",
    )
    yield (
        "rectangle 1 x 0.2 at 30 degrees, S = 1, no collisions",
        case("delta = 1e-9", square, POLAR, everywhere(stream(1)), 'shape = "rectangle"\nsize = [1, 0.2]\nangle = 30'),
        [
            ("C_D", 2.880067, body("drag_coefficient")),
            ("C_L", -0.986829, body("lift_coefficient")),
            ("C_H", 1.085543, body("heat_coefficient")),
        ],
        "exact",
    )
    ring = "x = [-1.1, 1.1]\ny = [-1.1, 1.1]\nh = 0.05"
    outer = 'name = "outer"\nshape = "circle"\nradius = 1\nhollow = true'
    for delta, heat, torque in [(0.1, 0.873578, 0.440532), (1, 0.772462, 0.416728), (10, 0.354272, 0.240683)]:
        gas = f'model = "bgk"\ndelta = {delta}\nomega = 0.5\nlinear = true'
        for what, value, more, found in [
            ("heat", heat, "temperature = 1", body("heat", -1.0)),
            ("torque", torque, "rotation = 2", body("moment", -1.0)),
        ]:
            yield (
                f"between cylinders, delta = {delta}, 20 cells",
                case(gas, ring, POLAR, everywhere('kind = "wall"'), f"{circle}\n{more}", outer),
                [(what, value, found)],
                "exact",
            )
    wide = "x = [-4, 4]\ny = [0, 4]\nh = 0.05\ncore = [[-1, 1], [0, 0.9]]\ngrowth = 1.12\nlargest = 0.5"
    screen = 'name = "screen"\nshape = "rectangle"\ncentre = [0, 50.5]\nsize = [1, 100]'
    for delta, ratio, value, source in [
        (1e-9, 0.0, 0.684381, "exact"),
        (1, 0.5, 0.4011, "refined"),
        (1, 0.0, 0.7501, "refined"),
        (10, 0.5, 0.7691, "refined"),
        (10, 0.0, 0.9968, "refined"),
    ]:
        behind = f'kind = "reservoir", density = {ratio}' if ratio else 'kind = "vacuum"'
        right = ratio or 1e-9
        sides = {
            "left": 'kind = "reservoir", density = 1',
            "right": behind,
            "bottom": 'kind = "mirror"',
            "top": f'kind = "split", left = {{ density = 1 }}, right = {{ density = {right} }}',
        }
        gas = f'model = "bgk"\ndelta = {delta}\nomega = 0.5'
        yield (
            f"slot, L = H, delta = {delta:g}, pressure ratio {ratio:g}",
            case(gas, wide, 'kind = "polar"\nangles = 64\nspeeds = 10', sides, screen),
            [("W", value, through_slot)],
            source,
        )
    half = "x = [-4, 4]\ny = [0, 4]\nh = 0.05\ncore = [[-0.8, 0.8], [0, 0.7]]\ngrowth = 1.1\nlargest = 0.3"
    for delta, drag, heat in [(1, 2.3632, 0.7523), (10, 1.7563, 0.3105)]:
        sides = everywhere(stream(1.82574)) | {"bottom": 'kind = "mirror"'}
        yield (
            f"cylinder, Mach 2, delta = {delta}",
            case(f"delta = {delta}\nomega = 0.734", half, 'kind = "uniform"', sides, circle),
            [("C_D", drag, body("drag_coefficient", 2.0)), ("C_H", heat, body("heat_coefficient", 2.0))],
            "refined",
        )
    channel = "x = [0, 2]\ny = [0, 0.5]\nh = 0.025"
    for delta, flow, drag in [(1, 0.1590, 0.2515), (10, 0.21791, 0.26720)]:
        gas = f'model = "bgk"\ndelta = {delta}\nomega = 0.5\nlinear = true'
        ends = 'kind = "periodic", jump = 1'
        sides = {"left": ends, "right": ends, "bottom": 'kind = "wall"', "top": 'kind = "mirror"'}
        yield (
            f"channel with a cylinder, delta = {delta}",
            case(gas, channel, 'kind = "polar"', sides, 'shape = "circle"\ncentre = [1, 0.5]\nradius = 0.2'),
            [("flow", flow, lambda r: 2.0 * r["sides"]["right"]["mass"]), ("drag", drag, body("force_x", 2.0))],
            "refined",
        )


def main() -> None:
    command = sys.argv[1] if len(sys.argv) > 1 else "target/release/rarefy"
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "target/flow-verification")
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "case.toml"
        for name, text, quantities, source in cases():
            path.write_text(text)
            run = subprocess.run([command, "flow", str(path), "--json", "--quiet"], capture_output=True, text=True)
            if not run.stdout:
                print(f"{name}: {run.stderr.strip()}", file=sys.stderr)
                continue
            record = json.loads(run.stdout)
            result = record["result"]
            for quantity, value, found in quantities:
                here = found(result)
                row = {
                    "case": name,
                    "quantity": quantity,
                    "found": f"{here:.6g}",
                    "value": f"{value:.6g}",
                    "source": source,
                    "difference": f"{here / value - 1:.1e}",
                    "cells": result["cells"],
                    "nodes": result["nodes"],
                    "iterations": result["iterations"],
                    "status": record["status"],
                    "seconds": f"{record['timings']['total_s']:.1f}",
                }
                rows.append(row)
                print(*row.values(), sep="  ", flush=True)
    with (folder / "verification.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
