"""Exact sums against fractions."""

import functools
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import rarefy

finite = st.floats(allow_nan=False, allow_infinity=False)
lists = st.lists(finite, max_size=60)


def exact(values: list[float]) -> float:
    """The exact sum, rounded once; a fraction beyond the floats is infinite."""
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(lists)
def test_sums_are_rounded_once(values: list[float]) -> None:
    assert rarefy.sum(values) == exact(values)
    assert rarefy.sum(np.asarray(values, dtype=float)) == exact(values)


@given(npst.arrays(np.float32, st.integers(0, 50), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_single_precision_is_rounded_to_itself(x: np.ndarray) -> None:
    total = sum(map(Fraction, x.tolist()), Fraction(0))
    with np.errstate(over="ignore"):
        near = np.float32(float(total)) if abs(total) < 2**127 else None
    found = rarefy.sum(x)
    assert found == np.float32(found)
    # float() rounds to double first, which may be a tie: then both neighbours are near.
    if near is not None:
        assert abs(found - float(near)) <= np.spacing(np.abs(near))


@given(st.lists(st.tuples(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100)), max_size=40))
def test_dot_products(pairs: list[tuple[float, float]]) -> None:
    x, y = [p[0] for p in pairs], [p[1] for p in pairs]
    assert rarefy.dot(x, y) == float(sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0)))


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40))
def test_mean_and_norm(values: list[float]) -> None:
    assert rarefy.mean(values) == float(sum(map(Fraction, values), Fraction(0)) / len(values))
    square = sum((Fraction(v) ** 2 for v in values), Fraction(0))
    norm = Fraction(rarefy.norm(values))
    assert abs(norm * norm - square) <= square * Fraction(1, 2**51) + Fraction(5e-324) * norm


@given(lists, st.randoms())
def test_order_and_grouping_do_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, two = rarefy.ExactAccumulator(values), rarefy.ExactAccumulator()
    for value in shuffled:
        two += value
    assert one == two
    assert one.to_bytes() == two.to_bytes()
    assert pickle.loads(pickle.dumps(one)) == one
    assert rarefy.ExactAccumulator.from_bytes(one.to_bytes()).count == len(values)


def test_layouts_are_read_where_they_are() -> None:
    x = np.random.default_rng(1).standard_normal((30, 40)) * 1e10
    want = math.fsum(x.ravel())
    assert rarefy.sum(x) == want
    assert rarefy.sum(np.asfortranarray(x)) == want
    assert rarefy.sum(x[:, ::-1]) == want
    assert rarefy.sum(x[::3, 1::2]) == math.fsum(x[::3, 1::2].ravel())
    assert rarefy.dot(x, np.asfortranarray(x)) == rarefy.dot(x, x)


@pytest.mark.parametrize("backend", ["cpu", "emulator", "reference"])
def test_sums_along_an_axis(backend: str) -> None:
    x = np.random.default_rng(3).standard_normal((4, 5, 6)) * np.logspace(-150, 150, 6)
    for axis in range(-3, 3):
        found = rarefy.sum(x, axis, backend=backend)
        assert (found == np.apply_along_axis(math.fsum, axis, x)).all()
        assert found.shape == x.sum(axis).shape
    single = x[:, :, 2:4].astype(np.float32)
    for layout in [single, np.asfortranarray(single), single[::-1, ::2]]:
        rows = rarefy.sum(layout, axis=-1, backend=backend)
        assert rows.dtype == np.float32
        assert rows[1, 0] == np.float32(rarefy.sum(layout[1, 0]))
    assert rarefy.sum([1e100, 1.0, -1e100], axis=0, backend=backend).shape == ()
    assert (rarefy.sum(np.ones((3, 0)), axis=1, backend=backend) == np.zeros(3)).all()
    assert rarefy.sum(np.ones((0, 3)), axis=1, backend=backend).shape == (0,)
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        rarefy.sum(x, axis=3, backend=backend)


def test_special_values() -> None:
    assert math.isnan(rarefy.sum([1.0, math.nan]))
    assert rarefy.sum([1.0, math.inf]) == math.inf
    assert math.isnan(rarefy.sum([math.inf, -math.inf]))
    assert rarefy.sum([]) == 0.0
    assert math.isnan(rarefy.mean([]))
    assert rarefy.sum(np.float64(2.5) * np.ones(())) == 2.5


@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        (np.arange(3), TypeError, "x has dtype int64; float32 or float64 is needed: rarefy.decimal_sum("),
        (np.ones(3, dtype=">f8"), TypeError, "byte order"),
        ([1, 2], TypeError, "decimal_sum"),
        (["1"], TypeError, "decimal_sum"),
    ],
)
def test_wrong_arrays_are_refused(x: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text.replace("(", r"\(").replace(")", r"\)")):
        rarefy.sum(x)  # type: ignore[call-overload]


def test_both_vectors_have_one_shape_and_dtype() -> None:
    with pytest.raises(ValueError, match="one shape"):
        rarefy.dot(np.ones(3), np.ones(4))
    with pytest.raises(TypeError, match="one dtype"):
        rarefy.dot(np.ones(3), np.ones(3, dtype=np.float32))
    with pytest.raises(ValueError, match="expected.* auto, cuda, cpu"):
        rarefy.sum(np.ones(3), backend="gpu")


@pytest.mark.parametrize("backend", ["cpu", "emulator", "reference"])
def test_backends_agree_to_the_bit(backend: str) -> None:
    x = np.random.default_rng(2).standard_normal(300) * np.logspace(-200, 200, 300)
    assert rarefy.sum(x, backend=backend) == math.fsum(x)
    assert rarefy.dot(x[:50], x[:50], backend=backend) == rarefy.dot(x[:50], x[:50])


@given(st.lists(st.integers(-(10**60), 10**60), max_size=20))
def test_integers_of_any_size(values: list[int]) -> None:
    assert rarefy.decimal_sum(values) == sum(values)
    assert rarefy.decimal_dot(values, values) == sum(v * v for v in values)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=12), min_size=1, max_size=20))
def test_decimals(values: list[Decimal]) -> None:
    found = rarefy.decimal_sum(values)
    assert Fraction(found) == sum(map(Fraction, values), Fraction(0))
    text = "\n".join(map(str, values))
    assert Fraction(rarefy.decimal_sum(text)) == Fraction(found)
    assert Fraction(rarefy.decimal_sum(text.encode())) == Fraction(found)


def test_huge_integers_and_exponents() -> None:
    assert rarefy.decimal_sum([10**5000, 1, -(10**5000)]) == 1
    with pytest.raises(ValueError, match="line 2"):
        rarefy.decimal_sum("1\nx\n")
    with pytest.raises(TypeError):
        rarefy.decimal_sum([1j])  # type: ignore[list-item]


def test_every_digit() -> None:
    assert rarefy.exact_value(rarefy.ExactAccumulator([0.1])) == Decimal(0.1)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_transforms_go_there_and_back(values: list[float]) -> None:
    spectrum = rarefy.dft(values)
    scale = max(map(abs, values), default=0.0)
    assert np.allclose(spectrum.to_numpy(), np.fft.fft(values) / len(values), rtol=0, atol=1e-12 * scale + 1e-300)
    back = spectrum.inverse()
    assert np.allclose(back.to_numpy().real, values, rtol=1e-15, atol=1e-30 * scale)
    if min(map(abs, values)) > 1e-3 * scale:
        assert back.relative_error(values) < 1e-30
    with pytest.raises(ValueError, match="inverse"):
        back.inverse()


def test_complex_transforms() -> None:
    x = np.exp(1j * np.arange(6))
    assert np.allclose(rarefy.dft(x).to_numpy(), np.fft.fft(x) / 6)
    assert np.allclose(rarefy.dft(x, inverse=True).to_numpy(), np.fft.ifft(x) * 6)
    re, im = rarefy.dft(["0.5", "0.25"], digits=30).decimals(20)
    assert re == [Decimal("0.375"), Decimal("0.125")]
    assert im == [0, 0]


def exact_variance(values: list[float], ddof: int) -> Fraction:
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return sum(((x - mean) ** 2 for x in numbers), Fraction(0)) / (len(numbers) - ddof)


def test_variances_are_rounded_once() -> None:
    values = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16.1, -3e-5]
    for ddof in [0, 1]:
        assert rarefy.var(values, ddof=ddof) == float(exact_variance(values, ddof))
    assert rarefy.std([1e200, -1e200]) == 1e200
    assert rarefy.var([1, 2, 3, 4], ddof=1) == 5 / 3
    assert rarefy.std(["0.1", "0.3"]) == 0.1
    assert math.isnan(rarefy.var([1.0], ddof=1))
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
    choices: list[int | tuple[int, ...] | list[int]] = [0, -1, (0, 2), [1, 0]]
    for axis in choices:
        axes = axis if isinstance(axis, int) else tuple(axis)
        assert np.allclose(rarefy.var(x, axis), x.var(axes), rtol=1e-5)
        assert np.allclose(rarefy.std(x, axis, ddof=1), x.std(axes, ddof=1), rtol=1e-5)
        assert np.allclose(rarefy.mean(x, axis), x.mean(axes))
        assert np.allclose(rarefy.sum(x, axis), x.sum(axes))
        assert rarefy.var(x, axis).dtype == np.float32


def test_means_of_exact_numbers_and_with_weights() -> None:
    assert rarefy.mean([10**20, 1]) == 5e19
    assert rarefy.mean(np.array([1, 2, 4])) == 7 / 3
    assert rarefy.mean([Decimal("0.1"), Decimal("0.2")]) == 0.15
    assert rarefy.mean([1.0, 4.0], weights=[2.0, 1.0]) == 2.0
    assert rarefy.mean([1, 4], weights=["0.2", "0.1"]) == 2.0
    with pytest.raises(ValueError, match="leave axis out"):
        rarefy.mean(np.ones(2), 0, weights=np.ones(2))  # type: ignore[call-overload]


def test_sums_of_beginnings_and_runs() -> None:
    x = np.array([1e16, 1.0, -1e16, 0.5])
    assert rarefy.cumsum(x).tolist() == [1e16, 1e16, 1.0, 1.5]
    square = np.arange(6.0).reshape(2, 3)
    assert (rarefy.cumsum(square) == square.cumsum()).all()
    for axis in [0, 1, -1]:
        assert (rarefy.cumsum(square, axis) == square.cumsum(axis)).all()
    assert rarefy.segment_sum(x, [0, 3, 3, 4]).tolist() == [1.0, 0.0, 0.5]
    assert rarefy.segment_sum(x.astype(np.float32), np.array([1, 4])).dtype == np.float32
    with pytest.raises(ValueError, match="offsets that do not fall"):
        rarefy.segment_sum(x, [2, 1])
    with pytest.raises(ValueError, match="at most 4"):
        rarefy.segment_sum(x, [0, 5])


def test_short_floats_and_complex_numbers_are_summed_exactly() -> None:
    half = np.array([1.0, 65504.0, 2**-24, -2.0], dtype=np.float16)
    exact = Fraction(1) + 65504 + Fraction(1, 2**24) - 2
    assert rarefy.ExactAccumulator(half).digits() == "65503.000000059604644775390625"
    assert rarefy.sum(half) == float(np.float32(float(exact)))
    assert rarefy.sum(half.reshape(2, 2), axis=1).dtype == np.float32
    x = np.array([1e16 + 1j, 1 - 3j, -1e16 + 2.5j])
    y = np.array([2, 1j, 2 + 0.5j])

    def product(a: list[complex], b: list[complex]) -> complex:
        parts = [(Fraction(p.real), Fraction(p.imag), Fraction(q.real), Fraction(q.imag)) for p, q in zip(a, b, strict=True)]
        re = sum((p * r - q * s for p, q, r, s in parts), Fraction())
        im = sum((p * s + q * r for p, q, r, s in parts), Fraction())
        return complex(float(re), float(im))

    assert rarefy.sum(x) == 1 + 0.5j
    assert rarefy.dot(x, y) == product(x.tolist(), y.tolist())
    assert rarefy.dot(x.conj(), y) == product(x.conj().tolist(), y.tolist())
    assert rarefy.dot(x, np.array([1.0, 2.0, 1.0])) == 2 - 2.5j
    with pytest.raises(TypeError, match="complex128"):
        rarefy.sum(x, axis=0)


def test_accumulators_are_merged_from_pickles() -> None:
    x = np.array([1e16, 1.0, -1e16, 5e-324] * 8)
    parts = [pickle.loads(pickle.dumps(rarefy.ExactAccumulator(part))) for part in np.split(x, 4)]
    total = functools.reduce(lambda a, b: a + b, parts)
    assert total == rarefy.ExactAccumulator(x)
    assert total.to_bytes() == rarefy.ExactAccumulator(x[::-1]).to_bytes()
    assert total.round() == 8.0
