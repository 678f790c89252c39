"""Models and the runner, on a model of random weights (tests/bindings/tiny_model.py: tokens 0 .. 63).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import threading
import weakref
from typing import Any, Iterator

import numpy as np
import pytest

import sidbeam

FOLDER = os.environ.get("SIDBEAM_MODEL", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="SIDBEAM_MODEL is not set: the library was built without the runner")

HISTORY = [17, 25, 33, 20, 30, 39]
VOCABULARY = sidbeam.Vocabulary([16, 24, 32])


@pytest.fixture
def index() -> sidbeam.Index:
    return sidbeam.Index.build(np.random.default_rng(1).integers(0, 8, (60, 3)), codes=8)


def make(index: sidbeam.Index, **options: Any) -> sidbeam.Runner:
    options = {"beams": 5, "vocabulary": VOCABULARY, **options}
    return sidbeam.Runner(sidbeam.Model.open(FOLDER), index, **options)


@pytest.fixture
def runner(index: sidbeam.Index) -> Iterator[sidbeam.Runner]:
    with make(index) as made:
        yield made


def test_a_model_says_what_it_is() -> None:
    model = sidbeam.Model.open(FOLDER, weights="f32")
    info = model.info
    assert (info.family, info.layers, info.heads, info.head_dim, info.vocabulary) == ("llama", 2, 4, 4, 64)
    assert info.weights == sidbeam.Weights.F32 and "llama, 2 layers" in repr(model)
    model.close()
    with pytest.raises(sidbeam.BadState, match="model is closed"):
        model.info
    with pytest.raises(TypeError, match="use Model.open"):
        sidbeam.Model()


def test_a_folder_that_is_none(tmp_path: Any) -> None:
    with pytest.raises(sidbeam.IOFailure, match="No such file"):
        sidbeam.Model.open(tmp_path / "nowhere")
    with pytest.raises(sidbeam.InvalidArgument, match="Weights is 'int4', expected one of 'stored'"):
        sidbeam.Model.open(FOLDER, weights="int4")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(sidbeam.Unsupported, match="gpt2"):
        sidbeam.Model.open(tmp_path)


def test_distinct_items() -> None:
    sids = np.random.default_rng(1).integers(0, 8, (60, 3))
    index = sidbeam.Index.build(sids, ids=np.arange(60) % 7, codes=8)
    with make(index) as runner:
        result = runner.run(HISTORY)
    items = result.find_items(distinct=True).tolist()
    assert items == list(dict.fromkeys(result.items.tolist())) and len(items) < len(result.items)
    assert result.find_items(limit=2, distinct=True).tolist() == items[:2]
    assert len(result.find_items(limit_per_sid=1)) == 5


def copy_model(folder: Any, **fields: Any) -> None:
    config = json.loads((pathlib.Path(FOLDER) / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | fields))
    shutil.copy(pathlib.Path(FOLDER) / "model.safetensors", folder)


def test_what_is_left_of_a_file_is_logged(tmp_path: Any) -> None:
    copy_model(tmp_path, num_hidden_layers=1)
    said: list[tuple[sidbeam.LogLevel, str]] = []
    sidbeam.Model.open(tmp_path, log=lambda level, message: said.append((level, message)))
    assert len(said) == 1 and said[0][0] == sidbeam.LogLevel.WARNING
    assert "config.json asks for none of 9 tensors, which are left: model.layers.1.input_layernorm.weight" in said[0][1]
    said.clear()
    sidbeam.Model.open(FOLDER, log=lambda level, message: said.append((level, message)))
    sidbeam.Model.open(tmp_path)  # nobody asked
    sidbeam.Model.open(FOLDER, log=lambda level, message: said.append((level, message)))
    assert not said


def test_a_base_is_that_of_an_adapter(tmp_path: Any) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="base is given, expected None: .* no adapter_config.json"):
        sidbeam.Model.open(FOLDER, base=FOLDER)
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "IA3"}')
    with pytest.raises(sidbeam.IOFailure, match="adapter_model.safetensors"):
        sidbeam.Model.open(tmp_path, base=FOLDER)


def test_items_come_out_however_it_runs(index: sidbeam.Index, runner: sidbeam.Runner) -> None:
    result = runner.run(HISTORY)
    assert len(result) == 5 and result.sids.shape == (5, 3) and (np.diff(result.scores) <= 0).all()
    assert [index.find(sid) for sid in result.sids] == result.ordinals.tolist()
    assert result.items[0] == index.item_ids([index.item_rows(int(result.ordinals[0]))[0]])[0]
    submitted = runner.submit(np.array(HISTORY, np.int32)).result()
    with make(index, lane_threads=False) as here:
        again = here.run(HISTORY)
        with pytest.raises(sidbeam.BadState, match="needs lane_threads"):
            here.submit(HISTORY)
    for other in (submitted, again, asyncio.run(awaited(runner))):
        assert other.sids.tolist() == result.sids.tolist() and other.scores.tolist() == result.scores.tolist()
    assert len(runner.run(HISTORY, beams=2)) == 2
    narrow = runner.run(HISTORY, beams=[1, 5, 5])
    assert (narrow.sids[:, 0] == narrow.sids[0, 0]).all()
    assert runner.submit(HISTORY, beams=[1]).result().sids.shape == (1, 3)
    with pytest.raises(sidbeam.InvalidArgument, match=r"widths\[1\] is 6, expected 0..5"):
        runner.run(HISTORY, beams=[1, 6])
    with sidbeam.Constraint(index) as constraint:
        under = runner.run(HISTORY, constraint=constraint)
        assert under.ordinals.tolist() == result.ordinals.tolist()
        assert under.items.tolist() == result.items.tolist()
    with pytest.raises(sidbeam.BadState, match="constraint is closed"):
        under.items
    alone = runner.run(HISTORY, constraint=sidbeam.Index.build([(0, 1, 2)], codes=8).constraint)
    with pytest.raises(sidbeam.BadState, match="the request ran under a Constraint whose Index is gone"):
        alone.items
    assert runner.drain()
    stats = runner.stats()
    assert (stats.lanes, stats.submitted, stats.finished, stats.queued, stats.running) == (1, 8, 8, 0, 0)
    assert stats.total_us[0] <= stats.total_us[3] and 0 < stats.busy_us <= 1.1 * stats.up_us


async def awaited(runner: sidbeam.Runner) -> sidbeam.Result:
    return await asyncio.wrap_future(runner.submit(HISTORY))


def test_bad_requests_touch_no_other(runner: sidbeam.Runner) -> None:
    for tokens, options, error, message in [
        ([], {}, sidbeam.InvalidArgument, "an empty prompt needs begin_tokens"),
        ([1, 64], {}, sidbeam.InvalidArgument, "64, expected"),
        (
            [[1, 2]],
            {},
            sidbeam.InvalidArgument,
            "tokens has 2 tokens per position, expected at most 1 .max_group.: one prompt is .positions.",
        ),
        ([[[1]]], {}, sidbeam.InvalidArgument, "expected .positions,. or .positions, group."),
        ([0.5], {}, sidbeam.InvalidArgument, "tokens has dtype float64, expected int32"),
        (HISTORY * 100, {}, sidbeam.InvalidArgument, "tokens has 600 positions, expected"),
        (HISTORY, {"beams": 6}, sidbeam.InvalidArgument, "beams is 6"),
        (HISTORY, {"deadline_us": -1}, sidbeam.DeadlineExceeded, "deadline_us is -1"),
        (HISTORY, {"constraint": 3}, sidbeam.InvalidArgument, "expected an Index or a Constraint"),
    ]:
        for call in (runner.run, runner.submit):
            with pytest.raises(error, match=message):
                call(tokens, **options)
    assert len(runner.run(HISTORY)) == 5
    assert not runner._desk.requests
    with pytest.raises(sidbeam.InvalidArgument, match="model is int, expected a Model"):
        sidbeam.Runner(3, None)  # type: ignore[arg-type]


def test_closed(index: sidbeam.Index, runner: sidbeam.Runner) -> None:
    assert "5 beams, llama" in repr(runner)
    runner.close()
    runner.close()
    for use in (lambda: runner.run(HISTORY), lambda: runner.submit(HISTORY), runner.stats, runner.drain):
        with pytest.raises(sidbeam.BadState, match="runner is closed"):
            use()
    assert not runner._desk.thread.is_alive()


def test_adjust_changes_logits(index: sidbeam.Index, runner: sidbeam.Runner) -> None:
    worst = runner.run(HISTORY).sids[4]
    seen: list[tuple[int, tuple[int, ...], tuple[int, ...], Any]] = []

    def adjust(level: sidbeam.Level) -> None:
        seen.append((level.level, level.logits.shape, level.prefixes.shape, level.context))
        assert level.columns.shape == (8,) and level.end_column == -1
        level.logits[:, level.columns[worst[level.level]]] += 1000
        if level.level:
            assert level.prefixes[0].tolist() == worst[: level.level].tolist()

    for lane_threads in (True, False):
        seen.clear()
        with make(index, adjust=adjust, lane_threads=lane_threads) as changed:
            assert changed.run(HISTORY, context="mine").sids[0].tolist() == worst.tolist()
        assert [level[0] for level in seen] == [0, 1, 2] and seen[0][1][0] == 1 and seen[2][3] == "mine"
        assert all(rows[0] == prefixes[0] and prefixes[1] == level for level, rows, prefixes, _ in seen)


def test_what_adjust_was_given_may_be_kept(index: sidbeam.Index, runner: sidbeam.Runner) -> None:
    expected, kept = runner.run(HISTORY), []

    def adjust(level: sidbeam.Level) -> None:
        for other, *_ in kept:  # of earlier levels and requests: nobody reads them any more
            other.logits[:] = np.nan
            other.prefixes[:] = -7
        kept.append((level, level.logits.copy(), level.prefixes.copy(), level.columns.copy()))

    with make(index, adjust=adjust, lanes=2) as keeping:
        for _ in range(3):
            np.testing.assert_array_equal(keeping.run(HISTORY).scores, expected.scores)
        last, logits, prefixes, columns = kept[-1]
    del keeping
    gc.collect()
    others = [np.full_like(level.logits, 5) for level, *_ in kept]  # might get the lanes' memory
    for array, before in ((last.logits, logits), (last.prefixes, prefixes), (last.columns, columns)):
        np.testing.assert_array_equal(array, before)
        array[:] = 1
    assert all((other == 5).all() for other in others)


def test_a_user_without_a_history(index: sidbeam.Index, runner: sidbeam.Runner) -> None:
    expected = runner.run(HISTORY)
    with make(index, begin_tokens=HISTORY) as cold:
        for tokens in ([], np.empty((0, 1), np.int32)):
            result = cold.run(tokens)
            assert result.sids.tolist() == expected.sids.tolist() and result.scores.tolist() == expected.scores.tolist()


def test_a_catalogue_of_another_codebook_is_refused() -> None:
    sids = np.random.default_rng(1).integers(0, 8, (60, 3))
    books, films = (sidbeam.Index.build(sids, codes=8, codebook=name) for name in ("books", "films"))
    with make(books) as runner:
        expected = "constraint is of codebook 'films', expected 'books', that of the runner's constraint"
        for call in (runner.run, runner.submit):
            with pytest.raises(sidbeam.InvalidArgument, match=expected):
                call(HISTORY, constraint=films)
        assert len(runner.run(HISTORY, constraint=sidbeam.Index.build(sids, codes=8))) == 5


def test_what_adjust_raises_reaches_the_caller(index: sidbeam.Index) -> None:
    made: list[sidbeam.Runner] = []

    def adjust(level: sidbeam.Level) -> None:
        if level.context is not None:
            level.context(made[0])

    def refuse(_: sidbeam.Runner) -> None:
        raise KeyError("not this one")

    with make(index, adjust=adjust) as runner:
        made.append(runner)
        with pytest.raises(KeyError, match="not this one"):
            runner.run(HISTORY, context=refuse)
        with pytest.raises(KeyError, match="not this one"):
            runner.submit(HISTORY, context=refuse).result()
        for call in (lambda r: r.close(), lambda r: r.run(HISTORY), lambda r: r.drain()):
            with pytest.raises(sidbeam.BadState, match="within a callback of the runner"):
                runner.run(HISTORY, context=call)
        assert len(runner.run(HISTORY)) == 5


def test_cancel(index: sidbeam.Index) -> None:
    begun, go = threading.Event(), threading.Event()

    def adjust(_: sidbeam.Level) -> None:
        begun.set()
        go.wait()

    with make(index, adjust=adjust, queue_requests=1) as runner:
        running = runner.submit(HISTORY)
        begun.wait()
        waiting = runner.submit(HISTORY)
        try:
            with pytest.raises(sidbeam.QueueFull, match="1 requests are waiting"):
                runner.submit(HISTORY)
            assert waiting.cancel() and not runner.drain(1)
            with pytest.raises(concurrent.futures.CancelledError):
                waiting.result()
            runner.cancel(running)
        finally:
            go.set()
        with pytest.raises(sidbeam.Cancelled, match="the request was cancelled"):
            running.result()
        with pytest.raises(sidbeam.InvalidArgument, match="id is 99"):
            runner.cancel(99)
        assert runner.drain() and runner.stats().cancelled == 2 and runner.stats().refused == 1


@pytest.mark.parametrize("adjusts", [False, True])
def test_closed_under_load(index: sidbeam.Index, adjusts: bool) -> None:
    closed, late, wrong = threading.Event(), threading.Event(), []

    def adjust(_: sidbeam.Level) -> None:
        if closed.is_set():
            late.set()

    runner = make(index, lanes=2, queue_requests=16, adjust=adjust if adjusts else None)
    want, enough, count = runner.run(HISTORY).scores.tolist(), threading.Event(), iter(range(10**9))

    def work(number: int) -> None:
        while True:
            try:
                result = runner.run(HISTORY) if number % 2 else runner.submit(HISTORY).result()
                if result.scores.tolist() != want:
                    wrong.append(result)
                if next(count) == 100:
                    enough.set()
            except (sidbeam.QueueFull, sidbeam.Cancelled):
                pass
            except sidbeam.BadState:
                return
            except BaseException as error:
                wrong.append(error)
                enough.set()
                return

    threads = [threading.Thread(target=work, args=(i,)) for i in range(24)]
    for thread in threads:
        thread.start()
    enough.wait()
    runner.close()
    closed.set()
    for thread in threads:
        thread.join()
    assert not wrong and not late.is_set()


def test_requests_keep_their_runner_and_nobody_else_does(index: sidbeam.Index) -> None:
    runner = make(index)
    future, alive, thread = runner.submit(HISTORY), weakref.ref(runner), runner._desk.thread
    del runner
    assert len(future.result()) == 5
    while alive() is not None:
        gc.collect()
    thread.join()


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "raise SystemExit"])
def test_interpreter_exit_with_requests(end: str) -> None:
    program = """
        import sys, threading, numpy as np, sidbeam
        index = sidbeam.Index.build(np.random.default_rng(1).integers(0, 8, (60, 3)), codes=8)
        begun = threading.Event()
        def adjust(level):
            begun.set()
        model = sidbeam.Model.open(sys.argv[1])
        runners = [sidbeam.Runner(model, index, vocabulary=sidbeam.Vocabulary([16, 24, 32]), beams=5, adjust=a)
                   for a in (adjust, None)]
        futures = [runner.submit([17, 25, 33]) for runner in runners for _ in range(200)]
        def work():
            try:
                while True:
                    runners[1].run([17, 25, 33])
            except sidbeam.errors.SidbeamError as error:
                assert "closed" in str(error), error
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        print("done")
        """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program) + end, FOLDER],
        capture_output=True,
        text=True,
        timeout=120,
    )
    # The thread that runs request after request is told that the runner is closed, or is ended silently. It catches
    # what it is told, since the interpreter may end a thread in the middle of the traceback it prints.
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_child_may_leave_what_it_inherits() -> None:
    program = """
        import os, sys, numpy as np, sidbeam
        index = sidbeam.Index.build(np.random.default_rng(1).integers(0, 8, (60, 3)), codes=8)
        model = sidbeam.Model.open(sys.argv[1])
        def make():
            return sidbeam.Runner(model, index, vocabulary=sidbeam.Vocabulary([16, 24, 32]), beams=5)
        kept = make()
        kept.run([17])
        child = os.fork()
        if child == 0:
            with make() as fresh:
                assert len(fresh.run([17])) == 5
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(kept.run([17])))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), FOLDER], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "0 5\n"), done.stderr
