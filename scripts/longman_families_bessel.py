"""Families of random integrals of Bessel functions, of beats, and of special functions.

Truths are closed forms: Watson, *A Treatise on the Theory of Bessel Functions*, chapters 12 and 13; Erdelyi, *Tables of Integral Transforms*, chapters 1, 2 and 8.
"""

import random

from longman_campaign import Integral, power, within
from longman_families_places import transform, wave
from mpmath import asin, besseli, besselj, besselk, bessely, cos, erfc, exp, gamma, hyp2f1, kei, legenq, log, mp, mpf, pi, psi, rgamma, sin, sinh, sqrt


# Hankel and Nicholson, and other algebraic amplitudes.


def hankel_nicholson() -> Integral:
    """x^(n + 1)/(x^2 + a^2)^(m + 1) J_n."""
    n, a, k = random.choice([0.0, 1.0, within(-0.5, 3)]), power(-1, 1), power(-1, 0.7)
    m = max((n - 1.4) / 2, random.choice([0.0, 0.5, 1.0, within(-0.4, 3)]))
    value = mpf(a) ** (mpf(n) - m) * mpf(k) ** m / (mpf(2) ** m * gamma(mpf(m) + 1)) * besselk(mpf(n) - m, mpf(a) * k)
    return Integral(f"x^({n!r}+1)/(x^2+{a!r}^2)^({m!r}+1)", f"bessel:{n!r}", k, value)


def hankel_simple() -> Integral:
    """x^(n + 1)/(x^2 + a^2) J_n: a^n K_n."""
    n, a, k = random.choice([0.0, 1.0, 0.5, within(-0.8, 1.45)]), power(-1, 1), power(-1, 0.7)
    return Integral(f"x^({n!r}+1)/(x^2+{a!r}^2)", f"bessel:{n!r}", k, mpf(a) ** n * besselk(n, mpf(a) * k))


def hankel_root() -> Integral:
    """J_n/sqrt(x^2 + a^2): I_(n/2) K_(n/2)."""
    n, a, k = random.choice([0.0, 1.0, 2.0, within(0, 4)]), power(-1, 1), power(-1, 0.7)
    z = mpf(a) * k / 2
    return Integral(f"1/sqrt(x^2+{a!r}^2)", f"bessel:{n!r}", k, besseli(mpf(n) / 2, z) * besselk(mpf(n) / 2, z))


def hankel_quartic() -> Integral:
    """x/(x^4 + a^4) J_0: -kei/a^2."""
    a, k = power(-1, 1), power(-1, 0.7)
    return Integral(f"x/(x^4+{a!r}^4)", "bessel:0", k, -kei(0, mpf(a) * k) / mpf(a) ** 2)


def basset() -> Integral:
    """cos(w x)/(x^2 + a^2)^(n + 1/2): K_n."""
    n, a, w = within(-0.4, 3), power(-1, 1), power(-1, 0.7)
    value = sqrt(pi) / gamma(mpf(n) + 0.5) * (mpf(w) / (2 * mpf(a))) ** n * besselk(n, mpf(a) * w)
    return Integral(f"1/(x^2+{a!r}^2)^({n!r}+0.5)", "cos", w, value)


# Beats.


def beat_rational() -> Integral:
    """cos(k x)/(x^2 + p^2)."""
    k, w, p = power(-1, 1), power(-1, 1), mpf(1)
    a = power(-1, 0.7)
    p = mpf(a)
    value = pi / (4 * p) * (exp(-p * abs(mpf(k) + w)) + exp(-p * abs(mpf(k) - w)))
    return Integral(f"cos({k!r}*x)/(x^2+{a!r}^2)", "cos", w, value)


def beat_sinc() -> Integral:
    """(sin(k x)/x)^2."""
    k = power(-1, 1)
    w = 2 * k * within(0, 0.95)
    return Integral(f"(sin({k!r}*x)/x)^2", "cos", w, pi / 2 * (mpf(k) - mpf(w) / 2))


def beat_sines() -> Integral:
    """sin(a x) sin(b x)/x^2, and sin(a x) cos(b x)/x."""
    a, b = power(-1, 1), power(-1, 1)
    if random.random() < 0.5:
        return Integral(f"sin({a!r}*x)/x^2", "sin", b, pi / 2 * min(mpf(a), mpf(b)))
    a = b * (1 + power(-3, 1))
    return Integral(f"sin({a!r}*x)/x", "cos", b, pi / 2)


def beat_damped() -> Integral:
    """exp(-p x) sin^2(k x)."""
    k = power(-1, 1)
    of = lambda s: 1 / (2 * s) - s / (2 * (s**2 + 4 * mpf(k) ** 2))  # noqa: E731
    return transform(f"sin({k!r}*x)^2", of, power(-1.5, 1), power(-1, 1))


def beat_cube() -> Integral:
    """sin^3(k x)/x without an oscillator, and sin^3/x^3."""
    k = power(-1, 1)
    return random.choice([Integral(f"sin({k!r}*x)^3/x", "cos", 0.0, pi / 4), Integral(f"(sin({k!r}*x)/x)^3", "cos", 0.0, 3 * pi / 8 * mpf(k) ** 2)])


# Weber and Schafheitlin, Sonine and Gegenbauer.


def order() -> float:
    return random.choice([0.0, 1.0, 2.0, 0.5, within(0, 4)])


def schafheitlin() -> Integral:
    """J_m(a x) J_n(b x) x^-l, a < b."""
    m, n, b = order(), order(), power(-1, 1)
    a = b * within(0.1, 0.9)
    l = random.choice([0.0, 1.0 if m + n > 0.1 else 0.0, within(-0.8, min(m + n + 0.8, 2))])
    front = mpf(a) ** m * gamma((mpf(n) + m - l + 1) / 2) / (mpf(2) ** l * mpf(b) ** (mpf(m) - l + 1)) * rgamma((mpf(n) - m + l + 1) / 2) * rgamma(mpf(m) + 1)
    value = front * hyp2f1((mpf(m) + n - l + 1) / 2, (mpf(m) - n - l + 1) / 2, mpf(m) + 1, (mpf(a) / mpf(b)) ** 2)
    return Integral(f"x^(-({l!r}))*besselj({m!r},{a!r}*x)", f"bessel:{n!r}", b, value)


def schafheitlin_equal() -> Integral:
    """J_m(a x) J_n(a x) x^-l."""
    m, n, a = order(), order(), power(-1, 1)
    low = within(0.1, min(m + n + 0.9, 2.5))
    l, c = mpf(low), mpf(a)
    below = rgamma((l + n - m + 1) / 2) * rgamma((l + n + m + 1) / 2) * rgamma((l + m - n + 1) / 2)
    value = (c / 2) ** (l - 1) * gamma((mpf(m) + n - l + 1) / 2) * gamma(l) * below / 2
    return Integral(f"x^(-({low!r}))*besselj({m!r},{a!r}*x)", f"bessel:{n!r}", a, value)


def bessel_wave() -> Integral:
    """J_n(a x) with cosine or sine, b < a."""
    n, a = order(), power(-1, 1)
    b, oscillator = a * within(0.05, 0.95), wave() if n else "cos"
    angle = mpf(n) * asin(mpf(b) / a)
    return Integral(f"besselj({n!r},{a!r}*x)", oscillator, b, (cos(angle) if oscillator == "cos" else sin(angle)) / sqrt(mpf(a) ** 2 - mpf(b) ** 2))


def bessel_squared_damped() -> Integral:
    """exp(-p x) J_n(a x) J_n(b x): Legendre's Q."""
    n, a, b, p = random.choice([0.0, 1.0, within(0, 3)]), power(-0.7, 0.7), power(-0.7, 0.7), power(-1, 0.7)
    z = (mpf(p) ** 2 + mpf(a) ** 2 + mpf(b) ** 2) / (2 * mpf(a) * mpf(b))
    value = legenq(mpf(n) - mpf("0.5"), 0, z, type=3).real / (pi * sqrt(mpf(a) * mpf(b)))
    return Integral(f"exp(-{p!r}*x)*besselj({n!r},{a!r}*x)", f"bessel:{n!r}", b, value)


def bessel_pair_rational() -> Integral:
    """x/(x^2 + p^2) J_n(a x) J_n(b x): I_n K_n."""
    n, a, p = random.choice([0.0, 1.0, within(0, 3)]), power(-0.7, 0.7), power(-0.7, 0.5)
    b = a * within(1, 5)
    return Integral(f"x/(x^2+{p!r}^2)*besselj({n!r},{a!r}*x)", f"bessel:{n!r}", b, besseli(n, mpf(a) * p) * besselk(n, mpf(b) * p))


def sonine_gegenbauer() -> Integral:
    """J_n(a sqrt(x^2 + z^2)) (x^2 + z^2)^(-n/2) x^(m + 1) J_m(b x), n > m, a > b."""
    m, z, a = random.choice([0.0, 1.0, within(0, 2)]), power(-0.5, 0.5), power(-0.5, 0.5)
    n, b = m + within(0.6, 3), a * within(0.2, 0.9)
    root = sqrt(mpf(a) ** 2 - mpf(b) ** 2)
    value = mpf(b) ** m / mpf(a) ** n * (root / z) ** (mpf(n) - m - 1) * besselj(mpf(n) - m - 1, z * root)
    return Integral(f"besselj({n!r},{a!r}*sqrt(x^2+{z!r}^2))*(x^2+{z!r}^2)^(-{n!r}/2)*x^({m!r}+1)", f"bessel:{m!r}", b, value)


def gegenbauer_wave() -> Integral:
    """J_0(a sqrt(x^2 + z^2)) with the cosine, b < a."""
    z, a = power(-0.5, 0.5), power(-0.5, 0.5)
    b = a * within(0.1, 0.9)
    root = sqrt(mpf(a) ** 2 - mpf(b) ** 2)
    return Integral(f"J0({a!r}*sqrt(x^2+{z!r}^2))", "cos", b, cos(z * root) / root)


def sonine_sine() -> Integral:
    """sin(a sqrt(x^2 + z^2))/sqrt(x^2 + z^2) with the cosine, b < a."""
    z, a = power(-0.5, 0.5), power(-0.5, 0.5)
    b = a * within(0.1, 0.9)
    root = f"sqrt(x^2+{z!r}^2)"
    return Integral(f"sin({a!r}*{root})/{root}", "cos", b, pi / 2 * besselj(0, z * sqrt(mpf(a) ** 2 - mpf(b) ** 2)))


def sonine_cosine() -> Integral:
    """cos(a sqrt(x^2 + z^2))/sqrt(x^2 + z^2) with the cosine."""
    z, a = power(-0.5, 0.5), power(-0.5, 0.5)
    b, root = a * random.choice([within(0.1, 0.9), within(1.1, 3)]), f"sqrt(x^2+{z!r}^2)"
    square = mpf(a) ** 2 - mpf(b) ** 2
    value = -pi / 2 * bessely(0, z * sqrt(square)) if square > 0 else besselk(0, z * sqrt(-square))
    return Integral(f"cos({a!r}*{root})/{root}", "cos", b, value)


def sonine_bessel() -> Integral:
    """sin(a sqrt(x^2 + z^2))/sqrt(x^2 + z^2) x J_0(b x), a > b."""
    z, a = power(-0.5, 0.5), power(-0.5, 0.5)
    b, root = a * within(0.2, 0.9), f"sqrt(x^2+{z!r}^2)"
    below = sqrt(mpf(a) ** 2 - mpf(b) ** 2)
    return Integral(f"x*sin({a!r}*{root})/{root}", "bessel:0", b, cos(z * below) / below)


# Bessel functions with exponentials and powers.


def bessel_exponential() -> Integral:
    """exp(-p x) J_n."""
    n, p, b = order(), power(-1.5, 1), power(-1, 1)
    root = sqrt(mpf(p) ** 2 + mpf(b) ** 2)
    return Integral(f"exp(-{p!r}*x)", f"bessel:{n!r}", b, (root - p) ** n / (mpf(b) ** n * root))


def bessel_power_exponential() -> Integral:
    """x^m exp(-p x) J_n."""
    n, p, b = order(), power(-1, 1), power(-1, 1)
    m = within(max(-n - 0.9, -2), 2)
    square, t = mpf(p) ** 2 + mpf(b) ** 2, mpf(m) + n + 1
    front = (mpf(b) / 2) ** n * gamma(t) * rgamma(mpf(n) + 1) * square ** (-t / 2)
    return Integral(f"x^({m!r})*exp(-{p!r}*x)", f"bessel:{n!r}", b, front * hyp2f1(t / 2, (mpf(n) - m) / 2, mpf(n) + 1, mpf(b) ** 2 / square))


def bessel_gaussian() -> Integral:
    """x^(n + 1) exp(-p x^2) J_n."""
    n, p = order(), power(-1, 1)
    b = 3 * p**0.5 * within(0.1, 1)
    return Integral(f"x^({n!r}+1)*exp(-{p!r}*x^2)", f"bessel:{n!r}", b, mpf(b) ** n / (2 * mpf(p)) ** (mpf(n) + 1) * exp(-mpf(b) ** 2 / (4 * mpf(p))))


def bessel_power() -> Integral:
    """x^m J_n."""
    n, b = order(), power(-1, 1)
    m = within(max(-n - 0.9, -1.5), 0.45)
    value = mpf(2) ** m * mpf(b) ** (-mpf(m) - 1) * gamma((1 + mpf(n) + m) / 2) * rgamma((1 + mpf(n) - m) / 2)
    return Integral(f"x^({m!r})", f"bessel:{n!r}", b, value)


def bessel_log() -> Integral:
    """x^m ln x J_n."""
    n, b = order(), power(-1, 1)
    m = within(max(-n - 0.8, -1.5), 0.3)
    u, v = (1 + mpf(n) + m) / 2, (1 + mpf(n) - m) / 2
    value = mpf(2) ** m * mpf(b) ** (-mpf(m) - 1) * gamma(u) * rgamma(v)
    return Integral(f"x^({m!r})*ln(x)", f"bessel:{n!r}", b, value * (log(2 / mpf(b)) + (psi(0, u) + psi(0, v)) / 2))


def sommerfeld() -> Integral:
    """x exp(-z sqrt(x^2 + k^2))/sqrt(x^2 + k^2) J_0."""
    z, k, b = random.choice([0.0, power(-1, 0.7)]), power(-1, 0.5), power(-1, 0.5)
    r, root = sqrt(mpf(z) ** 2 + mpf(b) ** 2), f"sqrt(x^2+{k!r}^2)"
    return Integral(f"x*exp(-{z!r}*{root})/{root}", "bessel:0", b, exp(-mpf(k) * r) / r)


# Error functions and other special functions.


def error_function() -> Integral:
    """erfc(p x)."""
    p, w, oscillator = power(-1, 1), power(-1, 1), wave()
    z = mpf(w) / (2 * mpf(p))
    value = exp(-(z**2)) * mp.erfi(z) / w if oscillator == "cos" else -mp.expm1(-(z**2)) / w
    return Integral(f"erfc({p!r}*x)", oscillator, w, value)


def error_function_root() -> Integral:
    """erfc(k sqrt x), and exp(x) erfc(sqrt x)."""
    k = power(-1, 1)
    if random.random() < 0.5:
        return transform("exp(x)*erfc(sqrt(x))", lambda s: 1 / (sqrt(s) * (sqrt(s) + 1)), 0.0, power(-1, 1))
    return transform(f"erfc({k!r}*sqrt(x))", lambda s: (1 - mpf(k) / sqrt(s + mpf(k) ** 2)) / s, random.choice([0.0, power(-1, 0.5)]), power(-1, 1))


def macdonald() -> Integral:
    """K_0(a x), and with the frequency 0 x^m K_n."""
    a, w = power(-1, 1), power(-1, 1)
    if random.random() < 0.5:
        return Integral(f"besselk(0,{a!r}*x)", "cos", w, pi / (2 * sqrt(mpf(a) ** 2 + mpf(w) ** 2)))
    return Integral(f"besselk(0,{a!r}*x)", "sin", w, mp.asinh(mpf(w) / a) / sqrt(mpf(a) ** 2 + mpf(w) ** 2))


def macdonald_bessel() -> Integral:
    """x^(n + 1) K_0(a x) J_n(b x)."""
    n, a, b = random.choice([0.0, 1.0, within(0, 2)]), power(-1, 1), power(-1, 1)
    value = (2 * mpf(b)) ** n * gamma(mpf(n) + 1) / (mpf(a) ** 2 + mpf(b) ** 2) ** (mpf(n) + 1)
    return Integral(f"x^({n!r}+1)*besselk(0,{a!r}*x)", f"bessel:{n!r}", b, value)


def gaussian_wave() -> Integral:
    """exp(-p x^2) and x exp(-p x^2)."""
    p = power(-1, 1)
    w = p**0.5 * power(-1, 0.6)
    value = exp(-(mpf(w) ** 2) / (4 * mpf(p))) * sqrt(pi / mpf(p)) / 2
    return random.choice([Integral(f"exp(-{p!r}*x^2)", "cos", w, value), Integral(f"x*exp(-{p!r}*x^2)", "sin", w, value * w / (2 * mpf(p)))])


def fermi_bose() -> Integral:
    """1/(exp(k x) + 1), x/(exp(k x) - 1) and 1/cosh(k x)."""
    k, w = power(-0.7, 0.7), power(-0.7, 0.5)
    v = mpf(w) / k
    return random.choice(
        [
            Integral(f"1/(exp({k!r}*x)+1)", "sin", w, (1 / (2 * v) - pi / (2 * sinh(pi * v))) / k),
            Integral(f"x/(exp({k!r}*x)-1)", "cos", w, (1 / (2 * v**2) - pi**2 / (2 * sinh(pi * v) ** 2)) / mpf(k) ** 2),
            Integral(f"1/cosh({k!r}*x)", "cos", w, pi / (2 * k * mp.cosh(pi * v / 2))),
        ]
    )


def frullani() -> Integral:
    """(exp(-p x) - exp(-q x))/x."""
    p, q = power(-1, 1), power(-1, 1)
    return transform(f"(exp(-{p!r}*x)-exp(-{q!r}*x))/x", lambda s: log((s + q) / (s + p)), 0.0, power(-1, 1))


def neumann() -> Integral:
    """Y_0(a x) with the cosine, b > a."""
    a = power(-1, 1)
    b = a * within(1.1, 4)
    return Integral(f"bessely(0,{a!r}*x)", "cos", b, -1 / sqrt(mpf(b) ** 2 - mpf(a) ** 2))
