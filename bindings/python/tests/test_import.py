"""Catalogue files: those of tests/bindings/field, which every language imports.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib
import threading
from typing import Any

import numpy as np
import pytest

import sidbeam

FIELD = pathlib.Path(__file__).parents[3] / "tests" / "bindings" / "field"
NUMBERS = ("levels", "codes", "variable_length", "token_base")


def cases() -> list[tuple[str, str, str, list[str]]]:
    lines = (FIELD / "cases.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(row[0], row[1], row[2], row[3:]) for row in rows]


def options_of(text: str) -> dict[str, Any]:
    pairs = [option.split("=", 1) for option in text.split(" ")] if text != "-" else []
    return {name: int(value) if name in NUMBERS else value for name, value in pairs}


def catalogue(index: sidbeam.Index) -> list[str]:
    """Its pairs, as the table of cases has them."""
    found = []
    for ordinal in range(len(index)):
        codes = " ".join(map(str, index.sid(ordinal)))
        found += [f"{item}: {codes}" for item in index.item_ids(list(index.item_rows(ordinal)))]
    return sorted(found)


@pytest.mark.parametrize("name, options, seen, rows", cases())
def test_each_case(name: str, options: str, seen: str, rows: list[str]) -> None:
    if seen == "error":
        with pytest.raises(sidbeam.Corrupt) as caught:
            sidbeam.Index.from_file(FIELD / name, **options_of(options))
        assert not [piece for piece in rows if piece not in str(caught.value)], caught.value
        return
    index = sidbeam.Index.from_file(FIELD / name, **options_of(options))
    assert catalogue(index) == sorted(rows)
    families = seen.split("; ")[1]
    found = " ".join(json.loads(index.metadata.get("sidbeam.families", "[]"))) or " ".join("*" * index.info.levels)
    assert found == families


def test_what_was_seen() -> None:
    with sidbeam.Builder([250, 120, 31], id_type="string") as builder:
        seen = builder.add_file(FIELD / "tokens_in_a_string.json")
        assert (seen.format, seen.rows, seen.families) == ("lcrec", 3, ("<s_a_*>", "<s_b_*>", "<s_c_*>"))
        assert (seen.begin_tokens, seen.end_tokens, seen.id_type) == (
            "<|sid_begin|>",
            "<|sid_end|>",
            sidbeam.IdType.STRING,
        )
        assert seen.summary.startswith("3 levels, families <s_a_*> <s_b_*> <s_c_*>, 3 items, begin token <|sid_begin|>")
        assert catalogue(builder.finish()) == ["11: 249 119 30", "12: 249 7 30", "13: 0 7 1"]


def test_files_and_arrays_in_one_builder(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "sids.npy", np.array([[1, 2], [3, 0]], np.float32, order="F"))
    np.savetxt(tmp_path / "ids.txt", [7, 8], "%d")
    with sidbeam.Builder([4, 4]) as builder:
        builder.add([[0, 0]], [1])
        builder.add_file(tmp_path / "sids.npy", ids=tmp_path / "ids.txt")
        assert catalogue(builder.finish()) == ["1: 0 0", "7: 1 2", "8: 3 0"]
    np.savez(tmp_path / "both.npz", sid=np.array([[1, 2], [3, 0]]), item_id=[7, 8])
    assert catalogue(sidbeam.Index.from_file(tmp_path / "both.npz")) == ["7: 1 2", "8: 3 0"]


def test_a_builder_takes_what_fits_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "x", "sid": [1, 2]}\n')
    for builder, error, text in [
        (sidbeam.Builder([4, 4]), sidbeam.InvalidArgument, "ids of the type string, expected i64"),
        (sidbeam.Builder([4, 4, 4], id_type="string"), sidbeam.Corrupt, "SID of 2 codes, expected 3"),
        (sidbeam.Builder([4, 2], id_type="string"), sidbeam.Corrupt, "code 2 at level 1, expected 0..1"),
    ]:
        with builder, pytest.raises(error, match=text):
            builder.add_file(path)


def test_output_and_progress(tmp_path: pathlib.Path) -> None:
    path, output = tmp_path / "a.csv", tmp_path / "a.sidx"
    path.write_text("item,c0,c1\n" + "".join(f"{i},{i % 7},{i % 11}\n" for i in range(200_000)))
    phases: set[sidbeam.Phase] = set()
    index = sidbeam.Index.from_file(path, output=output, progress=lambda phase, done, total: phases.add(phase))
    assert index.info.items == 200_000 and output.exists()
    output.unlink()

    def stop(phase: sidbeam.Phase, done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sidbeam.Index.from_file(path, output=output, progress=stop)
    assert not output.exists()


def test_bad_arguments(tmp_path: pathlib.Path) -> None:
    path = FIELD / "several_sids.jsonl"
    for options, error, text in [
        ({"colour": 1}, TypeError, "unexpected option 'colour', expected one of format"),
        ({"quotes": "some"}, sidbeam.InvalidArgument, "Quotes is 'some'"),
        ({"token_base": -1}, sidbeam.InvalidArgument, "token_base is -1"),
        ({"token_base": 5}, sidbeam.InvalidArgument, "token_base: token ids need codes"),
        ({"token_pattern": "<a>"}, sidbeam.InvalidArgument, "token_pattern: '<a>', expected one family"),
        ({"format": "zip"}, sidbeam.InvalidArgument, "format: 'zip', expected auto, lcrec"),
        ({"levels": 2}, sidbeam.Corrupt, "expected 2"),
    ]:
        with pytest.raises(error, match=text):
            sidbeam.Index.from_file(path, **options)
    with pytest.raises(sidbeam.IOFailure, match="No such file"):
        sidbeam.Index.from_file(tmp_path / "absent")


def test_from_another_thread() -> None:
    found: list[int] = []
    thread = threading.Thread(
        target=lambda: found.append(len(sidbeam.Index.from_file(FIELD / "object_per_item.json")))
    )
    thread.start()
    thread.join()
    assert found == [2]
