#!/usr/bin/env python3
"""Random integrals with singularities, kinks and steps inside the range: a table of docs/longman.md.

    pip install mpmath
    python3 scripts/longman-places.py [path of rarefy] [integrals of each kind]

Each integral is one run of `rarefy longman`. Truths are closed forms: incomplete gamma functions, Mehler and Sonine integrals (NIST Digital Library of Mathematical
Functions, sections 8.2, 10.9 and 10.22), Laplace transforms; and mpmath's quadrature where two places are near each other.
"""

import random

from longman_campaign import Integral, campaign, power, within
from mpmath import besselj, bessely, cos, e1, euler, exp, gamma, gammainc, hyp1f1, hyper, log, mp, mpc, mpf, pi, quad, sin, sqrt

mp.dps = 30
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)


def exponent() -> float:
    """q of |x - c|^-q: singularities, up to 0.999, and kinks."""
    return random.choice([0.5, 0.5, within(0.01, 0.99), 0.9, 0.99, 0.999, -0.5, -1.0, -within(0.1, 2.5)])


def place() -> float:
    return random.choice([1.0, 1 / 3, power(-2, 1.5), power(-2, 1.5), power(1.5, 3)])


def part(wave: str, value: mpc) -> mpf:
    return value.real if wave == "cos" else value.imag


def beyond(q: float, s: mpc, d: mpf) -> mpc:
    """The integral of y^-q exp(-s y) from d on."""
    return s ** (mpf(q) - 1) * gammainc(1 - mpf(q), s * d) if d > 0 else s ** (mpf(q) - 1) * gamma(1 - mpf(q))


def below(q: float, s: mpc, d: mpf) -> mpc:
    """The integral of y^-q exp(s y) up to d."""
    a = 1 - mpf(q)
    return d**a / a * hyp1f1(a, a + 1, s * d)


def powers() -> Integral:
    """|x - c|^-q exp(-p x) from 0, from the place, or from next to it on, in several forms."""
    q, c, w = exponent(), place(), power(-1, 1)
    rate = random.choice([0.0, power(-1.5, 0.5)]) if q > 0 else power(-1.5, 0.5)
    # 3 x - 3 c is rounded, and so the place would be another one.
    text = {
        0: f"abs(x-{c!r})^(-({q!r}))",
        1: f"exp(-({q!r})*ln(abs({c!r}-x)))",
        2: f"1/pow(abs(2*x-{2 * c!r})/2,{q!r})",
        3: f"((x-{c!r})^2)^(-({q!r})/2)",
    }[random.randrange(4)]
    if rate:
        text += f"*exp(-{rate!r}*x)"
    wave = random.choice(["cos", "sin"])
    lower = random.choice([0.0, 0.0, c, c * (1 + power(-9, -1)), c * (1 - power(-9, -1)), c * within(0, 1)])
    s, d = mpc(rate, -w), mpf(lower) - mpf(c)
    value = exp(-s * c) * (beyond(q, s, d) if d >= 0 else beyond(q, s, mpf(0)) + below(q, s, -d))
    return Integral(text, wave, w, part(wave, value), lower)


def logarithms() -> Integral:
    """ln|x - c| and ln|x^2 - c^2| times exp(-p x)."""
    c, w, rate = place(), power(-1, 1), power(-1.5, 0.5)
    wave = random.choice(["cos", "sin"])
    s, m = mpc(rate, -w), mpf(c)
    above = -exp(-s * m) * (euler + log(s)) / s
    under = exp(-s * m) * (log(m) * (exp(s * m) - 1) - s * m * hyper([1, 1], [2, 2], s * m)) / s
    value, text = above + under, f"ln(abs(x-{c!r}))"
    if random.random() < 0.5:
        value += (log(m) + exp(s * m) * e1(s * m)) / s
        text = random.choice([f"ln(abs(x^2-{c!r}^2))", f"ln(abs((x-{c!r})*(x+{c!r})))", f"0.5*ln((x^2-{c!r}^2)^2)"])
    return Integral(f"{text}*exp(-{rate!r}*x)", wave, w, part(wave, value))


def kinks() -> Integral:
    """min, max, floor and sign."""
    c, w, rate = place(), power(-1, 1), power(-1.5, 0.5)
    wave = random.choice(["cos", "sin"])
    s, m, v = mpc(rate, -w), mpf(c), mpf(w)
    damped = f"exp(-{rate!r}*x)"
    kind = random.randrange(5)
    if kind == 0:
        value = (1 - cos(v * m)) / v**2 if wave == "cos" else m / v - sin(v * m) / v**2
        return Integral(f"max(0,{c!r}-x)", wave, w, value)
    if kind == 1:
        return Integral(f"min(x,{c!r})*{damped}", wave, w, part(wave, (1 - exp(-s * m)) / s**2))
    if kind == 2:
        c = max(c, 0.3)
        value = exp(-s * mpf(c)) / (s * (1 - exp(-s * mpf(c))))
        return Integral(f"floor(x/{c!r})*{damped}", wave, w, part(wave, value))
    if kind == 3:
        return Integral(f"sign(x-{c!r})*{damped}", wave, w, part(wave, (2 * exp(-s * m) - 1) / s))
    value = m / s - 1 / s**2 + 2 * exp(-s * m) / s**2
    return Integral(f"sqrt((x-{c!r})^2)*{damped}", wave, w, part(wave, value))


def mehler() -> Integral:
    """(1 - x^2)^(m - 1/2) up to 1, (x^2 - 1)^(-m - 1/2) from 1 on, and |x^2 - a^2| to the same power."""
    m, w, a = within(-0.45, 0.45), power(-1, 1.5), random.choice([1.0, 2.0, power(-1, 1)])
    z = mpf(w) * mpf(a)
    under = besselj(m, z) * sqrt(pi) * gamma(mpf(m) + 0.5) / (2 * (z / 2) ** m) * mpf(a) ** (2 * mpf(m))
    over = -bessely(-m, z) * sqrt(pi) * gamma(mpf(m) + 0.5) / (2 * (z / 2) ** m) * mpf(a) ** (2 * mpf(m))
    e = f"({m!r}-1/2)"
    kind = random.randrange(3)
    if kind == 0:
        return Integral(f"({a!r}^2-x^2)^{e}", "cos", w, under, 0.0, a)
    if kind == 1:
        return Integral(f"(x^2-{a!r}^2)^{e}", "cos", w, over, a)
    return Integral(f"abs(x^2-{a!r}^2)^{e}", "cos", w, under + over)


def sonine() -> Integral:
    """x^(n + 1) (a^2 - x^2)^m J_n(w x) up to a, and x/sqrt|x^2 - a^2| J_0(w x)."""
    n, w, a = random.choice([0.0, 1.0, 2.0, within(0, 3)]), power(-1, 1.3), random.choice([1.0, power(-1, 1)])
    u, v = mpf(a), mpf(w)
    kind = random.randrange(3)
    if kind == 0:
        m = random.choice([-0.5, 0.5, within(-0.9, 2)])
        value = mpf(2) ** m * gamma(mpf(m) + 1) * u ** (mpf(n) + m + 1) * v ** (-mpf(m) - 1) * besselj(mpf(n) + m + 1, u * v)
        return Integral(f"x^({n!r}+1)*({a!r}^2-x^2)^({m!r})", f"bessel:{n!r}", w, value, 0.0, a)
    if kind == 1:
        return Integral(f"x/sqrt(x^2-{a!r}^2)", "bessel:0", w, cos(u * v) / v, a)
    return Integral(f"x/sqrt(abs(x^2-{a!r}^2))", "bessel:0", w, (sin(u * v) + cos(u * v)) / v)


def pairs() -> Integral:
    """Two places, which may nearly coincide, by quadrature."""
    a, w, rate = within(0.3, 2), power(-1, 0.7), within(0.3, 2)
    b = a + random.choice([within(0.2, 2), power(-9, -1)])
    q, r = random.choice([(0.5, 0.4), (within(0.1, 0.6), within(-1.5, 0.35))])
    if abs(b - a) < 0.1:
        q, r = min(q, 0.5), min(r, 0.4)
    u, v = mpf(a), mpf(b)
    h = (v - u) / 2

    def near(c: mpf, sign: int, other: mpf, p: float, t: float, length: mpf) -> mpf:
        # y = z^n makes the end smooth.
        n = 1 / (1 - mpf(p))
        f = lambda z: n * abs(c - other + sign * z**n) ** (-mpf(t)) * exp(-mpf(rate) * (c + sign * z**n)) * cos(w * (c + sign * z**n))
        ends = [mpf(0)] + [mpf(10) ** k for k in range(-11, 3) if mpf(10) ** k < length] + [length]
        return quad(f, [end ** (1 / n) for end in ends])

    value = near(u, -1, v, q, r, u) + near(u, 1, v, q, r, h) + near(v, -1, u, r, q, h) + near(v, 1, u, r, q, mpf(75) / rate)
    return Integral(f"abs(x-{a!r})^(-({q!r}))*abs(x-{b!r})^(-({r!r}))*exp(-{rate!r}*x)", "cos", w, value)


def divergent() -> Integral:
    """Singularities that have no integral."""
    c, w, q = place(), power(-1, 1), random.choice([1.0, 1.0, 1 + power(-6, 0), 2.0])
    wave = random.choice(["cos", "sin", "bessel:0"])
    text = random.choice([f"abs(x-{c!r})^(-{q!r})", f"1/(x-{c!r})/(1+x)", f"1/(x^2-{c!r}^2)", f"ln(abs(x-{c!r}))/abs(x-{c!r})"])
    return Integral(f"{text}*exp(-x)", wave, w, None, random.choice([0.0, c / 2]), random.choice([float("inf"), 2 * c]))


if __name__ == "__main__":
    campaign((powers, logarithms, kinks, mehler, sonine, pairs, divergent), TOLERANCES, 150)
