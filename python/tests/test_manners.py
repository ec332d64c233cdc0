"""Interruption, threads, forks, files, reports."""

import doctest
import json
import multiprocessing
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rarefy


def relaxation() -> rarefy.Relaxation:
    box = (-6.5, 6.5)
    return rarefy.Relaxation(rarefy.two_maxwellians(12, box), box, steps=100_000_000, dt=1e-6, backend="cpu")


def test_interrupted_runs_keep_their_state() -> None:
    # A shell that starts the tests in the background ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run = relaxation()
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        run.run()
    timer.join()
    assert isinstance(caught.value, rarefy.Interrupted)
    assert caught.value.run is run
    before = run.steps
    assert before > 0
    assert run.advance(1) == 1
    assert len(run.result().time) == before + 2


@pytest.mark.parametrize("steady", [True, False])
def test_functions_go_on_after_an_interruption(steady: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def wave() -> rarefy.ShockResult:
        return rarefy.shock(1.8, cells=60, sides=(25.0, 15.0), steady=steady, time=None if steady else 5.0, backend="cpu")

    whole = wave()
    looks = 0

    def look(self: object, share: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("rarefy._run._Bar.show", look)
    with pytest.raises(rarefy.Interrupted) as caught:
        wave()
    result = caught.value.run.run()
    assert looks > 4
    assert result.status == whole.status
    assert np.array_equal(result.density, whole.density)


def test_the_lock_of_the_interpreter_is_released() -> None:
    run = relaxation()
    ticks = 0
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run.advance, 200)
        while not future.done():
            ticks += 1
            time.sleep(0.001)
    assert ticks > 3


def test_threads_compute_the_same() -> None:
    x = [np.random.default_rng(k).standard_normal(5000) for k in range(16)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(rarefy.sum, x)) == [rarefy.sum(part) for part in x]
    total = rarefy.ExactAccumulator()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(total.add, x))
    assert total == rarefy.ExactAccumulator(np.concatenate(x))


def work(queue: "multiprocessing.Queue[float | str]") -> None:
    queue.put(rarefy.sum(np.ones(3_000_000)))
    queue.put(rarefy.couette(1.0, linear=True, cells=20, backend="cpu").flux)
    try:
        queue.put(rarefy.couette(1.0, linear=True, cells=20).flux)
    except rarefy.DeviceError as error:
        queue.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_of_a_fork_compute() -> None:
    assert rarefy.sum(np.ones(3_000_000)) == 3e6
    flux = rarefy.couette(1.0, linear=True, cells=20).flux
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == 3e6
        assert queue.get(timeout=60) == pytest.approx(0.3389, abs=1e-3)
        found = queue.get(timeout=60)
        # Where the parent has computed on a GPU, the child cannot.
        assert "spawn" in str(found) if rarefy.doctor()["devices"] else found == flux
    finally:
        child.join(timeout=10)
        child.kill()


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    f = rarefy.isotropic_initial("bkw", 32, 12.0)
    rarefy.Isotropic(f, 12.0, dt=0.1, backend="cpu").run(steps=20, progress=True)
    assert "100%" in capsys.readouterr().err


def test_no_gpu_is_a_device_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if rarefy.doctor()["devices"]:
        pytest.skip("there is a GPU")
    with pytest.raises(rarefy.DeviceError, match="no CUDA device"):
        rarefy.sum(np.ones(3), backend="cuda")


def test_what_does_not_fit_is_a_memory_error() -> None:
    with pytest.raises(MemoryError, match="are available"):
        rarefy.Simulation((1 << 20, 0.0, 1.0), velocities=[("uniform", 1024, -5, 5)] * 2, backend="cpu")


def test_loading_what_the_command_wrote(tmp_path: Path) -> None:
    record = {"command": "shock", "version": "0.0.9", "parameters": {"mach": 2.0}, "result": {"thickness": 5.5}, "status": "done"}
    (tmp_path / "run.json").write_text(json.dumps(record))
    (tmp_path / "profile.csv").write_text("x,density,name\n0,1.5,a\n1,,b\n")
    np.save(tmp_path / "f.npy", np.ones((2, 2)))
    run = rarefy.load(tmp_path)
    assert (run.command, run.version, run.status) == ("shock", "0.0.9", "done")
    assert run.result["thickness"] == 5.5
    density = run.tables["profile"]["density"]
    assert density[0] == 1.5 and np.isnan(density[1])
    assert run.tables["profile"]["name"].tolist() == ["a", "b"]
    assert run.arrays["f"].shape == (2, 2)
    assert list(run.to_pandas().columns) == ["x", "density", "name"]
    (tmp_path / "run.json").write_text("{}")
    assert rarefy.load(tmp_path / "run.json").parameters == {}
    (tmp_path / "run.json").write_text("[")
    with pytest.raises(ValueError, match="no JSON"):
        rarefy.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="--out"):
        rarefy.load(tmp_path / "none")


def test_tables_are_plotted_over_their_coordinates(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "history.csv").write_text("step,time,density,pxx\n0,0.0,1.0,3.0\n1,0.5,1.0,2.0\n2,1.0,1.0,1.5\n")
    run = rarefy.load(tmp_path)
    (line,) = run.plot().lines
    assert line.get_label() == "pxx" and line.get_xdata().tolist() == [0.0, 0.5, 1.0]
    assert [line.get_label() for line in run.plot("history", "density", "pxx").lines] == ["density", "pxx"]
    (tmp_path / "distribution.csv").write_text("t,E,f\n" + "".join(f"{t},{e},{t + e}\n" for t in range(20) for e in (0.5, 1.5, 2.5)))
    # The distribution comes before the history, with a line for each of eight times.
    lines = rarefy.load(tmp_path).plot().lines
    assert len(lines) == 8
    assert lines[-1].get_label() == "t = 19" and lines[-1].get_ydata().tolist() == [19.5, 20.5, 21.5]


def test_the_report() -> None:
    report = rarefy.doctor()
    assert str(report).startswith("rarefy")
    assert json.loads(json.dumps(report))


def test_everything_has_a_docstring() -> None:
    for name in rarefy.__all__:
        member = getattr(rarefy, name)
        if callable(member):
            assert member.__doc__, name


@pytest.mark.parametrize("name", ["ExactAccumulator", "decimal_dot", "decimal_sum", "dot", "mean", "norm", "sum"])
def test_examples_of_the_extension(name: str) -> None:
    text = getattr(rarefy, name).__doc__
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_examples_of_the_recipes() -> None:
    page = Path(__file__).parents[2] / "docs" / "recipes.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        examples = doctest.DocTestParser().get_doctest(block, {}, page.name, str(page), None)
        assert examples.examples
        assert doctest.DocTestRunner().run(examples).failed == 0
