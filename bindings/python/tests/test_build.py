"""Builders: plans, progress, cancellation, Ctrl-C, the log. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import sidbeam
from conftest import SIDS


def big(count: int = 400000) -> sidbeam.Builder:
    builder = sidbeam.Builder([256] * 6, threads=1)
    builder.add(np.random.default_rng(1).integers(0, 256, (count, 6), dtype=np.int32))
    return builder


def test_plan_estimate_and_exact() -> None:
    expected = sidbeam.plan_estimate([16, 16], 50, kinds="trie|hash")
    assert not expected.exact and expected.sids == 50 and len(expected.nodes) == 2
    assert any(section.kind.startswith("hash") and section.bytes > 0 for section in expected.sections)
    builder = sidbeam.Builder([16, 16])
    builder.add([(1, 2), (1, 3)])
    plan = builder.plan()
    index = builder.finish()
    assert plan.exact and plan.nodes == (1, 2) and plan.file_bytes == index.info.file_bytes
    assert [dataclasses.replace(s, checksum=0) for s in index.sections] == list(plan.sections)
    with pytest.raises(sidbeam.InvalidArgument, match="sids is 257, but these codes allow only 256 SIDs"):
        sidbeam.plan_estimate([16, 16], 257)
    with pytest.raises(sidbeam.BadState, match="nothing can be added after plan"):
        builder.add([(1, 2)])


def test_same_bytes_from_any_number_of_calls(tmp_path: Path) -> None:
    sids = np.random.default_rng(2).integers(0, 9, (100, 3))
    for name, parts in (("a", [range(100)]), ("b", [range(50, 100), range(50)])):
        builder = sidbeam.Builder([9, 9, 9], threads=len(parts))
        for part in parts:
            builder.add(sids[part], np.arange(100)[part])
        builder.write(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_hash_seed_is_part_of_what_makes_the_same_bytes(tmp_path: Path) -> None:
    def built(seed: int, kinds: str = "hash") -> bytes:
        sidbeam.Index.build(SIDS, codes=4, kinds=kinds, hash_seed=seed, path=tmp_path / "a.sidx")
        return (tmp_path / "a.sidx").read_bytes()

    assert built(5) == built(5) != built(0) and built(5) != built(6)
    assert built(2**64 - 1) == built(-1) != built(1)
    assert built(5, "sorted") == built(0, "sorted")


def test_priorities_are_kept_on_request(tmp_path: Path) -> None:
    priorities = np.array([-3, 2**63 - 1, -(2**63), 5])
    pairs = dict(sids=[(0, 1), (0, 1), (1, 1), (0, 1)], ids=[7, 8, 9, 6], priorities=priorities)
    index = sidbeam.Index.build(**pairs, keep_priorities=True, path=tmp_path / "a.sidx")
    index.verify()
    rows = np.arange(4)
    assert index.item_ids(rows).tolist() == [8, 6, 7, 9]
    assert index.item_priorities(rows).tolist() == [2**63 - 1, 5, -3, -(2**63)]
    assert [s.encoding for s in index.sections if s.kind == "item_priorities"] == ["u64"]
    with pytest.raises(sidbeam.InvalidArgument, match="item_row is 4, expected 0..3"):
        index.item_priorities([4])
    without = sidbeam.Index.build(**pairs)
    assert without.info.fingerprint == index.info.fingerprint
    with pytest.raises(sidbeam.MissingSection, match="keeps no priorities: build it with keep_priorities"):
        without.item_priorities([0])

    (tmp_path / "a.jsonl").write_text('{"item": 1, "sid": [0], "priority": 4}\n{"item": 2, "sid": [0]}\n')
    made = sidbeam.Index.from_file(tmp_path / "a.jsonl", keep_priorities=True)
    assert made.item_priorities([0, 1]).tolist() == [4, 0]
    sizes = [sidbeam.plan_estimate([16, 16], 50, keep_priorities=keep).sections for keep in (False, True)]
    assert len(sizes[1]) == len(sizes[0]) + 1 and sizes[1][-1].bytes == 400


def test_refused_options() -> None:
    for options, message in (
        (dict(codes=[]), "levels is 0, expected 1 to 255"),
        (dict(codes=[0]), r"codes\[0\] is 0, expected 1 to 16777216"),
        (dict(codes=[4] * 256), "levels is 256, expected 1 to 255"),
        (dict(codes=[4], kinds="heap"), "Kind is 'heap', expected one of 'trie', 'sorted', 'hash', 'compact_trie'"),
        (dict(codes=[4], collisions="x"), "Collisions is 'x'"),
        (dict(codes=[4], threads=-1), "threads is -1, expected 0 to 1024"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            sidbeam.Builder(**options)
    with pytest.raises(sidbeam.InvalidArgument, match="the catalogue is empty"):
        sidbeam.Builder([4]).finish()
    with pytest.raises(MemoryError, match="the build needs about .* bytes, memory_limit is 64"):
        sidbeam.Index.build(np.zeros((1000, 2), np.int32), range(1000), memory_limit=64)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_an_owner_that_cannot_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.sidx"
    path.write_text("old")
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(0o777)
    builders = [sidbeam.Builder([4], allow_attribute_loss=allow) for allow in (False, True)]
    for builder in builders:
        builder.add([(1,), (2,)])
    os.seteuid(1234)
    try:
        with pytest.raises(sidbeam.IOFailure, match="cannot keep the owner of '.*a.sidx': Operation not permitted"):
            builders[0].write(path)
        assert path.read_text() == "old"
        builders[1].write(path)
    finally:
        os.seteuid(0)
    assert path.stat().st_uid == 1234 and sidbeam.Index.open(path).info.sids == 2


def test_progress(tmp_path: Path, held: threading.Event) -> None:
    seen: list[tuple[sidbeam.Phase, int, int]] = []

    def progress(phase: sidbeam.Phase, done: int, total: int) -> None:
        seen.append((phase, done, total))
        held.set()

    big().write(tmp_path / "a.sidx", progress=progress)
    assert seen and all(isinstance(phase, sidbeam.Phase) and 0 <= done <= total for phase, done, total in seen)


def test_an_exception_in_progress_ends_the_build(tmp_path: Path, held: threading.Event) -> None:
    def progress(phase: sidbeam.Phase, done: int, total: int) -> None:
        raise KeyError("enough")

    builder = big()
    with pytest.raises(KeyError, match="enough"):
        builder.write(tmp_path / "a.sidx", progress=progress)
    assert list(tmp_path.iterdir()) == []
    builder.write(tmp_path / "a.sidx")  # the builder is as good as before


def test_cancel_from_another_thread(tmp_path: Path) -> None:
    builder = big()
    outcome: list[object] = []

    def work() -> None:
        try:
            outcome.append(builder.write(tmp_path / "a.sidx"))
        except sidbeam.Cancelled as error:
            outcome.append(error.name)

    builder.cancel()  # ends the running call or the next one: no race with the thread's start
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcome == ["cancelled"] and list(tmp_path.iterdir()) == []
    assert builder.finish().info.items == 400000


def test_ctrl_c_in_the_middle_of_a_build(tmp_path: Path) -> None:
    program = """
        import signal, sys, numpy as np, sidbeam
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        builder = sidbeam.Builder([256] * 6, threads=1)
        builder.add(np.random.default_rng(1).integers(0, 256, (3000000, 6), dtype=np.int32))
        told = []
        def progress(phase, done, total):
            if done > 0 and not told:
                told.append(print("building", flush=True))
        try:
            builder.write(sys.argv[1], progress=progress)
            print("built", flush=True)
        except KeyboardInterrupt:
            print("interrupted", builder.plan().items, flush=True)  # it is free again
            sys.exit(3)
    """
    path, said = tmp_path / "a.sidx", ""
    for _ in range(20):  # a build may be over before the signal comes
        path.unlink(missing_ok=True)
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None and child.stdout.readline() in ("building\n", "built\n")
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[0]
        if said.startswith("interrupted") and not path.exists():
            break
    assert said == "interrupted 3000000\n" and child.returncode == 3
    assert list(tmp_path.iterdir()) == []


def test_a_second_ctrl_c_leaves_the_build_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come at the worst moment: the build has not heard of the first when the second comes."""

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    write, both_came, outcome = sidbeam._native.flat_builder_write, threading.Event(), []

    def late(*arguments: object) -> None:
        both_came.wait()
        try:
            write(*arguments)
        except sidbeam.Cancelled as error:
            outcome.append(error.name)
            raise

    builder = big()
    with monkeypatch.context() as patch:
        patch.setattr(sidbeam._native, "flat_builder_write", late)
        fake = types.SimpleNamespace(**{**vars(threading), "Event": Interrupted})
        patch.setattr(sidbeam.build, "threading", fake)
        with pytest.raises(KeyboardInterrupt):
            builder.write(tmp_path / "a.sidx")
        both_came.set()
        for thread in threading.enumerate():
            if thread.name == "sidbeam build":
                thread.join()
    assert outcome == ["cancelled"] and list(tmp_path.iterdir()) == []
    builder.write(tmp_path / "a.sidx")  # the cancellation is over with the build


def test_a_cancellation_that_comes_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    builder, plan = big(1000), sidbeam._native.flat_builder_plan

    def and_cancel(*arguments: object) -> object:
        made = plan(*arguments)
        builder.cancel()
        return made

    with monkeypatch.context() as patch:
        patch.setattr(sidbeam._native, "flat_builder_plan", and_cancel)
        builder.plan()
    assert builder.finish().info.items == 1000


@pytest.mark.parametrize("way", ["logger", "callable", "default"])
def test_log(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str) -> None:
    told: list[tuple[sidbeam.LogLevel, str]] = []
    log = {"logger": logging.getLogger("mine"), "callable": lambda *m: told.append(m), "default": True}[way]
    runtime = sidbeam.Runtime(log=log)
    with caplog.at_level(logging.INFO):
        path = tmp_path / "a.sidx"
        sidbeam.Index.build([(0, 1)], path=path, runtime=runtime)
        sidbeam.Index.open(path, verify="full", runtime=runtime)
    if way == "callable":
        assert all(level is sidbeam.LogLevel.INFO for level, _ in told)
        assert any(text.startswith(f"opened index '{path}'") for _, text in told)
    else:
        names = {record.name for record in caplog.records}
        assert names == {"mine" if way == "logger" else "sidbeam"}


def test_runtime_options() -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="threads is -2, expected 1..1024"):
        sidbeam.Runtime(threads=-2)
    with pytest.raises(sidbeam.Unsupported, match="cpu_target is \"vax\", expected baseline"):
        sidbeam.Runtime(cpu_target="vax")
    assert sidbeam.Runtime(cpu_target="baseline").closed is False
    assert sidbeam.cpu_target() in ("baseline", "avx2", "avx512", "neon")
    assert sidbeam.__version__.count(".") == 2
