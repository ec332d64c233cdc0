#!/usr/bin/env python3
"""Argon past a cylinder by particles and by rarefy, side by side, as the table of docs/flow.md.

    scripts/flow-particles.py SPARTA [RAREFY] [CASE...]

SPARTA is the program spa_serial of github.com/sparta/sparta (`make serial` in its src), RAREFY the command (target/release/rarefy). Cases are all without names.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# Argon: mass in kg, diameter in m at 1000 K, exponent of the viscosity.
MASS, DIAMETER, OMEGA, BOLTZMANN = 6.6335e-26, 3.595e-10, 0.734, 1.380649e-23
CYLINDER = 0.3048
TEMPERATURE = 200.0
LINES = 240


@dataclass(frozen=True)
class Case:
    """A stream past a cylinder: both programs have the upper half of a square with sides at `reach` diameters."""

    speed_ratio: float
    delta: float
    wall: float
    reach: float
    # Particles: cells along x, steps before the loads are averaged and while they are, molecules of one particle, time step in s, seeds.
    cells: int
    warm: int
    sampled: int
    weight: float
    step: float
    seeds: tuple[int, ...]
    # rarefy: widths of cells in diameters.
    widths: tuple[float, ...]


MACH = math.sqrt(5 / 6)
CASES = {
    "mach-10": Case(10 * MACH, 3.18469, 2.5, 2.5, 100, 1500, 10000, 1.97e14, 2e-6, (12345, 777), (0.05, 0.025)),
    "mach-10-fine": Case(10 * MACH, 3.18469, 2.5, 2.5, 200, 3000, 20000, 0.985e14, 1e-6, (12345,), (0.05, 0.025)),
    "mach-4": Case(4 * MACH, 5.0, 2.0, 3.0, 120, 3000, 20000, 3e14, 4e-6, (12345,), (0.05, 0.025)),
    "slow": Case(0.1, 3.18469, 1.0, 2.5, 100, 3000, 20000, 1.97e14, 8e-6, (12345, 777, 31), (0.05, 0.025)),
}

SPARTA = """seed {seed}
dimension 2
global gridcut -1 comm/sort no
boundary o ro p
create_box {low} {high} 0 {high} -0.5 0.5
create_grid {nx} {ny} 1
global nrho {density} fnum {weight}
species ar.species Ar
mixture gas Ar vstream {speed} 0 0 temp {temperature}
read_surf circle.surf group 1 clip
surf_collide 1 diffuse {wall} 1.0
surf_modify all collide 1
collide vss gas ar.vss
create_particles gas n 0
fix in emit/face gas xlo yhi xhi
timestep {step}
stats {warm}
stats_style step cpu np
run {warm}
reset_timestep 0
compute s surf all all fx etot
fix av ave/surf all 1 {sampled} {sampled} c_s[*] ave one
stats {sampled}
dump 1 surf all {sampled} surf.out id f_av[*]
run {sampled}
"""

RAREFY = """gas = {{ model = "shakhov", delta = {delta}, omega = {omega} }}
domain = {{ x = [{low}, {high}], y = [0, {high}], h = {width}, core = [[-0.8, 0.8], [0, 0.8]], growth = {growth}, largest = {largest} }}
velocities = {velocities}
[sides]
left = {{ kind = "stream", speed_ratio = {speed_ratio} }}
right = {{ kind = "stream", speed_ratio = {speed_ratio} }}
bottom = {{ kind = "mirror" }}
top = {{ kind = "stream", speed_ratio = {speed_ratio} }}
[[body]]
shape = "circle"
radius = 0.5
temperature = {wall}
"""


def number_density(delta: float) -> float:
    """That at which the diameter of the cylinder is `delta` times l0 = mu v0 / p, by the viscosity of variable hard spheres."""
    d = DIAMETER * (1000 / TEMPERATURE) ** ((OMEGA - 0.5) / 2)
    thermal = MASS * BOLTZMANN * TEMPERATURE
    viscosity = 15 * math.sqrt(math.pi * thermal) / (2 * math.pi * d**2 * (5 - 2 * OMEGA) * (7 - 2 * OMEGA))
    v0 = math.sqrt(2 * BOLTZMANN * TEMPERATURE / MASS)
    return delta * viscosity * v0 / (CYLINDER * BOLTZMANN * TEMPERATURE)


def circle() -> str:
    """The cylinder as lines, clockwise: normals point into the gas."""
    radius = CYLINDER / 2
    angles = [-2 * math.pi * (k + 0.5) / LINES for k in range(LINES)]
    points = "\n".join(f"{k + 1} {radius * math.cos(a):.9f} {radius * math.sin(a):.9f}" for k, a in enumerate(angles))
    lines = "\n".join(f"{k + 1} {k + 1} {(k + 1) % LINES + 1}" for k in range(LINES))
    return f"circle\n\n{LINES} points\n{LINES} lines\n\nPoints\n\n{points}\n\nLines\n\n{lines}\n"


def run(command: list[str], folder: Path) -> tuple[str, float]:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout, time.perf_counter() - start


def by_particles(program: str, case: Case, seed: int, folder: Path) -> tuple[float, float, float]:
    """Coefficients of drag and heat, and seconds."""
    density, high = number_density(case.delta), case.reach * CYLINDER
    speed = case.speed_ratio * math.sqrt(2 * BOLTZMANN * TEMPERATURE / MASS)
    (folder / "circle.surf").write_text(circle())
    (folder / "ar.species").write_text(f"Ar 39.948 {MASS} 0 0.0 0 0.0 0.0 1.0 0.0\n")
    (folder / "ar.vss").write_text(f"Ar {DIAMETER} {OMEGA} 1000.0 1.0\n")
    sizes = {"nx": case.cells, "ny": case.cells // 2, "low": -high, "high": high, "warm": case.warm, "sampled": case.sampled}
    flow = {"density": density, "weight": case.weight, "speed": speed, "temperature": TEMPERATURE, "wall": case.wall * TEMPERATURE, "step": case.step}
    (folder / "in.cyl").write_text(SPARTA.format(seed=seed, **sizes, **flow))
    _, seconds = run([program, "-in", "in.cyl", "-screen", "none"], folder)
    table = (folder / "surf.out").read_text().split("ITEM: ")[-1].splitlines()[1:]
    rows = [[float(word) for word in line.split()] for line in table if line.strip()]
    length = CYLINDER * math.sin(math.pi / LINES)
    drag, heat = 2 * sum(row[1] for row in rows), 2 * length * sum(row[2] for row in rows)
    dynamic = 0.5 * density * MASS * speed**2 * CYLINDER
    return drag / dynamic, heat / (dynamic * speed), seconds


def by_rarefy(program: str, case: Case, width: float, folder: Path) -> tuple[float, float, float]:
    """Coefficients of drag and heat, and seconds."""
    growth, largest = (1.08, 0.2) if width > 0.03 else (1.0392, 0.1)
    uniform = '{ kind = "uniform", step = 0.7 }'
    velocities = uniform if case.speed_ratio > 1 else '{ kind = "uniform", step = 0.4 }'
    text = RAREFY.format(
        delta=case.delta, omega=OMEGA, low=-case.reach, high=case.reach, width=width, growth=growth, largest=largest,
        velocities=velocities, speed_ratio=case.speed_ratio, wall=case.wall,
    )  # fmt: skip
    (folder / "case.toml").write_text(text)
    line = [program, "flow", "case.toml", "--backend", "cpu", "--no-verify", "--json", "--quiet", "--overwrite", "--out", "out"]
    printed, seconds = run(line, folder)
    body = json.loads(printed)["result"]["bodies"][0]
    # The other half is the mirror image.
    return 2 * body["drag_coefficient"], 2 * body["heat_coefficient"], seconds


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    particles = str(Path(sys.argv[1]).absolute())
    rarefy = str(Path(sys.argv[2] if len(sys.argv) > 2 else "target/release/rarefy").absolute())
    for name in sys.argv[3:] or CASES:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            for seed in case.seeds:
                drag, heat, seconds = by_particles(particles, case, seed, Path(folder))
                print(f"{name}, SPARTA, {case.cells} x {case.cells // 2} cells, seed {seed}: C_D {drag:.4f}, C_H {heat:.4f}, {seconds:.1f} s", flush=True)
            for width in case.widths:
                drag, heat, seconds = by_rarefy(rarefy, case, width, Path(folder))
                print(f"{name}, rarefy, cells of {width} diameters: C_D {drag:.4f}, C_H {heat:.4f}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
