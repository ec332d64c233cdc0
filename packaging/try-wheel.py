"""Tries an installed package `rarefy` on the CPU: exact sums, integrals to infinity, a relaxation by the collision integral, the command.

    python packaging/try-wheel.py [LAUNCHER ...]

Words of LAUNCHER precede each program that it starts, as an emulator of another processor needs.
"""

import json
import math
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import rarefy

# Exact sums are rounded once, on every machine to the same bits.
assert rarefy.sum([1e100, 1.0, -1e100]) == 1.0
numbers = random.Random(1)
x = np.array([numbers.gauss(0, 1) * 2.0 ** numbers.randint(-300, 300) for _ in range(20000)])
assert rarefy.sum(x) == math.fsum(x), rarefy.sum(x)
assert rarefy.sum(x[::-3]) == math.fsum(x[::-3])
u, v = x[:500], x[-500:]
assert rarefy.dot(u, v) == float(sum(Fraction(a) * Fraction(b) for a, b in zip(u.tolist(), v.tolist()))), rarefy.dot(u, v)

# The integral of x J0(x xi) / (x^2 + 1) is the modified Bessel function K0(xi).
integrals = rarefy.longman("x/(x^2+p^2)", "bessel:0", "xi", parameters={"p": 1.0, "xi": [0.5, 1.0, 2.0]}, backend="cpu")
np.testing.assert_allclose(integrals.value, [0.9244190712276659, 0.42102443824070834, 0.11389387274953344], rtol=1e-9)

# Entropy grows, and the collisions keep mass and energy. The reference in loops is a second implementation.
box = (-6.5, 6.5)
start = rarefy.two_maxwellians(20, box)
result = rarefy.Relaxation(start, box, time=0.5, backend="cpu").run()
assert result.H[-1] < result.H[0], result.H
for name in ("density", "temperature"):
    values = getattr(result, name)
    assert math.isclose(values[-1], values[0], rel_tol=1e-12), (name, values)
coarse = rarefy.two_maxwellians(8, box)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", rarefy.RarefyWarning)  # The loops take minutes on a grid that is fine enough.
    fast, loops = (rarefy.collide(coarse, box, backend=backend) for backend in ("cpu", "reference"))
np.testing.assert_allclose(fast.rate, loops.rate, rtol=0, atol=1e-12 * np.abs(loops.rate).max())

# The command that comes with the package.
command = shutil.which("rarefy", path=sysconfig.get_path("scripts")) or shutil.which("rarefy")
assert command, "no command rarefy"
launch = [*sys.argv[1:], sys.executable, command] if sys.argv[1:] else [command]


def run(*arguments: str) -> str:
    return subprocess.run([*launch, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


assert run("--version").split() == ["rarefy", rarefy.__version__]
with tempfile.TemporaryDirectory() as folder:
    at = Path(folder) / "x.npy"
    np.save(at, x)
    assert float(run("sum", str(at))) == math.fsum(x)
    out = Path(folder) / "relax"
    run("relax", "--grid", "18", "--until", "0.2", "--backend", "cpu", "--quiet", "--out", str(out))
    final = json.loads((out / "run.json").read_text())["result"]["final"]
    assert math.isclose(final["density"], 1.0, rel_tol=1e-12), final
print("rarefy", rarefy.__version__, "on", result.device, "H", result.H[-1].hex())
