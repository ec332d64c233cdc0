"""The command that comes with the package."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rarefy

REPOSITORY = Path(__file__).parents[2]
RECORDS = REPOSITORY / "tests" / "data" / "records-0.2"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rarefy", *arguments], capture_output=True, text=True, check=False
    )


def test_the_package_brings_the_command() -> None:
    assert run("--version").stdout.split() == ["rarefy", rarefy.__version__]
    help = run("help", "relax").stdout
    assert "rarefy relax" in help and "python" not in help
    wrong = run("relax", "--grid", "-1")
    assert wrong.returncode == 2 and "--grid" in wrong.stderr


def test_the_command_of_the_package_computes(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("1e100\n1\n-1e100\n")
    found = run("sum", str(numbers))
    assert found.returncode == 0 and found.stdout.split()[0] == "1", found
    plates = run("couette", "--delta", "1", "--linear", "--json", "--threads", "1")
    assert plates.returncode == 0, plates.stderr
    assert abs(json.loads(plates.stdout)["Pi"] - 0.3389253) < 1e-5


def checked(schema: dict[str, Any], value: Any) -> list[str]:
    """What a schema finds in a value, by a validator of its own."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


def test_the_schema_of_cases_takes_all_examples_and_no_slips() -> None:
    tomllib = pytest.importorskip("tomllib")
    schema = json.loads(run("flow", "--schema").stdout)
    examples = sorted((REPOSITORY / "examples" / "flow").glob("*.toml"))
    assert len(examples) > 10
    for example in examples:
        assert checked(schema, tomllib.loads(example.read_text())) == [], example.name
    case = """
    gas = { delta = 1 }
    domain = { x = [-1, 1], y = [0, 1], h = 0.1 }
    [sides]
    left = { kind = "stream", mach = 2 }
    right = { kind = "vacuum" }
    bottom = { kind = "wall", temperature = [[-1, 1.0], [1, 1.2]], accommodation = { tangential = 0.9, normal = 0.8 } }
    top = { kind = "mirror" }
    [[body]]
    shape = "difference"
    of = [{ shape = "circle", radius = 0.5 }, { shape = "naca", code = "0012" }]
    """
    assert checked(schema, tomllib.loads(case)) == []
    for stored in sorted(RECORDS.glob("*.toml")):
        assert checked(schema, tomllib.loads(stored.read_text())) == [], stored.name
    slips = [("mach", "match"), ('"vacuum"', '"void"'), ("delta = 1", 'delta = "1"'), ("[-1, 1], y", "[-1, 0, 1], y"), ("radius", "radii")]
    for right, wrong in slips:
        assert checked(schema, tomllib.loads(case.replace(right, wrong))), wrong


def test_records_have_the_form_of_their_schema(tmp_path: Path) -> None:
    schema = json.loads((REPOSITORY / "docs" / "schemas" / "run.schema.json").read_text())
    gas = ["--gas", "nitrogen", "--pressure", "100", "--temperature", "300"]
    for arguments in (
        ["couette", "--delta", "1", "--linear"],
        ["fourier", *gas, "--size", "1e-4", "--out", str(tmp_path / "out")],
        ["fourier", "--delta", "1", "--no-verify"],
        ["market", "--scenario", "voucher", "--cells", "32", "--times", "0.5", "--no-verify"],
        ["longman", "--amplitude", "exp(-x)", "--oscillator", "cos", "--frequency-range", "1:9:log:3"],
    ):
        found = run(*arguments, "--json", "--quiet", "--threads", "1")
        assert found.returncode == 0, found.stderr
        assert checked(schema, json.loads(found.stdout)) == [], arguments
    records = sorted(RECORDS.glob("*.json"))
    assert len(records) > 30
    for record in records:
        assert checked(schema, json.loads(record.read_text())) == [], record.name
    assert checked(schema, {"command": "couette"})
