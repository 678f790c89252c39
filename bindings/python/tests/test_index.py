"""Indexes: lookups, files, buffers. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import gc
import mmap
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import sidbeam
from conftest import SIDS, build, catalogues
from oracle import Catalogue


@given(catalogues())
def test_lookups(catalogue: Catalogue) -> None:
    index = build(catalogue)
    assert len(index) == len(catalogue.distinct) and index.info.items == len(catalogue.sids)
    codes, lengths = index.sids()
    assert [tuple(c[:n].tolist()) for c, n in zip(codes, lengths)] == catalogue.distinct
    assert index.find_many(catalogue.distinct).tolist() == list(range(len(index)))
    for prefix in list(catalogue.prefixes)[:20]:
        below = [i for i, sid in enumerate(catalogue.distinct) if sid[: len(prefix)] == prefix]
        assert index.ordinals(prefix) == range(below[0], below[-1] + 1)
        if len(prefix) < len(catalogue.codes):
            plain = [t for t in catalogue.children(prefix) if t < catalogue.codes[len(prefix)]]
            assert index.children(prefix).tolist() == plain
        assert (prefix in index) == (prefix in catalogue.distinct) if prefix else True
    for ordinal, sid in enumerate(catalogue.distinct[:20]):
        assert index.sid(ordinal) == sid
        rows = index.item_rows(ordinal)
        assert index.item_ids(rows).tolist() == [i for i, other in enumerate(catalogue.sids) if other == sid]
        assert (index.item_ordinals(rows) == ordinal).all()


def test_info(index: sidbeam.Index) -> None:
    info = index.info
    assert (info.levels, info.sids, info.items, info.codes, info.nodes) == (2, 3, 3, (4, 4), (2, 3))
    assert info.kinds == sidbeam.Kind.TRIE and info.id_type == sidbeam.IdType.I64 and not info.variable_length
    assert len(info.fingerprint) == 32 and repr(index) == "<sidbeam.Index 3 SIDs of 2 codes, 3 items, trie>"
    assert {s.kind for s in index.sections} >= {"tokens"} and all(s.bytes > 0 for s in index.sections)


def test_a_constraint_tells_its_shape(index: sidbeam.Index) -> None:
    constraint, info = index.constraint, index.info
    index.close()
    rules = (False, 3, 3, 0, 0)
    expected = sidbeam.ConstraintInfo(2, False, sidbeam.Kind.TRIE, 3, 3, (4, 4), info.fingerprint, *rules)
    assert constraint.info == expected


def test_info_says_how_far_it_was_verified(tmp_path: Path) -> None:
    path = tmp_path / "a.sidx"
    built = sidbeam.Index.build(SIDS, codes=4, path=path)
    assert built.info.verified == sidbeam.Index.peek(path).verified == sidbeam.Verify.HEADER
    assert sidbeam.Index.build(SIDS, codes=4).info.verified == sidbeam.Verify.FULL
    assert sidbeam.Index.open(path, verify="full").info.verified == sidbeam.Verify.FULL
    for depth in (sidbeam.Verify.HEADER, sidbeam.Verify.CHECKSUMS, sidbeam.Verify.FULL):
        built.verify(depth)
        assert built.info.verified == depth
    built.verify("header")
    assert built.info.verified == sidbeam.Verify.FULL


@pytest.mark.parametrize(
    "ids, kind",
    [
        ([7, 5, -3], sidbeam.IdType.I64),
        (np.array([2**64 - 1, 0, 1], np.uint64), sidbeam.IdType.U64),
        (["séance", "b", ""], sidbeam.IdType.STRING),
        (np.array(["x", "yy", "zzz"]), sidbeam.IdType.STRING),
    ],
)
def test_ids_come_back(ids: object, kind: sidbeam.IdType) -> None:
    index = sidbeam.Index.build(SIDS, ids, codes=4)
    assert index.info.id_type == kind
    assert index.item_ids(range(3)).tolist() == list(ids)
    last = list(ids)[2]
    assert index.find_item(last if isinstance(last, str) else int(last)) == 2
    assert index.find_item("nobody" if kind == sidbeam.IdType.STRING else 12345) == -1


@pytest.mark.parametrize("item", ["7", b"7", ""])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_a_name_is_no_id_where_ids_are_integers(item: object, dtype: type) -> None:
    index = sidbeam.Index.build(SIDS, np.array([0, 7, 2**63 - 1], dtype), codes=4)
    with pytest.raises(
        sidbeam.InvalidArgument, match="item is a str, expected an integer: the ids of this index are integers"
    ):
        index.find_item(item)


def test_an_integer_is_no_id_where_ids_are_names() -> None:
    index = sidbeam.Index.build(SIDS, ["", "7", "b"], codes=4)
    assert index.find_item("") == index.find_item(b"") == 0
    for item in (0, 7, -1, 2**64):
        with pytest.raises(sidbeam.InvalidArgument, match="the ids of this index are strings"):
            index.find_item(item)


@pytest.mark.parametrize(
    "dtype, outside, what",
    [
        (np.int64, [2**63, 2**64 - 5, -(2**63) - 1], "an id of 64 bits, signed"),
        (np.uint64, [-5, 2**64], "an id of 64 bits, unsigned"),
    ],
)
def test_an_integer_beyond_the_ids_is_no_other_id(dtype: type, outside: list[int], what: str) -> None:
    index = sidbeam.Index.build(SIDS, np.array([-5, 0, 7]).astype(dtype), codes=4)
    for item in outside:
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            index.find_item(item)
    with pytest.raises(TypeError, match="item is float, expected a str, bytes or an integer"):
        index.find_item(7.0)
    assert index.find_item(np.int32(7)) == 2


def test_priorities_order_and_collisions_are_told() -> None:
    sids, ids = [(1,), (1,), (1,), (0,)], [10, 11, 12, 13]
    index = sidbeam.Index.build(sids, ids, priorities=[1, 3, 2, 0], codes=2)
    assert index.item_ids(index.item_rows(1)).tolist() == [11, 12, 10]
    first = sidbeam.Index.build(sids, ids, priorities=[1, 3, 2, 0], codes=2, collisions="first")
    assert first.item_ids(range(first.info.items)).tolist() == [13, 11]
    with pytest.raises(sidbeam.Collision, match=r"the SID 1 has the items 10 \(row 0\) and 11 \(row 1\), expected one"):
        sidbeam.Index.build(sids, ids, codes=2, collisions="error")


def test_save_and_to_bytes_are_the_builders_file(tmp_path: Path) -> None:
    written, saved = tmp_path / "written.sidx", tmp_path / "saved.sidx"
    kept = {"metadata": {"a": "b"}, "codebook": "c", "kinds": ("trie", "sorted", "hash")}
    opened = sidbeam.Index.build(SIDS, ["x", "y", "z"], path=written, **kept)
    built = sidbeam.Index.build(SIDS, ["x", "y", "z"], **kept)
    for index in (opened, built, sidbeam.Index.from_buffer(built.to_bytes(), copy=True, verify="full")):
        assert type(index.to_bytes()) is bytes and index.to_bytes() == written.read_bytes()
        index.save(saved)
        assert saved.read_bytes() == written.read_bytes()
        assert sidbeam.Index.open(saved, verify="full").info.fingerprint == built.info.fingerprint
    opened.save(written)  # over the file that it maps
    assert opened.find((2, 2)) == 2 and sorted(p.name for p in tmp_path.iterdir()) == ["saved.sidx", "written.sidx"]
    with pytest.raises(sidbeam.IOFailure, match="cannot create .*/none/a.sidx': No such file"):
        built.save(tmp_path / "none" / "a.sidx")
    built.close()
    for call in (built.to_bytes, lambda: built.save(saved)):
        with pytest.raises(sidbeam.BadState, match="index is closed"):
            call()


def test_metadata_and_codebook() -> None:
    texts = {"model": "rqvae ü", "date": "2026-11-21"}
    index = sidbeam.Index.build(SIDS, metadata=texts, codebook="abc ß")
    assert index.metadata == texts and list(index.metadata) == sorted(texts) and index.codebook == "abc ß"
    assert sidbeam.Index.build(SIDS).metadata == {} and sidbeam.Index.build(SIDS).codebook == ""
    with pytest.raises(sidbeam.InvalidArgument, match="key holds a NUL"):
        sidbeam.Index.build(SIDS, metadata={"a\0b": "c"})
    with pytest.raises(TypeError, match="value is int, expected a str"):
        sidbeam.Index.build(SIDS, metadata={"a": 1})


def test_names_may_end_with_nul() -> None:
    names = ["hat", "hat\0", "\0\0", ""]
    index = sidbeam.Index.build([(0, 0), (0, 1), (1, 0), (1, 1)], names, codes=2)
    assert index.item_ids(range(4)).tolist() == names
    assert sidbeam.Constraint(index, exclude=("hat\0", "hat\0\0")).info.unknown_excluded == 1


@pytest.mark.skipif("SIDBEAM_CLI" not in os.environ, reason="SIDBEAM_CLI does not name the command; test.sh does")
def test_texts_that_are_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"item": 1, "sid": [0]}\n')
    command = [os.environ["SIDBEAM_CLI"], "build", "--input", tmp_path / "a.jsonl", "--output", tmp_path / "a.sidx"]
    subprocess.run([*command, "--metadata", b"a\xff=\xe9b", "--codebook", b"c\xc3"], check=True, capture_output=True)
    index = sidbeam.Index.open(tmp_path / "a.sidx")
    assert index.metadata == {"a\ufffd": "\ufffdb"} and index.codebook == "c\ufffd"


@pytest.mark.parametrize("residency", ["map", "prefault", "copy"])
@pytest.mark.parametrize("verify", list(sidbeam.Verify))
def test_files(tmp_path: Path, residency: str, verify: sidbeam.Verify) -> None:
    path = tmp_path / "ä.sidx"
    made = sidbeam.Index.build(SIDS, codes=4, path=path)
    assert sidbeam.Index.peek(path) == made.info and made.info.file_bytes == path.stat().st_size
    for name in (path, str(path), os.fsencode(path)):
        with sidbeam.Index.open(name, residency=residency, verify=verify) as index:
            index.verify()
            assert index.sids()[0].tolist() == [list(sid) for sid in SIDS]


def test_files_that_are_none(tmp_path: Path) -> None:
    missing = tmp_path / "missing.sidx"
    for call in (lambda: sidbeam.Index.open(missing), lambda: sidbeam.Index.peek(missing)):
        with pytest.raises(sidbeam.IOFailure, match="missing.sidx.*No such file"):
            call()
    with pytest.raises(OSError, match="cannot|Is a directory|not a regular"):
        sidbeam.Index.open(tmp_path)
    text = tmp_path / "text"
    text.write_text("hello" * 100)
    with pytest.raises(sidbeam.Corrupt, match="wrong magic: not a sidbeam index, .*: Index.from_file reads catalogues"):
        sidbeam.Index.open(text)
    with pytest.raises(sidbeam.IOFailure, match="cannot create .*where.sidx': No such file"):
        sidbeam.Index.build(SIDS, path=tmp_path / "no" / "where.sidx")
    with pytest.raises(TypeError, match="path is int, expected a str, bytes or os.PathLike"):
        sidbeam.Index.open(7)  # type: ignore[arg-type]
    with pytest.raises(sidbeam.InvalidArgument, match="path holds a NUL"):
        sidbeam.Index.open("a\0b")
    with pytest.raises(sidbeam.InvalidArgument, match="Residency is 'disk', expected one of 'map'"):
        sidbeam.Index.open(text, residency="disk")


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "damaged.sidx"
    section = max(sidbeam.Index.build(SIDS, codes=4, path=path).sections, key=lambda s: s.bytes)
    with path.open("r+b") as file:
        file.seek(section.offset)
        file.write(b"\xff" * 4)
    with pytest.raises(sidbeam.Corrupt, match=f"section {section.kind}: wrong checksum"):
        sidbeam.Index.open(path, verify="checksums")
    with sidbeam.Index.open(path) as index:
        with pytest.raises(sidbeam.Corrupt, match=f"section {section.kind}: wrong checksum"):
            index.verify("full")


def test_names_that_overlap(tmp_path: Path) -> None:
    """Copies of all of them could be as long as the section of names times the number of items."""
    path = tmp_path / "damaged.sidx"
    sections = sidbeam.Index.build([(1, 2)] * 4, ["aa", "bb", "cc", "dd"], codes=4, path=path).sections
    offsets = next(s for s in sections if s.kind == "item_name_offsets")
    with path.open("r+b") as file:
        file.seek(offsets.offset)
        file.write(np.array([0, 8, 0, 8, 0], "<u8").tobytes())
    with sidbeam.Index.open(path) as index:
        with pytest.raises(sidbeam.Corrupt, match="names of item rows 1 and 2 overlap: the index is damaged"):
            index.item_ids(range(4))
        assert index.item_ids([2, 0, 0]).tolist() == ["aabbccdd"] * 3


def test_replaced_while_open(tmp_path: Path) -> None:
    path = tmp_path / "a.sidx"
    index = sidbeam.Index.build(SIDS, codes=4, path=path)
    sidbeam.Index.build([(3, 3)], codes=4, path=path).close()
    assert index.sids()[0].tolist() == [list(sid) for sid in SIDS]
    assert sidbeam.Index.open(path).sid(0) == (3, 3)


def test_truncated_while_open_as_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "a.sidx"
    sidbeam.Index.build(SIDS, codes=4, path=path).close()
    index = sidbeam.Index.open(path, residency="copy")
    os.truncate(path, 0)
    assert index.sids()[0].tolist() == [list(sid) for sid in SIDS]
    index.verify()


def test_from_buffer(tmp_path: Path) -> None:
    path = tmp_path / "a.sidx"
    sidbeam.Index.build(SIDS, codes=4, path=path).close()
    bytes_of = path.read_bytes()
    with sidbeam.Index.from_buffer(bytes_of, copy=True, verify="full") as index:
        assert index.sid(2) == (2, 2)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    index = sidbeam.Index.from_buffer(mapped)
    session = sidbeam.Session(index)
    index.close()
    with pytest.raises(BufferError, match="exported pointers exist"):  # the session still reads it
        mapped.close()
    session.start()
    assert session.step(np.zeros((1, 4), np.float32)).codes.tolist() == [[0]]
    session.close()
    del session, index
    gc.collect()
    sidbeam.index._collect_loans()
    mapped.close()
    with pytest.raises(sidbeam.Corrupt, match="file too short: 7 bytes"):
        sidbeam.Index.from_buffer(b"nothing", copy=True)
    aligned = np.zeros(256, np.uint8)
    with pytest.raises(sidbeam.InvalidArgument, match="data lies at 0x.*, expected a multiple of 64"):
        sidbeam.Index.from_buffer(aligned[(-aligned.ctypes.data) % 64 + 1 :])
    assert not sidbeam.index._loans


def test_lookups_refuse_what_is_not_there(index: sidbeam.Index) -> None:
    for call, message in (
        (lambda: index.sid(3), "ordinal is 3, expected 0..2"),
        (lambda: index.sids([-1]), "ordinal is -1, expected 0..2"),
        (lambda: index.ordinals((0, 1, 2)), "length is 3, expected 0..2"),
        (lambda: index.children((0, 1)), "length is 2, expected 0..1"),
        (lambda: index.item_rows(99), "ordinal is 99, expected 0..2"),
        (lambda: index.item_ids([3]), "item_row is 3, expected 0..2"),
        (lambda: index.item_ordinals([-1]), "item_row is -1, expected 0..2"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            call()
    assert index.find((3, 3)) == -1 and (9, 9) not in index
    assert len(index.children((1,))) == 0 and len(index.ordinals((1,))) == 0
