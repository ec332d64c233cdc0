"""Arrays in GPU memory: of CuPy and of PyTorch, where these and a GPU are there."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rarefy


def on_gpu() -> list[Any]:
    """The ways to bring an array to the GPU, by the libraries that can."""
    ways: list[Any] = []
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
        ways.append(pytest.param(cupy.asarray, id="cupy"))
    except Exception:  # of many kinds, where there is no GPU
        pass
    try:
        import torch

        if torch.cuda.is_available():
            ways.append(pytest.param(lambda x: torch.from_numpy(x).cuda(), id="torch"))
    except ImportError:
        pass
    return ways or [pytest.param(None, marks=pytest.mark.skip("no GPU with CuPy or PyTorch"))]


@pytest.mark.parametrize("up", on_gpu())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 1000, 1_000_003])
def test_sums_are_those_of_the_host(up: Any, dtype: type, n: int) -> None:
    x: Any = (np.random.default_rng(n).standard_normal(n) * np.logspace(-20, 15, n)).astype(dtype)
    y = x[::-1].copy()
    for _ in range(2):
        assert rarefy.sum(up(x)) == rarefy.sum(x)
        assert rarefy.norm(up(x)) == rarefy.norm(x)
        assert rarefy.dot(up(x), up(y)) == rarefy.dot(x, y)
    same = up(x)
    assert rarefy.dot(same, same) == rarefy.dot(x, x)
    assert rarefy.ExactAccumulator(same) == rarefy.ExactAccumulator(x)
    assert math.isnan(rarefy.mean(same)) or rarefy.mean(same) == rarefy.mean(x)


@pytest.mark.parametrize("up", on_gpu())
def test_wrong_arrays_are_refused(up: Any) -> None:
    x: Any = up(np.ones((4, 6)))
    with pytest.raises(ValueError, match="C-contiguous"):
        rarefy.sum(x[:, ::2])
    with pytest.raises(ValueError, match="GPU memory"):
        rarefy.sum(x, backend="cpu")
    with pytest.raises(ValueError, match="is in GPU memory and the other is not"):
        rarefy.dot(x, np.ones((4, 6)))
    with pytest.raises(ValueError, match="one shape"):
        rarefy.dot(x, up(np.ones(24)))
    with pytest.raises(TypeError, match="float32 or float64"):
        rarefy.sum(up(np.arange(4)))
    # Rows are contiguous, wherever they begin.
    assert rarefy.sum(x[2]) == 6.0


@pytest.mark.parametrize("up", on_gpu())
def test_work_of_another_stream_comes_first(up: Any) -> None:
    x: Any = up(np.ones(1 << 22))
    # Sums that did not wait for the additions would find fewer.
    for _ in range(64):
        x += 1.0
    assert rarefy.sum(x) == 65.0 * (1 << 22)


@pytest.mark.parametrize("up", on_gpu())
@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("method", ["fast", "spectral"])
def test_cells_collide_where_they_are(up: Any, precision: Any, method: Any) -> None:
    box, dt = (-5.0, 5.0), 0.02
    all_ = [rarefy.two_maxwellians(12, box, speed=speed) for speed in (0.5, 1.0, 1.5)]
    before, after = up(np.stack(all_)), up(np.zeros((3, 12, 12, 12)))
    cells = rarefy.CellCollisions(3, 12, box, dt=dt, largest=1.0, method=method, precision=precision)
    cells.collide(before, after)
    for k, f in enumerate(all_):
        run = rarefy.Relaxation(f, box, steps=1, dt=dt, method=method, precision=precision, backend="cuda")
        found = after[k].get() if hasattr(after, "get") else after[k].cpu().numpy()
        assert np.abs(found - run.run().f).max() < (1e-6 if precision == "f32" else 1e-13)
    with pytest.raises(ValueError, match="memory in common"):
        cells.collide(before, before)
    with pytest.raises(ValueError, match="shape"):
        cells.collide(before, after[:2])
    with pytest.raises(TypeError, match="not in GPU memory"):
        cells.collide(before, np.zeros((3, 12, 12, 12)))


@pytest.fixture
def gpu() -> None:
    try:
        rarefy.sum([1.0], backend="cuda")
    except rarefy.DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("gpu")
@pytest.mark.filterwarnings("ignore::rarefy.RarefyWarning")
def test_flows_by_the_collision_integral_are_those_of_the_cpu(tmp_path: Path) -> None:
    def plates(backend: Any) -> rarefy.Simulation:
        walls = {"left": rarefy.wall(1.1), "right": rarefy.wall(0.9)}
        return rarefy.Simulation((8, 0.0, 1.0), velocities=(10, 4.0), collisions="boltzmann", backend=backend, **walls)  # type: ignore[arg-type]

    there, here = plates("cuda"), plates("cpu")
    assert there.run(steps=4).temperature == pytest.approx(here.run(steps=4).temperature, abs=1e-12)
    there.checkpoint(tmp_path / "c")
    rest = rarefy.Simulation.resume(tmp_path / "c")
    assert rest.device == there.device
    assert np.array_equal(rest.run(steps=2).qx, there.run(steps=2).qx)
    one, other = (rarefy.couette(1.0, collisions="boltzmann", cells=12, velocities=12, rtol=1e-4, backend=backend) for backend in ("cuda", "cpu"))
    assert one.flux == pytest.approx(other.flux, rel=1e-10)


class Pretended:
    """An array with an address of its own choice."""

    def __init__(self, **changes: Any) -> None:
        interface = {"shape": (3,), "typestr": "<f8", "data": (4096, False), "strides": None, "version": 3}
        self.__cuda_array_interface__ = interface | changes


def test_the_interface_is_checked_before_the_device() -> None:
    with pytest.raises(TypeError, match="<i4"):
        rarefy.sum(Pretended(typestr="<i4"))
    with pytest.raises(ValueError, match="C-contiguous"):
        rarefy.sum(Pretended(strides=(16,)))
    with pytest.raises(ValueError, match="GPU memory"):
        rarefy.sum(Pretended(), backend="cpu")
    # Without a GPU the device is refused, with one the address.
    with pytest.raises((ValueError, rarefy.DeviceError)):
        rarefy.sum(Pretended())
