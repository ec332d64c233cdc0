"""Checkpoints, which the command `rarefy` and this package share."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from . import _rarefy
from ._results import Array

_MAGIC = b"rarefy-checkpoint 2\n"
_RELAX = tuple(
    "step time density ux uy uz temperature pxx pyy pzz pxy pxz pyz qx qy qz m4 H min_f activity below_zero".split()
)
_ISOTROPIC = tuple("step time number energy second third entropy minimum largest_frequency".split())
_MOMENTS = _ISOTROPIC[2:-1]
_MARKET = ("step", "time", *_MOMENTS, "traded", "trade_rate", "gini")


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
        "written": {},
        "lengths": {name: int(values.size) for name, values in flat.items()},
    }
    body = _MAGIC + json.dumps(header, allow_nan=False).encode() + b"\n" + b"".join(values.tobytes() for values in flat.values())
    return body + zlib.crc32(body).to_bytes(4, "little")


def _decode(path: str | os.PathLike[str], command: str) -> tuple[dict[str, Any], dict[str, Array]]:
    data = Path(path).read_bytes()
    if not data.startswith(_MAGIC):
        other = "a checkpoint of another format than 2, which this rarefy reads; resume it with the version that wrote it"
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
    values = dict(zip(_RELAX, [float(value) for value in row], strict=True))
    moments = {
        "density": values["density"],
        "velocity": [values[k] for k in ("ux", "uy", "uz")],
        "temperature": values["temperature"],
        "pressure": [values[k] for k in ("pxx", "pyy", "pzz", "pxy", "pxz", "pyz")],
        "heat_flux": [values[k] for k in ("qx", "qy", "qz")],
        "fourth": values["m4"],
        "entropy": values["H"],
        "minimum": values["min_f"],
        "below_zero": values["below_zero"],
    }
    return {"step": int(values["step"]), "time": values["time"], "moments": moments, "activity": values["activity"]}


def _row(record: dict[str, Any]) -> list[float]:
    m = record["moments"]
    ends = [m["fourth"], m["entropy"], m["minimum"], record["activity"], m["below_zero"]]
    return [record["step"], record["time"], m["density"], *m["velocity"], m["temperature"], *m["pressure"], *m["heat_flux"], *ends]


def _named(columns: tuple[str, ...], row: Array) -> dict[str, Any]:
    """A row of energy space as a record of the library."""
    values = dict(zip(columns, map(float, row), strict=True))
    moments = {name: values.pop(name) for name in _MOMENTS}
    return values | {"step": int(values["step"]), "moments": moments}


def _numbers(columns: tuple[str, ...], histories: list[list[dict[str, Any]]]) -> Array:
    """The rows of all histories."""
    flat = [record | record["moments"] for history in histories for record in history]
    return np.asarray([[record[name] for name in columns] for record in flat])


def read_checkpoint(path: str | os.PathLike[str], command: str) -> dict[str, Any]:
    """The library's checkpoint in a file."""
    state, arrays = _decode(path, command)
    try:
        if command == "relax":
            table = arrays["history"].reshape(-1, len(_RELAX))
            kept = {name: state[name] for name in ("config", "step", "time")}
            return kept | {"history": [_record(row) for row in table], "f": arrays["f"].tolist()}
        count = state.get("states", 1)

        def histories(name: str, columns: tuple[str, ...]) -> list[list[dict[str, Any]]]:
            return [[_named(columns, row) for row in rows] for rows in arrays[name].reshape(count, -1, len(columns))]

        relaxation = {name: state[name] for name in ("config", "time_step", "step")}
        relaxation |= {"states": arrays["f"].reshape(count, -1).tolist(), "histories": histories("history", _ISOTROPIC)}
        if command == "isotropic":
            return relaxation
        return {"config": state["market"], "relaxation": relaxation, "histories": histories("market", _MARKET)}
    except (KeyError, ValueError) as error:
        raise _misfit(path, error) from None


def _misfit(path: str | os.PathLike[str], error: Exception) -> ValueError:
    return ValueError(f"{path}: the checkpoint does not fit this version of rarefy: {error}")


def _relax_parameters(config: dict[str, Any]) -> dict[str, Any]:
    """The flags of `rarefy relax` that are this configuration."""
    operator = config["operator"]
    spectral = operator["spectral"]
    flags = {
        "grid": operator["grid"]["n"],
        "vmin": operator["grid"]["min"],
        "vmax": operator["grid"]["max"],
        "molecules": operator["scattering"],
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
    if config["dt"] is not None:
        flags["dt"] = config["dt"]
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
            "samples": 1,
            "stride": 1,
            "method": {"taken": data["config"]["operator"]["method"], "because": "chosen"},
            "warnings": [],
        }
        sections = np.asarray([data["step"], data["time"], *_sections(f)])
        arrays = {"f": f, "f_initial": f, "history": history, "cross_sections": sections, "residuals": np.zeros(5)}
    else:
        relaxation = data if command == "isotropic" else data["relaxation"]
        state = {name: relaxation[name] for name in ("config", "time_step", "step")} | {"states": len(relaxation["states"])}
        arrays = {"f": np.asarray(relaxation["states"]), "history": _numbers(_ISOTROPIC, relaxation["histories"])}
        if command == "market":
            state["market"] = data["config"]
            arrays["market"] = _numbers(_MARKET, data["histories"])
    _write(path, _encode(command, state, arrays))


def read_flow(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Array, bool]:
    """The library's checkpoint of a flow, its unknowns beside it, and whether they are of the collision integral."""
    state, arrays = _decode(path, "simulation")
    try:
        by_integral = "distributions" in arrays
        looked = state["looked"]
        if looked is not None:
            state["looked"] = {"step": looked, "fields": arrays["looked"].reshape(4, -1).tolist()}
        if by_integral:
            return state | {"distributions": []}, arrays["distributions"], True
        initial = arrays["initial"].reshape(-1, 4)
        state["config"]["problem"]["initial"] = [{"density": n, "velocity": [ux, uy], "temperature": t} for n, ux, uy, t in initial.tolist()]
        return state | {"populations": [], "extra": arrays["extra"].tolist()}, arrays["populations"], False
    except (KeyError, ValueError) as error:
        raise _misfit(path, error) from None


def write_flow(path: str | os.PathLike[str], data: dict[str, Any], unknowns: Array, by_integral: bool) -> None:
    """Write a checkpoint of :func:`read_flow`."""
    looked = data.get("looked")
    state = {"config": data["config"], "step": data["step"], "looked": looked and looked["step"]}
    arrays = {"looked": np.asarray(looked["fields"] if looked else [])}
    if by_integral:
        arrays["distributions"] = unknowns
    else:
        problem = dict(data["config"]["problem"])
        initial = [[s["density"], *s["velocity"], s["temperature"]] for s in problem.pop("initial")]
        state |= {"config": data["config"] | {"problem": problem}, "faces": data["faces"]}
        arrays |= {"populations": unknowns, "initial": np.asarray(initial), "extra": np.asarray(data["extra"], dtype=float)}
    _write(path, _encode("simulation", state, arrays))
