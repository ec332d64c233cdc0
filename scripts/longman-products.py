#!/usr/bin/env python3
"""Random integrals of products of Bessel functions and cosines, and of erfcx: a table of docs/longman.md.

    pip install mpmath
    python3 scripts/longman-products.py [path of rarefy] [integrals of each kind]

Each integral is one run of `rarefy longman`. Truths are closed forms: Watson, *A Treatise on the Theory of Bessel Functions*, sections 13.2 to 13.53, and Laplace
transforms.
"""

import random

from longman_campaign import Integral, campaign, power, within
from mpmath import asin, besseli, besselj, besselk, cos, gamma, hyp2f1, legenq, mp, mpc, mpf, pi, rgamma, sin, sqrt

mp.dps = 30
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)


def order() -> float:
    return random.choice([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.5, within(0, 4), within(-0.4, 8)])


def whole(forms: list[str]) -> str:
    return "*".join(forms)


def split(amplitude: str, first: tuple[float, float], second: tuple[float, float], truth: mpf | None) -> Integral:
    """The two Bessel functions as factors of the amplitude, or one of them as the oscillator."""
    (m, a), (n, b) = first, second
    texts = [f"besselj({m!r},{a!r}*x)", f"besselj({n!r},{b!r}*x)"]
    kind = random.randrange(3)
    if kind == 0:
        return Integral(whole([amplitude, *texts]), "cos", 0.0, truth)
    if kind == 1:
        return Integral(whole([amplitude, texts[0]]), f"bessel:{n!r}", b, truth)
    return Integral(whole([amplitude, texts[1]]), f"bessel:{m!r}", a, truth)


def schafheitlin() -> Integral:
    """Weber and Schafheitlin: J_m(a x) J_n(b x) x^-l."""
    m, n = order(), order()
    a = power(-1, 1)
    b = random.choice([a, a * (1 + power(-4, -1)), a * power(0.01, 1.3)])
    if a == b:
        low = within(0.05, min(m + n + 0.9, 2.5))
        l, c = mpf(low), mpf(a)
        above = (c / 2) ** (l - 1) * gamma((m + n - l + 1) / 2) * gamma(l)
        below = rgamma((l + n - m + 1) / 2) * rgamma((l + n + m + 1) / 2) * rgamma((l + m - n + 1) / 2)
        return split(f"x^(-({low!r}))", (m, a), (n, b), above * below / 2)
    low = random.choice([0.0, 1.0, within(-0.9, min(m + n + 0.9, 2.5))])
    if low >= m + n + 1:
        low = 0.0
    l, r = mpf(low), mpf(a) / mpf(b)
    front = mpf(a) ** m * gamma((mpf(n) + m - l + 1) / 2) / (2**l * mpf(b) ** (m - l + 1))
    front *= rgamma((mpf(n) - m + l + 1) / 2) * rgamma(mpf(m) + 1)
    value = front * hyp2f1((mpf(m) + n - l + 1) / 2, (mpf(m) - n - l + 1) / 2, mpf(m) + 1, r**2)
    return split(f"x^(-({low!r}))", (m, a), (n, b), value)


def damped() -> Integral:
    """Decaying amplitudes: exp(-p x) and x/(x^2 + p^2)."""
    n, a, p = abs(order()), power(-1, 1), power(-1.5, 0.7)
    b = a * random.choice([1.0, power(0.01, 1)])
    if random.random() < 0.5:
        z = (mpf(p) ** 2 + mpf(a) ** 2 + mpf(b) ** 2) / (2 * mpf(a) * mpf(b))
        value = legenq(mpf(n) - mpf("0.5"), 0, z, type=3).real / (pi * sqrt(mpf(a) * mpf(b)))
        return split(f"exp(-{p!r}*x)", (n, a), (n, b), value)
    value = besseli(n, mpf(a) * p) * besselk(n, mpf(b) * p)
    return split(f"x/(x^2+{p!r}^2)", (n, a), (n, b), value)


def waves() -> Integral:
    """J_n(a x) cos(b x), and the sine."""
    n, a = order(), power(-1, 1)
    b = a * random.choice([within(0.05, 0.95), 1 - power(-4, -1), 1 + power(-4, 0), power(0.1, 1)])
    wave = random.choice(["cos", "sin"])
    u, v = mpf(a), mpf(b)
    if v < u:
        angle = mpf(n) * asin(v / u)
        value = (cos(angle) if wave == "cos" else sin(angle)) / sqrt(u**2 - v**2)
    else:
        root = sqrt(v**2 - u**2)
        turn = -sin(mpf(n) * pi / 2) if wave == "cos" else cos(mpf(n) * pi / 2)
        value = u**n * turn / (root * (v + root) ** n)
    bessel = f"besselj({n!r},{a!r}*x)"
    return random.choice(
        [
            Integral(bessel, wave, b, value),
            Integral(f"{wave}({b!r}*x)", f"bessel:{n!r}", a, value),
            Integral(f"{bessel}*{wave}({b!r}*x)", "cos", 0.0, value),
        ]
    )


def sonine() -> Integral:
    """Sonine and Gegenbauer: J_m(b x) J_n(a sqrt(x^2 + z^2)) (x^2 + z^2)^(-n/2) x^(m + 1), n > m."""
    m, z, a = random.choice([0.0, 1.0, within(0, 2)]), power(-0.5, 0.5), power(-0.5, 0.5)
    n, b = m + within(0.6, 3), a * within(0.2, 0.9)
    root = sqrt(mpf(a) ** 2 - mpf(b) ** 2)
    value = mpf(b) ** m / mpf(a) ** n * (root / z) ** (mpf(n) - m - 1) * besselj(mpf(n) - m - 1, z * root)
    amplitude = f"besselj({n!r},{a!r}*sqrt(x^2+{z!r}^2))*(x^2+{z!r}^2)^(-{n!r}/2)*x^({m!r}+1)"
    return Integral(amplitude, f"bessel:{m!r}", b, value)


def divergent() -> Integral:
    n, a, s = random.choice([0.0, 1.0, 2.0]), power(-1, 1), within(0, 0.9)
    return random.choice(
        [
            split("1", (n, a), (n, a), None),
            split(f"x^{s!r}", (n, a), (n + 2, a), None),
            split("x", (n, a), (n, 2 * a), None),
            split(f"x^{1 + s!r}", (n, a), (n + 1, 1.5 * a), None),
            split(f"x^(-{2 * n + 1.1!r})", (n, a), (n, 3 * a), None),
            Integral(f"besselj({n!r},{a!r}*x)", "cos", a, None),
            Integral(f"J0({a!r}*x)^2", "sin", 2 * a, None),
        ]
    )


def error_functions() -> Integral:
    """exp(k^2 x) erfc(k sqrt x), whose Laplace transform is 1/(sqrt s (sqrt s + k))."""
    k, rate, w = power(-1.5, 1), random.choice([0.0, power(-2, 0.5)]), power(-1.5, 1.5)
    wave = random.choice(["cos", "sin"])
    s = mpc(rate, -w)
    value = 1 / (sqrt(s) * (sqrt(s) + mpf(k)))
    part = value.real if wave == "cos" else value.imag
    front = f"exp(-{rate!r}*x)*" if rate else ""
    # The square of a number that is not one itself would be another integral.
    if random.random() < 0.5:
        k = random.choice([0.5, 1.0, 1.5, 2.0, 3.25])
        value = 1 / (sqrt(s) * (sqrt(s) + mpf(k)))
        part = value.real if wave == "cos" else value.imag
        return Integral(f"{front}exp({k * k!r}*x)*erfc({k!r}*sqrt(x))", wave, w, part)
    return Integral(f"{front}erfcx({k!r}*sqrt(x))", wave, w, part)


if __name__ == "__main__":
    campaign((schafheitlin, damped, waves, sonine, divergent, error_functions), TOLERANCES, 100)
