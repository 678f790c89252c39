"""Close, threads, views and the end of the process. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import sidbeam


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_close_is_repeat_safe_and_final(index: sidbeam.Index, session: sidbeam.Session) -> None:
    constraints, runtime, builder, constraint = (
        sidbeam.ConstraintSet(index),
        sidbeam.Runtime(),
        sidbeam.Builder([4]),
        index.constraint,
    )
    catalog = sidbeam.Catalog.create(index)
    uses: list[tuple[Any, Callable[[], object], str]] = [
        (constraints, lambda: constraints.prefixes([(0,)]), "constraint set is closed"),
        (session, lambda: session.step(np.zeros((2, 4), np.float32)), "session is closed"),
        (session, session.beams, "session is closed"),
        (session, session.items, "session is closed"),
        (session, session.stats, "session is closed"),
        (session, session.start, "session is closed"),
        (builder, lambda: builder.add([[1]]), "builder is closed"),
        (builder, lambda: builder.finish(), "builder is closed"),
        (catalog, lambda: catalog.info, "catalogue is closed"),
        (index, lambda: index.info, "index is closed"),
        (index, lambda: sidbeam.Session(index), "index is closed"),
        (constraint, lambda: sidbeam.Session(constraint), "constraint is closed"),
        (runtime, lambda: sidbeam.Index.build([[1]], runtime=runtime), "runtime is closed"),
    ]
    for made, use, message in uses:
        made.close()
        made.close()
        assert made.closed and "closed" in repr(made)
        with pytest.raises(sidbeam.BadState, match=message):
            use()


def test_with(index: sidbeam.Index) -> None:
    with sidbeam.Session(index) as session:
        assert not session.closed
    assert session.closed


def test_objects_hold_what_they_need() -> None:
    index = sidbeam.Index.build([(0, 1), (2, 2)], codes=[4, 4], runtime=sidbeam.Runtime())
    session, constraints = sidbeam.Session(index), sidbeam.ConstraintSet(index)
    index.close()
    del index
    gc.collect()
    session.start()
    session.step(np.zeros((1, 4), np.float32))
    assert session.beams().codes.tolist() == [[0]]
    assert constraints.prefixes([(2,)])[0] >= 0


def test_views_outlive_their_session(session: sidbeam.Session) -> None:
    beams = session.step(np.zeros((2, 4), np.float32))
    codes, row = beams.codes, beams.scores[0, 1:]
    before = codes.copy(), row.copy()
    session.close()
    del session, beams
    gc.collect()
    [np.ones(1000) for _ in range(100)]  # overwrites memory that was given back
    assert (codes == before[0]).all() and (row == before[1]).all()


def test_views_are_read_only_and_always_current(session: sidbeam.Session) -> None:
    beams = session.beams()
    assert beams is session.beams()
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        beams.codes[0, 0] = 1
    session.step(np.zeros((2, 4), np.float32))
    assert beams.codes.tolist() == [[0, 2]] and beams.level.tolist() == [1]


def test_tensors_outlive_their_session(session: sidbeam.Session) -> None:
    session.step(np.zeros((2, 4), np.float32))
    codes = np.from_dlpack(session.tensors().codes)
    assert session.tensors().codes.__dlpack_device__() == (1, 0)
    session.close()
    del session
    gc.collect()
    assert codes.tolist() == [[0, 2]]


def big_session(slots: int = 64) -> tuple[sidbeam.Session, np.ndarray]:
    rng = np.random.default_rng(1)
    index = sidbeam.Index.build(rng.integers(0, 256, (20000, 3)), codes=256)
    session = sidbeam.Session(index, slots=slots, beams=64)
    session.start()
    return session, rng.normal(size=(slots, 64, 256)).astype(np.float32)


def test_close_while_a_step_runs() -> None:
    for _ in range(8):
        session, logits = big_session()
        ready = threading.Event()
        outcome: list[object] = []

        def work() -> None:
            ready.set()
            try:
                while True:
                    session.start()
                    session.step(logits)
            except sidbeam.BadState as error:
                outcome.append(error.message)

        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        session.close()
        thread.join()
        assert outcome == ["session is closed"]


def test_one_thread_at_a_time() -> None:
    session, logits = big_session()
    seen: set[str] = set()
    both = threading.Barrier(2)

    def work() -> None:
        both.wait()
        for _ in range(100_000):
            if seen:
                return
            try:
                session.start()
                session.step(logits)
            except sidbeam.BadState as error:
                seen.add(error.message)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= {"session is in use by another thread"}
    assert seen, "two threads stepped one session 100,000 times each and never met"


def test_the_gil_is_released() -> None:
    """This thread looks in the middle of another's step, which it could not if that held the GIL."""
    session, logits = big_session(512)
    inside = threading.Event()
    met: list[str] = []

    def work() -> None:
        inside.set()
        for _ in range(10_000):
            if met:
                return
            with contextlib.suppress(sidbeam.BadState):  # this thread's call may meet the other's, too
                session.start()
                session.step(logits)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    while thread.is_alive():
        try:
            session.stats()
        except sidbeam.BadState as error:
            met.append(error.message)
    thread.join()
    assert "session is in use by another thread" in met


def test_buffers_are_released_after_errors(session: sidbeam.Session) -> None:
    logits = bytearray(2 * 4 * 4)
    view = np.frombuffer(logits, np.float32).reshape(2, 4)
    lse = np.zeros(1, np.float32)
    count = sys.getrefcount(view), sys.getrefcount(lse)
    for _ in range(10):
        with pytest.raises(sidbeam.InvalidArgument, match="lse has 1 elements, expected 2"):
            session.step(view, lse=lse)
        with pytest.raises(sidbeam.InvalidArgument, match="logits has 3 columns, expected at least 4"):
            session.step(view[:, :3])
        session.start()
        session.step(view)
    assert (sys.getrefcount(view), sys.getrefcount(lse)) == count
    text = bytearray(8)
    with pytest.raises(sidbeam.InvalidArgument, match="logits has elements of format 'B'"):
        session.step(text)
    text.append(1)  # a buffer that is still lent cannot grow


@pytest.mark.parametrize(
    "keep", ["index", "session", "beams", "constraints", "builder", "tensors", "capsule", "runtime", "catalog"]
)
def test_interpreter_exit_with_live_objects(keep: str) -> None:
    done = run(
        """
        import sys, builtins, threading, numpy as np, sidbeam
        index = sidbeam.Index.build([(0, 1), (2, 2)], codes=[4, 4])
        session = sidbeam.Session(index, beams=2)
        session.start()
        beams, constraints = session.beams(), sidbeam.ConstraintSet(index)
        builder, runtime, catalog = sidbeam.Builder([4]), sidbeam.Runtime(threads=2), sidbeam.Catalog.create(index)
        tensors = session.tensors()
        capsule = tensors.codes.__dlpack__()
        cycle = [locals()[sys.argv[1]]]
        cycle.append(cycle)
        builtins.kept = cycle
        print("done")
        """,
        keep,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_interpreter_exit_while_a_thread_steps() -> None:
    done = run(
        """
        import threading, numpy as np, sidbeam
        index = sidbeam.Index.build(np.random.default_rng(1).integers(0, 64, (5000, 3)), codes=64)
        session = sidbeam.Session(index, slots=64, beams=32)
        logits = np.zeros((64, 32, 64), np.float32)
        started = threading.Event()
        def work():
            while True:
                session.start()
                session.step(logits)
                started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        print("done")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_child_ends_with_all_that_it_inherits() -> None:
    """A server's worker forks after its parent made a runtime: new sessions work, and the end waits for nothing."""
    done = run(
        """
        import os, sys, numpy as np, sidbeam
        runtime = sidbeam.Runtime(step_threads=3, step_grain=1)
        index = sidbeam.Index.build([(0, 1), (2, 2)], codes=[4, 4], runtime=runtime)
        def search():
            session = sidbeam.Session(index, slots=8, runtime=runtime)
            session.start()
            session.step(np.zeros((8, 1, 4), np.float32))
            assert session.beams().codes.tolist() == [[0]] * 8
            return session
        kept = search()
        child = os.fork()
        if child == 0:
            search()
            sys.exit(0)  # releases everything, the parent's objects too
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        search()
        """
    )
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_fork_then_new_objects() -> None:
    done = run(
        """
        import os, numpy as np, sidbeam
        index = sidbeam.Index.build([(0, 1), (2, 2)], codes=[4, 4])
        child = os.fork()
        if child == 0:
            session = sidbeam.Session(index)
            session.start()
            session.step(np.zeros((1, 4), np.float32))
            os._exit(0 if session.beams().codes.tolist() == [[0]] else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


_LOADS = {
    "close": ("index.close()", "index.close()", 20),
    "default runtime": ("runtime_or_default(None).close()", "runtime_or_default(None)", 20),
    "log": ("_native.flat_log_take(text)", "sidbeam.Index.open(path, runtime=loud)", 60),
}


@pytest.mark.parametrize("load", _LOADS)
def test_a_child_of_busy_threads_waits_for_none_of_them(load: str, tmp_path: Path) -> None:
    """With locks that know nothing of forks a child waits for ever, mostly within half of these forks."""
    of_threads, of_child, forks = _LOADS[load]
    program = f"""
        import os, signal, sys, threading, warnings, sidbeam
        from sidbeam import _native
        from sidbeam.runtime import runtime_or_default
        warnings.simplefilter("ignore")  # Python 3.12 warns of every fork beside threads
        path, text = sys.argv[1], bytearray(512)
        quiet, loud = sidbeam.Runtime(), sidbeam.Runtime(log=lambda level, message: None)
        index = sidbeam.Index.build([(0, 1), (2, 2)], codes=[4, 4], path=path, runtime=quiet)
        at_work = threading.Semaphore(0)
        def work():
            {of_threads}
            at_work.release()
            while True:
                {of_threads}
        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(2):
            at_work.acquire()
        for _ in range({forks}):
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # a limit: it ends a child that hangs
                {of_child}
                os._exit(0)
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if ended != 0:
                break
        print(ended, flush=True)
        os._exit(0)
        """
    done = run(program, str(tmp_path / "i.sidx"))
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
