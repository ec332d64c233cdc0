#!/usr/bin/env python3
"""Random integrals between other limits, of the frequency 0, of complex amplitudes, of beats, and of amplitudes that cancel: the table of docs/longman.md.

    pip install mpmath
    python3 scripts/longman-limits.py [path of rarefy] [integrals of each kind]

Each integral is one run of `rarefy longman`. Truths are closed forms, or quadratures by mpmath of a form without cancellation.
"""

import random
from collections.abc import Callable

from longman_campaign import Integral, campaign, power, within
from mpmath import e1, erfc, exp, gamma, gammainc, inf, log, mp, mpc, mpf, pi, quad, quadosc, sin, sqrt

mp.dps = 30
INFINITY = float("inf")
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-11)


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
        return Integral(f"exp(-{rate!r}*x)", oscillator, w, part(ends[1] - ends[0], oscillator), low, high)
    if kind == 1:
        rate, middle = power(-1, 1.5), within(-3, 3)
        w = min(w, 6 * rate**0.5)
        value = sqrt(pi / mpf(rate)) * exp(-(mpf(w) ** 2) / (4 * mpf(rate))) * exp(mpc(0, mpf(w) * mpf(middle)))
        return Integral(f"exp(-{rate!r}*(x-({middle!r}))^2)", oscillator, w, part(value, oscillator), -INFINITY)
    if kind == 2:
        p = power(-3, 3)
        value = pi / mpf(p) * exp(-mpf(p) * mpf(w))
        return Integral(f"1/(x^2+{p!r}^2)", oscillator, w, part(mpc(value), oscillator), -INFINITY)
    if kind == 3:
        q, rate = within(-1.5, 0.97), power(-2, 2)
        value = gamma(1 - mpf(q)) * mpf(rate) ** (mpf(q) - 1)
        return Integral(f"x^(-({q!r}))*exp(-{rate!r}*x)", oscillator, 0.0, part(mpc(value), oscillator))
    if kind == 4:
        q, high, w = within(-0.5, 0.95), power(-2, 1.5), w or 1.0
        z = mpc(0, -mpf(w))
        value = gammainc(1 - mpf(q), 0, z * mpf(high)) * z ** (mpf(q) - 1)
        return Integral(f"x^(-({q!r}))", oscillator, w, part(value, oscillator), 0.0, high)
    if kind == 5:
        c, s, w = power(-1, 1), within(0.2, 3), w or 2.0
        pole = mpc(c, s)
        value = exp(mpc(0, -w) * pole) * e1(mpc(0, -w) * pole)
        return Integral(f"1/(x+{c!r}+{s!r}*i)", "exp", w, value)
    s, p = within(0.2, 1), power(-1, 1)
    oscillator = "cos" if oscillator == "sin" else oscillator
    return random.choice(
        [
            Integral(f"1/(x+{p!r})^{s!r}", "cos", 0.0, None),
            Integral(f"exp({s!r}*x)", oscillator, w, None, -2.0),
            Integral(f"x^(-{1 + s!r})*exp(-x)", oscillator, w, None),
            Integral(f"1/(x-{p!r})", oscillator, w, None, 0.0, 2 * p + 1),
        ]
    )


def beats() -> Integral:
    k, p = power(-1.5, 1.5), power(-1.5, 1)
    w = random.choice([0.0, k, 2 * k, k * (1 + power(-6, -1)), power(-1.5, 1.5)])
    big, mid, far = mpf(k), mpf(w), mpf(p)
    kind = random.randrange(5)
    if kind == 0:
        value = pi / (4 * far) * (exp(-far * abs(big + mid)) + exp(-far * abs(big - mid)))
        return Integral(f"cos({k!r}*x)/(x^2+{p!r}^2)", "cos", w, mpc(value))
    if kind == 1:
        value = None if w == k else mpc(log(abs((big + mid) / (big - mid))) / 2)
        return Integral(f"sin({k!r}*x)/x", "sin", w, value)
    if kind == 2:
        value = pi / 2 * (big - mid / 2) if mid < 2 * big else mpf(0)
        return Integral(f"(sin({k!r}*x)/x)^2", "cos", w, mpc(value))
    if kind == 3:
        rate = power(-2, 1)
        of = lambda s: 1 / (mpf(rate) - mpc(0, 1) * s)  # noqa: E731
        oscillator = random.choice(["cos", "sin", "exp"])
        value = of(mid) / 2 - (of(mid + 2 * big) + of(mid - 2 * big)) / 4
        return Integral(f"exp(-{rate!r}*x)*sin({k!r}*x)^2", oscillator, w, part(value, oscillator))
    return random.choice(
        [
            Integral(f"cos({k!r}*x)", "cos", w, None),
            Integral(f"cos({k!r}*x)/(x+{p!r})", "cos", k, None),
            Integral(f"sin({k!r}*x)^2/x^3", "cos", w, None),
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
    return Integral(amplitude, oscillator, w, mpc(quad(f, [0, first / 4, first]) + quadosc(f, [first, inf], omega=mpf(w))))


if __name__ == "__main__":
    campaign((limits, beats, cancelling), TOLERANCES, 1000)
