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

from ._results import Result

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
        """A table as a ``pandas.DataFrame``; by default the only one, or ``history``."""
        import pandas

        return pandas.DataFrame(self.tables[self._one(table)])

    def plot(self, table: str | None = None, *names: str, ax: Any = None) -> Any:
        """Plot columns of a table over its first one; returns the axes of matplotlib."""
        columns = self.tables[self._one(table)]
        first, *others = columns
        ax = self._plotted(ax, first)
        for name in names or [other for other in others if columns[other].dtype.kind == "f"][:4]:
            ax.plot(columns[first], columns[name], label=name)
        ax.legend(frameon=False)
        return ax

    def _one(self, table: str | None) -> str:
        if table is not None:
            return table
        if len(self.tables) == 1 or "history" not in self.tables:
            if not self.tables:
                raise ValueError(f"{self.folder} holds no table")
            return next(iter(self.tables))
        return "history"

    def __repr__(self) -> str:
        return f"Run({self.command!r}, status={self.status!r}, tables={sorted(self.tables)}, arrays={sorted(self.arrays)})"


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
