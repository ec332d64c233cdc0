"""The collision integral and relaxation."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rarefy

BOX = (-5.0, 5.0)


def test_the_integral_conserves() -> None:
    f = rarefy.two_maxwellians(10, BOX)
    found = rarefy.collide(f, BOX, backend="cpu")
    assert isinstance(found, rarefy.Evaluation)
    width = 1.0
    v = rarefy.velocities(10, BOX)
    square = v[:, None, None] ** 2 + v[None, :, None] ** 2 + v[None, None, :] ** 2
    scale = np.abs(found.rate).sum() * width**3
    assert abs(found.rate.sum()) < 1e-12 * scale
    assert abs((found.rate * square).sum()) < 1e-11 * scale
    assert found.plot(box=BOX).get_ylabel() == "collision integral"


@pytest.mark.parametrize("method", ["fast", "direct"])
@pytest.mark.parametrize("backend", ["cpu", "emulator", "reference"])
def test_methods_and_backends_agree(method: str, backend: str) -> None:
    f = rarefy.two_maxwellians(6, BOX)
    with pytest.warns(rarefy.RarefyWarning):
        found = rarefy.collide(f, BOX, method=method, backend=backend)  # type: ignore[arg-type]
        usual = rarefy.collide(f, BOX, backend="cpu")
    assert isinstance(found, rarefy.Evaluation) and isinstance(usual, rarefy.Evaluation)
    assert np.allclose(found.rate, usual.rate, rtol=0, atol=1e-12 * np.abs(usual.rate).max())


def test_many_at_once_are_as_one_by_one() -> None:
    f = np.stack([rarefy.bkw(8, BOX, k=k) for k in (0.6, 0.7, 0.8)])
    with pytest.warns(rarefy.RarefyWarning):
        many = rarefy.collide(f, BOX, scattering="maxwell", backend="cpu")
        one = rarefy.collide(f[1], BOX, scattering="maxwell", backend="cpu")
    assert isinstance(many, list) and isinstance(one, rarefy.Evaluation)
    assert np.array_equal(many[1].rate, one.rate)


@given(st.floats(0.1, 10.0), st.floats(0.5, 1.5))
def test_moments_of_a_maxwellian(density: float, temperature: float) -> None:
    f = rarefy.maxwellian(16, (-7.0, 7.0), density=density, temperature=temperature)
    moments = rarefy.velocity_moments(f, (-7.0, 7.0))
    assert moments["density"] == pytest.approx(density, rel=1e-2)
    assert moments["temperature"] == pytest.approx(temperature, rel=2e-2)


def test_wrong_distributions_are_refused() -> None:
    f = rarefy.two_maxwellians(8, BOX)
    with pytest.raises(ValueError, match=r"\(8, 8\)"):
        rarefy.collide(f[0], BOX)
    with pytest.raises(ValueError, match="numpy.ascontiguousarray"):
        rarefy.collide(f.transpose(2, 1, 0), BOX, backend="cpu")
    with pytest.raises(TypeError, match="float32"):
        rarefy.collide(f.astype(np.float32), BOX, backend="cpu")
    with pytest.raises(ValueError, match="negative"):
        rarefy.collide(-f, BOX, backend="cpu")
    with pytest.raises(ValueError, match="finite"):
        rarefy.collide(f * np.nan, BOX, backend="cpu")
    with pytest.raises(ValueError, match="sigma_T|sigma_t"):
        rarefy.collide(f, BOX, sigma_t=-1.0, backend="cpu")
    with pytest.raises((ValueError, TypeError)):
        rarefy.collide(f, BOX, scattering="soft", backend="cpu")


def test_relaxation_to_equilibrium() -> None:
    box = (-6.5, 6.5)
    run = rarefy.Relaxation(rarefy.two_maxwellians(12, box), box, time=0.5, integrator="ssprk3", backend="cpu")
    result = run.run()
    assert result.time[-1] == pytest.approx(0.5)
    assert np.all(np.diff(result.H) < 1e-12)
    assert np.ptp(result.density) < 1e-12
    frame = result.to_pandas()
    assert frame.index.name == "time" and np.array_equal(frame["H"], result.H)
    assert result.to_xarray()["H"].dims == ("time",)
    assert len(result.plot().lines) == 3


def test_checkpoints_go_on_to_the_same_bits(tmp_path: Path) -> None:
    box = (-6.5, 6.5)
    f = rarefy.two_maxwellians(12, box)
    whole = rarefy.Relaxation(f, box, steps=6, backend="cpu").run()
    part = rarefy.Relaxation(f, box, steps=6, backend="cpu")
    assert part.advance(3) == 3
    part.checkpoint(tmp_path / "checkpoint.rarefy")
    rest = rarefy.Relaxation.resume(tmp_path / "checkpoint.rarefy").run()
    assert np.array_equal(rest.f, whole.f)
    assert np.array_equal(rest.H, whole.H)
    more = rarefy.Relaxation.resume(tmp_path / "checkpoint.rarefy", steps=8).run()
    assert more.step[-1] == 8
    data = bytearray((tmp_path / "checkpoint.rarefy").read_bytes())
    data[-20] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        rarefy.Relaxation.resume(tmp_path / "damaged")
    with pytest.raises(ValueError, match="a checkpoint of relax, not of isotropic"):
        rarefy.Isotropic.resume(tmp_path / "checkpoint.rarefy")


def test_one_end_is_needed() -> None:
    f = rarefy.two_maxwellians(12, (-6.5, 6.5))
    with pytest.raises(TypeError, match="time, steps and equilibrium"):
        rarefy.Relaxation(f, (-6.5, 6.5))
    with pytest.raises(TypeError, match="one end"):
        rarefy.Relaxation(f, (-6.5, 6.5), time=1.0, steps=3)
    with pytest.raises(ValueError, match="beyond stability"):
        rarefy.Relaxation(f, (-6.5, 6.5), time=1.0, dt=100.0, backend="cpu")


def test_rates() -> None:
    found = rarefy.rates(12, backend="cpu")
    assert found.shear == pytest.approx(found.shear_exact, rel=2e-4)
    assert found.heat_exact == pytest.approx(2 / 3 * found.shear_exact)
    assert "viscosity" in repr(found)
