"""Live catalogues: what they publish is what an index of the live pairs finds. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import datetime
import gc
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidbeam
from live_catalogs import BASE, CODES, arguments, catalog, check, drawn, found, index_of, recommended, writes
from sidbeam import Catalog

__all__ = ["catalog"]  # a fixture


def test_items_come_and_go_and_versions_stay(catalog: Catalog) -> None:
    pairs, first = dict(BASE), catalog.snapshot()
    before = found(first)
    more = drawn(20, 2)
    catalog.add(**arguments(more))
    assert catalog.snapshot().info.version == 1 and catalog.info.changes == 1
    assert catalog.publish() == 2 == catalog.publish()  # the second has nothing to publish
    pairs |= more
    second = check(catalog, pairs)

    gone = sorted({number for _, number in pairs})[::3]
    assert catalog.remove([*gone, 1000, 1001]) == 2
    pairs = {key: value for key, value in pairs.items() if key[1] not in gone}
    again = {key: value for key, value in BASE.items() if key[1] in gone[:4]}
    catalog.add(**arguments(again))
    pairs |= again
    some = dict(list(pairs.items())[:5])
    catalog.add([sid for sid, _ in some], [number for _, number in some], attributes={"price": [8] * 5})
    pairs |= {key: (0, 8) for key in some}
    assert catalog.publish() == 3
    check(catalog, pairs)
    assert found(first) == before and found(second) == found(index_of(BASE | more))
    assert found(catalog.snapshot(1)) == before
    assert (first.info.version, second.info.version, first.info.generation) == (1, 2, 1)


def test_what_is_not_published_can_be_dropped(catalog: Catalog) -> None:
    catalog.add(**arguments(drawn(5, 3)))
    assert catalog.remove({number for _, number in BASE}) == 0
    assert catalog.info.changes == 2
    catalog.discard()
    assert catalog.info.changes == 0 and catalog.publish() == 1
    check(catalog, BASE)
    assert catalog.remove([]) == 0 and catalog.remove(np.array([], np.int64)) == 0


def test_the_way_back(catalog: Catalog) -> None:
    catalog.remove(sorted({number for _, number in BASE})[:10])
    catalog.publish()
    catalog.add(**arguments(drawn(3, 4)))
    assert catalog.rollback(1) == 3 and catalog.info.changes == 0
    check(catalog, BASE)
    assert [(v.version, v.back_to) for v in catalog.versions()] == [(1, None), (2, None), (3, 1)]
    with pytest.raises(sidbeam.InvalidArgument, match="^version is 9, expected one of those that are kept, 1 to 3"):
        catalog.rollback(9)
    with pytest.raises(sidbeam.InvalidArgument, match="^version is -1, expected one of those that are kept, 1 to 3"):
        catalog.snapshot(-1)


def test_priorities_and_filters() -> None:
    base = sidbeam.Index.build([(0, 1, 2)], [7], codes=CODES, attributes={"price": [3]})
    with Catalog.create(base) as catalog:
        cheap, listed = base.filter("price<4"), base.filter(ids=[7])
        catalog.add([(0, 1, 2)] * 3, np.array([8, 9, 10]), priorities=[1, 5, 3], attributes={"price": [4, 2, None]})
        index = catalog.snapshot(catalog.publish())
        assert [r.item for r in recommended(index)] == [7, 9, 10, 8]
        assert index.attributes["price"].values() == [3, 4, 2, None]
        assert cheap.on(index).rows().tolist() == [0, 2] and listed.on(index).rows().tolist() == [0]
        assert cheap.rows().tolist() == [0]
        with pytest.raises(sidbeam.WrongType, match="index is list, expected an Index"):
            cheap.on([index])  # type: ignore[arg-type]


def test_names_and_lengths_that_vary() -> None:
    def of(sids: Any, names: list[str]) -> sidbeam.Index:
        return sidbeam.Index.build(sids, names, codes=CODES, variable_length=True)

    with Catalog.create(of([(0,), (0, 1), (2, 1, 0)], ["a", "ß", "c"])) as catalog:
        catalog.add([[1], [0, 1]], ["new", "d"])
        catalog.add(np.array([[3, 1, 9], [4, 9, 9]]), ["e", ""], lengths=[2, 1])
        assert catalog.remove(["c", "x", "ß"]) == 1
        index = catalog.snapshot(catalog.publish())
        assert found(index) == found(of([(0,), (1,), (0, 1), (3, 1), (4,)], ["a", "new", "d", "e", ""]))
        assert len(found(index)) == index.info.live_items == 5
        with pytest.raises(sidbeam.InvalidArgument, match="sids have 4 codes, expected at most 3"):
            catalog.add([(0, 0, 0, 0)], ["g"])
        with pytest.raises(sidbeam.InvalidArgument, match="ids is None, expected the ids of 1 items"):
            catalog.add([(0, 1)], None)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_tables(catalog: Catalog, library: str) -> None:
    module = pytest.importorskip(library, reason=f"pip install {library}: its tables are what is read here")
    more = drawn(20, 6)
    given = arguments(more)
    columns = {"sid": [list(sid) for sid in given["sids"]], "item": given["ids"], "price": given["attributes"]["price"]}
    table_of = module.table if library == "pyarrow" else module.DataFrame
    table = table_of(columns)
    assert catalog.add_arrow(table, attributes=["price"]) == len(more)
    catalog.publish()
    check(catalog, BASE | more)
    wider = {**columns, "weight": columns["price"]}
    with pytest.raises(sidbeam.InvalidArgument, match="column 'weight' is no attribute of the catalogue: name those"):
        catalog.add_arrow(table_of(wider), attributes=True)
    with pytest.raises(sidbeam.InvalidArgument, match="no column of items, expected one"):
        catalog.add_arrow(table, item="")
    with pytest.raises(sidbeam.WrongType, match="data is list, expected an object with __arrow_c_stream__"):
        catalog.add_arrow([[0, 1, 2]])
    assert catalog.info.changes == 0


def test_threads_search_while_another_publishes(catalog: Catalog) -> None:
    stop, wrong = threading.Event(), []
    extra = {key: value for key, value in drawn(30, 7).items() if key[1] not in {number for _, number in BASE}}
    both = {1: found(index_of(BASE | extra)), 0: found(index_of(BASE))}

    def search() -> None:
        while not stop.is_set():
            with catalog.snapshot() as index:
                if found(index) != both[1 - index.info.version % 2]:
                    wrong.append(index.info)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        catalog.add(**arguments(extra))
        catalog.publish()
        catalog.remove([number for _, number in extra])
        catalog.publish()
    stop.set()
    for thread in threads:
        thread.join()
    assert catalog.info.version == 41 and wrong == []


def test_info_and_versions(tmp_path: Path) -> None:
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
    with writes(tmp_path / "live", keep_versions=2, keep_age=3600.5) as catalog:
        info = catalog.info
        assert (info.version, info.generation, info.oldest_version, info.items) == (1, 1, 1, len(BASE))
        assert info.base_items == len(BASE) and info.sids == len({sid for sid, _ in BASE}) and info.base_bytes > 0
        assert before < info.published < datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
        assert not (info.log_failed or info.follows or info.compact_soon) and info.cut_bytes == 0
        for number in (10, 11, 12):
            catalog.add([(0, 0, 0)], [1000 + number])
            catalog.publish()
        held = catalog.snapshot()
        third, fourth = catalog.versions()
        assert (third.version, fourth.version, fourth.items, fourth.changed) == (3, 4, len(BASE) + 3, 1)
        assert fourth.in_use and fourth.back_to is None and third.published <= fourth.published
        assert repr(catalog) == f"<sidbeam.Catalog version 4, {len(BASE) + 3} items>"
        assert f"version 4 of {len(BASE) + 3} live items" in repr(held)
        with pytest.raises(sidbeam.InvalidArgument, match="version is 1, expected one of those that are kept, 3 to 4"):
            catalog.snapshot(1)
    plain = index_of(BASE).info
    assert (plain.version, plain.generation, plain.live_items) == (0, 0, plain.items)


def test_versions_that_are_too_old_go() -> None:
    with Catalog.create(index_of(BASE), keep_versions=2**40, keep_age=datetime.timedelta(microseconds=1)) as catalog:
        for number in range(1000):  # 1 ms is the least age
            catalog.add([(0, 0, 0)], [1000 + number])
            catalog.publish()
            if catalog.info.oldest_version > 1:
                break
        assert catalog.versions()[0].version > 1
        with pytest.raises(sidbeam.InvalidArgument, match="version is 1, expected one of those that are kept"):
            catalog.rollback(1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda c: c.add([(0, 5, 0)], [1]), "sids[0] has 5 at level 1, expected 0..4"),
        (lambda c: c.add([(0, 1, 0)], None), "ids is None, expected the ids of 1 items"),
        (lambda c: c.add([(0, 1, 0)], ["a"]), "ids are text, expected integers"),
        (lambda c: c.add([(0, 1, 0)], [1, 2]), "ids has 2 entries, expected 1, one per SID"),
        (lambda c: c.add([(0, 1)], [1]), "lengths: row 0 has 2 codes, expected 3 (variable_length is 0)"),
        (lambda c: c.add([(0, 1, 0)], [1], attributes={"price": ["x"]}), "attributes['price'][0] is 'x', expected"),
        (lambda c: c.add([(0, 1, 0)], [1], attributes={"price": [1, 2]}), "attributes['price'] has 2 entries, exp"),
        (lambda c: c.add([(0, 1, 0)], [1], attributes={"size": [1]}), "no attribute 'size' was declared"),
        (lambda c: c.remove(["a"]), "ids are text, expected integers"),
        (lambda c: c.remove(5), "ids is int, expected a list of ids"),
        (lambda c: c.remove(None), "ids is None, expected a list of ids: items are removed by id"),
        (lambda c: c.remove(sidbeam.ItemRows([1])), "ids is ItemRows, expected a list of ids: items are removed by id"),
        (lambda c: c.compact(threads=-1), "threads is -1, expected 0..1024"),
        (lambda c: c.compact(memory_limit=-1), "memory_limit is -1, expected at least 0"),
        (lambda c: c.compact(bytes_per_second=-1), "bytes_per_second is -1, expected at least 0"),
        (lambda c: c.compact(progress=3), "progress is int, expected a function of phase, done and total"),
        (lambda c: c.snapshot("new"), "version is str, expected an integer"),
        (lambda c: c.refresh(wait=-1), "wait is -1, expected seconds, 0 or more"),
        (lambda c: c.refresh(wait="1"), "wait is str, expected seconds or a timedelta"),
        (lambda c: Catalog.create(c.snapshot()), "the base is a version of a live catalogue, expected an index of its"),
        (lambda c: Catalog.create("x"), "base is str, expected an Index"),
        (lambda c: Catalog.create(index_of(BASE), ""), 'folder is "", expected the path of one'),
        (lambda c: Catalog.create(index_of(BASE), 3), "folder is int, expected a str, bytes or os.PathLike"),
        (lambda c: Catalog.create(index_of(BASE), sync="now"), "Sync is 'now', expected one of 'publish', 'inter"),
        (lambda c: Catalog.create(index_of(BASE), sync_interval=-2), "sync_interval is -2, expected seconds, 0 or m"),
        (lambda c: Catalog.create(index_of(BASE), keep_age=float("nan")), "keep_age is nan, expected seconds, 0 or m"),
        (lambda c: Catalog.create(index_of(BASE), keep_versions=-1), "keep_versions is -1, expected at least 0"),
    ],
)
def test_wrong_arguments(catalog: Catalog, call: Any, message: str) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match=re.escape(message)):
        call(catalog)
    assert catalog.info.changes == 0 and catalog.info.version == 1


def test_what_has_no_trie_or_no_live_pair_is_refused() -> None:
    with pytest.raises(sidbeam.MissingSection, match="trie"):
        Catalog.create(sidbeam.Index.build([(0, 1)], [1], kinds="sorted"))
    with Catalog.create(sidbeam.Index.build([(0, 1)], [1])) as catalog:
        catalog.remove([1])
        catalog.publish()
        with pytest.raises(sidbeam.InvalidArgument, match="no item is live, expected at least one"):
            catalog.compact()
    with pytest.raises(TypeError, match="use Catalog.create, Catalog.open or Catalog.follow"):
        Catalog()


def test_versions_outlive_their_catalogue(catalog: Catalog) -> None:
    index, before = catalog.snapshot(), found(catalog.snapshot())
    catalog.close()
    catalog.close()
    assert catalog.closed and repr(catalog) == "<sidbeam.Catalog closed>"
    uses = (
        lambda: catalog.info,
        catalog.versions,
        catalog.publish,
        catalog.discard,
        catalog.sync,
        catalog.refresh,
        catalog.compact,
        catalog.snapshot,
        lambda: catalog.add([(0, 0, 0)], [1]),
        lambda: catalog.remove([1]),
        lambda: catalog.rollback(1),
    )
    for use in uses:
        with pytest.raises(sidbeam.BadState, match="^catalogue is closed"):
            use()
    del catalog
    gc.collect()
    assert found(index) == before


def test_a_child_can_only_close_it(catalog: Catalog) -> None:
    index, expected = catalog.snapshot(), found(catalog.snapshot())
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with contextlib.suppress(sidbeam.BadState):
                catalog.publish()
                status = 2
            status = 0 if status == 1 and found(index) == expected else 3
            catalog.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    catalog.remove([next(iter(BASE))[1]])
    assert catalog.publish() == 2
