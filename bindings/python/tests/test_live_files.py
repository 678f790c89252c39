"""Files into live catalogues add what a builder would read of them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sidbeam
from live_catalogs import BASE, CODES, arguments, catalog, check, drawn
from sidbeam import Catalog

__all__ = ["catalog"]  # a fixture


def lines(pairs: Any) -> str:
    records = [{"id": number, "sid": list(sid), "price": price} for (sid, number), (_, price) in pairs.items()]
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_file_is_added_whole(catalog: Catalog, tmp_path: Path, kind: str) -> None:
    more, path = drawn(30, 8), tmp_path / f"new.{kind}"
    given = arguments(more)
    columns = {"item": given["ids"], "sid": [list(sid) for sid in given["sids"]], "price": given["attributes"]["price"]}
    if kind == "jsonl":
        path.write_text(lines(more))
    elif kind == "csv":
        rows = [f"{item},{' '.join(map(str, sid))},{price}" for item, sid, price in zip(*columns.values())]
        path.write_text("\n".join(["item,sid,price", *rows]))
    else:
        pytest.importorskip("pyarrow", reason="pip install pyarrow: it reads Parquet")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    seen = catalog.add_file(path, attributes="price")
    assert (seen.rows, seen.codes, seen.id_type) == (len(more), tuple(CODES), sidbeam.IdType.I64)
    assert catalog.snapshot().info.version == 1 and catalog.info.changes > 0
    catalog.publish()
    check(catalog, BASE | more)


def test_what_the_file_leaves_open_the_catalogue_says(tmp_path: Path) -> None:
    """Names that look like numbers, lengths, and the type of an attribute whose few values would be of another."""
    base = sidbeam.Index.build(
        [(0,), (0, 1)], ["a", "7"], codes=[9, 9, 9], variable_length=True, attributes={"weight": [0.5, None]}
    )
    path = tmp_path / "new.jsonl"
    path.write_text('{"id": 8, "sid": [1, 2, 3], "weight": 2}\n{"id": 9, "sid": [4], "weight": null}\n')
    with Catalog.create(base) as catalog:
        for attributes in ("weight", "weight:f32", ["weight"]):
            seen = catalog.add_file(path, attributes=attributes)
        assert (seen.variable_length, seen.id_type) == (True, sidbeam.IdType.STRING)
        assert seen.attributes == {"weight": sidbeam.AttributeType.F32}
        index = catalog.snapshot(catalog.publish())
        assert index.info.live_items == 4 and list(index.item_ids([0, 1, 2, 3])) == ["7", "a", "8", "9"]
        assert index.attributes["weight"].values() == [None, 0.5, 2.0, None]


def test_priorities_stay_where_the_file_has_none(tmp_path: Path) -> None:
    base = sidbeam.Index.build([(0, 1)] * 2, [1, 2], priorities=[5, 9], codes=[4, 4], keep_priorities=True)
    path = tmp_path / "new.jsonl"
    with Catalog.create(base) as catalog:
        for line, expected in (('{"id": 1, "sid": [0, 1]}', 5), ('{"id": 1, "sid": [0, 1], "priority": 7}', 7)):
            path.write_text(line)
            catalog.add_file(path)
            catalog.publish()
            catalog.compact()
            index = catalog.snapshot()
            assert dict(zip(index.item_ids([0, 1]), index.item_priorities([0, 1]))) == {1: expected, 2: 9}


def test_families_of_another_codebook(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps({"1": ["<a_0>", "<b_3>"], "2": ["<a_1>", "<b_2>"]}))
    with Catalog.create(sidbeam.Index.from_file(path, codes=4)) as catalog:
        path.write_text(json.dumps({"3": ["<a_2>", "<b_2>"]}))
        assert catalog.add_file(path).families == ("<a_*>", "<b_*>")
        path.write_text(json.dumps({"4": ["<b_2>", "<a_2>"]}))
        message = r"""families \["<b_\*>", "<a_\*>"\], expected \["<a_\*>", "<b_\*>"\], as the catalogue has"""
        with pytest.raises(sidbeam.Corrupt, match=message):
            catalog.add_file(path)
        path.write_text('{"id": 5, "sid": [3, 3]}\n')  # plain codes are of any family
        catalog.add_file(path)
        assert catalog.snapshot(catalog.publish()).info.live_items == 4


@pytest.mark.parametrize(
    "line, options, error, message",
    [
        ('{"id": "x", "sid": [0, 1, 2]}', {}, sidbeam.Corrupt, "ids are strings, expected integers, as the catalogue"),
        ('{"id": 1, "sid": [0, 1]}', {}, sidbeam.Corrupt, "SID of 2 codes, expected 3"),
        ('{"id": 1, "sid": [0, 5, 2]}', {}, sidbeam.Corrupt, "code 5 at level 1, expected 0..4"),
        ('{"id": 1, "sid": [0, 1, 2], "size": 1}', {"attributes": "size"}, sidbeam.InvalidArgument, "'size' is no att"),
        ('{"id": 1, "sid": [0, 1, 2], "price": "x"}', {"attributes": "price"}, sidbeam.Corrupt, "expected an int"),
        (
            '{"id": 1, "sid": [0, 1, 2], "price": 1}',
            {"attributes": "price:f32"},
            sidbeam.InvalidArgument,
            "attributes: 'price' is of the type f32, expected i64, as the catalogue has",
        ),
        ("", {"format": "zip"}, sidbeam.InvalidArgument, "format: 'zip', expected auto, lcrec"),
        ("", {"levels": 3}, TypeError, "unexpected option 'levels', expected one of format"),
    ],
)
def test_what_does_not_fit(
    catalog: Catalog, tmp_path: Path, line: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(error, match=message):
        catalog.add_file(path, **options)
    assert catalog.info.changes == 0


def test_errors_in_the_middle(catalog: Catalog, tmp_path: Path) -> None:
    """What came before them waits, to be dropped."""
    path = tmp_path / "new.csv"
    path.write_text("item,sid\n" + "".join(f"{i},{i % 6} {i % 5} {i % 4}\n" for i in range(200_000)))
    told = []

    def stop(phase: sidbeam.Phase, done: int, total: int) -> None:
        told.append(phase)
        if catalog.info.changes > 0:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        while True:  # a reading may be over before the listener hears of it
            catalog.add_file(path, progress=stop)
    assert told and catalog.info.version == 1
    catalog.discard()
    check(catalog, BASE)
    with pytest.raises(sidbeam.IOFailure, match="No such file"):
        catalog.add_file(tmp_path / "absent")
    catalog.close()
    with pytest.raises(sidbeam.BadState, match="catalogue is closed"):
        catalog.add_file(path)


def test_a_follower_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(lines(drawn(3, 9)))
    with Catalog.create(sidbeam.Index.build(**arguments(BASE), codes=CODES), tmp_path / "live"):
        with Catalog.follow(tmp_path / "live") as follower, pytest.raises(sidbeam.BadState, match="follow"):
            follower.add_file(path)
