"""The command that comes with the package."""

import json
import subprocess
import sys
from pathlib import Path

import rarefy


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
