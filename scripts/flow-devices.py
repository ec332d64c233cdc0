#!/usr/bin/env python3
"""Times of flows in space on one device and on two, as the tables "Two GPUs" of docs/benchmarks/flow-space.md.

    scripts/flow-devices.py [RAREFY] [BACKEND]

RAREFY is the command (target/release/rarefy), BACKEND `cuda` or `emulator`; the emulator has small grids, to try the script. An iteration is a quarter of the difference of runs of 2 and 6 iterations.
"""

import json
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import nsight

sphere = import_module("flow-space-rates").sphere
QUIET = ["--no-verify", "--json", "--quiet", "--overwrite"]
# Keys of the capsule's picture.
CAPSULE = {"h": 0.025, "growth": 1.1, "largest": 0.15, "step": 0.7, "tolerance": 3e-3}


def capsule() -> str:
    text = Path("examples/flow/capsule.toml").read_text()
    for key, value in CAPSULE.items():
        text = re.sub(rf"^{key} = \S+", f"{key} = {value}", text, flags=re.MULTILINE)
    return text


def record(rarefy: str, text: str, options: list[str]) -> dict:
    """The record of a run; one that its iterations end has exit code 1, and its record is whole."""
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder) / "case.toml"
        case.write_text(text)
        done = nsight.run([rarefy, "flow", str(case), *QUIET, "--out", str(Path(folder) / "out"), *options])
        if not done.stdout:
            sys.exit(nsight.last_line(done))
        return json.loads(done.stdout)


def main() -> None:
    arguments = sys.argv[1:]
    rarefy = str(Path(arguments[0] if arguments else "target/release/rarefy").absolute())
    backend = arguments[1] if len(arguments) > 1 else "cuda"
    small = backend == "emulator"
    for cells, points in [(8, 8)] if small else [(64, 23), (96, 12)]:
        for precision in ("f64", "f32"):
            for devices in (1, 2):
                options = ["--backend", backend, "--precision", precision, "--devices", str(devices)]
                velocities = f'kind = "gauss", points = {points}'
                runs = [record(rarefy, sphere(cells, 1.5, 3, count, 1e-9, velocities), options) for count in (2, 6)]
                two, six = (run["timings"]["iterations_s"] for run in runs)
                force = runs[1]["result"]["bodies"][0]["force_x"]
                print(f"{cells}^3 cells, {2 * points}^3 velocities, {precision}, devices {devices}: an iteration {(six - two) / 4:.3f} s; force {force!r}", flush=True)
    if small:
        return
    flows = [("capsule", capsule(), "f32"), *(("sphere at Mach 5", sphere(96, 5, 9, 1000, 1e-2, 'kind = "uniform", step = 0.7'), precision) for precision in ("f32", "f64"))]
    for name, text, precision in flows:
        for devices in (1, 2):
            options = ["--backend", backend, "--precision", precision, "--devices", str(devices)]
            seconds = [record(rarefy, text, options)["timings"]["total_s"] for _ in range(2)]
            print(f"{name}, {precision}, devices {devices}: {seconds[-1]:.1f} s", flush=True)


if __name__ == "__main__":
    main()
