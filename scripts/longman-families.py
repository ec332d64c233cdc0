#!/usr/bin/env python3
"""Random integrals of 74 families with closed forms: a table of docs/longman.md.

    pip install mpmath
    python3 scripts/longman-families.py [path of rarefy] [integrals of each family]

Each integral is one run of `rarefy longman`. Families whose names begin with `divergent` have no value.
"""

import random
from collections.abc import Callable
from types import ModuleType

import longman_families_bessel
import longman_families_places
from longman_campaign import Integral, campaign, power, within
from longman_families_places import wave
from mpmath import mp

mp.dps = 30
TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-10)


# Divergent counterparts.


def divergent_places() -> Integral:
    """Singularities that have no integral, at zeros of any function."""
    c, q = power(-0.5, 0.5), random.choice([1.0, 1 + power(-5, 0), 2.0])
    inner = random.choice([f"x^2-{c!r}", f"x^3-{c!r}", f"exp(x)-{1 + c!r}", f"exp(-x)-{c!r}*x", "ln(x)", f"x*(x+1)-{c!r}", "cos(x)-0.3", f"x-{c!r}*cos(x)"])
    text = random.choice([f"abs({inner})^(-{q!r})*exp(-x)", f"exp(-x)/({inner})", f"1/({inner})^2*exp(-2*x)", f"ln(abs({inner}))/abs({inner})*exp(-x)"])
    return Integral(text, random.choice(["cos", "sin", "bessel:0"]), power(-1, 1), None)


def divergent_double() -> Integral:
    """Simple singularities at double zeros, and of two factors."""
    c, q = power(-0.5, 0.5), within(0.5, 0.9)
    text = random.choice([f"abs(x^2-{2 * c!r}*x+{c!r}*{c!r})^(-{q!r})", f"abs(x-{c!r})^(-{q!r})*abs(x^2-{c!r}*{c!r})^(-{q!r})", f"abs(ln(x/{c!r}))^(-{q!r})*abs(x-{c!r})^(-{q!r})"])
    return Integral(text + "*exp(-x)", wave(), power(-1, 1), None)


def divergent_tails() -> Integral:
    """Resonances and growing amplitudes."""
    a, z, n = power(-0.5, 0.5), power(-0.5, 0.5), random.choice([0.0, 1.0])
    root = f"sqrt(x^2+{z!r}^2)"
    return random.choice(
        [
            Integral(f"cos({a!r}*{root})/{root}", "cos", a, None),
            Integral(f"J0({a!r}*{root})", "bessel:0", a, None),
            Integral(f"J0({a!r}*{root})*x", "cos", a / 2, None),
            Integral(f"cos({a!r}*{root})", "cos", a / 2, None),
            Integral(f"x*besselj({n!r},{a!r}*x)", f"bessel:{n!r}", 2 * a, None),
            Integral(f"1/(x+{z!r})", "cos", 0.0, None),
        ]
    )


def divergent_ends() -> Integral:
    """Powers at 0 that have no integral."""
    q, a = random.choice([1.0, 1 + power(-5, 0)]), power(-0.5, 0.5)
    return random.choice([Integral(f"x^(-{q!r})*exp(-x)", "cos", a, None), Integral(f"x^(-{q!r})*ln(x)*exp(-x)", "cos", a, None), Integral(f"x^(-{1 + q!r})", "bessel:0", a, None)])


def families(module: ModuleType) -> list[Callable[[], Integral]]:
    """The functions of a module that draw an integral, in their order."""
    own = [f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__ and callable(f)]
    return [f for f in own if f.__annotations__.get("return") is Integral and f.__code__.co_argcount == 0]


if __name__ == "__main__":
    divergent = (divergent_places, divergent_double, divergent_tails, divergent_ends)
    campaign([*families(longman_families_places), *families(longman_families_bessel), *divergent], TOLERANCES, 22)
