"""Whatever is given as an argument, only errors of sidbeam come out: neither NumPy's own nor those of its insides.

Every argument of the public constructors, methods and functions gets every object of a collection of odd ones.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import collections
import datetime
import decimal
import functools
import os
import pathlib
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import sidbeam
from conftest import SIDS
from sidbeam import draft

Call = Callable[[Any], object]
FIELD = pathlib.Path(__file__).parents[3] / "tests" / "bindings" / "field"
MODEL = os.environ.get("SIDBEAM_MODEL", "")
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")


class NoLength:
    def __len__(self) -> int:
        return -1


class NoIndex:
    def __index__(self) -> int:
        raise RuntimeError("no index")


class NoArray:
    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError("no array")


class NoTensor:
    def __dlpack_device__(self) -> Any:
        return "cpu"

    def __dlpack__(self, **options: Any) -> Any:
        return 3


def objects() -> Iterator[Any]:
    """None of them can be called: what a function of the caller's raises is the caller's."""
    yield from (None, True, 3, -1, 2**63, 2**70, -(2**70), 1.5, float("nan"), float("inf"), 1 + 2j, decimal.Decimal(1))
    yield from ("", "a", "a\0b", "\ud800", b"ab", bytearray(b"ab"), memoryview(b"abcd"), pathlib.Path("/none/x"), ...)
    yield from (object(), NoLength(), NoIndex(), NoArray(), NoTensor(), datetime.date(2020, 1, 1), slice(3))
    yield from ({"a": 1}, {}, {1, 2}, range(3), collections.deque([1, 2]), (i for i in range(2)), [], [[]], [[[]]])
    yield from ([None], [[None]], ["a", "b"], [b"a", 1], [[1, "a"]], [{1}, {2}], [{"a": 1}], [2**70, 1], [[2**63, 1]])
    yield from ([[1], [1, 2]], [1, [2]], [[1, [2]], [1, 2]], [[[0, 1], [2, 2]]], [[[1], [2, 3]], [[1], [2]]])
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    yield from (cyclic, [[0.5, 1.0]], np.int64(3), np.float32(1.5), np.str_("a"), np.array(3), np.array(None, object))
    yield from (np.array([None, [1], "a"], object), np.array([[0, None], [0, "x"]], object), np.empty((0, 0), np.int32))
    yield from (np.empty((2, 0), np.int32), np.zeros((2, 2), complex), np.array(["2020-01-01"], "datetime64[D]"))
    yield from (np.zeros(2, [("a", "i4")]), np.zeros(2, "V4"), np.array(["a", "b"]), np.matrix([[0, 1]]))
    yield from (np.zeros((2, 2, 2), int), np.full((3, 2), np.nan))
    yield from (np.ma.array([[0, 1], [0, 3]], mask=[[0, 1], [0, 0]]), np.ma.array([0, 1, 2], mask=[0, 1, 0]))
    yield from (np.full((3, 2), np.inf, np.float32), np.full((3, 2), 2**64 - 1, np.uint64), np.zeros((3, 2), ">i4"))
    try:
        import pandas
    except ImportError:
        return
    yield from (pandas.Series([1, None, 3]), pandas.Series([[0, 1], None, [2, 2]]), pandas.DataFrame(), pandas.NA)
    yield from (pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pandas.Series([1, pandas.NA], dtype="Int64"))


def throw(calls: dict[str, Call]) -> None:
    """Gives every object to every call; all but errors of sidbeam, and its own errors for defects, are listed."""
    wrong = []
    for name, call in calls.items():
        for number, odd in enumerate(objects()):
            try:
                call(odd)
            except sidbeam.InternalError as error:
                wrong.append(f"{name}, object {number}: {error}")
            except sidbeam.SidbeamError:
                pass
            except Exception as error:
                wrong.append(f"{name}, object {number}: {type(error).__name__}: {error}")
    assert wrong == []


def named(call: Callable[..., object], names: str, **usual: Any) -> dict[str, Call]:
    """A call for each keyword, which gets the odd object; the others have their usual values."""
    return {name: lambda odd, name=name: call(**{**usual, name: odd}) for name in names.split()}


def placed(call: Callable[..., object], *usual: Any) -> dict[str, Call]:
    """A call for each place."""

    def with_odd(odd: Any, place: int) -> object:
        return call(*usual[:place], odd, *usual[place + 1 :])

    return {str(place): functools.partial(with_odd, place=place) for place in range(len(usual))}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose names are odd lie here."""
    monkeypatch.chdir(tmp_path)


def logits(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


BUILDER = "kinds collisions threads memory_limit codebook hash_seed allow_attribute_loss keep_priorities runtime"


@pytest.mark.parametrize("id_type", ["i64", "u64", "string"])
def test_pairs(id_type: str) -> None:
    def add(*arguments: Any, **options: Any) -> None:
        with sidbeam.Builder([4, 4], id_type=id_type, variable_length=True) as builder:
            builder.add(*arguments, **options)

    throw(named(add, "sids ids lengths priorities", sids=SIDS))
    throw({"each row": lambda odd: add([odd, odd]), "each code": lambda odd: add([[0, odd], [1, 2]])})
    throw({"each code of lists of different lengths": lambda odd: add([[0, odd], [1]])})
    throw({"each id": lambda odd: add(SIDS, [odd, 1, 2])})


def test_builders() -> None:
    throw(named(sidbeam.Builder, f"codes variable_length id_type {BUILDER}", codes=[4, 4]))
    names = "sids ids lengths priorities sid levels item priority codes id_type variable_length metadata progress"
    throw(named(sidbeam.Index.build, f"{names} {BUILDER}", sids=SIDS))

    def built(method: str, *arguments: Any) -> None:
        with sidbeam.Builder([4, 4]) as builder:
            builder.add(SIDS)
            getattr(builder, method)(*arguments)

    throw(placed(built, "set_metadata", "key", "value") | {"0": lambda odd: built("set_metadata", odd, odd)})
    for method in ("plan", "write", "finish", "add_arrow"):
        throw({method: lambda odd, method=method: built(method, odd)})
    throw(named(sidbeam.inspect_arrow, "data sid levels item priority", data=SIDS))


def test_files() -> None:
    reading = "format ids item_column sid_columns priority_column token_pattern token_base quotes progress"
    path = FIELD / "several_sids.jsonl"
    throw(named(sidbeam.Index.from_file, f"path levels codes variable_length metadata {reading} {BUILDER}", path=path))

    def add(**options: Any) -> None:
        with sidbeam.Builder([10, 10, 10], id_type="string") as builder:
            builder.add_file(**options)

    throw(named(add, f"path {reading}", path=path))


def test_live_catalogues(tmp_path: pathlib.Path) -> None:
    base = sidbeam.Index.build(SIDS, attributes={"price": [1, 2, 3]})
    keeping = "sync sync_interval keep_versions keep_age residency verify"
    throw(named(sidbeam.Catalog.create, f"base {keeping}", base=base))
    sidbeam.Catalog.create(base, tmp_path / "live").close()
    folder = tmp_path / "live"
    throw(named(lambda **given: sidbeam.Catalog.open(**given).close(), f"folder accept_loss {keeping}", folder=folder))
    throw(named(lambda **given: sidbeam.Catalog.follow(**given).close(), "folder keep_age runtime", folder=folder))
    with sidbeam.Catalog.create(base) as catalog:
        throw(named(catalog.add, "sids ids lengths priorities attributes", sids=SIDS, ids=[1, 2, 3]))
        throw({"each price": lambda odd: catalog.add(SIDS, [1, 2, 3], attributes={"price": [odd, 1, 2]})})
        throw({"prices": lambda odd: catalog.add(SIDS, [1, 2, 3], attributes={"price": odd})})
        throw({name: getattr(catalog, name) for name in ("add_arrow", "remove", "rollback", "snapshot")})
        throw(named(catalog.compact, "threads memory_limit bytes_per_second progress"))
        throw({"filter.on": base.filter(ids=[0]).on})


def test_indexes(tmp_path: pathlib.Path) -> None:
    index = sidbeam.Index.build(SIDS, path=tmp_path / "shop.sidx")
    throw(named(sidbeam.Index.open, "path residency verify runtime", path=tmp_path / "shop.sidx"))
    throw(named(sidbeam.Index.from_buffer, "data copy verify runtime", data=index.to_bytes(), copy=True))
    throw({"peek": sidbeam.Index.peek, "constraint": sidbeam.Constraint})
    others = sidbeam.Index.build(SIDS, ["a", "b", "c"]), sidbeam.Index.build([(0, 1), (2,)], variable_length=True)
    for of in (index, *others):
        methods = "save verify static_arrays uploaded unload sid sids find find_many ordinals children item_rows"
        methods += " item_rows_of item_ordinals item_ids find_item __contains__"
        throw({name: getattr(of, name) for name in methods.split()})
        throw(named(of.item_rows_of, "limit_per_sid limit distinct", ordinals=[0, 1]))
        throw(named(of.find_many, "lengths", sids=[[0, 1], [2, 2]]) | placed(of.find_item, "a", 0))
    throw(named(index.upload, "device kinds verify stream chunk_bytes bytes_per_second"))
    throw(named(sidbeam.Runtime, "threads step_threads step_grain log_level cpu_target cuda_library device_allocator"))
    throw({"log": lambda odd: sidbeam.Runtime(log=odd)})


def test_vocabularies(index: sidbeam.Index) -> None:
    def use(**options: Any) -> None:
        vocabulary = sidbeam.Vocabulary(**options)
        sidbeam.Session(index, vocabulary=vocabulary)
        sidbeam.ConstraintSet(index, vocabulary=vocabulary)

    throw(named(use, "offsets maps end_column"))
    throw({"each map": lambda odd: use(maps=[[0, 1, 2, 3], odd]), "each offset": lambda odd: use(offsets=[0, odd])})
    throw({"each column": lambda odd: use(maps=[[0, 1, 2, odd], None])})
    vocabulary = sidbeam.Vocabulary([0, 4])
    throw({"columns": vocabulary.columns} | placed(vocabulary.columns_of, [4, 4], 0))


START = "slots constraints widths prefixes prefix_lengths inverse_temperature soft_cap seeds requests draws top_k top_p"


def test_sessions(index: sidbeam.Index) -> None:
    options = "constraint slots beams strategy normalization top_k vocabulary device log_probs_promised mode runtime"
    throw(named(sidbeam.Session, options, constraint=index))
    for mode in ("search", "sample", "stochastic"):
        session = sidbeam.Session(index, slots=2, beams=2, mode=mode)
        keys = {} if mode == "search" else {"seeds": 1, "requests": 1}
        throw(named(session.start, f"{START} noise_scale stream", **keys))
    session = sidbeam.Session(index, slots=2, beams=2)
    throw({"each width": lambda odd: session.start(widths=[odd, 1])})
    throw({"each width of a level": lambda odd: session.start(widths=[[1, odd]])})
    throw({"each prefix": lambda odd: session.start(prefixes=[odd, [0]])})
    throw({"each constraint": lambda odd: session.start(constraints=[index, odd])})

    def started(method: str, *arguments: Any, **options: Any) -> None:
        session.start()
        getattr(session, method)(*arguments, **options)

    names = "logits slots row_map lse inverse_temperature soft_cap dtype stream"
    throw(named(lambda **given: started("step", **given), names, logits=logits(2, 2, 4)))
    throw(named(lambda **given: started("items", **given), "slots limit_per_sid limit distinct out stream"))
    throw(named(lambda **given: started("recommendations", **given), "slots limit_per_sid limit distinct"))
    out = "ordinals sids lengths item_rows offsets truncated"
    throw(named(lambda **given: started("items", out=sidbeam.Items(**given)), out))
    throw({name: lambda odd, name=name: started(name, odd) for name in ("stop", "fetch", "children")})


def test_draws(index: sidbeam.Index) -> None:
    session, rows = sidbeam.Session(index, slots=2, beams=2, mode="sample"), logits(2, 2, 4)
    throw(named(session.sample, "logits seed requests", logits=[rows, rows], seed=1))
    throw({"what the model gives": lambda odd: session.sample(lambda codes: odd, seed=1)})
    names = "logits seed rounds requests without_replacement attempts side_by_side"
    throw(named(lambda **given: sidbeam.disc(session, **given), names, logits=lambda codes: rows, seed=1))
    throw({"session": lambda odd: sidbeam.disc(odd, lambda codes: rows, seed=1)})
    throw(named(sidbeam.Disc, "results seed request rounds without_replacement attempts side_by_side runtime", seed=1))
    throw({"next": sidbeam.Disc(seed=1).next} | placed(sidbeam.Disc(seed=1).add, [0], [0], [0.0], [0.0]))


def test_constraint_sets(index: sidbeam.Index) -> None:
    throw(named(sidbeam.ConstraintSet, "constraints vocabulary device runtime", constraints=index))
    throw({"each": lambda odd: sidbeam.ConstraintSet([index, odd])})
    made, row, states = sidbeam.ConstraintSet(index), logits(2, 4), [0, 0]
    throw(named(made.prefixes, "prefixes lengths which out stream", prefixes=[[0], [2]]))
    throw(named(made.advance, "states codes parents which out stream", states=states, codes=[0, 1]))
    throw(named(made.mask, "logits states which dtype stream", logits=row, states=states))
    throw(named(made.bitmask, "states which columns out stream", states=states))
    names = "logits states k normalization which dtype next_states scores out stream"
    throw(named(made.topk, names, logits=row, states=states, k=2))
    throw(named(lambda **out: made.topk(row, states, 2, out=sidbeam.TopK(**out)), "codes log_probs states"))
    names = "logits states seeds requests draws top_k top_p inverse_temperature normalization which dtype out stream"
    throw(named(made.sample, names, logits=row, states=states, seeds=1, requests=1))


def test_speculations(index: sidbeam.Index) -> None:
    def sessions(method: str = "", **options: Any) -> None:
        target, ahead = sidbeam.Session(index, slots=2, beams=2), sidbeam.Session(index, slots=2, beams=2)
        made = sidbeam.Speculation(target, ahead)
        target.start(), ahead.start()
        if method in ("mask", "verify"):
            made.begin()
        getattr(made, method)(**options)

    session = sidbeam.Session(index)
    throw(named(sidbeam.Speculation, "target draft draft_levels stream runtime", target=session, draft=session))
    throw({"begin": lambda odd: sessions("begin", slots=odd), "mask": lambda odd: sessions("mask", columns=odd)})
    throw(named(lambda **given: sessions("verify", **given), "logits lse dtype", logits=logits(2, 4)))

    def rows(tree: sidbeam.SpeculationTree) -> np.ndarray:
        return logits(len(tree.tokens), 4)

    throw(named(lambda **given: sessions("run", **given), "target draft slots", target=rows, draft=rows))
    throw({"target's": lambda odd: sessions("run", target=lambda tree: odd, draft=rows)})
    throw({"draft's": lambda odd: sessions("run", target=rows, draft=lambda tree: odd)})
    names = "draws seed request level inverse_temperature without_replacement runtime"
    throw(named(sidbeam.relaxed_draw, f"log_probs {names}", log_probs=logits(3), draws=2, seed=1))
    names = f"target draft drafts beams {names.partition(' ')[2]}"
    throw(named(sidbeam.relaxed_verify, names, target=logits(3), draft=logits(3), drafts=[0], beams=1, seed=1))


needs_runner = pytest.mark.skipif(not MODEL, reason="the library was built without the runner")


@needs_runner
def test_runners() -> None:
    index = sidbeam.Index.build(np.random.default_rng(1).integers(0, 8, (60, 3)), codes=8)
    model, vocabulary = sidbeam.Model.open(MODEL), sidbeam.Vocabulary([16, 24, 32])
    throw(named(sidbeam.Model.open, "folder weights device base log", folder=MODEL))

    def make(**options: Any) -> None:
        sidbeam.Runner(**options).close()

    names = "model constraint beams vocabulary begin_tokens normalization strategy inverse_temperature soft_cap"
    names += " max_prompt max_group queue_requests lanes lane_threads batch_requests batch_rows wait_us adjust draft"
    names += " draft_beams speculate without_replacement mode head placeholders top_k output_path max_listed runtime"
    throw(named(make, names, model=model, constraint=index, vocabulary=vocabulary))
    with sidbeam.Runner(model, index, beams=5, vocabulary=vocabulary) as runner:
        names = "tokens beams priority deadline_us constraint context seed sampling_request"
        throw(named(runner.run, names, tokens=[17, 25]))
        throw(named(lambda **given: runner.submit(**given).result(), names, tokens=[17, 25]))
        throw({"each token": lambda odd: runner.run([17, odd])})
        throw({"each width": lambda odd: runner.run([17], beams=[2, odd])})
        throw({"cancel": runner.cancel, "drain": runner.drain})
        throw(named(runner.run([17, 25]).find_items, "limit_per_sid limit distinct"))


@needs_runner
def test_hidden_states_and_drafts(index: sidbeam.Index, tmp_path: pathlib.Path) -> None:
    throw(named(sidbeam.OutputLayer, "weights bias soft_cap dtype", weights=logits(4, 3)))
    layer, session = sidbeam.OutputLayer(logits(4, 3)), sidbeam.Session(index, slots=2, beams=2)
    throw(named(sidbeam.HiddenStep, "session layer path children", session=session, layer=layer))
    step = sidbeam.HiddenStep(session, layer)

    def started(**options: Any) -> None:
        session.start()
        step.step(**options)

    throw(named(started, "hidden slots row_map lse inverse_temperature path stream", hidden=logits(2, 2, 3)))
    weight = logits(4, 6)
    arrays: dict[str, Any] = {"heads": [weight, weight], "embeddings": [logits(4, 2)]}
    arrays["transitions"] = [(logits(9, 2), logits(9), logits(9, 3), logits(9))]
    names = "path heads embeddings transitions input transition dtype codebook allow_attribute_loss"
    throw(named(draft.write, names, path="head", **arrays))
    for name, usual in arrays.items():
        each = named(draft.write, name, path="other", **arrays)[name]
        throw({f"each of {name}": lambda odd, each=each, count=len(usual): each([odd] * count)})
    draft.write(tmp_path / "head", **arrays)
    throw({"open": sidbeam.DraftHead.open})
    head = sidbeam.DraftHead.open(tmp_path / "head")
    names = "head index beams requests verification normalization top_k max_listed device runtime"
    throw(named(sidbeam.DraftDecoder, names, head=head, index=index, beams=2))
    decoder = sidbeam.DraftDecoder(head, index, beams=2, requests=2)
    throw(named(decoder.run, "hidden constraints widths dtype stream", hidden=logits(2, 3, 3)))
    throw({"start": decoder.start, "decode": decoder.decode})
