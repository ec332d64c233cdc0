"""What the random campaigns of integrals have in common: an integral with its truth, one run of `rarefy longman`, and its verdict."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpmath import mpc, mpf


class Integral(NamedTuple):
    """An amplitude times an oscillator between limits; no truth where the integral diverges."""

    amplitude: str
    oscillator: str
    frequency: float
    truth: mpf | mpc | None
    lower: float = 0.0
    upper: float = float("inf")


def within(low: float, high: float) -> float:
    return random.uniform(low, high)


def power(low: float, high: float) -> float:
    return 10 ** random.uniform(low, high)


def verdict(rarefy: str, one: Integral, tolerance: float) -> str:
    line = [rarefy, "longman", "--json", "--quiet", "--amplitude", one.amplitude, "--oscillator", one.oscillator]
    line += [f"--frequency={one.frequency!r}", f"--lower={one.lower!r}", f"--upper={one.upper!r}", "--rtol", repr(tolerance)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return "failed"
    found = json.loads(done.stdout)["result"]
    if found["status"] != "OK":
        value = found["value"]
        near = one.truth is not None and value is not None and abs(mpc(one.truth).real - mpf(value)) <= tolerance * abs(one.truth)
        return "unproven" if near else "refused"
    if one.truth is None:
        return "wrong"
    size = abs(one.truth)
    parts = [(one.truth.real, found["value"], found["error"]), (one.truth.imag, found.get("imaginary", 0.0), found.get("imaginary_error", 0.0))]
    off = [(abs(truth - mpf(value)), mpf(error)) for truth, value, error in parts]
    if any(apart > (tolerance + 4e-16) * size for apart, _ in off):
        return "wrong"
    if any(apart > error + mpf("4e-16") * size for apart, error in off):
        return "beyond"
    return "right"


def campaign(kinds: Sequence[Callable[[], Integral]], tolerances: Sequence[float], count: int) -> None:
    """Prints the verdicts of each kind; "unproven" are refused ones whose value is right. Arguments of the command line are the path of rarefy and the number of integrals of
    each kind."""
    rarefy = sys.argv[1] if len(sys.argv) > 1 else "target/release/rarefy"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else count
    for draw in kinds:
        name = draw.__name__
        random.seed(name)
        found = dict.fromkeys(("right", "wrong", "beyond", "unproven", "refused", "failed"), 0)
        for _ in range(count):
            one = draw()
            kind = verdict(rarefy, one, random.choice(tolerances))
            found[kind] += 1
            quiet = kind in ("unproven", "refused") and "--refused" not in sys.argv
            if kind != "right" and not quiet:
                print(kind, one, flush=True)
        print(name, found, flush=True)
