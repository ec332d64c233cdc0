#!/usr/bin/env python3
"""Writes random_cases.json: integrals with random parameters and closed forms, evaluated at 40 digits (needs mpmath).

Parameters are binary doubles; `exact` is null where the integral diverges or the input is invalid, so that any status but OK is right.

    random_cases.py [SEED FILE]     other integrals of the same kinds, for a look at what was never tuned on
"""
import json
import random
import sys

from mpmath import besselk, exp, gamma, hyp2f1, mp, mpf, pi, sin, sqrt, gammainc, expj, cos

mp.dps = 40
random.seed(int(sys.argv[1]) if len(sys.argv) > 1 else 20090611)
cases = []


def logu(low, high):
    return 10 ** random.uniform(low, high)


def add(family, oscillator, parameters, a, exact):
    parameters = {k: float(v) for k, v in parameters.items()}
    cases.append(
        dict(family=family, oscillator=oscillator, params=parameters, a=float(a), exact=None if exact is None else mp.nstr(exact, 25))
    )


def m(*values):
    return [mpf(float(v)) for v in values]


for _ in range(40):
    l, w = logu(-4, 1), logu(-2, 3)
    L, W = m(l, w)
    add("exp(-l*x)", "cos", dict(l=l, w=w), 0, L / (L * L + W * W))
    add("exp(-l*x)", "sin", dict(l=l, w=w), 0, W / (L * L + W * W))
    a = random.uniform(0, 20) / l if random.random() < 0.3 else logu(-2, 1)
    A = mpf(float(a))
    tail = exp(-L * A) * expj(W * A) / (L - 1j * W)
    add("exp(-l*x)", "cos", dict(l=l, w=w), a, tail.real)
    add("exp(-l*x)", "sin", dict(l=l, w=w), a, tail.imag)
for _ in range(40):
    p, w = random.uniform(0.02, 0.98), logu(-2, 3)
    P, W = m(p, w)
    add("x^(-p)", "cos", dict(p=p, w=w), 0, gamma(1 - P) * sin(pi * P / 2) * W ** (P - 1))
    add("x^(-p)", "sin", dict(p=p, w=w), 0, gamma(1 - P) * cos(pi * P / 2) * W ** (P - 1))
    p, a = random.uniform(0.05, 2), logu(-1, 2)
    P, A = m(p, a)
    tail = (-1j * W) ** (P - 1) * gammainc(1 - P, -1j * W * A)
    add("x^(-p)", "cos", dict(p=p, w=w), a, tail.real)
    add("x^(-p)", "sin", dict(p=p, w=w), a, tail.imag)
for _ in range(50):
    nu, l, b = random.choice([0, 1, 2, 5, 20, random.uniform(0, 20), random.uniform(-0.5, 3)]), logu(-3, 1), logu(-1, 2)
    mu = random.choice([0, 1, 0.5, random.uniform(-0.4, 2)])
    if nu + mu <= -0.9:
        continue
    N, M, L, B = m(nu, mu, l, b)
    R = sqrt(L * L + B * B)
    exact = (B / 2) ** N * gamma(N + M + 1) / gamma(N + 1) * R ** -(N + M + 1)
    exact *= hyp2f1((N + M + 1) / 2, (N - M) / 2, N + 1, B * B / (R * R))
    add("x^mu*exp(-l*x)", "bessel", dict(nu=nu, mu=mu, l=l, w=b), 0, exact)
    mu = random.uniform(max(-0.9 - nu, -1), 0.45)
    M = mpf(float(mu))
    exact = 2**M * gamma((1 + N + M) / 2) / gamma((1 + N - M) / 2) * B ** -(M + 1)
    add("x^mu*exp(-l*x)", "bessel", dict(nu=nu, mu=mu, l=0, w=b), 0, exact)
for _ in range(30):
    k, rho, z = logu(-1, 1), logu(-1, 1), random.choice([0, logu(-2, 1)])
    K, RHO, Z = m(k, rho, z)
    R = sqrt(RHO * RHO + Z * Z)
    add("x/sqrt(x^2+k^2)*exp(-sqrt(x^2+k^2)*z)", "bessel", dict(nu=0, k=k, w=rho, z=z), 0, exp(-K * R) / R)
    p, w = logu(-1, 1), logu(-1, 1)
    P, W = m(p, w)
    add("x/(x^2+p^2)", "bessel", dict(nu=0, p=p, w=w), 0, besselk(0, P * W))
    add("1/(x^2+p^2)", "cos", dict(p=p, w=w), 0, pi * exp(-P * W) / (2 * P))
    add("x/(x^2+p^2)", "sin", dict(p=p, w=w), 0, pi * exp(-P * W) / 2)
    add("x*exp(-p*x^2)", "bessel", dict(nu=0, p=p, w=w), 0, exp(-W * W / (4 * P)) / (2 * P))
# What has no value.
for _ in range(10):
    w, nu, c = logu(-1, 2), random.uniform(0, 20), logu(-3, 1)
    for oscillator in ["cos", "sin"]:
        add("c", oscillator, dict(w=w, c=c), 0, None)
        add("exp(c*x)", oscillator, dict(w=w, c=c / 100), 0, None)
        add("x^c", oscillator, dict(w=w, c=c), 0, None)
        add("c+exp(-x)", oscillator, dict(w=w, c=c), 0, None)
        add("c+1/(1+x)", oscillator, dict(w=w, c=c), 0, None)
        add("1-exp(-c*x)", oscillator, dict(w=w, c=c), 0, None)
        add("1/(x-c)", oscillator, dict(w=w, c=c), 0, None)
        add("1/(x-c)^2", oscillator, dict(w=w, c=c), 0, None)
        add("sqrt(c-x)", oscillator, dict(w=w, c=c), 0, None)
    add("sqrt(x)", "bessel", dict(nu=nu, w=w), 0, None)
    add("x^(0.5+c)", "bessel", dict(nu=nu, w=w, c=c), 0, None)
    add("sin(w*x)", "sin", dict(w=w), 0, None)
    add("1/(1+x)*sign(sin(w*x))", "sin", dict(w=w), 0, None)
    add("1/(1+x)*sign(cos(w*x))", "cos", dict(w=w), 0, None)
    add("exp(-x)", "cos", dict(w=-w), 0, None)
    add("exp(-x)", "sin", dict(w=0), 0, None)
    add("0/0*x", "cos", dict(w=w), 0, None)
with open(sys.argv[2] if len(sys.argv) > 2 else __file__.replace(".py", ".json"), "w") as out:
    out.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(len(cases))
