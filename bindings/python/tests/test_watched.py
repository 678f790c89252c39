"""Index files that serving engines follow: another one takes the place of the first, by rename.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import sidbeam
from sidbeam import following, serving, watched

LOG = "sidbeam.following"


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    monkeypatch.setattr(serving, "_registered", {})
    monkeypatch.setattr(serving, "_default", [])
    monkeypatch.setattr(following, "_PAUSE", 0.01)
    monkeypatch.setattr(watched, "_LOOK", 0.01)
    monkeypatch.delenv(serving.ENVIRONMENT, raising=False)
    serving._read_environment.cache_clear()
    caplog.set_level(logging.INFO, LOG)
    yield
    serving._read_environment.cache_clear()


def put(path: Path, items: list[int], codes: int = 4, attribute: str = "price", dearer: int = 0) -> None:
    """An index of these items, in the place of what is there."""
    made = path.with_suffix(".new")
    sids = [(item % 4, item // 4 % 4) for item in items]
    attributes = {attribute: [item % 5 + dearer for item in items]}
    sidbeam.Index.build(sids, items, codes=codes, attributes=attributes, path=made).close()
    made.rename(path)


def damage(path: Path) -> None:
    """Flips a bit behind the header, in a new file that takes the place of this one."""
    made, data = path.with_suffix(".new"), bytearray(path.read_bytes())
    data[-64] ^= 1
    made.write_bytes(data)
    made.rename(path)


def wait_for(condition: Callable[[], Any]) -> None:
    """Of another thread, which has a minute for what takes it a moment."""
    turns = threading.Event()
    for _ in range(6000):
        if condition():
            return
        turns.wait(0.01)
    raise AssertionError("it did not come")


def items_of(choice: Any) -> set[int]:
    constraint = choice.constraint()
    rows = constraint.item_rows_of(np.arange(len(choice.version.index))).rows
    return set(choice.version.index.item_ids(rows).tolist())


def asked(**rules: Any) -> Any:
    return serving.choice_of({"sidbeam": "shop", **{f"sidbeam_{key}": rule for key, rule in rules.items()}})


def test_another_file_is_taken_over_and_running_requests_keep_theirs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "shop.sidx"
    put(path, [1, 2, 3])
    shop = serving.register("shop", path, follow=True, filters={"cheap": "price<3"})
    before = asked(filter="cheap")
    put(path, [2, 3, 7])
    wait_for(lambda: items_of(asked()) == {2, 3, 7})
    assert items_of(before) == {1, 2} and items_of(asked(filter="cheap")) == {2, 7}
    assert items_of(asked(exclude=[7, 1])) == {2, 3} and items_of(before.renewed()) == {2, 7}
    fingerprint = shop.index.info.fingerprint
    text = f"catalogue 'shop': requests that begin follow version 0, fingerprint {fingerprint}"
    wait_for(lambda: text in caplog.text)  # logged after that


def test_other_attributes_of_the_same_items(tmp_path: Path) -> None:
    """Of which the fingerprint says nothing."""
    path = tmp_path / "shop.sidx"
    put(path, [1, 2, 3])
    serving.register("shop", path, follow=True, filters={"cheap": "price<3"})
    assert items_of(asked(filter="cheap")) == {1, 2}
    put(path, [1, 2, 3], dearer=1)
    wait_for(lambda: items_of(asked(filter="cheap")) == {1})


def test_what_filters_refuse_is_told_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "shop.sidx"
    put(path, [1, 2])
    shop = serving.register("shop", path, follow=True, filters={"cheap": "price<3"})
    put(path, [1, 2, 3], attribute="weight")
    for _ in range(3):  # though the first, or the thread that follows, has refused it already
        with pytest.raises(sidbeam.InvalidArgument, match="price"):
            shop.refresh()
    assert items_of(asked()) == {1, 2}
    put(path, [1, 2, 3])
    shop.refresh()
    assert items_of(asked()) == {1, 2, 3}


def test_refresh_looks_now(tmp_path: Path) -> None:
    path = tmp_path / "shop.sidx"
    put(path, [1])
    shop = serving.register("shop", path, follow=True)
    for item in range(2, 12):
        put(path, [item])
        shop.refresh()
        assert items_of(asked()) == {item}


def test_a_damaged_file_leaves_the_old_one_and_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, opened, open_it = tmp_path / "shop.sidx", [], watched.WatchedFile._open

    def count(self: watched.WatchedFile) -> sidbeam.Index:
        opened.append(1)
        return open_it(self)

    monkeypatch.setattr(watched.WatchedFile, "_open", count)
    put(path, [1, 2])
    shop = serving.register("shop", path, follow=True)
    damage(path)
    wait_for(lambda: "catalogue 'shop': requests go on with version 0: " in caplog.text)
    for _ in range(3):  # though the thread that follows has met it first
        with pytest.raises(sidbeam.Corrupt) as error:
            shop.refresh()
        assert error.value.message in caplog.text
    assert items_of(asked()) == {1, 2} and len(opened) == 2
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1
    put(path, [5])
    wait_for(lambda: items_of(asked()) == {5})


def test_refresh_tells_of_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following.Newest, "_follow", lambda self: None)  # nobody else looks
    path = tmp_path / "shop.sidx"
    put(path, [1])
    shop = serving.register("shop", path, follow=True)
    damage(path)
    for _ in range(2):
        with pytest.raises(sidbeam.Corrupt):
            shop.refresh()
    path.rename(tmp_path / "gone")  # not removed: the next file could get its inode, within one tick of the clock
    with pytest.raises(sidbeam.IOFailure, match="cannot open '.*shop.sidx': No such file or directory"):
        shop.refresh()
    assert items_of(asked()) == {1}
    put(path, [4])
    shop.refresh()
    assert items_of(asked()) == {4}


def test_another_form_is_another_catalogue(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "shop.sidx"
    put(path, [1])
    serving.register("shop", path, follow=True)
    put(path, [1], codes=5)
    wait_for(lambda: "its SIDs or ids are of another form" in caplog.text)
    assert asked().version.index.info.codes == (4, 4)


def test_a_file_is_left_alone_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "shop.sidx"
    put(path, [1])
    shop = serving.register("shop", path)
    put(path, [2])
    shop.refresh()
    assert not shop.live and asked().version.index.item_ids([0]).tolist() == [1]


def test_follow_as_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "shop.sidx"
    put(path, [1])
    monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": str(path), "follow": True}}))
    assert serving.find("shop").live
    with pytest.raises(sidbeam.InvalidArgument, match="'shop' is live, expected an index under tensor parallelism"):
        serving.find("shop").check_ranks(2)
    with pytest.raises(sidbeam.InvalidArgument, match="follow is True and index an Index, expected the path of a file"):
        serving.register("other", sidbeam.Index.open(path), follow=True)
    with pytest.raises(sidbeam.WrongType, match="follow is 'yes', expected True or False"):
        serving.register("other", path, follow="yes")  # type: ignore[arg-type]
