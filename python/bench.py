"""Times of rarefy beside those of other libraries, in one run: `python bench.py`.

Each time is the least of several runs. Needs SciPy and mpmath for the integrals, CuPy and a GPU for the collision integral;
what is not installed is left out.
"""

from __future__ import annotations

import importlib.util
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rarefy


def least(work: Callable[[], object], repeat: int = 5, most: float = 2.0) -> float:
    """The least time of a call in seconds; short ones are called many times."""
    start = time.perf_counter()
    work()
    once = time.perf_counter() - start
    number = max(1, min(20_000, int(0.02 / max(once, 1e-9))))
    times = []
    begin = time.perf_counter()
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            work()
        times.append((time.perf_counter() - start) / number)
        if time.perf_counter() - begin > most:
            break
    return min(times)


def row(what: str, seconds: float, note: str = "") -> None:
    unit, factor = ("us", 1e6) if seconds < 1e-3 else ("ms", 1e3) if seconds < 1.0 else ("s", 1.0)
    print(f"  {what:44} {seconds * factor:10.3f} {unit:3} {note}")


def sums() -> None:
    rng = np.random.default_rng(1)
    for n in (1_000, 1_000_000, 10_000_000):
        x = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
        print(f"sum of {n} float64")
        right = math.fsum(x)
        for name, work in (
            ("numpy.sum", lambda x=x: np.sum(x)),
            ("math.fsum", lambda x=x: math.fsum(x)),
            ("rarefy.sum", lambda x=x: rarefy.sum(x)),
        ):
            off = abs(float(work()) - right) / np.spacing(abs(right))  # type: ignore[no-untyped-call]
            row(name, least(work), f"{off:.0f} ulp off")  # type: ignore[arg-type]


def integrals() -> None:
    print("integral of exp(-x/2) cos(w x), 100 frequencies")
    w = np.linspace(0.5, 20.0, 100)
    exact = 0.5 / (0.25 + w**2)

    def report(name: str, work: Callable[[], object]) -> None:
        row(name, least(work, 3), f"largest relative error {np.max(np.abs(np.asarray(work()) / exact - 1)):.0e}")

    report("rarefy.longman, expression", lambda: rarefy.longman("exp(-x/2)", "cos", "w", parameters={"w": w}, backend="cpu").value)
    try:
        from scipy.integrate import quad
    except ImportError:
        print("  scipy is not installed")
    else:
        report("scipy.integrate.quad(weight='cos')", lambda: [quad(lambda x: math.exp(-x / 2), 0, np.inf, weight="cos", wvar=v)[0] for v in w])
    try:
        import mpmath
    except ImportError:
        print("  mpmath is not installed")
    else:
        few = w[:3]
        seconds = least(lambda: [mpmath.quadosc(lambda x, v=v: mpmath.exp(-x / 2) * mpmath.cos(v * x), [0, mpmath.inf], omega=v) for v in few], 1)
        row("mpmath.quadosc", seconds / len(few) * len(w), "from 3 frequencies")


def overhead() -> None:
    print("overhead of a call")
    x = np.ones(4)
    total = rarefy.ExactAccumulator()
    row("rarefy.sum of 4 numbers", least(lambda: rarefy.sum(x)))
    row("numpy.sum of 4 numbers", least(lambda: np.sum(x)))
    row("ExactAccumulator.add of a float", least(lambda: total.add(1.0)))
    row("rarefy.dot of 4 numbers", least(lambda: rarefy.dot(x, x)))


def on_device() -> None:
    try:
        import torch
    except ImportError:
        print("  torch is not installed")
        return
    if not torch.cuda.is_available():
        print("  torch finds no GPU")
        return

    def total(x: torch.Tensor) -> float:
        return float(x.sum())

    print(f"arrays in the memory of {torch.cuda.get_device_name()}")
    for n in (4, 1_000_000, 100_000_000):
        x = torch.randn(n, device="cuda", dtype=torch.float64)
        row(f"torch.sum of {n} float64", least(lambda x=x: total(x)))  # type: ignore[misc]
        row(f"rarefy.sum of {n} float64", least(lambda x=x: rarefy.sum(x)))  # type: ignore[misc]


PEER = Path(__file__).parent.parent / "benches/peers/spectral_cufft.py"


def collisions() -> None:
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # of many kinds, where there is no GPU
        print(f"  no GPU with CuPy: {error}")
        return
    description = importlib.util.spec_from_file_location("spectral_cufft", PEER)
    assert description is not None and description.loader is not None
    peer = importlib.util.module_from_spec(description)
    description.loader.exec_module(peer)
    box = (-6.5, 6.5)
    for n in (16, 24, 32, 64):
        f = cupy.asarray(rarefy.two_maxwellians(n, box))[None]
        after = cupy.empty_like(f)
        for precision in ("f32", "f64"):
            print(f"a collision integral of hard spheres on {n}^3 velocities, {precision}")
            seconds, production = peer.measure(n, precision)
            row("spectral on cuFFT by CuPy, from a CUDA graph", seconds * 1e-3, f"d Pxx/dt {production:.5f}, no correction")
            dt = 1e-3
            cells = rarefy.CellCollisions(1, n, box, dt=dt, largest=1.0, integrator="euler", method="spectral", precision=precision)  # type: ignore[arg-type]

            def step(cells: rarefy.CellCollisions = cells, f: cupy.ndarray = f, after: cupy.ndarray = after) -> None:
                cells.collide(f, after)

            step()
            x = rarefy.velocities(n, box)[:, None, None]
            production = float((cupy.asnumpy(after[0] - f[0]) / dt * x**2).sum()) * (x[1, 0, 0] - x[0, 0, 0]) ** 3
            row("rarefy.CellCollisions, a call", least(step), f"d Pxx/dt {production:.5f}, conserving")


def main() -> None:
    print(f"rarefy {rarefy.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, {platform.processor() or platform.machine()}")
    overhead()
    sums()
    integrals()
    on_device()
    collisions()


if __name__ == "__main__":
    main()
