"""Exact sums and dot products of floats and decimal numbers, and transforms made of them.

The value is that of exact arithmetic, rounded once: it does not depend on the order of the addends, on threads, or on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from . import _rarefy
from ._rarefy import ExactAccumulator, Spectrum, cumsum, decimal_dot, decimal_sum, dot, mean, norm, segment_sum, std, sum, var

__all__ = [
    "ExactAccumulator",
    "Spectrum",
    "cumsum",
    "decimal_dot",
    "decimal_sum",
    "dft",
    "dot",
    "exact_value",
    "mean",
    "norm",
    "segment_sum",
    "std",
    "sum",
    "var",
]

Number = int | float | str | Decimal


def exact_value(sum_: ExactAccumulator) -> Decimal:
    """Every digit of an exact sum.

    Parameters
    ----------
    sum_
        A finite sum.

    Returns
    -------
    decimal.Decimal
        The value before any rounding.

    Examples
    --------
    >>> import rarefy
    >>> rarefy.exact_value(rarefy.ExactAccumulator([0.1, 0.2]))
    Decimal('0.3000000000000000166533453693773481063544750213623046875')
    """
    return Decimal(sum_.digits())


def dft(
    x: Sequence[Number] | Sequence[complex] | Any,
    *,
    digits: int = 40,
    inverse: bool = False,
    backend: str = "cpu",
) -> Spectrum:
    """The discrete Fourier transform with exact sums.

    ``y_k = 1/n sum_j x_j exp(-2 pi i j k / n)``, the inverse ``x_k = sum_j y_j exp(2 pi i j k / n)``. Cosines and sines have ``digits``
    digits after the point, every sum of products is exact, and the spectrum stays unrounded: there and back again the error is about
    ``10**-digits`` of the largest ``|x|``, whatever the spread of the ``x_j``.

    Parameters
    ----------
    x
        ``n`` numbers: float, int, str, ``decimal.Decimal``, or complex.
    digits
        Digits of the table of cosines and sines.
    inverse
        Whether to transform back.
    backend
        ``"cpu"``, ``"cuda"``, ``"auto"``, ``"emulator"`` or ``"reference"``.

    Returns
    -------
    Spectrum
        ``to_numpy()`` has its ``n`` complex values, each rounded once; ``inverse()`` transforms the unrounded ones back.

    Examples
    --------
    >>> import rarefy
    >>> x = [1e-12, 1e12, 3.0]
    >>> back = rarefy.dft(x).inverse()
    >>> back.to_numpy().real.tolist() == x
    True
    """
    values: Iterable[Any] = x.tolist() if isinstance(x, np.ndarray) else list(x)
    numbers = list(values)
    if any(isinstance(number, complex) for number in numbers):
        parts = [complex(number) for number in numbers]
        return _rarefy.dft([p.real for p in parts], [p.imag for p in parts], digits=digits, inverse=inverse, backend=backend)
    return _rarefy.dft(numbers, None, digits=digits, inverse=inverse, backend=backend)
