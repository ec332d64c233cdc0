#!/usr/bin/env python3
"""Random integrals between other limits, of the frequency 0, of complex amplitudes, of beats, and of amplitudes that cancel: the table of docs/longman.md.

    pip install mpmath
    python3 scripts/longman-limits.py [path of rarefy] [integrals of each kind]

Each integral is one run of `rarefy longman`. Truths are closed forms, or quadratures by mpmath of a form without cancellation.
"""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from mpmath import e1, erfc, exp, gamma, gammainc, inf, log, mp, mpc, mpf, pi, quad, quadosc, sin, sqrt

mp.dps = 30
INFINITY = float("inf")
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-11)


class Integral(NamedTuple):
    """An amplitude times an oscillator between two limits; no truth where the integral diverges."""

    amplitude: str
    oscillator: str
    frequency: float
    lower: float
    upper: float
    truth: mpc | None


def within(low: float, high: float) -> float:
    return random.uniform(low, high)


def power(low: float, high: float) -> float:
    return 10 ** random.uniform(low, high)


def part(value: mpc, oscillator: str) -> mpc:
    """The part of an integral with exp(i w x) that an oscillator has."""
    return {"cos": mpc(value.real), "sin": mpc(mpc(value).imag), "exp": mpc(value)}[oscillator]


def limits() -> Integral:
    oscillator = random.choice(["cos", "sin", "exp"])
    w = random.choice([0.0, power(-2, 2), power(-2, 3)])
    kind = random.randrange(7)
    if kind == 0:
        rate, low = power(-2, 1), within(-5, 5)
        high = random.choice([INFINITY, low + power(-1, 1.5)])
        z = mpc(-mpf(rate), w)
        ends = [0 if end == INFINITY else exp(z * mpf(end)) / z for end in (low, high)]
        return Integral(f"exp(-{rate!r}*x)", oscillator, w, low, high, part(ends[1] - ends[0], oscillator))
    if kind == 1:
        rate, middle = power(-1, 1.5), within(-3, 3)
        w = min(w, 6 * rate**0.5)
        value = sqrt(pi / mpf(rate)) * exp(-(mpf(w) ** 2) / (4 * mpf(rate))) * exp(mpc(0, mpf(w) * mpf(middle)))
        return Integral(f"exp(-{rate!r}*(x-({middle!r}))^2)", oscillator, w, -INFINITY, INFINITY, part(value, oscillator))
    if kind == 2:
        p = power(-3, 3)
        value = pi / mpf(p) * exp(-mpf(p) * mpf(w))
        return Integral(f"1/(x^2+{p!r}^2)", oscillator, w, -INFINITY, INFINITY, part(mpc(value), oscillator))
    if kind == 3:
        q, rate = within(-1.5, 0.97), power(-2, 2)
        value = gamma(1 - mpf(q)) * mpf(rate) ** (mpf(q) - 1)
        return Integral(f"x^(-({q!r}))*exp(-{rate!r}*x)", oscillator, 0.0, 0.0, INFINITY, part(mpc(value), oscillator))
    if kind == 4:
        q, high, w = within(-0.5, 0.95), power(-2, 1.5), w or 1.0
        z = mpc(0, -mpf(w))
        value = gammainc(1 - mpf(q), 0, z * mpf(high)) * z ** (mpf(q) - 1)
        return Integral(f"x^(-({q!r}))", oscillator, w, 0.0, high, part(value, oscillator))
    if kind == 5:
        c, s, w = power(-1, 1), within(0.2, 3), w or 2.0
        pole = mpc(c, s)
        value = exp(mpc(0, -w) * pole) * e1(mpc(0, -w) * pole)
        return Integral(f"1/(x+{c!r}+{s!r}*i)", "exp", w, 0.0, INFINITY, value)
    s, p = within(0.2, 1), power(-1, 1)
    oscillator = "cos" if oscillator == "sin" else oscillator
    return random.choice(
        [
            Integral(f"1/(x+{p!r})^{s!r}", "cos", 0.0, 0.0, INFINITY, None),
            Integral(f"exp({s!r}*x)", oscillator, w, -2.0, INFINITY, None),
            Integral(f"x^(-{1 + s!r})*exp(-x)", oscillator, w, 0.0, INFINITY, None),
            Integral(f"1/(x-{p!r})", oscillator, w, 0.0, 2 * p + 1, None),
        ]
    )


def beats() -> Integral:
    k, p = power(-1.5, 1.5), power(-1.5, 1)
    w = random.choice([0.0, k, 2 * k, k * (1 + power(-6, -1)), power(-1.5, 1.5)])
    big, mid, far = mpf(k), mpf(w), mpf(p)
    kind = random.randrange(5)
    if kind == 0:
        value = pi / (4 * far) * (exp(-far * abs(big + mid)) + exp(-far * abs(big - mid)))
        return Integral(f"cos({k!r}*x)/(x^2+{p!r}^2)", "cos", w, 0.0, INFINITY, mpc(value))
    if kind == 1:
        value = None if w == k else mpc(log(abs((big + mid) / (big - mid))) / 2)
        return Integral(f"sin({k!r}*x)/x", "sin", w, 0.0, INFINITY, value)
    if kind == 2:
        value = pi / 2 * (big - mid / 2) if mid < 2 * big else mpf(0)
        return Integral(f"(sin({k!r}*x)/x)^2", "cos", w, 0.0, INFINITY, mpc(value))
    if kind == 3:
        rate = power(-2, 1)
        of = lambda s: 1 / (mpf(rate) - mpc(0, 1) * s)  # noqa: E731
        oscillator = random.choice(["cos", "sin", "exp"])
        value = of(mid) / 2 - (of(mid + 2 * big) + of(mid - 2 * big)) / 4
        return Integral(f"exp(-{rate!r}*x)*sin({k!r}*x)^2", oscillator, w, 0.0, INFINITY, part(value, oscillator))
    return random.choice(
        [
            Integral(f"cos({k!r}*x)", "cos", w, 0.0, INFINITY, None),
            Integral(f"cos({k!r}*x)/(x+{p!r})", "cos", k, 0.0, INFINITY, None),
            Integral(f"sin({k!r}*x)^2/x^3", "cos", w, 0.0, INFINITY, None),
        ]
    )


def cancelling() -> Integral:
    """Amplitudes that cancel, and the same without cancellation."""
    p = power(-1, 1)
    a = mpf(p)
    forms: list[tuple[str, Callable[[mpf], mpf]]] = [
        (f"1-tanh({p!r}*x)", lambda x: 2 / (1 + exp(2 * a * x))),
        (f"sqrt(1+exp(-{p!r}*x))-1", lambda x: exp(-a * x) / (sqrt(1 + exp(-a * x)) + 1)),
        (f"ln(1+exp(-{p!r}*x))", lambda x: mp.log1p(exp(-a * x))),
        (f"1/(1+x)-1/(x+1+{p!r})", lambda x: a / ((1 + x) * (1 + x + a))),
        (f"ln(x+1+{p!r})-ln(x+1)", lambda x: mp.log1p(a / (1 + x))),
        (f"sqrt((x+1)^2+{p!r})-(x+1)", lambda x: a / (sqrt((x + 1) ** 2 + a) + x + 1)),
        (f"exp({p!r}/(1+x)^2)-1", lambda x: mp.expm1(a / (1 + x) ** 2)),
        (f"1-erf({p!r}*x)", lambda x: erfc(a * x)),
        (f"1/cosh({p!r}*x)", lambda x: mp.sech(a * x)),
        (f"exp(-x)-exp(-(1+{p!r})*x)", lambda x: -exp(-x) * mp.expm1(-a * x)),
    ]
    amplitude, of = random.choice(forms)
    oscillator, w = random.choice(["cos", "sin"]), power(-0.5, 1)
    wave = {"cos": mp.cos, "sin": sin}[oscillator]
    f = lambda x: of(x) * wave(mpf(w) * x)  # noqa: E731
    first = pi / mpf(w)
    return Integral(amplitude, oscillator, w, 0.0, INFINITY, mpc(quad(f, [0, first / 4, first]) + quadosc(f, [first, inf], omega=mpf(w))))


def verdict(rarefy: str, one: Integral) -> str:
    tolerance = random.choice(TOLERANCES)
    line = [rarefy, "longman", "--json", "--quiet", "--amplitude", one.amplitude, "--oscillator", one.oscillator]
    line += [f"--frequency={one.frequency!r}", f"--lower={one.lower!r}", f"--upper={one.upper!r}", "--rtol", repr(tolerance)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return "failed"
    found = json.loads(done.stdout)["result"]
    if found["status"] != "OK":
        return "refused"
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


def main() -> None:
    rarefy = sys.argv[1] if len(sys.argv) > 1 else "target/release/rarefy"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    for name, draw in (("limits", limits), ("beats", beats), ("cancelling", cancelling)):
        random.seed(name)
        found = dict.fromkeys(("right", "wrong", "beyond", "refused", "failed"), 0)
        for _ in range(count):
            one = draw()
            kind = verdict(rarefy, one)
            found[kind] += 1
            if kind not in ("right", "refused"):
                print(kind, one, flush=True)
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
