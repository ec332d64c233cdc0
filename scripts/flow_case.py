"""Cases of `rarefy flow`, for the scripts that make tables of them."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def command() -> str:
    """The program that the first argument of the script names, or `rarefy`."""
    return str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else "rarefy"


def result_of(program: str, text: str, *flags: str) -> dict:
    """The result of a case. A flow that fails ends the script with its message."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "case.toml").write_text(text)
        line = [program, "flow", "case.toml", "--json", "--quiet", *flags]
        done = subprocess.run(line, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["result"]
