"""Runs of `rarefy` with their kernels measured by Nsight Compute, `ncu`, for the scripts that time them."""

import csv
import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Launch(NamedTuple):
    """A launch of a kernel: its metrics by name, in base units."""

    kernel: str
    metrics: dict[str, float]


class Measured(NamedTuple):
    """Launches in their order, the record of the run, and the last line that it or `ncu` wrote."""

    launches: list[Launch]
    record: dict[str, Any] | None
    last_line: str


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else "no output"


def measured(command: Sequence[str], metrics: Iterable[str], chosen: Sequence[str]) -> Measured:
    """Runs a command that prints its record as JSON; `chosen` are options of `ncu` that choose the launches."""
    done = run(["ncu", "--csv", "--print-units", "base", "--kernel-name-base", "function", "--metrics", ",".join(metrics), *chosen, *command])
    launches: dict[str, Launch] = {}
    for row in csv.DictReader(line for line in done.stdout.splitlines() if line.startswith('"')):
        launch = launches.setdefault(row["ID"], Launch(row["Kernel Name"], {}))
        launch.metrics[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    record = re.search(r"\n\{.*?\n\}", done.stdout, re.DOTALL)
    return Measured(list(launches.values()), json.loads(record.group(0)) if record else None, last_line(done))
