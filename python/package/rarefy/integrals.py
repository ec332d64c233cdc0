"""Integrals of oscillating functions to infinity, one or millions at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _rarefy
from ._results import Array, Result, plotted
from ._run import Backend, Precision, given

__all__ = ["Integrals", "fourier_cos", "fourier_sin", "hankel", "longman", "longman_between"]

Samples = tuple[ArrayLike, ArrayLike]
Parameters = Mapping[str, ArrayLike] | Any


@dataclass(frozen=True, repr=False, eq=False)
class Integrals(Result):
    """Integrals, all arrays of the shape to which the parameters broadcast; 0-dimensional for one integral.

    Attributes
    ----------
    value
        The integrals; NaN where there is none.
    error
        Estimates of the absolute errors.
    status
        ``"OK"``, or the reason why there is no value to rely on.
    accelerator
        The transformation that summed the areas.
    condition
        ``(|head| + sum |c_k V_k|) / |value|``: the attainable relative error over the machine epsilon.
    proof
        Why an OK is believed: ``"monotone"``, ``"sampled"`` or ``"none"``.
    examined
        The ``x`` up to which the integrand was examined; infinite where its tail is proven.
    parameters
        The parameters, each broadcast to that shape.
    reason
        The reason of a status other than OK and its remedy; empty with OK.
    imaginary, imaginary_error
        The imaginary parts of complex integrals and their errors, ``value`` being the real ones; None of real integrals.
    """

    value: Array
    error: Array
    status: NDArray[np.str_]
    accelerator: NDArray[np.str_]
    condition: Array
    proof: NDArray[np.str_]
    examined: Array
    parameters: dict[str, Array]
    reason: NDArray[np.str_] | None = None
    imaginary: Array | None = None
    imaginary_error: Array | None = None

    _columns = ("value", "error", "status", "accelerator", "condition", "proof", "examined", "imaginary", "imaginary_error")

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(float(self.value), 0.0 if self.imaginary is None else float(self.imaginary))

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which integrals have a value to rely on."""
        return np.asarray(self.status == "OK")

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each integral, its parameters first."""
        frame = super().to_pandas()
        for place, (name, values) in enumerate(self.parameters.items()):
            frame.insert(place, name, values.ravel())
        return frame

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Plot the values with their errors over a parameter; returns the axes of matplotlib.

        Parameters
        ----------
        x
            The parameter; by default the first that is not constant.
        ax
            Axes to plot on.
        """
        varying = [name for name, values in self.parameters.items() if np.ptp(values) > 0]
        name = x or (varying[0] if varying else next(iter(self.parameters), ""))
        places = self.parameters[name].ravel() if name else np.arange(self.value.size, dtype=float)
        ax = plotted(ax, name or "row")
        good = self.ok.ravel()
        order = np.argsort(places[good])
        ax.errorbar(places[good][order], self.value.ravel()[good][order], yerr=self.error.ravel()[good][order], marker=".", lw=1.2)
        ax.set_ylabel("integral")
        return ax


def _rows(parameters: Parameters, lower: ArrayLike, upper: ArrayLike = np.inf) -> tuple[dict[str, Array], Array, Array]:
    """Parameters and limits, broadcast."""
    if parameters is None:
        table: Mapping[str, Any] = {}
    elif isinstance(parameters, Mapping):
        table = parameters
    elif isinstance(parameters, np.ndarray) and parameters.dtype.names:
        table = {name: parameters[name] for name in parameters.dtype.names}
    elif hasattr(parameters, "columns"):  # a frame of pandas or polars
        table = {str(name): np.asarray(parameters[name], dtype=float) for name in parameters.columns}
    else:
        raise TypeError("parameters is a dict, a DataFrame or a structured array, with an array or a number for each name")
    names = list(table)
    limits = (np.asarray(lower, dtype=float), np.asarray(upper, dtype=float))
    arrays = np.broadcast_arrays(*limits, *(np.asarray(table[name], dtype=float) for name in names))
    return dict(zip(names, arrays[2:], strict=True)), arrays[0], arrays[1]


def _integrate(
    task: Any, parameters: Parameters, limits: tuple[ArrayLike, ArrayLike], backend: str, precision: str, settings: dict[str, Any]
) -> Integrals:
    columns, lowers, uppers = _rows(parameters, *limits)
    missing = [name for name in task.parameters if name not in columns]
    if missing:
        raise ValueError(f"no value for the parameter {', '.join(missing)}; use parameters={{'{missing[0]}': ...}}")
    surplus = [name for name in columns if name not in task.parameters]
    if surplus:
        raise ValueError(f"the integrand has no parameter {', '.join(surplus)}; it has {', '.join(task.parameters) or 'none'}")
    chosen = [(name, np.ascontiguousarray(columns[name].ravel())) for name in task.parameters]
    ends = [np.ascontiguousarray(ends.ravel()) for ends in (lowers, uppers)]
    found = task.integrate(*ends, chosen, settings, precision, backend)
    shaped = {name: np.asarray(values).reshape(lowers.shape) for name, values in found.items()}
    return Integrals(**shaped, parameters=columns)


def longman(
    amplitude: str | Callable[[Array], ArrayLike] | Samples | None,
    oscillator: str = "cos",
    frequency: str | float = "omega",
    *,
    parameters: Parameters = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    family: str | None = None,
    nodes: int = 64,
    scale: float = 1.0,
    rtol: float | None = None,
    atol: float | None = None,
    areas: int | None = None,
    gauss: int | None = None,
    beyond: int | None = None,
    nonlinear: bool | None = None,
    absolute_accuracy: float | None = None,
    backend: Backend = "auto",
    precision: Precision = "f64",
) -> Integrals:
    r"""Integrals of ``amplitude(x) oscillator(frequency x)`` from ``lower`` to ``upper``, to infinity by Longman's method.

    Never a wrong value with the status OK: where an integral does not have the form that the method needs, its status says so.

    Parameters
    ----------
    amplitude
        An expression in ``x`` and the parameters, such as ``"x/(x^2+p^2)"``; a Python function of an array, which is sampled once on
        ``nodes`` Chebyshev nodes and must be smooth for all ``x > 0`` and fall to a constant or like a power series in ``1/x``; or a pair
        ``(x, g)`` of arrays, between which a cubic spline is laid. With ``family`` the function ``f`` of the family, or None.
    oscillator
        ``"cos"``, ``"sin"`` or ``"bessel:ORDER"``, where the order may be an expression; or ``"exp"``, which is ``exp(i frequency x)``. An
        amplitude may contain the imaginary unit ``i``, unless that is a parameter.
    frequency
        A number, a parameter, or an expression in the parameters.
    parameters
        Arrays or numbers by name, which broadcast; or a frame of pandas or polars with a column for each.
    lower, upper
        Limits; broadcast with the parameters. Below 0 and below infinity they need an amplitude that is an expression.
    family
        A named family of integrands, such as ``"damped-cos"``; it has an ``oscillator`` and a ``frequency`` of its own.
    nodes, scale
        Number of nodes for a Python function, and the ``x`` about which half of them lie.
    rtol, atol
        Tolerances; by default 1e-10 relative in ``"f64"``, 1e-5 in ``"f32"``.
    areas, gauss, beyond, nonlinear, absolute_accuracy
        As ``Settings`` of the library has them.
    backend, precision
        Where to compute, and the arithmetic of the integrand.

    Returns
    -------
    Integrals
        Values, errors and statuses, of the shape to which the parameters broadcast.

    Raises
    ------
    ValueError
        An expression that is none, a parameter without a value, a setting out of range.

    Examples
    --------
    The integral of ``x/(x^2+p^2) J_0(xi x)`` is ``K_0(p xi)``:

    >>> import rarefy
    >>> found = rarefy.longman("x/(x^2+p^2)", "bessel:0", "xi", parameters={"p": 1.0, "xi": [1.0, 2.0]}, backend="cpu")
    >>> found.ok.tolist()
    [True, True]
    >>> print(f"{found.value[1]:.12f}")
    0.113893872750

    All numbers, and a complex integral, ``exp(3) E_1(3)``:

    >>> found = rarefy.longman("exp(-x^2)", "cos", 2.0, lower=-float("inf"), backend="cpu")
    >>> print(f"{float(found):.12f}")
    0.652049332173
    >>> print(f"{float(rarefy.longman('1/(x+i)', 'exp', 3.0, backend='cpu')):.12f}")
    0.262083740255

    A Python function, for three frequencies:

    >>> found = rarefy.longman(lambda x: 1 / (1 + x**2), "cos", "w", parameters={"w": [1.0, 2.0, 3.0]}, backend="cpu")
    >>> import numpy as np
    >>> bool(np.all(abs(found.value - np.pi / 2 * np.exp([-1.0, -2.0, -3.0])) <= found.error))
    True
    """
    _rarefy.enter(backend)
    frequency = repr(float(frequency)) if isinstance(frequency, (int, float)) else frequency
    columns, _, _ = _rows(parameters, lower)
    names = list(columns)
    if family is not None:
        if callable(amplitude) or isinstance(amplitude, tuple):
            raise TypeError("the function of a family is an expression")
        task = _rarefy.Task.family(family, amplitude, names)
    elif isinstance(amplitude, str):
        task = _rarefy.Task.oscillating(amplitude, oscillator, frequency, names)
    elif callable(amplitude):
        x = _rarefy.chebyshev_nodes(nodes, scale)
        g = np.ascontiguousarray(np.broadcast_to(np.asarray(amplitude(x), dtype=float), x.shape))
        task = _rarefy.Task.sampled(x, g, True, oscillator, frequency, names)
    elif amplitude is not None:
        x, g = (np.ascontiguousarray(np.asarray(values, dtype=float)) for values in amplitude)
        task = _rarefy.Task.sampled(x, g, False, oscillator, frequency, names)
    else:
        raise TypeError("the amplitude is an expression, a function, or a pair of arrays (x, g)")
    settings = given(
        rtol=rtol, atol=atol, areas=areas, gauss=gauss, beyond=beyond, nonlinear=nonlinear, absolute_accuracy=absolute_accuracy
    )
    return _integrate(task, parameters, (lower, upper), backend, precision, settings)


def longman_between(
    integrand: str,
    boundaries: ArrayLike | None = None,
    *,
    half_period: float | None = None,
    first: float | None = None,
    parameters: Parameters = None,
    lower: ArrayLike = 0.0,
    rtol: float | None = None,
    atol: float | None = None,
    areas: int | None = None,
    gauss: int | None = None,
    nonlinear: bool | None = None,
    backend: Backend = "cpu",
    precision: Precision = "f64",
) -> Integrals:
    """Integrals of a whole ``integrand`` to infinity, between boundaries at which it changes sign.

    Parameters
    ----------
    integrand
        An expression in ``x`` and the parameters.
    boundaries
        Ascending points; or None, and ``half_period`` is their distance.
    half_period, first
        Distance of the boundaries, and the first of them.
    parameters, lower, rtol, atol, areas, gauss, nonlinear, backend, precision
        As for :func:`longman`.

    Returns
    -------
    Integrals
        Values, errors and statuses.

    Examples
    --------
    The integral of ``cos(x^2)`` between its zeros is ``sqrt(pi/8)``:

    >>> import numpy as np, rarefy
    >>> found = rarefy.longman_between("cos(x^2)", np.sqrt(np.pi * (np.arange(65) + 0.5)))
    >>> abs(float(found) - np.sqrt(np.pi / 8)) <= found.error
    np.True_
    """
    _rarefy.enter(backend)
    if (boundaries is None) == (half_period is None):
        raise TypeError("either boundaries or half_period is needed")
    where: dict[str, Any]
    if boundaries is not None:
        where = {"points": np.asarray(boundaries, dtype=float).tolist()}
    else:
        where = {"half-period": {"first": first, "half_period": half_period}}
    columns, _, _ = _rows(parameters, lower)
    task = _rarefy.Task.whole(integrand, where, list(columns))
    settings = given(rtol=rtol, atol=atol, areas=areas, gauss=gauss, nonlinear=nonlinear)
    return _integrate(task, parameters, (lower, np.inf), backend, precision, settings)


Function = str | Callable[[Array], ArrayLike]


def hankel(f: Function, nu: float, k: ArrayLike, **settings: Any) -> Integrals:
    r"""The Hankel transform, the integral of ``f(x) J_nu(k x) x`` from 0 to infinity.

    Parameters
    ----------
    f
        An expression in ``x``, or a Python function of an array; ``f(x) x`` must be as the amplitude of :func:`longman`.
    nu
        The order, from -1 to 1000.
    k
        Wave numbers, positive.
    **settings
        ``nodes``, ``scale``, ``rtol``, ``atol``, ``backend`` and the others of :func:`longman`. ``parameters`` are those of an expression.

    Returns
    -------
    Integrals
        Values, errors and statuses, of the shape of ``k``.

    Examples
    --------
    The transform of ``exp(-x)`` is ``(1 + k^2)^(-3/2)``:

    >>> import numpy as np, rarefy
    >>> k = np.geomspace(0.1, 10.0, 5)
    >>> found = rarefy.hankel("exp(-x)", 0, k, backend="cpu")
    >>> bool(np.all(found.ok)), bool(np.allclose(found.value, (1 + k**2) ** -1.5, rtol=1e-10))
    (True, True)
    """
    if isinstance(f, str):
        return _transform(f"({f})*x", f"bessel:{float(nu)!r}", k, settings)
    return _transform(lambda x: np.asarray(f(x)) * x, f"bessel:{float(nu)!r}", k, settings)


def fourier_cos(f: Function, w: ArrayLike, **settings: Any) -> Integrals:
    r"""The cosine transform, the integral of ``f(x) cos(w x)`` from 0 to infinity.

    Parameters
    ----------
    f, w, **settings
        As ``f``, ``k`` and settings of :func:`hankel`.

    Returns
    -------
    Integrals
        Values, errors and statuses, of the shape of ``w``.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> found = rarefy.fourier_cos(lambda x: 1 / (1 + x**2), [1.0, 2.0], backend="cpu")
    >>> bool(np.allclose(found.value, np.pi / 2 * np.exp([-1.0, -2.0]), rtol=1e-9))
    True
    """
    return _transform(f, "cos", w, settings)


def fourier_sin(f: Function, w: ArrayLike, **settings: Any) -> Integrals:
    r"""The sine transform, the integral of ``f(x) sin(w x)`` from 0 to infinity.

    Parameters
    ----------
    f, w, **settings
        As ``f``, ``k`` and settings of :func:`hankel`.

    Returns
    -------
    Integrals
        Values, errors and statuses, of the shape of ``w``.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> found = rarefy.fourier_sin("exp(-x)", [1.0, 2.0], backend="cpu")
    >>> bool(np.allclose(found.value, [1 / 2, 2 / 5], rtol=1e-10))
    True
    """
    return _transform(f, "sin", w, settings)


def _transform(f: Function, oscillator: str, frequency: ArrayLike, settings: dict[str, Any]) -> Integrals:
    """A transform with the frequency as a parameter."""
    name = "frequency"
    parameters = settings.pop("parameters", None) or {}
    return longman(f, oscillator, name, parameters={**parameters, name: frequency}, **settings)
