"""Relaxation in energy space, and economies."""

from pathlib import Path

import numpy as np
import pytest

import rarefy


def test_number_and_energy_are_conserved() -> None:
    f = rarefy.isotropic_initial("bkw", 64, 16.0, k=0.7)
    run = rarefy.Isotropic(f, 16.0, dt=0.1, every=10, backend="cpu")
    result = run.run(steps=50)
    assert result.time.tolist() == pytest.approx([0, 1, 2, 3, 4, 5])
    assert np.ptp(result.number) < 1e-13 and np.ptp(result.energy) < 1e-12
    assert np.all(np.diff(result.H) < 0)
    assert result.f.shape == (64,)
    assert result.plot().get_xlabel() == "energy"
    again = run.run(time=6.0)
    assert again.time[-1] == pytest.approx(6.0)


def test_many_states_share_their_coefficients(tmp_path: Path) -> None:
    states = np.stack([rarefy.isotropic_initial("bkw", 48, 14.0, k=k) for k in (0.65, 0.8)])
    many = rarefy.Isotropic(states, 14.0, dt=0.1, backend="cpu")
    result = many.run(steps=5)
    one = rarefy.Isotropic(states[1], 14.0, dt=0.1, backend="cpu").run(steps=5)
    assert np.array_equal(result.f[1], one.f)
    assert np.array_equal(result.histories[1]["H"], one.H)
    many.checkpoint(tmp_path / "c")
    rest = rarefy.Isotropic.resume(tmp_path / "c")
    assert np.array_equal(rest.run(steps=3).f, many.run(steps=3).f)


def test_rates_are_those_of_the_exact_solution() -> None:
    f = rarefy.isotropic_initial("maxwellian", 128, 20.0, temperature=1.0)
    found = rarefy.isotropic_rates(f, 20.0, backend="cpu")
    assert np.abs(found.rate).max() < 1e-2 * found.gain.max()
    assert found.to_pandas().index.name == "energy"


def test_wrong_states_are_refused() -> None:
    f = rarefy.isotropic_initial("maxwellian", 32, 10.0)
    with pytest.raises(ValueError, match="shape"):
        rarefy.Isotropic(np.ones((2, 2, 2)), 10.0)
    with pytest.raises(ValueError, match="negative"):
        rarefy.Isotropic(-f, 10.0, backend="cpu")
    with pytest.raises(TypeError, match="no number alpha"):
        rarefy.Isotropic(f, 10.0, alpha=1.0)
    with pytest.raises(TypeError, match="steps or time"):
        rarefy.Isotropic(f, 10.0, backend="cpu").run()


@pytest.mark.parametrize(("law", "saved", "gini"), [("money", None, 0.5), ("saving", 0.5, 0.2735)])
def test_economies_come_to_their_inequality(law: str, saved: float | None, gini: float) -> None:
    market = rarefy.Market("equal", law=law, saved=saved, cells=200, emax=12.0, backend="cpu")  # type: ignore[arg-type]
    result = market.run(time=40.0)
    assert result.gini == pytest.approx(gini, abs=0.02)
    assert result.gini_initial == pytest.approx(0.0, abs=0.01)
    assert result.trade_volume > 0
    width = result.wealth[1] - result.wealth[0]
    assert result.density.sum() * width == pytest.approx(1.0)
    assert len(result.plot().lines) == 2


def test_economies_go_on_to_the_same_bits(tmp_path: Path) -> None:
    market = rarefy.Market("equal", cells=64, emax=8.0, dt=0.2, every=4, backend="cpu")
    market.run(steps=6)
    market.checkpoint(tmp_path / "c")
    rest = rarefy.Market.resume(tmp_path / "c")
    assert (rest.steps, rest.dt) == (6, 0.2)
    result, whole = rest.run(steps=6), market.run(steps=6)
    assert np.array_equal(result.density, whole.density)
    assert np.array_equal(result.initial, whole.initial)
    for name, column in whole.history.items():
        assert np.array_equal(result.history[name], column)
    with pytest.raises(ValueError, match="a checkpoint of market, not of isotropic"):
        rarefy.Isotropic.resume(tmp_path / "c")


def test_histograms_start_an_economy() -> None:
    rows = [(0, 10, 0.2), (10, 20, 0.5), (20, 60, 0.3)]
    market = rarefy.Market(rows, cells=128, emax=12.0, backend="cpu")
    result = market.result()
    mean = (result.wealth * result.density).sum() * (result.wealth[1] - result.wealth[0])
    assert mean == pytest.approx(1.0, abs=0.01)
    with pytest.raises(ValueError, match="gap"):
        rarefy.Market([(0, 1, 0.5), (2, 3, 0.5)], backend="cpu")
    with pytest.raises(ValueError, match="rows of low, high and share"):
        rarefy.Market(np.ones((2, 2)), backend="cpu")
