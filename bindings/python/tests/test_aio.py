"""Long calls from asyncio, which end with the task that awaits them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidbeam
from live_catalogs import BASE, RATE, index_of, slow, writes
from sidbeam import Catalog, to_thread


async def ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_compaction_ends_with_its_task() -> None:
    """And is over when the task is: the next one may begin at once. Others go on meanwhile."""

    async def main(catalog: Catalog) -> None:
        for end in ("cancel", "timeout"):
            at_work = asyncio.Event()
            loop = asyncio.get_running_loop()
            begun = lambda phase, done, total: loop.call_soon_threadsafe(at_work.set)  # noqa: E731
            call = to_thread(catalog.compact, bytes_per_second=RATE // 8, progress=begun)
            if end == "cancel":
                task = asyncio.create_task(call)
                await at_work.wait()
                catalog.remove([catalog.info.version])
                await to_thread(catalog.publish)
                await ended(task)
            else:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(call, timeout=0.1)
            assert catalog.info.generation == 1
        assert await to_thread(catalog.compact) == catalog.info.version == 3
        assert catalog.info.generation == 2

    with slow(None) as catalog:
        asyncio.run(main(catalog))


def test_the_loop_runs_while_a_call_does() -> None:
    async def main(catalog: Catalog) -> int:
        call, turns = asyncio.create_task(to_thread(catalog.compact, bytes_per_second=RATE)), 0
        while not call.done():
            await asyncio.sleep(0)
            turns += 1
        await call
        return turns

    with slow(None) as catalog:
        assert asyncio.run(main(catalog)) > 100


def test_a_wait_for_versions_ends_with_its_task(tmp_path: Path) -> None:
    async def main(follower: Catalog) -> None:
        task = asyncio.create_task(to_thread(follower.refresh, 600))
        await asyncio.sleep(0)
        await ended(task)
        assert await to_thread(follower.refresh) == 1

    with writes(tmp_path / "live"), Catalog.follow(tmp_path / "live") as follower:
        asyncio.run(main(follower))


def test_builds_and_files_end_with_their_tasks(tmp_path: Path, held: threading.Event) -> None:
    path, output = tmp_path / "items.csv", tmp_path / "items.sidx"
    path.write_text("item,c0,c1\n" + "".join(f"{i},{i % 7},{i % 11}\n" for i in range(1000)))

    async def main() -> None:
        loop, at_work = asyncio.get_running_loop(), asyncio.Event()
        held.set()
        with contextlib.ExitStack() as calls:
            catalog = calls.enter_context(Catalog.create(sidbeam.Index.build([(6, 10)], [0])))
            builder = calls.enter_context(sidbeam.Builder([1000]))
            builder.add(np.arange(1000, dtype=np.int32)[:, None])
            progress = lambda *now: loop.call_soon_threadsafe(at_work.set)  # noqa: E731
            for call in (
                to_thread(sidbeam.Index.from_file, path, output=output, progress=progress),
                to_thread(catalog.add_file, path, progress=progress),
                to_thread(builder.write, output, progress=progress),
            ):
                at_work.clear()
                held.clear()
                task = asyncio.create_task(call)
                await at_work.wait()
                await ended(task)
                assert held.is_set()
                catalog.discard()
                assert not output.exists()
            held.set()
            builder.plan()  # nobody is inside it

    asyncio.run(main())


def test_what_cannot_be_cut_short_is_finished() -> None:
    at_work, go_on = threading.Event(), threading.Event()

    async def main(catalog: Catalog) -> None:
        def publish() -> int:
            at_work.set()
            go_on.wait()
            return catalog.publish()

        catalog.remove([number for _, number in BASE][:1])
        task = asyncio.create_task(to_thread(publish))
        await asyncio.get_running_loop().run_in_executor(None, at_work.wait)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done() and catalog.info.version == 1
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert catalog.info.version == 2

    with Catalog.create(index_of(BASE)) as catalog:
        asyncio.run(main(catalog))


def test_a_second_cancellation_does_not_wait() -> None:
    at_work, go_on = threading.Event(), threading.Event()

    async def main() -> None:
        task = asyncio.create_task(to_thread(lambda: at_work.set() or go_on.wait()))
        await asyncio.get_running_loop().run_in_executor(None, at_work.wait)
        task.cancel()
        await asyncio.sleep(0)
        await ended(task)
        assert not go_on.is_set()
        go_on.set()

    asyncio.run(main())


def test_what_has_not_begun_is_withdrawn() -> None:
    """The pool's only thread is at work for another one."""
    at_work, go_on = threading.Event(), threading.Event()
    made: list[str] = []

    async def main() -> None:
        loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        loop.set_default_executor(pool)
        first = asyncio.create_task(to_thread(lambda: at_work.set() or go_on.wait()))
        while not at_work.is_set():
            await asyncio.sleep(0)
        second = asyncio.create_task(to_thread(made.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        try:
            assert await asyncio.wait([second], timeout=60) == ({second}, set()) and second.cancelled()
        finally:
            go_on.set()
        await first
        await loop.run_in_executor(None, made.append, "behind it")

    asyncio.run(main())
    assert made == ["behind it"]


def test_errors_that_nobody_awaits_are_dropped() -> None:
    at_work, go_on = threading.Event(), threading.Event()
    reports: list[Any] = []

    def fails() -> None:
        at_work.set()
        go_on.wait()
        raise RuntimeError("too late")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: reports.append(context))
        task = asyncio.create_task(to_thread(fails))
        await loop.run_in_executor(None, at_work.wait)
        task.cancel()
        await asyncio.sleep(0)
        await ended(task)
        del task
        go_on.set()
        await loop.shutdown_default_executor()
        await asyncio.sleep(0)
        gc.collect()

    asyncio.run(main())
    gc.collect()
    assert not reports


def test_tables_end_with_their_tasks(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow: it reads these files")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, go_on, told = tmp_path / "items", threading.Event(), []
    parquet.write_table(pa.table({"sid": [[i % 6, 0, 0] for i in range(8)], "item": range(8)}), path, row_group_size=2)

    async def main(catalog: Catalog) -> None:
        loop, at_work = asyncio.get_running_loop(), asyncio.Event()

        def progress(phase: sidbeam.Phase, done: int, total: int) -> None:
            told.append(done)
            loop.call_soon_threadsafe(at_work.set)
            go_on.wait()

        task = asyncio.create_task(to_thread(catalog.add_file, path, progress=progress))
        begun = asyncio.create_task(at_work.wait())
        await asyncio.wait([task, begun], return_when=asyncio.FIRST_COMPLETED)
        assert not task.done()
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Catalog.create(index_of(BASE)) as catalog:
        asyncio.run(main(catalog))
    assert told == [0]


def test_results_and_errors_come_through() -> None:
    async def main(catalog: Catalog) -> None:
        with (await to_thread(catalog.snapshot, version=1)) as index:
            assert index.info.version == 1
        with pytest.raises(sidbeam.InvalidArgument, match="version is 9, expected one of those that are kept"):
            await to_thread(catalog.snapshot, 9)

    with Catalog.create(index_of(BASE)) as catalog:
        asyncio.run(main(catalog))


INTERRUPTED = """
    import asyncio, signal, sys, sidbeam
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    sys.path.insert(0, sys.argv[1])
    import live_catalogs
    def begun(phase, done, total):
        print("at work", flush=True)
    async def main(catalog):
        await sidbeam.to_thread(catalog.compact, bytes_per_second=live_catalogs.RATE // 8, progress=begun)
    with live_catalogs.slow(None) as catalog:
        try:
            asyncio.run(main(catalog))
        except KeyboardInterrupt:
            print("interrupted", catalog.info.generation, flush=True)
            sys.exit(3)
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.run leaves Ctrl-C to the program before Python 3.11")
def test_ctrl_c() -> None:
    program, here = textwrap.dedent(INTERRUPTED), str(Path(__file__).parent)
    child = subprocess.Popen([sys.executable, "-c", program, here], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "at work\n"
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=120)[0].replace("at work\n", "")
    assert said == "interrupted 1\n" and child.returncode == 3 and time.monotonic() - begin < 60
