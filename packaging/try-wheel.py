"""Tries an installed package `rarefy` on the CPU: an exact sum, an integral to infinity, a relaxation by the collision integral."""

import math

import rarefy

assert rarefy.sum([1e100, 1.0, -1e100]) == 1.0

# The integral of x J0(x) / (x^2 + 1) is the modified Bessel function K0(1).
integral = rarefy.longman("x/(x^2+p^2)", "bessel:0", "xi", parameters={"p": 1.0, "xi": 1.0}, backend="cpu")
assert math.isclose(float(integral.value), 0.42102443824070834, rel_tol=1e-9), integral

box = (-6.5, 6.5)
result = rarefy.Relaxation(rarefy.two_maxwellians(20, box), box, time=0.5, backend="cpu").run()
assert result.H[-1] < result.H[0], result.H
assert math.isclose(result.density[-1], result.density[0], rel_tol=1e-12), result.density
print("rarefy", rarefy.__version__, "on", result.device)
