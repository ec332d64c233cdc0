"""The notebooks run."""

import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "scipy" in path.read_text(encoding="utf-8"):
        pytest.importorskip("scipy")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, Any] = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102
    assert plt.get_fignums()
    plt.close("all")
