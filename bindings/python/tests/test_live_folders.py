"""Live catalogues in folders, others that follow them, and compactions. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import sidbeam
from live_catalogs import BASE, RATE, SLOW, arguments, catalog, check, drawn, found, index_of, recommended, slow, writes
from sidbeam import Catalog

__all__ = ["catalog"]  # a fixture


def test_a_folder_outlives_its_process(tmp_path: Path) -> None:
    more = drawn(20, 2)
    with writes(tmp_path / "live", keep_versions=3) as catalog:
        catalog.add(**arguments(more))
        catalog.publish()
        catalog.add(**arguments(drawn(1, 9)))  # never published
    with Catalog.open(str(tmp_path / "live"), sync="interval", sync_interval=datetime.timedelta(days=1)) as catalog:
        assert not catalog.info.follows and catalog.info.version == 2
        check(catalog, BASE | more)
        assert found(catalog.snapshot(1)) == found(index_of(BASE))
        catalog.remove([number for _, number in more])
        catalog.publish()
        assert catalog.info.unsynced_bytes > 0
        catalog.sync()
        assert catalog.info.unsynced_bytes == 0
    with pytest.raises(sidbeam.InvalidArgument, match="live' holds a catalogue already: open it"):
        writes(tmp_path / "live")
    with pytest.raises(sidbeam.IOFailure, match="cannot open '.*none': it holds no catalogue"):
        Catalog.open(tmp_path / "none")


def test_a_second_writer_is_told_of_the_first(tmp_path: Path) -> None:
    with writes(tmp_path / "live"):
        expected = rf"live' has another writer: process {os.getpid()} on \S+, since \d{{4}}-\d\d-\d\dT"
        with pytest.raises(sidbeam.BadState, match=expected):
            Catalog.open(tmp_path / "live")
        with Catalog.follow(tmp_path / "live") as follower:
            assert follower.info.follows
    Catalog.open(tmp_path / "live").close()


def test_followers(tmp_path: Path) -> None:
    with writes(tmp_path / "live") as writer, Catalog.follow(tmp_path / "live", keep_versions=2) as follower:
        old, more = follower.snapshot(), drawn(20, 2)
        assert follower.refresh() == 1
        writer.add(**arguments(more))
        writer.publish()
        assert follower.info.version == 1 and follower.refresh() == 2 == follower.refresh(wait=0)
        check(follower, BASE | more)
        assert found(old) == found(index_of(BASE))
        begin = time.monotonic()
        assert follower.refresh(wait=datetime.timedelta(milliseconds=250)) == 2
        assert time.monotonic() - begin >= 0.25
        threading.Timer(0.2, lambda: (writer.remove([n for _, n in more]), writer.publish())).start()
        assert follower.refresh(wait=60) == 3
        assert [v.version for v in follower.versions()] == [2, 3]
        for change in (follower.publish, follower.discard, follower.sync, follower.compact):
            with pytest.raises(sidbeam.BadState, match="opened to follow it, expected one opened to write"):
                change()
        with pytest.raises(sidbeam.BadState, match="opened to write it, expected one opened to follow"):
            writer.refresh()


def test_asyncio_waits_beside_its_loop(tmp_path: Path) -> None:
    async def serve() -> int:
        with writes(tmp_path / "live") as writer, Catalog.follow(tmp_path / "live") as follower:
            waiting = asyncio.create_task(asyncio.to_thread(follower.refresh, 60))
            await asyncio.to_thread(writer.remove, [next(iter(BASE))[1]])
            await asyncio.to_thread(writer.publish)
            return await waiting

    assert asyncio.run(serve()) == 2


def test_closing_ends_a_wait(tmp_path: Path) -> None:
    writes(tmp_path / "live").close()
    follower, outcome = Catalog.follow(tmp_path / "live"), []

    def wait() -> None:
        with pytest.raises(sidbeam.BadState, match="catalogue is closed") as error:
            follower.refresh(wait=600)
        outcome.append(error.value.name)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    follower.close()
    thread.join(60)
    assert outcome == ["bad state"]


def opened(folder: Path, how: str, **options: Any) -> Catalog:
    """A catalogue of BASE in the folder, whose newest base was opened with the options."""
    if how == "create":
        catalog = writes(folder, **options)
        catalog.compact()
        return catalog
    writes(folder).close()
    return (Catalog.open if how == "open" else Catalog.follow)(folder, **options)


@pytest.mark.parametrize("how", ["create", "open", "follow"])
@pytest.mark.parametrize("verify", list(sidbeam.Verify))
def test_how_far_bases_are_verified(tmp_path: Path, how: str, verify: sidbeam.Verify) -> None:
    with opened(tmp_path / "live", how, verify=verify) as catalog:
        assert catalog.snapshot().info.verified == verify


@pytest.mark.parametrize("how", ["create", "open", "follow"])
@pytest.mark.parametrize("residency", ["map", "copy"])
def test_where_bases_are(tmp_path: Path, how: str, residency: str) -> None:
    with opened(tmp_path / "live", how, residency=residency) as catalog:
        newest = tmp_path / "live" / f"base-{catalog.info.generation}.sidx"
        assert newest.exists() and (str(newest) in Path("/proc/self/maps").read_text()) == (residency == "map")
        check(catalog, BASE)


def test_damage_is_refused_unless_loss_is_accepted(tmp_path: Path) -> None:
    with writes(tmp_path / "live") as catalog:
        for number in range(3):
            catalog.add([(0, 0, 0)], [2000 + number])
            catalog.publish()
    log = max((p for p in (tmp_path / "live").iterdir() if p.suffix == ".log" or "log" in p.name), key=lambda p: p.name)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    with pytest.raises(sidbeam.Corrupt, match="the log '.*' is damaged at byte"):
        Catalog.open(tmp_path / "live")
    told: list[str] = []
    runtime = sidbeam.Runtime(log=lambda level, message: told.append(message))
    with Catalog.open(tmp_path / "live", accept_loss=True, runtime=runtime) as catalog:
        assert 1 <= catalog.info.version < 4
    assert any("is given up" in message for message in told)


def test_compaction(catalog: Catalog) -> None:
    more, seen = drawn(20, 2), []
    catalog.add(**arguments(more))
    catalog.remove([0, 1, 2])
    catalog.publish()
    assert catalog.info.compact_soon and catalog.info.added > 0
    pairs = {key: value for key, value in (BASE | more).items() if key[1] > 2}
    waiting = drawn(2, 8)
    catalog.add(**arguments(waiting))
    assert catalog.compact(threads=1, memory_limit=10**9, progress=lambda *now: seen.append(now)) == 3
    info = catalog.info
    assert (info.generation, info.added, info.removed, info.compact_soon) == (2, 0, 0, False)
    assert info.base_items == info.items == len(pairs) and info.changes > 0  # what waits is carried over
    assert recommended(check(catalog, pairs)) == recommended(index_of(pairs))
    assert all(isinstance(phase, sidbeam.Phase) and 0 <= done <= total for phase, done, total in seen)
    catalog.publish()
    check(catalog, pairs | waiting)
    assert [v.generation for v in catalog.versions()] == [1, 1, 2, 2]


def test_limits_of_a_compaction(tmp_path: Path) -> None:
    with writes(tmp_path / "live") as catalog:
        with pytest.raises(sidbeam.OutOfMemory, match="the build needs about .* bytes, memory_limit is 1 "):
            catalog.compact(memory_limit=1)
        written, begin = catalog.info.base_bytes, time.monotonic()
        assert catalog.compact(bytes_per_second=4 * written) == 2 and catalog.info.base_bytes == 2 * written
        assert time.monotonic() - begin >= 0.25


def test_what_progress_raises_ends_a_compaction(tmp_path: Path) -> None:
    with slow(tmp_path / "live") as catalog:
        files = sorted(p.name for p in (tmp_path / "live").iterdir())

        def progress(phase: sidbeam.Phase, done: int, total: int) -> None:
            if done > 0:
                raise KeyError("enough")

        with pytest.raises(KeyError, match="enough"):
            catalog.compact(bytes_per_second=SLOW, progress=progress)
        assert sorted(p.name for p in (tmp_path / "live").iterdir()) == files
        assert catalog.info.generation == 1 and catalog.compact() == 2


def test_one_compaction_at_a_time_while_others_publish(tmp_path: Path) -> None:
    with slow(tmp_path / "live") as catalog:
        began, refused = threading.Event(), threading.Event()

        def progress(phase: sidbeam.Phase, done: int, total: int) -> None:
            if done > 0:
                began.set()
            if refused.is_set():
                raise KeyError("enough")

        def compact() -> None:
            with contextlib.suppress(KeyError):
                catalog.compact(bytes_per_second=SLOW, progress=progress)

        thread = threading.Thread(target=compact)
        thread.start()
        assert began.wait(60)
        catalog.remove([1001])
        assert catalog.publish() == 2
        with pytest.raises(sidbeam.BadState, match="the catalogue is being compacted already"):
            catalog.compact()
        refused.set()
        thread.join()
        assert catalog.info.generation == 1 and catalog.compact() == 3
        assert catalog.info.generation == 2 and catalog.info.items == (1 << 18) - 1


INTERRUPTED = """
    import signal, sys, threading, numpy as np, sidbeam
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    sys.path.insert(0, sys.argv[2])
    import live_catalogs
    with live_catalogs.slow(sys.argv[1]) as catalog, sidbeam.Catalog.follow(sys.argv[1]) as follower:
        told = []
        def progress(phase, done, total):
            if done > 0 and not told:
                told.append(print("at work", flush=True))
        try:
            if sys.argv[3] == "compact":
                catalog.compact(bytes_per_second=live_catalogs.SLOW, progress=progress)
            else:
                print("at work", flush=True)
                follower.refresh(wait=600)
        except KeyboardInterrupt:
            print("interrupted", catalog.info.version, follower.refresh(), flush=True)  # both are free again
            sys.exit(3)
"""


@pytest.mark.parametrize("call", ["compact", "refresh"])
def test_ctrl_c(tmp_path: Path, call: str) -> None:
    program, here = textwrap.dedent(INTERRUPTED), str(Path(__file__).parent)
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "live"), here, call], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "at work\n"
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=120)[0] == "interrupted 1 1\n" and child.returncode == 3
    assert time.monotonic() - begin < 60


def test_closing_during_a_call_lets_it_finish(tmp_path: Path) -> None:
    catalog, outcome = slow(tmp_path / "live"), []
    began = threading.Event()

    def progress(phase: sidbeam.Phase, done: int, total: int) -> None:
        if done > 0:  # before that the call may not have got hold of the catalogue
            began.set()

    thread = threading.Thread(
        target=lambda: outcome.append(catalog.compact(bytes_per_second=RATE, progress=progress))
    )
    thread.start()
    began.wait()
    catalog.close()
    del catalog
    gc.collect()
    thread.join()
    assert outcome == [2]
    Catalog.open(tmp_path / "live").close()
