"""Steady flows past and through bodies in a plane or in space."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import _rarefy
from .._accuracy import choice
from .._results import Array, Result
from .._run import _Bar, compute, plain, warn


@dataclass(frozen=True, repr=False, eq=False)
class BodiesResult(Result):
    """A steady flow past and through bodies.

    Attributes
    ----------
    case
        The case in full.
    bodies
        Loads on each body by its name: ``force_x``, ``force_y``, ``moment``, ``heat``, and with a stream ``drag_coefficient``,
        ``lift_coefficient``, ``heat_coefficient``; in space ``force_z``, ``moment_x``, ``moment_y``, ``area``, ``frontal_area``,
        ``side_coefficient`` and the limits ``drag_free_molecular``, ``heat_free_molecular``, ``drag_newtonian`` too.
    sides
        ``mass``, ``momentum_x``, ``momentum_y``, ``energy`` that leave through each side.
    balance
        The same, summed over all sides and bodies.
    x, y, z
        Centres of the cells; ``z`` is None in a plane, as are ``uz`` and ``qz``.
    edges
        Edges of the cells along x, along y and, in space, along z.
    gas, density, ux, uy, uz, temperature, qx, qy, qz
        Share of gas in the cells and fields, ``[iy, ix]``, in space ``[iz, iy, ix]``; zero within bodies.
    temperature_translational, temperature_rotational, qx_rotational, qy_rotational, qz_rotational
        Of molecules that rotate: both temperatures and the heat flux of rotation, which is a part of ``qx``, ``qy`` and ``qz``; else None.
    walls
        Columns of the walls along their outlines: ``body`` (its place in the case), ``curve``, ``arc``, ``angle``, ``x``, ``y``, ``normal_x``,
        ``normal_y``, ``length``, ``pressure``, ``shear``, ``heat``, ``slip``, ``jump``. In space of their facets: ``body``, ``x``, ``y``, ``z``,
        ``normal_x``, ``normal_y``, ``normal_z``, ``area``, ``pressure``, ``shear_x``, ``shear_y``, ``shear_z``, ``heat``.
    mass_flow, energy_flow
        Mass and energy that pass through the domain: sums over the sides where more leaves than enters.
    discretisation_error
        Estimated errors as ``bodies``, ``sides``, ``passages``, ``mass_flow`` and ``energy_flow`` have their numbers; each by axis (``cells``,
        ``velocities``, ``domain``, ``iteration``) with their ``total``; None without repeats.
    accuracy
        The accuracy that was asked for, whether the results have it, and the grid of the search.
    negative_equilibrium
        Of nonlinear flows by ``shakhov`` and ``polyatomic``: the largest share of the equilibrium of a cell that is below zero, of ``molecules`` and of
        ``internal_energy``; else None.
    passages
        Of flows between two opposite sides: ``flow``, ``conductance``, ``opening``, ``transmission``; of linearised periods ``mobility`` and ``permeability``.
    status, cells, nodes, iterations, history
        How the iteration ended; cells with gas, velocities, iterations, and the change of each.
    """

    case: dict[str, Any]
    bodies: dict[str, dict[str, float]]
    sides: dict[str, dict[str, float]]
    balance: dict[str, float]
    x: Array
    y: Array
    edges: tuple[Array, ...]
    gas: Array
    density: Array
    ux: Array
    uy: Array
    temperature: Array
    qx: Array
    qy: Array
    walls: dict[str, Array]
    passages: list[dict[str, Any]]
    status: str
    cells: int
    nodes: int
    iterations: int
    history: Array
    mass_flow: float
    energy_flow: float
    discretisation_error: dict[str, Any] | None = None
    accuracy: dict[str, Any] | None = None
    negative_equilibrium: dict[str, float] | None = None
    z: Array | None = None
    uz: Array | None = None
    qz: Array | None = None
    temperature_translational: Array | None = None
    temperature_rotational: Array | None = None
    qx_rotational: Array | None = None
    qy_rotational: Array | None = None
    qz_rotational: Array | None = None

    _columns = (
        *("gas", "density", "ux", "uy", "uz", "temperature", "temperature_translational", "temperature_rotational"),
        *("qx", "qy", "qz", "qx_rotational", "qy_rotational", "qz_rotational"),
    )
    _axes = ("z", "y", "x")

    def plot(self, name: str = "temperature", ax: Any = None, z: float | None = None) -> Any:
        """Plot a field with the bodies; returns the axes of matplotlib. In space the layer of cells about ``z`` is plotted, the middle one by default."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        if ax is None:
            ax = pyplot.figure(layout="constrained").subplots()
        values = np.ma.masked_where(self.gas <= 0.0, getattr(self, name))
        if self.z is not None:
            edges = self.edges[2]
            middle = 0.5 * (edges[0] + edges[-1]) if z is None else z
            layer = int(np.clip(np.searchsorted(edges, middle, side="right") - 1, 0, len(self.z) - 1))
            values = values[layer]
        mesh = ax.pcolormesh(*self.edges[:2], values)
        ax.figure.colorbar(mesh, ax=ax, label=name)
        ax.set_aspect("equal")
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        if self.z is not None:
            ax.set_title(f"z = {self.z[layer]:.3g}")
            return ax
        walls = self.walls
        half = 0.5 * walls["length"]
        across, along = half * walls["normal_y"], half * walls["normal_x"]
        ax.plot(
            np.array([walls["x"] + across, walls["x"] - across]),
            np.array([walls["y"] - along, walls["y"] + along]),
            color="black",
            linewidth=1.0,
        )
        return ax


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:
        raise ImportError("a case file needs Python 3.11 or later; give the case as a dictionary") from None
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None


def _arrays(case: Mapping[str, Any]) -> tuple[dict[int, Array], dict[str, Any]]:
    """Arrays of bodies by their places, and the case without them."""
    arrays, bodies = {}, []
    for at, body in enumerate(case.get("body", ())):
        body = dict(body)
        if body.get("shape") in ("mask", "distance", "voxels") and "values" in body:
            values = np.asarray(body.pop("values"))
            dimensions, order = (3, "three dimensions, [iz, iy, ix]") if body["shape"] == "voxels" else (2, "two dimensions, [iy, ix]")
            if values.ndim != dimensions:
                raise ValueError(f"body {at + 1}: values: shape {values.shape}; expected {order}")
            if body["shape"] != "distance" and values.dtype not in (np.bool_, np.uint8):
                raise TypeError(f"body {at + 1}: values: {values.dtype}; expected bool or uint8, with True in the solid")
            arrays[at] = np.ascontiguousarray(values, dtype=float)
        bodies.append(body)
    without = dict(case)
    if bodies:
        without["body"] = bodies
    return arrays, without


def flow(
    case: Mapping[str, Any] | str | os.PathLike[str],
    *,
    tolerance: float | None = None,
    iterations: int | None = None,
    verify: bool | None = None,
    accuracy: float | None = None,
    progress: bool = False,
    backend: Literal["auto", "cpu", "cuda", "emulator", "reference"] = "auto",
    precision: Literal["f32", "f64"] = "f64",
    devices: int | Literal["all"] | None = None,
) -> BodiesResult:
    """A steady flow past and through bodies: in a plane, round an axis where the domain has ``"symmetry": "axis"``, or in space where it has a ``"z"``.

    Parameters
    ----------
    case
        A dictionary with the tables and keys of a case file, or the path of one. Bodies are a list under ``"body"``. Cells, velocities and far
        sides that it leaves out are chosen.
        Those of shape ``"mask"`` or ``"distance"`` may have their array as ``"values"``, indexed ``[iy, ix]``: True in the solid, or distances, positive in the gas.
        Those of shape ``"voxels"`` may have theirs, indexed ``[iz, iy, ix]``.
    tolerance, iterations
        Those of the case, replaced.
    verify
        Whether to estimate errors by repeats on coarser grids; by default where that takes seconds.
    accuracy
        Refine cells, velocities and the far field until all main results have this relative accuracy; ``result.case`` has the grid.
    progress
        Whether to show a bar.
    backend
        Where it runs. ``"auto"`` takes a GPU if there is one, and the CPU for flows round an axis and for linear ones between periodic sides.
    precision
        ``"f32"`` on a GPU alone.
    devices
        GPUs that share the velocities, or ``"all"`` of the host; by default one.

    Returns
    -------
    BodiesResult

    Examples
    --------
    >>> import rarefy
    >>> stream = {"kind": "stream", "mach": 2.0}
    >>> result = rarefy.flow({
    ...     "gas": {"delta": 1.0},
    ...     "domain": {"x": [-1.5, 1.5], "y": [-1.5, 1.5], "h": 0.25},
    ...     "sides": {"left": stream, "right": stream, "bottom": stream, "top": stream},
    ...     "body": [{"name": "cylinder", "shape": "circle", "radius": 0.5}],
    ...     "solver": {"tolerance": 1e-3},
    ... })
    >>> result.status, result.density.shape
    ('converged', (12, 12))
    >>> sorted(result.discretisation_error["bodies"]["cylinder"]["drag_coefficient"])
    ['cells', 'domain', 'iteration', 'total', 'velocities']
    """
    choice(verify, accuracy)
    compute(backend, precision)
    shared = None if devices is None else str(devices)
    if isinstance(case, Mapping):
        arrays, without = _arrays(case)
        given, folder = plain(without), None
    else:
        arrays, given, folder = {}, _read(case), str(Path(case).absolute().parent)
    solver = dict(given.get("solver", {}))
    for name, value in (("tolerance", tolerance), ("iterations", iterations)):
        if value is not None:
            solver[name] = value
    given["solver"] = solver
    goal = math.log(float(solver.get("tolerance", 1e-6)))
    bar = _Bar(progress, "flow")
    first: list[float] = []

    def observe(_: int, change: float) -> None:
        here = math.log(max(change, 1e-300))
        first.append(here)
        bar.show(max(0.0, min(1.0, (here - first[0]) / (goal - first[0] or 1.0))))

    try:
        full, found, fields, walls, errors = _rarefy.flow_case(
            given, observe, verify, accuracy, list(arrays.items()), folder, backend, precision, shared
        )
    finally:
        bar.close()
    for at, values in arrays.items():
        full["body"][at]["values"] = values
    warn(found["warnings"] + errors["warnings"])
    mass_flow, energy_flow = errors["flows"]
    edges = tuple(fields.pop(name) for name in ("x", "y", "z") if name in fields)
    centres = dict(zip(("x", "y", "z"), (0.5 * (axis[1:] + axis[:-1]) for axis in edges), strict=False))
    return BodiesResult(
        case=full,
        bodies={body.pop("name"): body for body in found["bodies"]},
        sides=dict(found["sides"]),
        balance=found["balance"],
        edges=edges,
        walls=walls,
        passages=found["passages"],
        status=found["status"],
        cells=found["cells"],
        nodes=found["nodes"],
        iterations=found["iterations"],
        history=np.asarray(found["history"], dtype=float),
        mass_flow=mass_flow,
        energy_flow=energy_flow,
        discretisation_error=errors["discretisation_error"],
        accuracy=errors["accuracy"],
        negative_equilibrium=found.get("negative_equilibrium"),
        **centres,
        **fields,
    )
