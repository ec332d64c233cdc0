#!/usr/bin/env python3
"""Models of a gas side by side, as the tables and the figure of docs/which-gas.md.

    python3 scripts/which-model.py [path of rarefy]

Tables go to the standard output in Markdown, the figure to docs/benchmarks/which-gas.svg and its data to which-gas.csv. Each number is that of one or two
commands, which go to the standard error. The integral takes minutes.
"""

import csv
import json
import math
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from flow_case import command, result_of

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
INTEGRAL = ["--collision", "boltzmann", "--molecules"]
# The molecules of the Monte Carlo runs that the shocks are beside: the relaxation takes Z = 2.667.
PAIRS = ["--model", "polyatomic", "--internal-dof", "2", "--z-rot", "5.66", "--prandtl", "0.7468"]
NITROGEN = ["--gas", "nitrogen", "--temperature", "300"]
# Flags of the steady flows, those of shocks, and c_p over R.
MODELS = {
    "bgk": (["--model", "bgk"], ["--model", "bgk"], 2.5),
    "shakhov": (["--model", "shakhov"], ["--model", "shakhov"], 2.5),
    "polyatomic": (NITROGEN, PAIRS, 3.5),
    "boltzmann": ([*INTEGRAL, "vhs:0.74", "--velocities", "16"], [*INTEGRAL, "vhs:0.74"], 2.5),
}
THICK = (500, 1000)
# Shocks by Mach number: the grid of the integral. At Mach 3 it takes a GPU.
SHOCKS = {
    1.5: ["--length", "40", "--upstream", "22", "--cells", "100", "--velocities", "16"],
    3: None,
}
DRAWN = 1.5
# Thickness by Monte Carlo, +-1%: single atoms, and molecules of two atoms.
PARTICLES = {"single": {1.5: 6.32, 3: 3.28}, "double": {1.5: 6.58, 3: 2.72}}
# The cylinder of the example `air` at one speed ratio.
SPEED_RATIO = 2 * math.sqrt(0.7)
CYLINDER = {
    "polyatomic": "",
    "shakhov": 'model = "shakhov"\nomega = 0.77\n',
    "bgk": 'model = "bgk"\nomega = 0.77\n',
}
COLOURS = {"bgk": "#8c8c8c", "shakhov": "#0072b2", "boltzmann": "#d55e00", "translation": "#009e73", "rotation": "#cc79a7"}


def record(program: str, *flags: str) -> dict:
    """The record of a command."""
    print("rarefy", *flags, file=sys.stderr, flush=True)
    done = subprocess.run([program, *flags, "--json", "--quiet", "--no-verify"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def transport(program: str, flags: list[str], c_p: float) -> tuple[float, float, float]:
    """Viscosity over that of the units, Prandtl number, and bulk viscosity over viscosity, by thick gas between plates."""
    found = {"couette": [], "fourier": []}
    bulk = 0.0
    for flow, values in found.items():
        for delta in THICK:
            # Gases in SI units have a pressure, at which a plate of 1 mm has this delta.
            size = ["--delta", str(delta)]
            if "--gas" in flags:
                units = record(program, flow, *flags, "--pressure", "1", "--size", "1e-3")["units"]
                size = ["--pressure", repr(delta * units["length_m"] / 1e-3), "--size", "1e-3"]
            result = record(program, flow, *flags, *size)
            values.append(result["Pi" if flow == "couette" else "Q"])
            bulk = result.get("rotation", {}).get("bulk_viscosity", 0.0)
    # The flux is a coefficient over delta and slips that are the same at both.
    viscosity, conductivity = ((THICK[1] - THICK[0]) / (1 / second - 1 / first) for first, second in found.values())
    return viscosity, viscosity * c_p / (2 * conductivity), bulk


def shock(program: str, name: str, mach: float) -> tuple[float, float, list[dict]]:
    """Thickness in l0, processor time of a cell and iteration in us, and the profile; not a number where it takes a GPU."""
    flags = MODELS[name][1]
    grid = SHOCKS[mach] if name == "boltzmann" else []
    if grid is None:
        return math.nan, math.nan, []
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        line = ["shock", "--mach", str(mach), *flags, *grid, "--overwrite", "--out", folder]
        result = record(program, *line)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with Path(folder, "profile.csv").open(encoding="utf-8") as file:
            profile = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result["result"]["thickness"], 1e6 * seconds / (result["course"]["steps"] * len(profile)), profile


def cylinder(program: str) -> dict[str, tuple[float, float]]:
    """Drag and heat coefficients of the example `air` with each model, at its speed ratio and rarefaction."""
    example = subprocess.run([program, "flow", "--example", "air"], capture_output=True, text=True, check=True).stdout
    head, rest = example.split("[domain]")
    start = head.index("[gas]")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "case.toml").write_text(example, encoding="utf-8")
        air = record(program, "flow", f"{folder}/case.toml")
    delta = air["case"]["gas"]["length"] / air["units"]["length_m"]
    found = {}
    for name, gas in CYLINDER.items():
        text = example if not gas else f"{head[:start]}[gas]\n{gas}delta = {delta!r}\n[domain]{rest}"
        text = text.replace("mach = 2 ", f"speed_ratio = {SPEED_RATIO!r} ")
        body = result_of(program, text, "--no-verify")["bodies"][0]
        found[name] = body["drag_coefficient"], body["heat_coefficient"]
    return found


def share(value: float, true: float) -> str:
    """A value and its difference to the true one."""
    if math.isnan(value):
        return ""
    return f"{value:.3f} ({100 * (value / true - 1):+.0f}%)"


def line(points: list[tuple[float, float]], colour: str, dashed: bool = False) -> str:
    """A curve of the figure."""
    dash = ' stroke-dasharray="9 6"' if dashed else ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>'


def label(x: float, y: float, text: str, size: int = 17, anchor: str = "start") -> str:
    """Text of the figure."""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="#262626" text-anchor="{anchor}">{text}</text>'


def figure(profiles: dict[str, list[dict]]) -> None:
    """The temperatures of a shock, as shares of their jump, and their data."""
    low, high, left, top, width, height = -10.0, 8.0, 80, 70, 480, 320
    curves = {name: [(row["x"], row["temperature"]) for row in profiles[name]] for name in ("bgk", "shakhov", "boltzmann")}
    curves |= {
        kind: [(row["x"], row[f"temperature_{kind}al"]) for row in profiles["polyatomic"]] for kind in ("translation", "rotation")
    }
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 480" font-family="DejaVu Sans, Verdana, sans-serif">', '<rect width="1200" height="480" fill="#fff"/>']
    panels = [
        ("Single atoms", {"bgk": "BGK", "shakhov": "Shakhov", "boltzmann": "collision integral"}),
        ("Molecules of two atoms", {"translation": "polyatomic, of translation", "rotation": "polyatomic, of rotation", "shakhov": "Shakhov, for comparison"}),
    ]
    rows = []
    for panel, (title, names) in enumerate(panels):
        x0 = left + panel * 590

        def place(x: float, y: float, x0: float = x0) -> tuple[float, float]:
            return x0 + (x - low) / (high - low) * width, top + height * (1.15 - y) / 1.2

        parts.append(label(x0, top - 25, f"{title}, Mach {DRAWN}", 20))
        for tick in range(int(low), int(high) + 1, 2):
            parts.append(line([place(tick, -0.05), place(tick, 1.15)], "#e2e2e2").replace("2.5", "1"))
            parts.append(label(place(tick, 0)[0], top + height + 24, str(tick).replace("-", "−"), 16, "middle"))
        for tick in (0, 0.25, 0.5, 0.75, 1):
            parts.append(line([place(low, tick), place(high, tick)], "#e2e2e2").replace("2.5", "1"))
            parts.append(label(x0 - 10, place(low, tick)[1] + 6, f"{tick:g}", 16, "end"))
        parts.append(label(x0 + width / 2, top + height + 52, "x / l0", 17, "middle"))
        for row, (name, text) in enumerate(names.items()):
            points = [(x, y) for x, y in curves[name]]
            cold, hot = points[0][1], points[-1][1]
            shares = [(x, (y - cold) / (hot - cold)) for x, y in points if low <= x <= high]
            dashed = panel == 1 and name == "shakhov"
            parts.append(line([place(*point) for point in shares], COLOURS[name], dashed))
            parts.append(line([(x0 + 16, top + 16 + 26 * row), (x0 + 56, top + 16 + 26 * row)], COLOURS[name], dashed))
            parts.append(label(x0 + 66, top + 22 + 26 * row, text))
            if not dashed:
                rows += [(name, f"{x:.4f}", f"{y:.6f}") for x, y in shares[:: max(1, len(shares) // 100)]]
    parts.append("</svg>\n")
    (FIGURES / "which-gas.svg").write_text("\n".join(parts), encoding="utf-8")
    with (FIGURES / "which-gas.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("temperature", "x", "share"))
        writer.writerows(rows)


def main() -> None:
    program = command()
    loads = cylinder(program)
    rows, profiles, times = [], {}, {}
    for name, (flags, _, c_p) in MODELS.items():
        viscosity, prandtl, bulk = transport(program, flags, c_p)
        shocks = {mach: shock(program, name, mach) for mach in SHOCKS}
        profiles[name], times[name] = shocks[DRAWN][2], shocks[DRAWN][1]
        true = PARTICLES["double" if name == "polyatomic" else "single"]
        thick = " | ".join(share(shocks[mach][0], true[mach]) for mach in SHOCKS)
        drag, heat = (f"{value:.4f}" for value in loads[name]) if name in loads else ("", "")
        rows.append(f"| `{name}` | {viscosity:.3f} | {prandtl:.3f} | {bulk:.2f} | {thick} | {drag} | {heat} |")
        print(rows[-1], times[name], file=sys.stderr, flush=True)
    print("| model | viscosity | Prandtl number | bulk viscosity | shock, Mach 1.5 | shock, Mach 3 | $C_D$ | $C_H$ | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, row in zip(MODELS, rows, strict=True):
        print(f"{row} {times[name]:.0f} us |")
    figure(profiles)


if __name__ == "__main__":
    main()
