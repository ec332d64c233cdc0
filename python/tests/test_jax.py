"""Arrays of JAX: on the CPU as those of NumPy, on a GPU where they are."""

from typing import Any

import numpy as np
import pytest

import rarefy

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)


def places() -> list[Any]:
    """The CPU, and a GPU if JAX finds one."""
    devices = [jax.devices("cpu")[0]]
    try:
        devices.append(jax.devices("gpu")[0])
    except RuntimeError:
        pass
    return [pytest.param(device, id=device.platform) for device in devices]


@pytest.mark.parametrize("device", places())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_numpy(device: Any, dtype: type) -> None:
    x: Any = (np.random.default_rng(1).standard_normal(100_003) * np.logspace(-20, 15, 100_003)).astype(dtype)
    there = jax.device_put(x, device)
    assert there.dtype == dtype
    assert rarefy.sum(there) == rarefy.sum(x)
    assert rarefy.norm(there) == rarefy.norm(x)
    assert rarefy.dot(there, there[::-1]) == rarefy.dot(x, x[::-1])
    assert rarefy.ExactAccumulator(there.reshape(-1, 1).T) == rarefy.ExactAccumulator(x)
    # What JAX has not computed yet comes first.
    assert rarefy.sum(jax.numpy.ones(1 << 20, device=device) + there[0]) == rarefy.sum(np.ones(1 << 20) + x[0])


@pytest.mark.parametrize("device", places())
def test_wrong_arrays_are_refused(device: Any) -> None:
    for kind in ("int32", "bfloat16", "complex64"):
        with pytest.raises(TypeError, match=f"x has dtype {kind}; float32 or float64 is needed"):
            rarefy.sum(jax.device_put(np.ones(4), device).astype(kind))
    with pytest.raises(ValueError, match="one shape"):
        rarefy.dot(jax.device_put(np.ones(4), device), jax.device_put(np.ones(5), device))
    if device.platform == "gpu":
        with pytest.raises(ValueError, match="is in GPU memory and the other is not"):
            rarefy.dot(jax.device_put(np.ones(4), device), np.ones(4))


def test_distributions_on_the_cpu_are_read() -> None:
    cpu, box = jax.devices("cpu")[0], (-6.5, 6.5)
    f = rarefy.two_maxwellians(12, box)
    there = jax.device_put(f, cpu)
    assert np.array_equal(rarefy.collide(there, box, backend="cpu").rate, rarefy.collide(f, box, backend="cpu").rate)  # type: ignore[union-attr]
    start = rarefy.isotropic_initial("bkw", 64, 16.0, k=0.7)
    found = rarefy.isotropic_rates(jax.device_put(start, cpu), 16.0, backend="cpu")
    assert np.array_equal(found.rate, rarefy.isotropic_rates(start, 16.0, backend="cpu").rate)
    table = rarefy.longman("exp(-x/2)", "cos", "w", parameters={"w": jax.device_put(np.linspace(1.0, 3.0, 4), cpu)}, backend="cpu")
    assert table.value == pytest.approx(0.5 / (0.25 + np.linspace(1.0, 3.0, 4) ** 2))
    with pytest.raises(TypeError, match="float64 is needed here"):
        rarefy.collide(there.astype("float32"), box, backend="cpu")
