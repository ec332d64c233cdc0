"""Integrals against closed forms."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rarefy

rates = st.floats(0.05, 20.0)


@given(rates, rates)
def test_damped_cosine(lam: float, omega: float) -> None:
    found = rarefy.longman("exp(-lambda*x)", "cos", "omega", parameters={"lambda": lam, "omega": omega}, backend="cpu")
    if found.ok:
        assert abs(float(found) - lam / (lam**2 + omega**2)) <= found.error


def test_many_parameters_broadcast() -> None:
    p, xi = np.array([[0.5], [1.0], [2.0]]), np.linspace(0.5, 3.0, 5)
    found = rarefy.longman("x/(x^2+p^2)", "bessel:0", "xi", parameters={"p": p, "xi": xi}, backend="cpu")
    assert found.value.shape == (3, 5)
    assert found.ok.all()
    assert np.all(found.parameters["p"] == np.broadcast_to(p, (3, 5)))
    # K_0 falls in p xi alone.
    order = np.argsort((p * xi).ravel())
    assert np.all(np.diff(found.value.ravel()[order]) <= 1e-12)


def test_frames_and_structured_arrays() -> None:
    frame = pd.DataFrame({"lambda": [0.5, 1.0], "omega": [2, 3]})
    from_frame = rarefy.longman("exp(-lambda*x)", "sin", "omega", parameters=frame, backend="cpu")
    rows = np.array([(0.5, 2.0), (1.0, 3.0)], dtype=[("lambda", float), ("omega", float)])
    from_rows = rarefy.longman("exp(-lambda*x)", "sin", "omega", parameters=rows, backend="cpu")
    assert np.array_equal(from_frame.value, from_rows.value)
    table = from_frame.to_pandas()
    assert list(table.columns[:3]) == ["lambda", "omega", "value"]
    assert np.allclose(table["value"], table["omega"] / (table["lambda"] ** 2 + table["omega"] ** 2))


def test_functions_are_sampled_once() -> None:
    calls = []

    def amplitude(x: np.ndarray) -> np.ndarray:
        calls.append(x.size)
        return 1.0 / (1.0 + x**2)

    w = np.linspace(0.5, 4.0, 50)
    found = rarefy.longman(amplitude, "cos", "w", parameters={"w": w}, nodes=60, backend="cpu")
    assert calls == [60]
    assert np.all(np.abs(found.value - np.pi / 2 * np.exp(-w)) <= found.error)


def test_samples_are_joined_by_a_spline() -> None:
    x = np.arange(6000) * 0.01
    found = rarefy.longman((x, np.exp(-x)), "cos", 3.0, rtol=1e-5, backend="cpu")
    assert found.status == "OK"
    assert abs(float(found) - 0.1) <= found.error


def test_families() -> None:
    found = rarefy.longman(None, family="damped-cos", parameters={"lambda": 0.5, "omega": 10.0}, backend="cpu")
    assert abs(float(found) - 0.5 / 100.25) <= found.error
    with pytest.raises(ValueError, match="choose damped-cos"):
        rarefy.longman(None, family="none", backend="cpu")


def test_what_has_no_value_says_so() -> None:
    found = rarefy.longman("1+x", "cos", 1.0, backend="cpu")
    assert not found.ok
    assert np.isnan(float(found)) or found.status != "OK"
    wrong = rarefy.longman("exp(-x)", "cos", "w", parameters={"w": [1.0, -1.0]}, backend="cpu")
    assert wrong.ok.tolist() == [True, False]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"amplitude": "exp(-x", "frequency": 1.0}, "expression|bracket|parenthes|exp"),
        ({"amplitude": "exp(-p*x)", "frequency": 1.0}, "no value for the parameter p"),
        ({"amplitude": "exp(-x)", "frequency": 1.0, "parameters": {"q": 1.0}}, "no parameter q"),
        ({"amplitude": "exp(-x)", "frequency": 1.0, "areas": 3}, "3"),
    ],
)
def test_bad_input_is_one_line(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        rarefy.longman(backend="cpu", **arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_between_boundaries() -> None:
    found = rarefy.longman_between("sin(x)/x", half_period=np.pi, first=np.pi)
    assert abs(float(found) - np.pi / 2) <= found.error
    with pytest.raises(TypeError, match="boundaries or half_period"):
        rarefy.longman_between("sin(x)/x")


def test_transforms_have_a_row_for_each_frequency() -> None:
    k = np.geomspace(0.05, 20.0, 9).reshape(3, 3)
    found = rarefy.hankel("exp(-p*x)", 0, k, parameters={"p": 1.0}, backend="cpu")
    assert found.ok.all() and found.value.shape == (3, 3)
    np.testing.assert_allclose(found.value, (1 + k**2) ** -1.5, rtol=1e-9)
    np.testing.assert_allclose(found.parameters["frequency"], k)
    first = rarefy.hankel("exp(-x)", 1, 2.0, backend="cpu")
    assert abs(float(first) - 2 / 5**1.5) <= first.error
    w = np.array([0.5, 1.0, 3.0])
    np.testing.assert_allclose(rarefy.fourier_cos("exp(-x)", w, backend="cpu").value, 1 / (1 + w**2), rtol=1e-10)
    np.testing.assert_allclose(rarefy.fourier_sin(lambda x: 1 / (1 + x) ** 2 * x, w, backend="cpu", rtol=1e-6).ok, [True] * 3)


def test_plot_and_table() -> None:
    found = rarefy.longman("exp(-x)", "cos", "w", parameters={"w": np.linspace(1, 2, 5)}, backend="cpu")
    assert found.plot().get_xlabel() == "w"
    assert "array(5,)" in repr(found)
    assert "<table>" in found._repr_html_()


@given(rates, rates, st.floats(-3.0, 0.0), st.floats(0.5, 5.0))
def test_limits_and_complex_integrals(lam: float, omega: float, lower: float, upper: float) -> None:
    found = rarefy.longman(
        "exp(-lambda*x)", "exp", "omega", parameters={"lambda": lam, "omega": omega}, lower=lower, upper=upper, rtol=1e-6, backend="cpu"
    )
    z = complex(-lam, omega)
    right = (np.exp(z * upper) - np.exp(z * lower)) / z
    assert found.ok
    assert abs(complex(found) - right) <= 2.0 * float(found.error) + 1e-13 * abs(right) + 1e-6 * abs(right)
    assert found.imaginary_error is not None


def test_frequency_zero_is_the_plain_integral() -> None:
    found = rarefy.longman("exp(-x)", "bessel:0", "k", parameters={"k": [0.0, 1.0]}, backend="cpu")
    assert np.allclose(found.value, [1.0, 0.5**0.5], rtol=1e-9)
    assert found.ok.all()
    divergent = rarefy.longman("1/(1+x)", "cos", 0.0, backend="cpu")
    assert divergent.status == "PREMISE_VIOLATED"
    assert "diverges" in str(divergent.reason)
