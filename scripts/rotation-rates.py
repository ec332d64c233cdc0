#!/usr/bin/env python3
"""Times on a GPU of steady sweeps and of steps in time, for Shakhov's model and for molecules that rotate: tables of docs/benchmarks/bgk.md.

    scripts/rotation-rates.py [RAREFY]

RAREFY is the command (target/release/rarefy). Kernels are measured by Nsight Compute, `ncu`.
"""

import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import nsight

QUIET = ["--no-verify", "--json", "--quiet", "--overwrite", "--backend", "cuda"]
MODELS = ("shakhov", "polyatomic")
METRICS = {
    "gpu__time_duration.sum": 1e-6,
    "smsp__issue_active.avg.pct_of_peak_sustained_elapsed": 1.0,
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": 1.0,
}
# A flow, its kernels, and how many of them are left out and measured.
SWEEPS = [
    *((f"cavity --delta 1 --cells {cells} --steady{linear}", "steady_plane_(rotating_)?(linear_)?f(32|64)", 1, 3) for cells in (160, 256) for linear in ("", " --linear")),
    ("shock --mach 3 --cells 6000 --steady", "steady_line_(rotating_)?f(32|64)", 3, 6),
]
STEPS = [
    ("cavity --delta 1 --in-time --reduced --cells 512 --velocities 40 --steps 40", "plane_sweep"),
    ("shock --mach 2 --in-time --reduced --cells 65536 --velocities 64 --steps 40", "line_pass"),
]


def kernels(command: list[str], chosen: list[str]) -> dict[str, list[list[float]]]:
    """The launches of each kernel, each with its metrics."""
    launches, _, last_line = nsight.measured(command, METRICS, chosen)
    found = defaultdict(list)
    for launch in launches:
        found[launch.kernel].append([launch.metrics[name] * scale for name, scale in METRICS.items()])
    if not found:
        print(last_line, flush=True)
    return found


def medians(launches: list[list[float]]) -> list[float]:
    return [statistics.median(values) for values in zip(*launches, strict=True)]


def main() -> None:
    rarefy = str(Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/rarefy").absolute())
    with tempfile.TemporaryDirectory() as folder:

        def command(flow: str, model: str, precision: str) -> list[str]:
            return [rarefy, *flow.split(), "--model", model, "--precision", precision, *QUIET, "--out", f"{folder}/out"]

        for flow, kernel, skip, count in SWEEPS:
            for precision in ("f32", "f64"):
                for model in MODELS:
                    found = kernels(command(flow, model, precision), ["-k", f"regex:{kernel}", "--launch-skip", str(skip), "-c", str(count)])
                    for name, launches in found.items():
                        time, issued, memory = medians(launches)
                        print(f"{flow}, {precision}, {name}: {time:.3f} ms, issue slots {issued:.0f}%, memory {memory:.0f}%", flush=True)
        for flow, sweep in STEPS:
            for precision in ("f32", "f64"):
                for model in MODELS:
                    found = kernels(command(flow, model, precision), ["--launch-skip", "60", "-c", "40"])
                    if not found:
                        continue
                    # Some kernels run in some steps alone.
                    steps = sum(len(launches) for name, launches in found.items() if name.startswith(sweep))
                    total = sum(medians(launches)[0] * len(launches) for launches in found.values()) / steps
                    name, launches = next((name, launches) for name, launches in found.items() if name.startswith(sweep))
                    time, issued, memory = medians(launches)
                    print(f"{flow}, {precision}, {model}: {total:.3f} ms a step; {name} {time:.3f} ms, issue slots {issued:.0f}%, memory {memory:.0f}%", flush=True)


if __name__ == "__main__":
    main()
