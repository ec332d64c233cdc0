"""Files that the command `rarefy` and this package share: the folder of a run, and its checkpoint."""

from __future__ import annotations

import csv
import json
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _rarefy
from ._results import Array, Result

__all__ = ["Run", "load"]

_MAGIC = b"rarefy-checkpoint 1\n"
_RELAX = tuple(
    "step time density ux uy uz temperature pxx pyy pzz pxy pxz pyz qx qy qz m4 H min_f activity below_zero".split()
)
_ISOTROPIC = tuple("step time number energy second third entropy minimum largest_frequency".split())


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


def _write(path: str | os.PathLike[str], data: bytes) -> None:
    """A file that appears whole or not at all."""
    target = Path(path)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".rarefy-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise


def _encode(command: str, state: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    flat = {name: np.ascontiguousarray(arrays[name], dtype="<f8").ravel() for name in sorted(arrays)}
    header = {
        "version": _rarefy.__version__,
        "command": command,
        "state": state,
        "lengths": {name: int(values.size) for name, values in flat.items()},
    }
    body = _MAGIC + json.dumps(header, allow_nan=False).encode() + b"\n" + b"".join(values.tobytes() for values in flat.values())
    return body + zlib.crc32(body).to_bytes(4, "little")


def _decode(path: str | os.PathLike[str], command: str) -> tuple[dict[str, Any], dict[str, Array]]:
    data = Path(path).read_bytes()
    if not data.startswith(_MAGIC):
        other = "a checkpoint of another format; resume it with the version of rarefy that wrote it"
        raise ValueError(f"{path}: {other if data.startswith(b'rarefy-checkpoint ') else 'not a checkpoint of rarefy'}")
    body, checksum = data[:-4], int.from_bytes(data[-4:], "little")
    end = body.find(b"\n", len(_MAGIC))
    damaged = ValueError(f"{path}: the checkpoint is damaged or cut short (its checksum differs)")
    if zlib.crc32(body) != checksum or end < 0:
        raise damaged
    header = json.loads(body[len(_MAGIC) : end])
    if header["command"] != command:
        raise ValueError(f"{path}: a checkpoint of {header['command']}, not of {command}")
    arrays: dict[str, Array] = {}
    place = end + 1
    for name, length in sorted(header["lengths"].items()):
        arrays[name] = np.frombuffer(body, "<f8", count=length, offset=place).astype(float)
        place += 8 * length
    return header["state"], arrays


def _record(row: Array) -> dict[str, Any]:
    """A row of the command's history as a record of the library."""
    values = dict(zip(_RELAX, [float(value) for value in row], strict=False))
    moments = {
        "density": values["density"],
        "velocity": [values[k] for k in ("ux", "uy", "uz")],
        "temperature": values["temperature"],
        "pressure": [values[k] for k in ("pxx", "pyy", "pzz", "pxy", "pxz", "pyz")],
        "heat_flux": [values[k] for k in ("qx", "qy", "qz")],
        "fourth": values["m4"],
        "entropy": values["H"],
        "minimum": values["min_f"],
        "below_zero": values.get("below_zero", 0.0),
    }
    return {"step": int(values["step"]), "time": values["time"], "moments": moments, "activity": values["activity"]}


def _row(record: dict[str, Any]) -> list[float]:
    m = record["moments"]
    ends = [m["fourth"], m["entropy"], m["minimum"], record["activity"], m["below_zero"]]
    return [record["step"], record["time"], m["density"], *m["velocity"], m["temperature"], *m["pressure"], *m["heat_flux"], *ends]


def read_checkpoint(path: str | os.PathLike[str], command: str) -> dict[str, Any]:
    """The library's checkpoint in a file."""
    state, arrays = _decode(path, command)
    try:
        if command == "relax":
            table = arrays["history"].reshape(-1, state.get("columns", 20))
            kept = {name: state[name] for name in ("config", "step", "time")}
            return kept | {"history": [_record(row) for row in table], "f": arrays["f"].tolist()}
        if command == "isotropic":
            count = state.get("states", 1)
            rows = arrays["history"].reshape(count, -1, len(_ISOTROPIC))
            histories = []
            for part in rows:
                named = [dict(zip(_ISOTROPIC, map(float, row), strict=True)) for row in part]
                histories.append(
                    [
                        {
                            "step": int(row.pop("step")),
                            "time": row.pop("time"),
                            "largest_frequency": row.pop("largest_frequency"),
                            "moments": row,
                        }
                        for row in named
                    ]
                )
            kept = {name: state[name] for name in ("config", "time_step", "step")}
            return kept | {"states": arrays["f"].reshape(count, -1).tolist(), "histories": histories}
        looked = state["looked"]
        if looked is not None:
            state["looked"] = {"step": looked, "fields": arrays["looked"].reshape(4, -1).tolist()}
        initial = arrays["initial"].reshape(-1, 4)
        state["config"]["problem"]["initial"] = [
            {"density": n, "velocity": [ux, uy], "temperature": t} for n, ux, uy, t in initial.tolist()
        ]
        return state | {"populations": arrays["populations"].tolist(), "extra": arrays["extra"].tolist()}
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: the checkpoint does not fit this version of rarefy: {error}") from None


def _relax_parameters(config: dict[str, Any]) -> dict[str, Any]:
    """The flags of `rarefy relax` that are this configuration."""
    operator = config["operator"]
    spectral = operator["spectral"]
    flags = {
        "grid": operator["grid"]["n"],
        "vmin": operator["grid"]["min"],
        "vmax": operator["grid"]["max"],
        "model": operator["scattering"],
        "sigma-t": operator["sigma_t"],
        "method": operator["method"],
        "correction": operator["correction"],
        "no-correction": operator["correction"] == "none",
        "backend": operator["backend"],
        "precision": operator["precision"],
        "init": "an array of Python",
        "limiter": config["limited"],
        "integrator": config["integrator"],
    }
    if operator["method"] == "spectral":
        flags |= {"sphere": spectral["degree"], "rank": spectral["rank"], "period": spectral["period"]}
    else:
        flags["order"] = operator["order"]
    if config["step"] is not None:
        flags["dt"] = config["step"]
    ((kind, end),) = config["until"].items()
    if kind == "steps":
        flags["steps"] = end
    else:
        flags["until"] = f"equilibrium:{end!r}" if kind == "equilibrium" else repr(end)
    return flags


def _sections(f: Array) -> list[float]:
    """Distributions along x and along y through the middle, as the command plots them."""
    n = f.shape[0]
    low, high = (n - 1) // 2, n // 2
    middle = [low, high]
    along_x = f[:, middle][:, :, middle].mean(axis=(1, 2))
    along_y = f[middle][:, :, middle].mean(axis=(0, 2))
    return [*along_x.tolist(), *along_y.tolist()]


def write_checkpoint(path: str | os.PathLike[str], command: str, data: dict[str, Any], device: str) -> None:
    """Write the library's checkpoint as the command does, which resumes those of relaxations in velocity space."""
    arrays: dict[str, Array]
    if command == "relax":
        n = data["config"]["operator"]["grid"]["n"]
        f = np.asarray(data["f"]).reshape(n, n, n)
        history = np.asarray([_row(record) for record in data["history"]])
        state = {name: data[name] for name in ("config", "step", "time")} | {
            "parameters": _relax_parameters(data["config"]),
            "machine": device,
            "rows": len(history),
            "columns": len(_RELAX),
            "samples": 1,
            "stride": 1,
        }
        sections = np.asarray([data["step"], data["time"], *_sections(f)])
        arrays = {"f": f, "f_initial": f, "history": history, "cross_sections": sections, "residuals": np.zeros(5)}
    elif command == "isotropic":
        rows = [
            [record["step"], record["time"], *(record["moments"][name] for name in _ISOTROPIC[2:-1]), record["largest_frequency"]]
            for history in data["histories"]
            for record in history
        ]
        state = {name: data[name] for name in ("config", "time_step", "step")} | {"states": len(data["states"])}
        arrays = {"f": np.asarray(data["states"]), "history": np.asarray(rows)}
    else:
        problem = dict(data["config"]["problem"])
        initial = [[s["density"], *s["velocity"], s["temperature"]] for s in problem.pop("initial")]
        looked = data.get("looked")
        state = {"config": data["config"] | {"problem": problem}, "step": data["step"], "looked": looked and looked["step"]}
        arrays = {name: np.asarray(data[name], dtype=float) for name in ("populations", "extra")}
        arrays |= {"initial": np.asarray(initial), "looked": np.asarray(looked["fields"] if looked else [])}
    _write(path, _encode(command, state, arrays))
