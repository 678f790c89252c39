"""What serving engines follow of live catalogues; the engines themselves are tested in tests/stacks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import json
import os
import queue
import shutil
import threading
import types
import weakref
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import sidbeam
from live_catalogs import BASE, CODES, arguments, catalog, drawn, found, index_of, writes
from sidbeam import Catalog, following, serving
from sidbeam.following import Newest

__all__ = ["catalog"]  # a fixture
LOG = "sidbeam.following"


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(serving, "_registered", {})
    monkeypatch.setattr(serving, "_default", [])
    monkeypatch.setattr(following, "_PAUSE", 0.01)
    monkeypatch.delenv(serving.ENVIRONMENT, raising=False)
    serving._read_environment.cache_clear()
    yield
    serving._read_environment.cache_clear()


def index_alone(index: sidbeam.Index, before: Any) -> sidbeam.Index:
    return index


def add_one(catalog: Catalog, item: int, sid: tuple[int, ...] = (0, 0, 0)) -> int:
    catalog.add([sid], [item], attributes={"price": [1]})
    return catalog.publish()


def in_use(catalog: Catalog) -> list[int]:
    gc.collect()
    return [version.version for version in catalog.versions() if version.in_use]


def test_a_publish_is_seen_when_it_returns(catalog: Catalog) -> None:
    newest = Newest(catalog, index_alone, "here")
    assert newest.value.info.version == 1
    assert add_one(catalog, 900) == newest.value.info.version == 2
    assert catalog.rollback(1) == newest.value.info.version == 3
    assert found(newest.value) == found(index_of(BASE))
    assert catalog.compact() == newest.value.info.version == 4 and newest.value.info.generation == 2
    assert in_use(catalog) == [4]


def test_a_folder_is_followed_by_itself(tmp_path: Path) -> None:
    seen: queue.SimpleQueue[int] = queue.SimpleQueue()

    def make(index: sidbeam.Index, before: Any) -> sidbeam.Index:
        seen.put(index.info.version)
        return index

    with writes(tmp_path / "live") as writer:
        newest = Newest(tmp_path / "live", make, "there")
        assert seen.get(timeout=60) == 1
        for item in (900, 901):
            assert add_one(writer, item) == seen.get(timeout=60)
        writer.remove([900])
        writer.publish()
        assert writer.compact() >= seen.get(timeout=60)
        newest.refresh()
        assert newest.value.info.generation == 2 and newest.value.info.live_items == len(BASE) + 1


def test_the_thread_goes_with_what_it_follows(tmp_path: Path) -> None:
    with writes(tmp_path / "live"):
        newest = Newest(tmp_path / "live", index_alone, "a name of its own")
        (thread,) = [t for t in threading.enumerate() if t.name.endswith("a name of its own")]
        held = weakref.ref(newest.catalog())
        del newest
        thread.join(timeout=60)
        gc.collect()
        assert not thread.is_alive() and held() is None


def test_damage_leaves_the_last_version_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer, folder = writes(tmp_path / "live"), tmp_path / "live"
    newest = Newest(folder, index_alone, "there")
    shutil.copytree(folder, tmp_path / "whole")
    writer.close()
    folder.rename(tmp_path / "gone")
    wait_for(lambda: caplog.records)
    for _ in range(3):  # and the thread, as often as it likes
        with pytest.raises(sidbeam.IOFailure, match="cannot open"):
            newest.refresh()
    texts = [record.getMessage() for record in caplog.records]
    assert all(text.startswith("there: requests go on with version 1: cannot open '") for text in texts)
    assert len(texts) == len(set(texts)) <= 2
    assert newest.value.info.version == 1 and found(newest.value) == found(index_of(BASE))
    (tmp_path / "whole").rename(folder)
    with Catalog.open(folder) as writer:
        add_one(writer, 900)
        wait_for(lambda: newest.value.info.version == 2)
        caplog.clear()
        manifest, damaged = folder / "catalog.live", tmp_path / "damaged"
        whole = manifest.read_bytes()
        damaged.write_bytes(whole[:-1])
        damaged.rename(manifest)
        wait_for(lambda: "requests go on with version 2" in caplog.text)
        assert newest.value.info.version == 2
        damaged.write_bytes(whole)
        damaged.rename(manifest)
        add_one(writer, 901)
        wait_for(lambda: newest.value.info.version == 3)


def wait_for(condition: Any) -> None:
    """Of another thread, which has a minute for what takes it a moment."""
    turns = threading.Event()
    for _ in range(6000):
        if condition():
            return
        turns.wait(0.01)
    raise AssertionError("it did not come")


def test_another_catalogue_in_the_same_place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with writes(tmp_path / "live"):
        newest = Newest(tmp_path / "live", index_alone, "there")
    other = sidbeam.Index.build([(0, 1)], ["a"], codes=[4, 4])
    with Catalog.create(other) as wrong:
        newest.take(wrong)  # of the same number
    assert newest.value.info.codes == tuple(CODES)
    assert "its SIDs or ids are of another form" in caplog.text


def test_a_catalogue_that_was_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with writes(tmp_path / "live"):
        follower = Catalog.follow(tmp_path / "live")
        newest = Newest(follower, index_alone, "closed under it")
        (thread,) = [t for t in threading.enumerate() if t.name.endswith("closed under it")]
        follower.close()
        thread.join(timeout=60)
    assert not thread.is_alive() and found(newest.value) == found(index_of(BASE))
    assert [r.getMessage() for r in caplog.records if r.name == LOG] == [
        "closed under it: requests go on with version 1: catalogue is closed (bad state)"
    ]


def holds_in_a_child(writer: Catalog, condition: Callable[[], bool]) -> bool:
    """Asked in a child of fork(), after this process has published another version."""
    ours, its = os.pipe()
    child = os.fork()
    if child == 0:
        good = False
        try:
            os.close(its)
            os.read(ours, 1)
            good = condition()
        finally:
            os._exit(0 if good else 1)
    os.close(ours)
    add_one(writer, 900)
    os.write(its, b"!")
    os.close(its)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_child_of_fork_follows_the_folder(tmp_path: Path, where: str) -> None:
    """In place of its parent's catalogue, which is of no use to it; what is in memory alone stays."""
    folder = None if where == "memory" else tmp_path / "live"
    with Catalog.create(index_of(BASE), folder) as writer:
        newest = Newest(writer, index_alone, "forked")

        def follows() -> bool:
            value = newest.value  # of a folder perhaps the second already: with this call the thread begins again
            if value.info.version == 1 and found(value) != found(index_of(BASE)):
                return False
            if folder is None:
                return newest.value.info.version == 1
            wait_for(lambda: newest.value.info.version == 2)
            return newest.value.info.live_items == len(BASE) + 1

        assert holds_in_a_child(writer, follows) and newest.value.info.version == 2


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_child_of_fork_that_refreshes_first(tmp_path: Path, where: str) -> None:
    with Catalog.create(index_of(BASE), None if where == "memory" else tmp_path / "live") as writer:
        newest = Newest(writer, index_alone, "forked")

        def refreshes() -> bool:
            newest.refresh()
            return newest.value.info.version == (1 if where == "memory" else 2)

        assert holds_in_a_child(writer, refreshes)


def test_what_is_lost_while_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the thread that follows, while another one refreshes."""
    take = Newest.take

    def lose(self: Newest[Any], catalog: Catalog) -> None:
        take(self, catalog)
        self.lost(sidbeam.IOFailure("gone"))

    with writes(tmp_path / "live"):
        newest = Newest(tmp_path / "live", index_alone, "there")
        monkeypatch.setattr(Newest, "take", lose)
        newest.lost(sidbeam.IOFailure("gone"))
        assert newest.catalog().info.follows


def test_threads_that_open_get_one_follower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with writes(tmp_path / "live"):
        newest = Newest(Catalog.follow(tmp_path / "live"), index_alone, "there")
        newest._own, opened, follow = True, [], Catalog.follow
        begin = threading.Barrier(8)

        def slowly(folder: str) -> Catalog:
            opened.append(folder)
            for _ in range(1000):
                os.sched_yield()  # the others' turn
            return follow(folder)

        monkeypatch.setattr(Catalog, "follow", slowly)

        def get() -> None:
            begin.wait()
            newest.catalog()

        threads = [threading.Thread(target=get) for _ in range(8)]
        newest.lost(sidbeam.IOFailure("gone"))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 1


def test_the_thread_outlives_errors_of_any_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refresh, errors = Catalog.refresh, [RuntimeError("odd")]

    def fails_at_first(self: Catalog, wait: Any = None) -> int:
        if errors and self._folder == str(tmp_path / "live"):  # another test's thread may be about to end
            raise errors.pop()
        return refresh(self, wait)

    monkeypatch.setattr(Catalog, "refresh", fails_at_first)
    with writes(tmp_path / "live") as writer:
        newest = Newest(tmp_path / "live", index_alone, "there")
        wait_for(lambda: not errors)
        add_one(writer, 900)
        wait_for(lambda: newest.value.info.version == 2)
    assert [r.message for r in caplog.records if r.name == LOG] == ["there: requests go on with version 1: odd"]


class Making:
    """Makes what requests get, unless it is told to fail, by a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: Any = None
        self.now, self.tries = 0.0, 0
        monkeypatch.setattr(following, "_PAUSE", 1.0)
        monkeypatch.setattr(following, "time", types.SimpleNamespace(monotonic=lambda: self.now))

    def __call__(self, index: sidbeam.Index, before: Any) -> sidbeam.Index:
        self.tries += 1
        if self.error is not None:
            raise self.error(f"try {self.tries}")
        return index


def test_a_version_that_was_refused_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make = Making(monkeypatch)
    with Catalog.create(index_of(BASE)) as catalog:
        newest = Newest(catalog, make, "here")
        make.error = sidbeam.InvalidArgument
        add_one(catalog, 900)
        for make.now in (1.0, 1e6):
            assert catalog.publish() == 2  # which tells of it again
        assert make.tries == 2 and len(caplog.records) == 1
        make.error = None
        assert catalog.publish() == 2 and make.tries == 2
        assert add_one(catalog, 901) == newest.value.info.version == 3


@pytest.mark.parametrize("error", [sidbeam.OutOfMemory, RuntimeError])
def test_what_may_pass_is_tried_after_growing_pauses(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    make, tried = Making(monkeypatch), []
    with Catalog.create(index_of(BASE)) as catalog:
        newest = Newest(catalog, make, "here")
        make.error = error
        add_one(catalog, 900)
        for second in range(200):
            make.now, before = float(second), make.tries
            catalog.publish()
            tried += [second] * (make.tries - before)
        assert tried == [1, 3, 7, 15, 31, 63, 123, 183]
        add_one(catalog, 901)  # is tried at once
        make.error, make.now = None, make.now + 1
        assert catalog.publish() == newest.value.info.version == 3


def test_two_threads_that_publish_leave_the_newest(catalog: Catalog) -> None:
    newest = Newest(catalog, index_alone, "here")
    items = iter(range(900, 960))

    def publish() -> None:
        for _ in range(20):
            add_one(catalog, next(items))

    threads = [threading.Thread(target=publish) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert newest.value.info.version == catalog.info.version
    assert newest.value.info.live_items == len(BASE) + 60


def allowed(catalogue_name: str, **rules: Any) -> set[int]:
    """The items that a request may get which begins now."""
    choice = serving.choice_of({"sidbeam": catalogue_name, **{f"sidbeam_{key}": rule for key, rule in rules.items()}})
    assert choice is not None
    constraint, index = choice.constraint(), choice.version.index
    assert constraint is not None
    rows, _, _, _ = constraint.item_rows_of(np.arange(len(index)))
    return set(index.item_ids(rows).tolist())


def test_rules_are_asked_of_the_requests_version(catalog: Catalog) -> None:
    """Of named filters, of texts, of ids that are gone or not yet there; those in use are prepared when it comes."""
    items = {number for _, number in BASE}
    cheap = {number for (_, number), (_, price) in BASE.items() if price < 5}
    gone = min(cheap)
    serving.register("shop", catalog, filters={"cheap": "price<5"})
    shop = serving.find("shop")
    assert shop.live and allowed("shop") == items and allowed("shop", filter="cheap") == cheap
    assert allowed("shop", where="price<1", exclude=[900]) == {n for (_, n), (_, p) in BASE.items() if p < 1}
    running = serving.choice_of({"sidbeam": "shop", "sidbeam_allow": [gone, 900]})
    assert running is not None
    assert serving.choice_of({"sidbeam": "shop", "sidbeam_filter": "cheap"}).constraint().info.rules  # type: ignore
    catalog.remove([gone])
    add_one(catalog, 900)
    assert [kept.info.prepared for kept in shop.newest.rules._filters.named.values()] == [True]
    assert [kept.info.prepared for kept in shop.newest.rules._filters._taken.values()] == [True]
    assert allowed("shop", filter="cheap") == (cheap | {900}) - {gone}
    assert allowed("shop", where="price=1", allow=[gone, 900]) == {900}
    assert allowed("shop", allow=[gone]) == set()
    first = running.constraint()
    assert first is not None and first.info.unknown_allowed == 1
    assert first.info.allowed_items == len([pair for pair in BASE if pair[1] == gone])
    catalog.compact()
    assert allowed("shop", filter="cheap", exclude=[gone]) == (cheap | {900}) - {gone}
    assert allowed("shop", exclude=[900]) == items - {gone}
    catalog.rollback(1)
    assert allowed("shop") == items


def test_filters_that_a_compaction_would_lose_are_refused(catalog: Catalog) -> None:
    with catalog.snapshot() as index:
        kept = index.filter(ids=[1, 2])
        message = "catalogue 'shop': filter 'few' is a set of rows, expected a text: a live catalogue renumbers rows"
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            serving.register("shop", catalog, filters={"few": kept})
        serving.register("shop", catalog, filters={"cheap": index.filter("price<5"), "dear": index.filter(price=8)})
    catalog.compact()
    add_one(catalog, 900)
    assert serving.find("shop").newest.index.info.version == 3


def test_a_version_that_cannot_be_served(caplog: pytest.LogCaptureFixture) -> None:
    """A code without a token: the model has no word for the item."""
    base = sidbeam.Index.build([(0, 1), (1, 0)], [1, 2], codes=[3, 3])
    with Catalog.create(base) as catalog:
        vocabulary = sidbeam.Vocabulary(maps=[[5, 6, -1], [7, 8, 9]])
        shop = serving.register("shop", catalog, vocabulary=vocabulary, end=2)
        catalog.add([(2, 0)], [3])
        assert catalog.publish() == 2 and shop.newest.index.info.version == 1
        catalog.add([(0, 0)], [4])
        assert catalog.publish() == 3 and shop.newest.index.info.version == 1
        assert len(caplog.records) == 1 and "requests go on with version 1: " in caplog.text
        catalog.remove([3])
        catalog.publish()
        assert catalog.compact() == 5 and shop.newest.index.info.version == 5
        catalog.add([(2, 0)], [3])
        assert catalog.publish() == 6 and len(caplog.records) == 2  # said again: it was well meanwhile


def test_folders_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with writes(tmp_path / "live") as writer:
        entry = {"path": str(tmp_path / "live"), "filters": {"cheap": "price<5"}, "default": True}
        monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": entry}))
        assert serving.find("shop").index.info.version == 1
        old = serving.choice_of(None)
        add_one(writer, 900)
        serving.find("shop").refresh()
        new = serving.choice_of(None)
        assert old is not None and new is not None
        assert (old.version.index.info.version, new.version.index.info.version) == (1, 2)
        assert old.renewed().version is new.version and serving.find("shop").levels == 3
    (tmp_path / "empty").mkdir()
    with pytest.raises(sidbeam.IOFailure, match="empty"):
        serving.register("other", tmp_path / "empty")
    with pytest.raises(sidbeam.WrongType, match="index is int, expected an Index, a Catalog or the path of one"):
        serving.register("other", 5)  # type: ignore[arg-type]
