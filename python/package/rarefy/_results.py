"""Results: named arrays that become tables and plots."""

from __future__ import annotations

import dataclasses
import html
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def needs(package: str, method: str) -> ImportError:
    return ImportError(f"{method} needs {package}: pip install {package}")


class Result:
    """A result with named arrays.

    Subclasses are frozen dataclasses. ``_columns`` names the arrays that make a table and ``_axes`` their coordinates, outermost first;
    those that are None are left out.
    """

    _columns: ClassVar[tuple[str, ...]] = ()
    _axes: ClassVar[tuple[str, ...]] = ()
    # The quantity that a sweep shows.
    _swept: ClassVar[str] = "flux"

    def _values(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def _table(self) -> dict[str, Array]:
        values = self._values()
        return {name: np.asarray(values[name]) for name in self._columns if values.get(name) is not None}

    def _coordinates(self) -> dict[str, Array]:
        places = {name: getattr(self, name) for name in self._axes}
        return {name: np.asarray(place) for name, place in places.items() if place is not None}

    def _scalars(self) -> dict[str, Any]:
        skipped = {*self._columns, *self._axes}
        plain = (bool, int, float, str)
        return {name: value for name, value in self._values().items() if name not in skipped and isinstance(value, plain)}

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``: a row for each point, the coordinates its index.

        Scalars are in ``DataFrame.attrs``.
        """
        try:
            import pandas
        except ImportError:
            raise needs("pandas", "to_pandas()") from None
        data: dict[str, Array] = {}
        coordinates = self._coordinates()
        if coordinates:
            mesh = np.meshgrid(*coordinates.values(), indexing="ij")
            data |= {name: axis.ravel() for name, axis in zip(coordinates, mesh, strict=True)}
        data |= {name: column.ravel() for name, column in self._table().items()}
        frame = pandas.DataFrame(data)
        if coordinates:
            frame = frame.set_index(list(coordinates))
        frame.attrs = self._scalars()
        return frame

    def to_xarray(self) -> Any:
        """A ``xarray.Dataset`` with the coordinates as its dimensions and the scalars as its attributes."""
        try:
            import xarray
        except ImportError:
            raise needs("xarray", "to_xarray()") from None
        table = self._table()
        axes = tuple(self._coordinates()) or tuple(f"dim_{k}" for k in range(max((column.ndim for column in table.values()), default=0)))
        variables = {name: (axes[: column.ndim], column) for name, column in table.items()}
        return xarray.Dataset(variables, coords=self._coordinates(), attrs=self._scalars())

    def _repr_html_(self) -> str:
        rows = [f"<tr><th>{html.escape(name)}</th><td>{html.escape(_short(value))}</td></tr>" for name, value in self._values().items() if value is not None]
        return f"<table><caption>rarefy.{type(self).__name__}</caption>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        parts = [f"{name}={_short(value)}" for name, value in self._values().items() if value is not None]
        return f"{type(self).__name__}({', '.join(parts)})"


def plotted(ax: Any, label: str) -> Any:
    """The axes to plot on, made where there are none."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise needs("matplotlib", "plot()") from None
        _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ax.set_xlabel(label)
    ax.grid(True, alpha=0.25)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size == 0:
            return f"array{value.shape}"
        if value.dtype.kind in "fiu":
            return f"array{value.shape} from {np.nanmin(value):.6g} to {np.nanmax(value):.6g}"
        return f"array{value.shape}"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_short(item)}" for key, item in value.items()) + "}"
    text = str(value)
    return text if len(text) < 120 else text[:117] + "..."
