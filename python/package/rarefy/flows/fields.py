"""Fields of a flow on a line or in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .._results import Array, Result, plotted


@dataclass(frozen=True, repr=False, eq=False)
class FlowResult(Result):
    """Fields of a flow.

    Attributes
    ----------
    x, y
        Centres of the cells; ``y`` is None on a line.
    density, ux, uy, temperature, pxx, pyy, pxy, qx, qy
        Fields, shape ``(len(x),)`` or ``(len(y), len(x))``.
    """

    x: Array
    y: Array | None
    density: Array
    ux: Array
    uy: Array
    temperature: Array
    pxx: Array
    pyy: Array
    pxy: Array
    qx: Array
    qy: Array
    time: float
    device: str

    _columns: ClassVar[tuple[str, ...]] = ("density", "ux", "uy", "temperature", "pxx", "pyy", "pxy", "qx", "qy")

    def _coordinates(self) -> dict[str, Array]:
        return {"x": self.x} if self.y is None else {"y": self.y, "x": self.x}

    def to_xarray(self) -> Any:
        """A ``xarray.Dataset`` over ``(y, x)`` or ``(x,)``."""
        import xarray

        axes = tuple(self._coordinates())
        return xarray.Dataset({name: (axes, column) for name, column in self._table().items()}, coords=self._coordinates(), attrs=self._scalars())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` over ``(y, x)`` or ``x``."""
        return self.to_xarray().to_dataframe()

    def plot(self, name: str = "density", ax: Any = None) -> Any:
        """Plot a field; returns the axes of matplotlib."""
        ax = plotted(ax, r"$x/l_0$")
        field = getattr(self, name)
        if self.y is None:
            ax.plot(self.x, field)
            ax.set_ylabel(name)
        else:
            draw_map(ax, self.x, self.y, field, name)
        return ax


def draw_map(ax: Any, x: Array, y: Array, field: Array, name: str) -> None:
    ax.grid(False)
    image = ax.pcolormesh(x, y, field, shading="auto", rasterized=True)
    ax.figure.colorbar(image, ax=ax, label=name)
    ax.set_aspect("equal")
    ax.set_ylabel(r"$y/l_0$")


