"""The cases that all languages share give the same bits as C: see tests/bindings.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Iterator, Optional
from urllib.parse import unquote

import numpy as np
import pytest

import sidbeam
from sidbeam.messages import in_python

PATH = os.environ.get("SIDBEAM_CASES")
TYPES = {"i32": np.int32, "i64": np.int64, "f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}
DRAWN = ("log_masses", "perturbed", "log_inclusions", "thresholds")  # of some modes
BEAMS = ("parents", "codes", "scores", "states", "live", "active", "level", "errors")

BROADCAST = -(2**63)

Record = tuple[str, dict[str, Any]]


def records() -> Iterator[list[Record]]:
    """Yields case by case; floats keep their type, and bf16 is its bits beside the name."""
    case: list[Record] = []
    for line in Path(PATH or os.devnull).read_text("ascii").splitlines():
        if line.startswith("#"):
            continue
        name, kind, count, *words = line.split()
        assert len(words) == int(count)
        value: Any
        if kind == "str":
            value = [unquote(word) for word in words]
        else:
            value = np.array([int(word) for word in words], TYPES[kind])
            value = value.view({"f32": np.float32, "f16": np.float16}.get(kind, value.dtype))
        if name == "record":
            if value[0] == "case" and case:
                yield case
                case = []
            case.append((value[0], {}))
        else:
            case[-1][1][name] = value
            if name == "logits":
                case[-1][1]["dtype"] = kind
    if case:
        yield case


def scalar(fields: dict[str, Any], name: str, default: Any = 0) -> Any:
    return fields[name][0].item() if name in fields else default


def matrix(fields: dict[str, Any], name: str, width: int) -> Any:
    return fields[name].reshape(-1, width) if name in fields else None


def prefixes_of(fields: dict[str, Any], name: str, stride: str, lengths: str, levels: int) -> Any:
    """[n, any]: dense, or one prefix for all."""
    if name not in fields:
        return None
    width, flat = scalar(fields, stride), fields[name]
    if width == BROADCAST:
        return np.broadcast_to(flat, (len(fields[lengths]), len(flat)))
    return flat.reshape(-1, width or levels)


def vocabulary(fields: dict[str, Any]) -> Optional[sidbeam.Vocabulary]:
    if "end_column" not in fields:
        return None
    maps = None
    if "map_codes" in fields:
        ends = np.cumsum(fields["map_codes"])
        maps = [fields["maps"][end - n : end] if n else None for n, end in zip(fields["map_codes"], ends)]
    return sidbeam.Vocabulary(fields.get("offsets"), maps, scalar(fields, "end_column"))


def distance(stride: int, dense: int) -> int:
    return 0 if stride == BROADCAST else stride or dense


def logits_of(fields: dict[str, Any]) -> np.ndarray:
    """The rows as they lie in the flat memory, which is no longer than needed."""
    flat = fields["logits"]
    size, slots = flat.itemsize, scalar(fields, "rows_slots")
    shape = (scalar(fields, "rows"), scalar(fields, "columns"))
    row = distance(scalar(fields, "row_stride"), shape[1])
    strides = (row * size, size)
    if slots:
        slot = distance(scalar(fields, "slot_stride"), shape[0] * row if row else shape[1])
        shape, strides = (slots, *shape), (slot * size, *strides)
    return np.lib.stride_tricks.as_strided(flat, shape, strides)


def same(got: Any, wanted: Any, what: str) -> None:
    got, wanted = np.asarray(got).ravel(), np.asarray(wanted).ravel()
    if got.dtype.kind == "f":
        assert got.dtype == wanted.dtype
        nan = np.isnan(wanted)
        assert (np.isnan(got) == nan).all(), what
        bits = f"u{got.itemsize}"
        got, wanted = got.view(bits)[~nan], wanted.view(bits)[~nan]
    assert got.tolist() == wanted.tolist(), what


class Replay:
    """One case: its indexes, its session, its constraint set."""

    def __init__(self) -> None:
        self.indexes: list[sidbeam.Index] = []
        self.line = ""
        self.session: Any = None
        self.constraints: Any = None
        self.disc: Any = None

    def play(self, kind: str, f: dict[str, Any]) -> None:
        getattr(self, "do_" + kind)(f)
        if "want_parents" in f:
            beams = self.session.beams()
            for name in BEAMS:
                same(getattr(beams, name), f["want_" + name], f"{self.line} {kind} {name}")
            for name in DRAWN:
                assert (getattr(beams, name) is None) == ("want_" + name not in f), f"{self.line} {kind} {name}"
                if "want_" + name in f:
                    same(getattr(beams, name), f["want_" + name], f"{self.line} {kind} {name}")

    def do_case(self, f: dict[str, Any]) -> None:
        self.line = f["line"][0]

    def do_index(self, f: dict[str, Any]) -> None:
        builder = sidbeam.Builder(
            f["codes"],
            variable_length=bool(scalar(f, "variable_length")),
            id_type=scalar(f, "id_type"),
            kinds=scalar(f, "kinds"),
            collisions=scalar(f, "collisions"),
        )
        ids = f.get("names", f.get("ids"))
        if ids is not None and scalar(f, "id_type") == sidbeam.IdType.U64:
            ids = ids.view(np.uint64)
        sids = matrix(f, "sids", len(f["codes"]))
        builder.add(sids, ids, lengths=f.get("lengths"), priorities=f.get("priorities"))
        index = builder.finish()
        for name in ("levels", "shortest", "longest", "kinds", "sids", "items", "merged_pairs", "collisions"):
            assert getattr(index.info, name) == scalar(f, "want_" + name), f"{self.line} {name}"
        assert index.info.max_items_per_sid == scalar(f, "want_max_items_per_sid")
        rows = np.arange(index.info.items)
        same(index.item_ordinals(rows), f["want_ordinals"], "want_ordinals")
        found = index.item_ids(rows)
        assert found.tolist() == f["want_names"] if "want_names" in f else (found.view(np.int64) == f["want_ids"]).all()
        self.indexes.append(index)

    def do_session(self, f: dict[str, Any]) -> None:
        self.session = sidbeam.Session(
            self.indexes[0],
            slots=scalar(f, "slots"),
            beams=scalar(f, "beams"),
            strategy=scalar(f, "strategy"),
            normalization=scalar(f, "normalization"),
            top_k=scalar(f, "top_k"),
            log_probs_promised=bool(scalar(f, "log_probs_promised")),
            mode=scalar(f, "mode"),
            vocabulary=vocabulary(f),
        )

    def do_start(self, f: dict[str, Any]) -> None:
        chosen = None if "indexes" not in f else [None if i < 0 else self.indexes[i] for i in f["indexes"]]
        levels = self.session._levels
        prefixes = prefixes_of(f, "prefixes", "prefix_stride", "prefix_lengths", levels)
        self.session.start(
            f.get("slots"),
            constraints=chosen,
            widths=matrix(f, "widths", scalar(f, "width_levels")) if scalar(f, "width_levels") else f.get("widths"),
            prefixes=prefixes,
            prefix_lengths=f.get("prefix_lengths"),
            inverse_temperature=f.get("inverse_temperatures"),
            soft_cap=f.get("soft_caps"),
            seeds=f.get("seeds"),
            requests=f.get("requests"),
            draws=self.draws_of(f),
            top_k=f.get("top_ks"),
            top_p=f.get("top_ps"),
            noise_scale=f.get("noise_scales"),
        )

    def draws_of(self, f: dict[str, Any]) -> Any:
        """[n, M]: without the columns that a wider stride leaves between them."""
        if "draws" not in f:
            return None
        width = self.session.width
        return f["draws"].reshape(-1, scalar(f, "draw_stride") or width)[:, :width]

    def do_step(self, f: dict[str, Any]) -> None:
        self.session.step(
            logits_of(f),
            f.get("slots"),
            row_map=matrix(f, "row_map", self.session.width),
            lse=f.get("lse"),
            inverse_temperature=f.get("inverse_temperatures", scalar(f, "inverse_temperature")),
            soft_cap=f.get("soft_caps", scalar(f, "soft_cap")),
            dtype=f["dtype"],
        )

    def do_stop(self, f: dict[str, Any]) -> None:
        self.session.stop(f.get("slots"))

    def do_items(self, f: dict[str, Any]) -> None:
        n, width, levels = len(f["want_truncated"]), self.session.width, self.session._levels
        out = sidbeam.Items(
            np.zeros((n, width), np.int64),
            np.zeros((n, width, levels), np.int32),
            np.zeros((n, width), np.int32),
            np.zeros((n, scalar(f, "limit")), np.int64) if scalar(f, "with_item_rows", 1) else None,
            np.zeros((n, width + 1), np.int64),
            np.zeros(n, np.int32),
        )
        self.session.items(f.get("slots"), **self.limits_of(f), out=out)
        for name in ("ordinals", "sids", "lengths", "offsets", "truncated"):
            same(getattr(out, name), f["want_" + name], f"{self.line} items {name}")
        if out.item_rows is not None:
            found = np.concatenate([out.item_rows_of(i) for i in range(n)])
            same(found, f.get("want_item_rows", []), f"{self.line} items item_rows")

    def limits_of(self, f: dict[str, Any]) -> dict[str, Any]:
        limits = {name: scalar(f, name) for name in ("limit_per_sid", "limit")}
        return {**limits, "distinct": scalar(f, "distinct") != 0}

    def do_refused(self, f: dict[str, Any]) -> None:
        before = [getattr(self.session.beams(), name).copy() for name in BEAMS]
        with pytest.raises(sidbeam.SidbeamError, match=re.escape(in_python(f["want_message"][0]))) as caught:
            getattr(self, "do_" + f["call"][0])(f)
        assert caught.value.code == scalar(f, "want_code")
        for name, old in zip(BEAMS, before):
            same(getattr(self.session.beams(), name), old, f"{self.line} after a refused call: {name}")

    def do_set(self, f: dict[str, Any]) -> None:
        indexes = [self.indexes[i] for i in f["indexes"]]
        self.set_levels = max(index.info.levels for index in indexes)
        self.constraints = sidbeam.ConstraintSet(indexes, vocabulary=vocabulary(f))

    def do_prefixes(self, f: dict[str, Any]) -> None:
        codes = prefixes_of(f, "codes", "stride", "lengths", self.set_levels)
        states = self.constraints.prefixes(codes, f["lengths"], which=f.get("which"))
        same(states, f["want_states"], self.line)

    def do_advance(self, f: dict[str, Any]) -> None:
        states = self.constraints.advance(f["states"], f["codes"], parents=f.get("parents"), which=f.get("which"))
        same(states, f["want_states"], self.line)

    def do_mask(self, f: dict[str, Any]) -> None:
        self.constraints.mask(logits_of(f), f["states"], which=f.get("which"), dtype=f["dtype"])
        same(f["logits"], f["want_logits"], self.line)

    def do_bitmask(self, f: dict[str, Any]) -> None:
        words = self.constraints.bitmask(f["states"], which=f.get("which"), columns=32 * scalar(f, "words_per_row"))
        same(words, f["want_words"], self.line)

    def do_topk(self, f: dict[str, Any]) -> None:
        top = self.constraints.topk(
            logits_of(f),
            f["states"],
            scalar(f, "k"),
            normalization=scalar(f, "normalization"),
            which=f.get("which"),
            dtype=f["dtype"],
        )
        same(top.codes, f["want_codes"], self.line)
        same(top.log_probs, f["want_log_probs"], self.line)
        same(top.states, f["want_next"], self.line)


    def do_sample(self, f: dict[str, Any]) -> None:
        drawn = self.constraints.sample(
            logits_of(f),
            f["states"],
            seeds=f["seeds"],
            requests=f["requests"],
            draws=f.get("draws"),
            top_k=f.get("top_ks"),
            top_p=f.get("top_ps"),
            inverse_temperature=f.get("inverse_temperatures"),
            normalization=scalar(f, "normalization"),
            which=f.get("which"),
            dtype=f["dtype"],
        )
        same(drawn.codes, f["want_codes"], self.line)
        same(drawn.log_probs, f["want_log_probs"], self.line)
        same(drawn.log_masses, f["want_log_masses"], self.line)
        same(drawn.states, f["want_next"], self.line)

    def do_disc(self, f: dict[str, Any]) -> None:
        self.disc = sidbeam.Disc(
            scalar(f, "results"),
            rounds=scalar(f, "rounds"),
            without_replacement=bool(scalar(f, "without_replacement")),
            attempts=scalar(f, "attempts"),
            side_by_side=scalar(f, "side_by_side"),
            seed=scalar(f, "seed"),
            request=scalar(f, "request"),
        )

    def do_disc_next(self, f: dict[str, Any]) -> None:
        same(self.disc.next(scalar(f, "capacity")), f["want_draws"], self.line)

    def do_disc_add(self, f: dict[str, Any]) -> None:
        self.disc.add(f["draws"], f["ordinals"], f["log_probs"], f["log_masses"])

    def do_disc_get(self, f: dict[str, Any]) -> None:
        found = self.disc.results()
        for name in ("ordinals", "draws", "accepted", "draws_used", "rows_run", "log_probs", "log_masses"):
            same(getattr(found, name), f["want_" + name], f"{self.line} {name}")


@pytest.mark.skipif(PATH is None, reason="SIDBEAM_CASES does not name the shared cases; test.sh does")
def test_shared_cases() -> None:
    played = 0
    for case in records():
        replay = Replay()
        for kind, fields in case:
            replay.play(kind, fields)
        played += 1
    assert played > 10
