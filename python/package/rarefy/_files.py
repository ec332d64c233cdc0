"""The folder of a run of the command `rarefy`."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._results import Result, plotted

__all__ = ["Run", "load"]


@dataclass(frozen=True, repr=False, eq=False)
class Run(Result):
    """A run of the command `rarefy`, read from its folder.

    Attributes
    ----------
    command, version, status
        The subcommand, the version of rarefy that ran it, and how it ended; None where the record does not say.
    parameters, result, units, timings, machine
        As in ``run.json``; empty where it has none.
    tables
        Columns of each ``.csv`` file, by the name of the file and of the column.
    arrays
        The ``.npy`` files by their names.
    record
        All of ``run.json``.
    """

    folder: Path
    command: str | None
    version: str | None
    status: str | None
    parameters: dict[str, Any]
    result: dict[str, Any]
    units: Any
    timings: Any
    machine: Any
    tables: dict[str, dict[str, NDArray[Any]]]
    arrays: dict[str, NDArray[Any]]
    record: dict[str, Any]

    def to_pandas(self, table: str | None = None) -> Any:
        """A table as a ``pandas.DataFrame``; by default the only one, or the first of ``profile``, ``spectrum``, ``distribution`` and ``history``."""
        import pandas

        return pandas.DataFrame(self.tables[self._one(table)])

    def plot(self, table: str | None = None, *names: str, ax: Any = None) -> Any:
        """Plot columns of a table over its coordinate, by default up to four that vary; returns the axes of matplotlib.

        A table of many times has a line for each of up to eight of them.
        """
        columns = self.tables[self._one(table)]
        keys, x, others = _axes(columns)
        varying = [name for name in others if columns[name].dtype.kind == "f" and _varies(columns[name])]
        chosen = list(names) or (varying or others)[: 1 if keys else 4]
        ax = plotted(ax, x)
        if keys:
            key = columns[keys[-1]]
            starts = np.flatnonzero(np.concatenate([[True], np.any([columns[name][1:] != columns[name][:-1] for name in keys], axis=0)]))
            ends = np.append(starts[1:], len(key))
            for k in np.unique(np.linspace(0, len(starts) - 1, 8).round().astype(int)):
                rows = slice(starts[k], ends[k])
                label = ", ".join(str(columns[name][starts[k]]) for name in keys if columns[name].dtype.kind != "f")
                label = f"{label} {keys[-1]} = {key[starts[k]]:.4g}".strip()
                for name in chosen:
                    ax.plot(columns[x][rows], columns[name][rows], label=label)
            ax.set_ylabel(", ".join(chosen))
        else:
            for name in chosen:
                ax.plot(columns[x], columns[name], label=name)
            if chosen == ["residual"]:
                ax.set_yscale("log")
        ax.legend(frameon=False)
        return ax

    def _one(self, table: str | None) -> str:
        if table is not None:
            return table
        if not self.tables:
            raise ValueError(f"{self.folder} holds no table")
        return next((name for name in ("profile", "spectrum", "distribution", "history") if name in self.tables), next(iter(self.tables)))

    def __repr__(self) -> str:
        return f"Run({self.command!r}, status={self.status!r}, tables={sorted(self.tables)}, arrays={sorted(self.arrays)})"


def _axes(columns: dict[str, NDArray[Any]]) -> tuple[list[str], str, list[str]]:
    """Columns that say to which time a row belongs, the coordinate, and the values over it."""
    names = list(columns)
    keys: list[str] = []
    while len(names) > 2 and len(columns[names[0]]) > 1 and columns[names[0]][0] == columns[names[0]][1]:
        keys.append(names.pop(0))
    if not keys and names[:2] == ["step", "time"] and _varies(columns["time"]):
        names.pop(0)
    return keys, names[0], names[1:]


def _varies(column: NDArray[Any]) -> bool:
    """Whether more than roundoff changes."""
    finite = column[np.isfinite(column)]
    return finite.size > 0 and bool(np.ptp(finite) > 1e-9 * max(1e-3, np.abs(finite).max()))


def _column(texts: list[str]) -> NDArray[Any]:
    try:
        return np.asarray([float(text) if text else np.nan for text in texts])
    except ValueError:
        return np.asarray(texts)


def load(folder: str | os.PathLike[str]) -> Run:
    """Read what the command `rarefy` wrote into a folder, in any version.

    Parameters
    ----------
    folder
        The folder of ``--out``, or its ``run.json``.

    Returns
    -------
    Run

    Raises
    ------
    FileNotFoundError
        A folder without ``run.json``.
    ValueError
        A ``run.json`` that is no record of a run.

    Examples
    --------
    >>> import rarefy
    >>> run = rarefy.load("rarefy-out/shock")  # doctest: +SKIP
    >>> run.tables["profile"]["density"]  # doctest: +SKIP
    """
    path = Path(folder)
    path = path.parent if path.name == "run.json" else path
    try:
        text = (path / "run.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} holds no run.json, which the command writes into the folder of --out") from None
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path / 'run.json'} is no JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"{path / 'run.json'} is no record of a run")
    tables = {}
    for file in sorted(path.glob("*.csv")):
        with file.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.reader(lines))
        if rows:
            tables[file.stem] = {name: _column([row[k] for row in rows[1:]]) for k, name in enumerate(rows[0])}
    arrays = {file.stem: np.load(file, allow_pickle=False) for file in sorted(path.glob("*.npy"))}
    version = record.get("version")
    return Run(
        folder=path,
        command=record.get("command"),
        version=version if isinstance(version, str) else None,
        status=record.get("status"),
        parameters=record.get("parameters") or {},
        result=record.get("result") or {},
        units=record.get("units"),
        timings=record.get("timings"),
        machine=record.get("machine"),
        tables=tables,
        arrays=arrays,
        record=record,
    )
