"""Sweeps: a flow for each value of a parameter."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from .._results import Array, Result, needs, plotted

Single = ParamSpec("Single")
Found = TypeVar("Found", bound=Result)

# Those that span decades.
LOGARITHMIC = ("delta", "kn")


@dataclass(frozen=True, eq=False)
class Sweep(Generic[Found]):
    """A result for each value of a parameter; a sequence of them.

    A quantity of all results is an attribute with its name: ``sweep.thickness`` is an array beside ``sweep.values``.

    Attributes
    ----------
    parameter
        The name of the parameter: ``"mach"``, ``"delta"`` or ``"kn"``.
    values
        Its values.
    results
        The results, in the order of the values.
    """

    parameter: str
    values: Array
    results: tuple[Found, ...]

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, k: int) -> Found:
        return self.results[k]

    def __iter__(self) -> Iterator[Found]:
        return iter(self.results)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        each = [getattr(result, name) for result in self.results]
        return np.asarray(each) if all(np.ndim(value) == 0 for value in each) else each

    def errors(self, name: str) -> Array:
        """Estimated errors of a quantity; NaN where none is estimated."""
        tables = (getattr(result, "discretisation_error", None) or {} for result in self.results)
        totals = (table.get(name, {}).get("total") for table in tables)
        return np.asarray([np.nan if total is None else total for total in totals])

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``: a row for each value, a column for each number of the results, and ``NAME_error`` where errors are estimated."""
        try:
            import pandas
        except ImportError:
            raise needs("pandas", "to_pandas()") from None
        columns: dict[str, Any] = {}
        for name in self.results[0]._scalars():
            columns[name] = getattr(self, name)
            errors = self.errors(name)
            if np.isfinite(errors).any():
                columns[f"{name}_error"] = errors
        columns.pop(self.parameter, None)
        return pandas.DataFrame(columns, index=pandas.Index(self.values, name=self.parameter))

    def plot(self, name: str | None = None, ax: Any = None) -> Any:
        """Plot a quantity over the values, with its errors; returns the axes of matplotlib."""
        name = name or self.results[0]._swept
        ax = plotted(ax, self.parameter)
        errors = self.errors(name)
        ax.errorbar(self.values, getattr(self, name), yerr=errors if np.isfinite(errors).all() else None, marker="o", capsize=3)
        if self.parameter in LOGARITHMIC:
            ax.set_xscale("log")
        ax.set_ylabel(name)
        return ax


class Swept(Protocol[Single, Found]):
    """A function of a flow, whose parameter takes a number or several."""

    @overload
    def __call__(self, *args: Single.args, **kwargs: Single.kwargs) -> Found: ...
    @overload
    def __call__(self, values: Sequence[float] | Array, /, **kwargs: Any) -> Sweep[Found]: ...
    @overload
    def __call__(self, *, kn: Sequence[float] | Array, **kwargs: Any) -> Sweep[Found]: ...


def swept(*names: str) -> Callable[[Callable[Single, Found]], Swept[Single, Found]]:
    """Let one of the parameters be a list, for a :class:`Sweep`; the first one may be given without its name."""

    def decorate(solve: Callable[Single, Found]) -> Swept[Single, Found]:
        @functools.wraps(solve)
        def call(*args: Any, **kwargs: Any) -> Any:
            asked: dict[str, Any] = kwargs | dict(zip(names[:1], args, strict=False))
            lists = {name: asked[name] for name in names if _is_list(asked.get(name))}
            if len(args) > 1 or not lists:
                return solve(*args, **kwargs)
            if len(lists) > 1:
                raise TypeError("either delta or kn is needed")
            ((name, values),) = lists.items()
            return _sweep(solve, name, values, asked)

        return cast(Swept[Single, Found], call)

    return decorate


def _is_list(values: Any) -> bool:
    return np.ndim(values) > 0


def _sweep(solve: Callable[..., Found], name: str, values: Any, options: dict[str, Any]) -> Sweep[Found]:
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"{name} has the shape {numbers.shape}; a number or a list of numbers is needed")
    results: list[Found] = []
    for number in numbers:
        try:
            results.append(solve(**options | {name: float(number)}))
        except BaseException as error:
            # Flows that are found may have taken hours.
            error.results = tuple(results)  # type: ignore[attr-defined]
            if hasattr(error, "add_note"):
                error.add_note(f"in a sweep, at {name} = {number:g}; the attribute `results` has the {len(results)} before")
            raise
    return Sweep(name, numbers, tuple(results))
