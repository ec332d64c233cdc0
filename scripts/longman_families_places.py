"""Families of random integrals with algebraic and logarithmic ends, singularities, kinks and steps: amplitudes times a cosine or sine.

Truths are closed forms: NIST Digital Library of Mathematical Functions, chapters 5 to 8, 13 and 15, and Laplace transforms.
"""

import random
from collections.abc import Callable

from longman_campaign import Integral, power, within
from mpmath import besselj, bessely, beta, cos, e1, euler, exp, gamma, gammainc, hyp1f1, hyp2f1, lambertw, log, mp, mpc, mpf, pi, psi, sin, sqrt

INFINITY = float("inf")


def wave() -> str:
    return random.choice(["cos", "sin"])


def part(oscillator: str, value: mpc) -> mpf:
    value = mpc(value)
    return value.real if oscillator == "cos" else value.imag


def damped(rate: float) -> str:
    return f"*exp(-{rate!r}*x)" if rate else ""


def transform(text: str, of: Callable[[mpc], mpc], rate: float, w: float, lower: float = 0.0, upper: float = INFINITY) -> Integral:
    """The integral of f exp(-rate x) times a cosine or sine, where `of` is that of f exp(-s x)."""
    oscillator = wave()
    return Integral(text + damped(rate), oscillator, w, part(oscillator, of(mpc(rate, -w))), lower, upper)


def monomials(s: mpc, r: mpf, n: int) -> list[mpc]:
    """Integrals of x^k exp(-s x) from 0 to r, k up to n."""
    return [gammainc(k + 1, 0, s * r) / s ** (k + 1) for k in range(n + 1)]


def log_at(z: mpc, s: mpc) -> mpc:
    """The integral of ln(x - z) exp(-s x) from 0 on, z no positive number."""
    return (log(-z) + shifted(z, s)) / s


def shifted(z: mpc, s: mpc) -> mpc:
    """The integral of exp(-s x)/(x - z) from 0 on."""
    turn = mp.arg(-z) + mp.arg(s)
    more = 2j * pi if turn < -pi else (-2j * pi if turn > pi else 0)
    return exp(-s * z) * (e1(-s * z) + more)


def log_inside(c: mpf, s: mpc) -> mpc:
    """The integral of ln|x - c| exp(-s x) from 0 on."""
    above = -exp(-s * c) * (euler + log(s)) / s
    ein = e1(-s * c) + log(-s * c) + euler
    return above + (log(c) * (1 - exp(-s * c)) + exp(-s * c) * ein) / s


# Algebraic and logarithmic ends.


def power_end() -> Integral:
    """x^-q."""
    q, w = within(0.02, 0.98), power(-2, 2)
    return transform(f"x^(-{q!r})", lambda s: gamma(1 - mpf(q)) * s ** (mpf(q) - 1), 0.0, w)


def damped_power_end() -> Integral:
    """x^-q exp(-p x)."""
    q = random.choice([within(-3, 0.98), 0.5, 0.9])
    return transform(f"x^(-({q!r}))", lambda s: gamma(1 - mpf(q)) * s ** (mpf(q) - 1), power(-1.5, 1), power(-1, 1))


def log_end() -> Integral:
    """x^-q ln x."""
    q = random.choice([within(0.05, 0.95), 0.5])
    of = lambda s: gamma(1 - mpf(q)) * s ** (mpf(q) - 1) * (psi(0, 1 - mpf(q)) - log(s))  # noqa: E731
    return transform(random.choice([f"x^(-{q!r})*ln(x)", f"ln(x)/x^{q!r}"]), of, 0.0, power(-1, 1.5))


def damped_log_end() -> Integral:
    """x^-q ln x exp(-p x)."""
    q = random.choice([within(-2, 0.95), 0.0, 0.5])
    of = lambda s: gamma(1 - mpf(q)) * s ** (mpf(q) - 1) * (psi(0, 1 - mpf(q)) - log(s))  # noqa: E731
    return transform(f"x^(-({q!r}))*ln(x)", of, power(-1, 1), power(-1, 1))


def log_square_end() -> Integral:
    """x^-q ln^2 x exp(-p x)."""
    q = random.choice([within(-1, 0.9), 0.0, 0.5])
    of = lambda s: gamma(1 - mpf(q)) * s ** (mpf(q) - 1) * ((psi(0, 1 - mpf(q)) - log(s)) ** 2 + psi(1, 1 - mpf(q)))  # noqa: E731
    return transform(f"x^(-({q!r}))*ln(x)^2", of, power(-1, 1), power(-1, 1))


def beta_ends() -> Integral:
    """x^(a - 1) (1 - x)^(b - 1) up to 1."""
    a, b, w = within(0.05, 3), within(0.05, 3), power(-1, 2)
    of = lambda s: beta(a, b) * hyp1f1(a, mpf(a) + b, -s)  # noqa: E731
    return transform(f"x^({a!r}-1)*(1-x)^({b!r}-1)", of, 0.0, w, 0.0, 1.0)


def log_finite() -> Integral:
    """ln x, or ln(1 - x), up to 1."""
    near = lambda s: -(e1(s) + log(s) + euler) / s  # noqa: E731
    if random.random() < 0.5:
        return transform("ln(x)", near, 0.0, power(-1, 2), 0.0, 1.0)
    return transform("ln(1-x)", lambda s: exp(-s) * near(-s), 0.0, power(-1, 2), 0.0, 1.0)


def algebraic_tail() -> Integral:
    """(x + a)^-r."""
    r, a = within(0.05, 4), power(-2, 1.5)
    of = lambda s: exp(s * a) * s ** (mpf(r) - 1) * gammainc(1 - mpf(r), s * a)  # noqa: E731
    return transform(f"(x+{a!r})^(-{r!r})", of, 0.0, power(-1, 1))


def power_over_pole() -> Integral:
    """x^(r - 1)/(x + a)."""
    r, a = within(0.03, 1.8), power(-2, 1.5)
    of = lambda s: gamma(r) * mpf(a) ** (mpf(r) - 1) * exp(s * a) * gammainc(1 - mpf(r), s * a)  # noqa: E731
    return transform(f"x^({r!r}-1)/(x+{a!r})", of, 0.0, power(-1, 1))


def log_ratio() -> Integral:
    """ln(1 + a^2/x^2) and ln((x^2 + a^2)/(x^2 + b^2))."""
    a, b, w = power(-1, 1), power(-1, 1), power(-1, 1)
    v = mpf(w)
    if random.random() < 0.5:
        return Integral(f"ln(1+{a!r}^2/x^2)", "cos", w, pi * (1 - exp(-a * v)) / v)
    return Integral(f"ln((x^2+{a!r}^2)/(x^2+{b!r}^2))", "cos", w, pi * (exp(-b * v) - exp(-a * v)) / v)


def log_over_rational() -> Integral:
    """ln(x)/(x^2 + a^2) without an oscillator, and with the frequency 0."""
    a, r = power(-1, 1), within(0.1, 1.7)
    if random.random() < 0.5:
        return Integral(f"ln(x)/(x^2+{a!r}^2)", "cos", 0.0, pi * log(mpf(a)) / (2 * mpf(a)))
    return Integral(f"x^({r!r}-1)/(x^2+{a!r}^2)", "cos", 0.0, pi * mpf(a) ** (mpf(r) - 2) / (2 * sin(pi * mpf(r) / 2)))


def inverse_tangent() -> Integral:
    """atan(a/x) with the sine."""
    a, w = power(-1, 1), power(-1, 1)
    return Integral(f"atan({a!r}/x)", "sin", w, pi * (1 - exp(-mpf(a) * w)) / (2 * mpf(w)))


# Singularities inside the range.


def singular_line() -> Integral:
    """|k x - m|^-q exp(-p x)."""
    q, k, m = random.choice([within(0.05, 0.95), 0.5]), power(-1, 1), power(-1, 1)

    def of(s: mpc) -> mpc:
        a, c = 1 - mpf(q), mpf(m) / mpf(k)
        return mpf(k) ** -mpf(q) * exp(-s * c) * (s**-a * gamma(a) + c**a / a * hyp1f1(a, a + 1, s * c))

    return transform(f"abs({k!r}*x-{m!r})^(-{q!r})", of, power(-1, 0.5), power(-1, 1))


def log_line() -> Integral:
    """ln|x - c| exp(-p x)."""
    c = power(-1, 1)
    return transform(f"ln(abs(x-{c!r}))", lambda s: log_inside(mpf(c), s), power(-1, 0.5), power(-1, 1))


def singular_square() -> Integral:
    """|x^2 - c|^-q: Mehler and Sonine."""
    m, w, c = within(-0.45, 0.45), power(-1, 1.3), random.choice([2.0, 3.0, power(-1, 1)])
    a, n = sqrt(mpf(c)), mpf(m)
    front = sqrt(pi) * gamma(n + 0.5) / (2 * (w * a / 2) ** n) * a ** (2 * n)
    return Integral(f"abs(x^2-{c!r})^({m!r}-0.5)", "cos", w, front * (besselj(n, w * a) - bessely(-n, w * a)))


def log_quadratic() -> Integral:
    """ln|x^2 - b x + c| exp(-p x), with zeros or without."""
    b, c = power(-0.5, 0.7), power(-0.5, 0.7)
    root = sqrt(mpc(mpf(b) ** 2 - 4 * mpf(c)))

    def of(s: mpc) -> mpc:
        ends = [(b + root) / 2, (b - root) / 2]
        return sum(log_inside(z.real, s) if z.imag == 0 and z.real > 0 else log_at(z, s) for z in ends)

    return transform(f"ln(abs(x^2-{b!r}*x+{c!r}))", of, power(-1, 0.5), power(-1, 1))


def log_cubic() -> Integral:
    """ln|x^3 - c| exp(-p x)."""
    c = power(-1, 1)
    r = mp.cbrt(mpf(c))
    z = r * mp.expjpi(mpf(2) / 3)
    of = lambda s: log_inside(r, s) + log_at(z, s) + log_at(mp.conj(z), s)  # noqa: E731
    return transform(f"ln(abs(x^3-{c!r}))", of, power(-1, 0.5), power(-1, 1))


def singular_exponential() -> Integral:
    """|exp(x) - c|^-q."""
    q, c = random.choice([0.5, within(0.1, 0.9)]), 1 + power(-1, 1)

    def of(s: mpc) -> mpc:
        b, u, e = s + q, 1 - 1 / mpf(c), mpf(q)
        return mpf(c) ** -b * beta(b, 1 - e) + u * (mpf(c) - 1) ** -e / (1 - e) * hyp2f1(1 - b, 1, 2 - e, u)

    return transform(f"abs(exp(x)-{c!r})^(-{q!r})", of, random.choice([0.0, power(-1, 0.3)]), power(-1, 0.7))


def log_exponential() -> Integral:
    """ln|exp(x) - c| exp(-p x)."""
    c = 1 + power(-0.5, 0.7)

    def of(s: mpc) -> mpc:
        m = mpf(c)
        principal = m**-s * pi * mp.cot(pi * s) + hyp2f1(1, 1 - s, 2 - s, 1 / m) / (m * (1 - s))
        return (log(m - 1) + principal) / s

    return transform(f"ln(abs(exp(x)-{c!r}))", of, within(0.5, 2), power(-1, 0.5))


def log_of_log() -> Integral:
    """|ln x|^-q up to 1 and from 1 on, times a power: no oscillator."""
    q, r = within(0.05, 0.9), within(0.3, 3)
    value = gamma(1 - mpf(q)) * mpf(r) ** (mpf(q) - 1)
    if random.random() < 0.5:
        return Integral(f"abs(ln(x))^(-{q!r})*x^({r!r}-1)", "cos", 0.0, value, 0.0, 1.0)
    return Integral(f"abs(ln(x))^(-{q!r})*x^(-{1 + r!r})", "cos", 0.0, gamma(1 - mpf(q)) * (mpf(1 + r) - 1) ** (mpf(q) - 1), 1.0)


def narrow_peak() -> Integral:
    """1/((x - c)^2 + d^2) exp(-p x), d small: near a place."""
    c, d = within(0.3, 3), power(-5, 0)
    z = mpc(c, d)
    of = lambda s: (shifted(z, s) - shifted(mp.conj(z), s)) / (2j * mpf(d))  # noqa: E731
    return transform(f"1/((x-{c!r})^2+{d!r}^2)", of, power(-1, 0.5), power(-1, 1))


def singular_cosine() -> Integral:
    """|cos(x) - c|^-q with the sine, up to pi."""
    q, c = random.choice([0.5, within(0.05, 0.9)]), within(-0.9, 0.9)
    a, m = 1 - mpf(q), mpf(c)
    up, down = (1 - m) ** a / a, (1 + m) ** a / a
    return Integral(f"abs(cos(x)-{c!r})^(-{q!r})", "sin", 1.0, up + down, 0.0, 3.141592653589793)


def singular_tanh() -> Integral:
    """|tanh(k x) - c|^-q/cosh^2(k x), without an oscillator."""
    q, c, k = random.choice([0.5, within(0.05, 0.9)]), within(0.1, 0.9), power(-1, 1)
    a, m = 1 - mpf(q), mpf(c)
    return Integral(f"abs(tanh({k!r}*x)-{c!r})^(-{q!r})/cosh({k!r}*x)^2", "cos", 0.0, (m**a + (1 - m) ** a) / (a * k))


def singular_quartic() -> Integral:
    """4 x^3 |x^4 - c|^-q up to a limit, without an oscillator."""
    q, c, end = random.choice([0.5, within(0.05, 0.9)]), power(-1, 1), within(2, 4)
    a, m = 1 - mpf(q), mpf(c)
    return Integral(f"4*x^3*abs(x^4-{c!r})^(-{q!r})", "cos", 0.0, (m**a + (mpf(end) ** 4 - m) ** a) / a, 0.0, end)


def singular_double() -> Integral:
    """Double and triple zeros: |x^2 - 2 c x + c^2|^-(q/2), ((x - c)^3)^-(q/3)."""
    q, c = within(0.05, 0.9), random.randrange(3, 40) / 8

    def of(s: mpc) -> mpc:
        a = 1 - mpf(q)
        return exp(-s * c) * (s**-a * gamma(a) + mpf(c) ** a / a * hyp1f1(a, a + 1, s * c))

    text = random.choice([f"abs(x^2-{2 * c!r}*x+{c * c!r})^(-{q!r}/2)", f"abs((x-{c!r})*(x-{c!r})*(x-{c!r}))^(-{q!r}/3)"])
    return transform(text, of, power(-1, 0.5), power(-1, 1))


def far_place() -> Integral:
    """|x - c|^-q and max(0, c - x) far out, at large and small scales."""
    unit = power(-12, 12)
    q, c, w = within(0.1, 0.9), unit * power(1, 3), 1 / unit
    a, m = 1 - mpf(q), mpf(c)
    if random.random() < 0.4:
        return transform(f"max(0,{c!r}-x)", lambda s: m * monomials(s, m, 1)[0] - monomials(s, m, 1)[1], 0.0, w)
    of = lambda s: exp(-s * m) * (s**-a * gamma(a) + m**a / a * hyp1f1(a, a + 1, s * m))  # noqa: E731
    return transform(f"abs(x-{c!r})^(-{q!r})", of, random.choice([0.0, w * power(-2, 0)]), w)


def far_zero() -> Integral:
    """|exp(k x) - c|^-q with zeros at small and large scales."""
    k, q, c = power(-6, 6), within(0.1, 0.9), 1 + power(-1, 3)

    def of(s: mpc) -> mpc:
        b, u, e = s / k + q, 1 - 1 / mpf(c), mpf(q)
        return (mpf(c) ** -b * beta(b, 1 - e) + u * (mpf(c) - 1) ** -e / (1 - e) * hyp2f1(1 - b, 1, 2 - e, u)) / k

    return transform(f"abs(exp({k!r}*x)-{c!r})^(-{q!r})", of, 0.0, k * power(-1, 0.7))


# Kinks and steps.


def hat() -> Integral:
    """max(0, c - x)."""
    c = power(-1, 1)
    of = lambda s: c * monomials(s, mpf(c), 1)[0] - monomials(s, mpf(c), 1)[1]  # noqa: E731
    return transform(random.choice([f"max(0,{c!r}-x)", f"({c!r}-x+abs({c!r}-x))/2"]), of, random.choice([0.0, power(-1, 0.5)]), power(-1, 1))


def parabola() -> Integral:
    """max(c - x^2, 0)."""
    c = random.choice([1.0, 2.0, power(-1, 1)])

    def of(s: mpc) -> mpc:
        m = monomials(s, sqrt(mpf(c)), 2)
        return c * m[0] - m[2]

    return transform(f"max({c!r}-x^2,0)", of, random.choice([0.0, power(-1, 0.5)]), power(-1, 1))


def kink_square() -> Integral:
    """|x^2 - c| exp(-p x)."""
    c = random.choice([2.0, power(-1, 1)])

    def of(s: mpc) -> mpc:
        m = monomials(s, sqrt(mpf(c)), 2)
        return 2 / s**3 - c / s + 2 * (c * m[0] - m[2])

    return transform(f"abs(x^2-{c!r})", of, power(-1, 0.7), power(-1, 1))


def kink_cubic() -> Integral:
    """max(c - x^3, 0), and with x^3 + b x."""
    c, b = power(-1, 1), random.choice([0.0, power(-1, 0.5)])
    disc = sqrt((mpf(c) / 2) ** 2 + (mpf(b) / 3) ** 3)
    r = mp.cbrt(mpf(c) / 2 + disc) - mp.cbrt(disc - mpf(c) / 2)

    def of(s: mpc) -> mpc:
        m = monomials(s, r, 3)
        return c * m[0] - m[3] - b * m[1]

    middle = f"-{b!r}*x" if b else ""
    return transform(f"max({c!r}-x^3{middle},0)", of, 0.0, power(-1, 1))


def kink_exponential() -> Integral:
    """max(exp(-k x) - c, 0)."""
    k, c = power(-1, 1), within(0.05, 0.95)
    r = -log(mpf(c)) / k
    of = lambda s: monomials(s + k, r, 0)[0] - c * monomials(s, r, 0)[0]  # noqa: E731
    return transform(f"max(exp(-{k!r}*x)-{c!r},0)", of, 0.0, power(-1, 1))


def kink_lambert() -> Integral:
    """|exp(-x) - c x| exp(-p x)."""
    c = power(-1, 1)
    r = lambertw(1 / mpf(c)).real

    def of(s: mpc) -> mpc:
        whole = 1 / (s + 1) - c / s**2
        return 2 * (monomials(s + 1, r, 0)[0] - c * monomials(s, r, 1)[1]) - whole

    return transform(f"abs(exp(-x)-{c!r}*x)", of, power(-0.5, 0.7), power(-1, 1))


def clipped() -> Integral:
    """min(c, exp(-k x))."""
    k, c = power(-1, 1), within(0.05, 0.95)
    r = -log(mpf(c)) / k
    of = lambda s: 1 / (s + k) - monomials(s + k, r, 0)[0] + c * monomials(s, r, 0)[0]  # noqa: E731
    return transform(f"min({c!r},exp(-{k!r}*x))", of, 0.0, power(-1, 1))


def clipped_power() -> Integral:
    """min(1, (x/c)^-r)."""
    r, c = random.choice([0.5, 1.0, 2.0, within(0.3, 3)]), power(-0.5, 0.7)
    of = lambda s: monomials(s, mpf(c), 0)[0] + mpf(c) ** r * s ** (mpf(r) - 1) * gammainc(1 - mpf(r), s * c)  # noqa: E731
    return transform(f"min(1,(x/{c!r})^(-{r!r}))", of, 0.0, power(-1, 1))


def kink_log() -> Integral:
    """|ln x| exp(-p x)."""
    of = lambda s: -(euler + log(s)) / s + 2 * (e1(s) + log(s) + euler) / s  # noqa: E731
    return transform("abs(ln(x))", of, power(-1, 0.7), power(-1, 1))


def semicircle() -> Integral:
    """sqrt(max(0, c - x^2))."""
    c, w = power(-1, 1), power(-1, 1.3)
    a = sqrt(mpf(c))
    return Integral(f"sqrt(max(0,{c!r}-x^2))", "cos", w, pi * a * besselj(1, w * a) / (2 * mpf(w)))


def staircase() -> Integral:
    """floor(x/c) exp(-p x)."""
    c = power(-0.5, 0.7)
    return transform(f"floor(x/{c!r})", lambda s: exp(-s * c) / (s * (1 - exp(-s * c))), power(-0.5, 0.7), power(-1, 1))


def rectified() -> Integral:
    """|sin k x| exp(-p x): infinitely many kinks."""
    k = power(-0.5, 0.7)
    of = lambda s: k * mp.coth(pi * s / (2 * mpf(k))) / (s**2 + mpf(k) ** 2)  # noqa: E731
    return transform(f"abs(sin({k!r}*x))", of, power(-0.5, 0.5), power(-1, 0.7))


def step_sign() -> Integral:
    """sign(x^2 - c) exp(-p x)."""
    c = power(-1, 1)
    return transform(f"sign(x^2-{c!r})", lambda s: (2 * exp(-s * sqrt(mpf(c))) - 1) / s, power(-1, 0.7), power(-1, 1))
