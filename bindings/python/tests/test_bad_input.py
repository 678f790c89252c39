"""Wrong input raises an exception that says what is wrong; it never crashes. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import copy
import pickle
from typing import Any, Callable

import numpy as np
import pytest

import sidbeam

F32 = np.float32


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, F32)


class NoLastAxis:
    """A tensor whose columns are not contiguous, by DLPack alone."""

    def __init__(self) -> None:
        self.array = zeros(4, 2).T

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Unwilling(NoLastAxis):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("requires grad")


LOGITS = [
    (np.zeros((2, 4)), sidbeam.InvalidArgument, "logits has dtype float64, expected float32, .*: cast it"),
    (np.zeros((2, 4), np.int32), sidbeam.InvalidArgument, "logits has elements of format 'i'"),
    (np.zeros((2, 4), np.uint16), sidbeam.InvalidArgument, 'logits are uint16, expected dtype="bf16" or "f16"'),
    (np.zeros((2, 4), ">f4"), sidbeam.InvalidArgument, "logits has elements of format '>f'"),
    (np.zeros((2, 4), [("a", F32)]), sidbeam.InvalidArgument, "logits has elements of format 'T{"),
    (np.zeros((2, 4), object), sidbeam.InvalidArgument, "logits has elements of format 'O'"),
    (zeros(4), sidbeam.InvalidArgument, "logits has 1 dimensions, expected"),
    (zeros(1, 1, 2, 4), sidbeam.InvalidArgument, "logits has 4 dimensions, expected"),
    (np.array(1, F32), sidbeam.InvalidArgument, "logits has 0 dimensions, expected"),
    (zeros(4, 2).T, sidbeam.InvalidArgument, r"logits has columns 2 elements apart"),
    (zeros(2, 8)[:, ::2], sidbeam.InvalidArgument, r"logits has columns 2 elements apart"),
    (np.zeros((2, 1), [("a", F32), ("b", "i2")])["a"], sidbeam.InvalidArgument, "logits has a stride of 6 bytes"),
    (zeros(2, 3), sidbeam.InvalidArgument, "logits has 3 columns, expected at least 4"),
    (zeros(1, 4), sidbeam.InvalidArgument, "logits has 1 rows, expected at least 2"),
    (zeros(0, 4), sidbeam.InvalidArgument, "logits has 0 rows, expected at least 2"),
    (zeros(2, 0), sidbeam.InvalidArgument, "logits has 0 columns, expected at least 4"),
    (zeros(3, 2, 4), sidbeam.InvalidArgument, "logits has rows for 3 slots, expected 1: reshape"),
    (None, TypeError, "logits is None, expected an array"),
    ([[1.0] * 4] * 2, TypeError, "logits is list, expected an array"),
    ("text", TypeError, "logits is str, expected an array"),
    (b"12345678", sidbeam.InvalidArgument, "logits has elements of format 'B'"),
    (np.ma.array(zeros(2, 4), mask=[[1, 0, 0, 0]] * 2), sidbeam.InvalidArgument, "logits is a masked array"),
    (NoLastAxis(), sidbeam.InvalidArgument, r"logits has columns 2 elements apart"),
    (Unwilling(), BufferError, "requires grad"),
]


@pytest.mark.parametrize("logits, error, message", LOGITS, ids=range(len(LOGITS)))
def test_logits(session: sidbeam.Session, logits: Any, error: type[Exception], message: str) -> None:
    session.step(zeros(2, 4))
    before = session.beams().codes.copy()
    with pytest.raises(error, match=message):
        session.step(logits)
    assert (session.beams().codes == before).all() and session.beams().level[0] == 1


CALLS: list[tuple[Callable[[sidbeam.Session], object], type[Exception], str]] = [
    (
        lambda s: s.step(zeros(2, 4), dtype="f16"),
        sidbeam.InvalidArgument,
        "dtype is f16, expected that of the logits, f32",
    ),
    (lambda s: s.step(zeros(2, 4), dtype="f8"), sidbeam.InvalidArgument, "DType is 'f8', expected one of 'f32', 'f16'"),
    (lambda s: s.step(zeros(2, 4), [5]), sidbeam.InvalidArgument, r"slots\[0\] is 5, expected 0..0"),
    (lambda s: s.step(zeros(2, 4), [0.5]), sidbeam.InvalidArgument, "slots has dtype float64, expected int32"),
    (lambda s: s.step(zeros(2, 4), [2**40]), sidbeam.InvalidArgument, "slots has values out of the range of int32"),
    (
        lambda s: s.step(zeros(2, 4), row_map=np.zeros(1, np.int32)),
        sidbeam.InvalidArgument,
        r"row_map has shape \(1,\), expected \(1, 2\)",
    ),
    (
        lambda s: s.step(zeros(2, 4), row_map=np.zeros((1, 3), np.int32)),
        sidbeam.InvalidArgument,
        r"row_map has shape \(1, 3\), expected \(1, 2\)",
    ),
    (
        lambda s: s.step(zeros(2, 4), row_map=[[9, 0]]),
        sidbeam.InvalidArgument,
        r"row_map\[0\]\[0\] is 9, expected 0..1",
    ),
    (
        lambda s: s.step(zeros(2, 4), lse=zeros(1)),
        sidbeam.InvalidArgument,
        "lse has 1 elements, expected 2, one per logits row",
    ),
    (
        lambda s: s.step(zeros(2, 4), lse=zeros(3)),
        sidbeam.InvalidArgument,
        "lse has 3 elements, expected 2, one per logits row",
    ),
    (
        lambda s: s.step(zeros(3, 4), row_map=[[1, 0]], lse=zeros(4)),
        sidbeam.InvalidArgument,
        "lse has 4 elements, expected 3, one per logits row",
    ),
    (
        lambda s: s.step(zeros(2, 4), inverse_temperature=-1.0),
        sidbeam.InvalidArgument,
        "inverse_temperature is -1, expected a finite number above 0",
    ),
    (
        lambda s: s.step(zeros(2, 4), inverse_temperature="1"),
        TypeError,
        "inverse_temperature is str, expected an array or a list",
    ),
    (lambda s: s.step(zeros(2, 4), stream="x"), TypeError, "stream is str, expected an int or a stream"),
    (lambda s: s.start([0, 0]), sidbeam.InvalidArgument, "count is 2, expected 0..1"),
    (lambda s: s.start([1]), sidbeam.InvalidArgument, r"slots\[0\] is 1, expected 0..0"),
    (lambda s: s.start(widths=3), sidbeam.InvalidArgument, r"widths\[0\] is 3, expected 1..2"),
    (lambda s: s.start(widths=[2, 2]), sidbeam.InvalidArgument, r"widths has shape \(2,\), expected \(1,\)"),
    (lambda s: s.start(constraints=[None, None]), sidbeam.InvalidArgument, r"constraints has shape \(2,\), exp"),
    (
        lambda s: s.start(prefixes=[(0,), (0,)]),
        sidbeam.InvalidArgument,
        "prefixes has 2 sequences, expected 1, one per slot that starts",
    ),
    (
        lambda s: s.start(prefixes=[(0,)], prefix_lengths=[1, 1]),
        sidbeam.InvalidArgument,
        r"prefix_lengths has shape \(2,\), expected \(1,\)",
    ),
    (lambda s: s.start(prefixes=[(7,)]), sidbeam.InvalidArgument, r"prefixes\[0\]\[0\] is 7, expected 0..3"),
    (lambda s: s.start(prefixes=[(0, 1, 2)]), sidbeam.InvalidArgument, r"prefix_lengths\[0\] is 3, expected 0..2"),
    (
        lambda s: s.start(prefixes=[(0,)], prefix_lengths=[2]),
        sidbeam.InvalidArgument,
        r"prefix_lengths\[0\] is 2, expected 0..1",
    ),
    (lambda s: s.start(constraints=["x"]), sidbeam.InvalidArgument, "constraint is str, expected an Index or a Constr"),
    (lambda s: s.items([3]), sidbeam.InvalidArgument, r"slots\[0\] is 3, expected 0..0"),
    (
        lambda s: s.items(out=sidbeam.Items(ordinals=np.zeros(1, np.int64))),
        sidbeam.InvalidArgument,
        "ordinals has 1 elem",
    ),
    (lambda s: s.items(out=sidbeam.Items(ordinals=zeros(2))), sidbeam.InvalidArgument, "ordinals has elements of form"),
    (
        lambda s: s.items(out=sidbeam.Items(ordinals=np.broadcast_to(np.int64(1), 2))),
        sidbeam.InvalidArgument,
        "ordinals: expected an array that is writable and contiguous",
    ),
    (
        lambda s: s.items(out=sidbeam.Items(ordinals=np.zeros(4, np.int64)[::2])),
        sidbeam.InvalidArgument,
        "ordinals: expected an array that is writable and contiguous",
    ),
    (lambda s: s.items(out=sidbeam.Items(ordinals=(1, 2))), TypeError, "ordinals is tuple, expected an array"),
    (lambda s: s.items(limit=-1), sidbeam.InvalidArgument, "limit is -1, expected"),
    (
        lambda s: s.items(limit_per_sid=2**63),
        sidbeam.InvalidArgument,
        "limit_per_sid is out of range, expected an integer of 64 bits",
    ),
    (
        lambda s: s.items(limit_per_sid=-(2**33)),
        sidbeam.InvalidArgument,
        "limit_per_sid is -8589934592, expected",
    ),
    (lambda s: s.stop([0, 0]), sidbeam.InvalidArgument, "count is 2, expected 0..1"),
]


@pytest.mark.parametrize("call, error, message", CALLS, ids=range(len(CALLS)))
def test_session_calls(session: sidbeam.Session, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(session)
    session.step(zeros(2, 4))


def test_steps_at_the_wrong_time(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, beams=2)
    with pytest.raises(sidbeam.BadState, match=r"slots\[0\] is 0, which is not started"):
        session.step(zeros(1, 2, 4), [0])
    with pytest.raises(sidbeam.BadState, match="no slot is started, expected one to step"):
        session.step(zeros(2, 4))
    session.start()
    session.step(zeros(2, 4))
    session.step(zeros(2, 4))
    with pytest.raises(sidbeam.BadState, match="every slot that was started is done"):
        session.step(zeros(2, 4))
    with pytest.raises(sidbeam.BadState, match=r"slots\[0\] is 0") as caught:
        session.step(zeros(1, 2, 4), [0])
    assert (caught.value.code, caught.value.name) == (9, "bad state")
    assert str(caught.value).endswith("(bad state)") and isinstance(caught.value, sidbeam.SidbeamError)


@pytest.mark.parametrize(
    "options, error, message",
    [
        (dict(beams=0), sidbeam.InvalidArgument, "beams is 0, expected 1..4096"),
        (dict(max_listed=-1), sidbeam.InvalidArgument, "max_listed is -1, expected 0..16777216"),
        (dict(beams=2**40), sidbeam.InvalidArgument, "beams is out of range, expected an integer of 32 bits"),
        (dict(beams=2**80), sidbeam.InvalidArgument, "beams is out of range"),
        (dict(beams=1.5), TypeError, "beams is float, expected an integer"),
        (dict(slots=-1), sidbeam.InvalidArgument, "slots is -1, expected 0..1048576"),
        (dict(strategy="best"), sidbeam.InvalidArgument, "Strategy is 'best', expected one of 'trie', 'sorted'"),
        (dict(strategy="sorted"), sidbeam.MissingSection, "expected an index built with kinds sorted"),
        (dict(normalization=9), sidbeam.InvalidArgument, "Normalization is 9"),
        (dict(device="tpu"), sidbeam.InvalidArgument, "device is 'tpu', expected 'cpu', 'cuda' or 'cuda:N'"),
        (dict(device="cuda:x"), sidbeam.InvalidArgument, "device is 'cuda:x'"),
        (dict(vocabulary=sidbeam.Vocabulary([1])), sidbeam.InvalidArgument, "vocabulary has offsets of 1 levels, exp"),
        (
            dict(vocabulary=sidbeam.Vocabulary(maps=[[0], None])),
            sidbeam.InvalidArgument,
            r"vocabulary.maps\[0\] is 1, expected at least 4",
        ),
    ],
)
def test_session_options(index: sidbeam.Index, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sidbeam.Session(index, **options)


def test_without_a_device(index: sidbeam.Index) -> None:
    runtime = sidbeam.Runtime(cuda_library="/nowhere/libsidbeam_cuda.so.1")
    elsewhere = sidbeam.Index.build([(0, 1)], codes=[4, 4], runtime=runtime)
    for call in (lambda: sidbeam.Session(elsewhere, device="cuda"), lambda: elsewhere.upload()):
        with pytest.raises(sidbeam.NoDevice, match="/nowhere/libsidbeam_cuda.so.1"):
            call()
    assert elsewhere.uploaded() == sidbeam.Upload(sidbeam.Kind(0), 0)


def test_constraint_set_calls(index: sidbeam.Index) -> None:
    constraints = sidbeam.ConstraintSet(index)
    states = constraints.prefixes([(), (0,)])
    readonly = zeros(2, 4)
    readonly.flags.writeable = False
    for call, message in (
        (lambda: constraints.mask(readonly, states), "logits: expected an array that is writable"),
        (lambda: constraints.mask(zeros(3, 4), states), "states has 2 elements, expected at least 3"),
        (lambda: constraints.mask(zeros(1, 4), states), "states has 2 elements, expected 1, one per logits row"),
        (lambda: constraints.topk(zeros(1, 4), states, 1), "states has 2 elements, expected 1, one per logits row"),
        (lambda: constraints.mask(zeros(2, 4), states, which=[0, 0, 0]), r"which has shape \(3,\), expected \(2,\)"),
        (lambda: constraints.topk(zeros(2, 4), states, 1, which=[0]), r"which has shape \(1,\), expected \(2,\)"),
        (lambda: constraints.bitmask(states, which=[[0, 0]]), r"which has shape \(1, 2\), expected \(2,\)"),
        (lambda: constraints.prefixes([(0,)], which=[0, 0]), r"which has shape \(2,\), expected \(1,\)"),
        (lambda: constraints.advance(states, [1, 2], which=[0]), r"which has shape \(1,\), expected \(2,\)"),
        (lambda: constraints.prefixes([(0,)], [1, 1]), r"lengths has shape \(2,\), expected \(1,\)"),
        (lambda: constraints.mask(zeros(2, 3), states), "logits has 3 columns, expected at least 4"),
        (lambda: constraints.mask(zeros(2, 4), states, which=[0, 7]), r"which\[1\] is 7, expected 0..0"),
        (lambda: constraints.topk(zeros(2, 4), states, 0), "k is 0, expected 1..16777216"),
        (lambda: constraints.topk(zeros(2, 4), states.astype(F32), 1), "states has dtype float32, expected int64"),
        (lambda: constraints.advance(states, [1, 2], parents=[0]), r"parents has shape \(1,\), expected \(2,\)"),
        (lambda: constraints.bitmask(states, out=np.zeros((2, 0), np.int32)), "words is 0, expected at least"),
        (lambda: sidbeam.ConstraintSet([]), "constraints is empty"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            call()
    sorted_only = sidbeam.Index.build([(0, 1)], codes=[4, 4], kinds="sorted")
    with pytest.raises(sidbeam.MissingSection, match="expected an index built with kinds trie"):
        sidbeam.ConstraintSet(sorted_only)


def test_a_vocabulary_is_no_list(index: sidbeam.Index) -> None:
    for make in sidbeam.Session, sidbeam.ConstraintSet:
        with pytest.raises(TypeError, match="vocabulary is list, expected a Vocabulary"):
            make(index, vocabulary=[0, 4])  # type: ignore[operator]


def test_pickle_and_copy_are_refused(index: sidbeam.Index, session: sidbeam.Session) -> None:
    for made in (
        index,
        session,
        index.constraint,
        sidbeam.ConstraintSet(index),
        sidbeam.Runtime(),
        sidbeam.Builder([4]),
    ):
        with pytest.raises(TypeError, match=f"cannot pickle {type(made).__name__}"):
            pickle.dumps(made)
        with pytest.raises(TypeError, match=f"cannot copy {type(made).__name__}"):
            copy.copy(made)
    with pytest.raises(TypeError, match="use Index.open"):
        sidbeam.Index()


@pytest.mark.parametrize("odd", [[[1, 2], [3]], [[[1]], [2]], np.array([1j, 2]), np.array([1, None]), ["a", "b"]])
def test_lists_that_are_no_arrays_of_numbers(session: sidbeam.Session, index: sidbeam.Index, odd: Any) -> None:
    constraints = sidbeam.ConstraintSet(index)
    for call in (
        lambda: session.start(odd),
        lambda: session.start(widths=odd),
        lambda: session.start(inverse_temperature=odd),
        lambda: session.step(zeros(1, 2, 4), soft_cap=odd),
        lambda: constraints.sample(zeros(2, 4), np.zeros(2, np.int64), seeds=odd, requests=0),
        lambda: sidbeam.Session(index, beams=2, vocabulary=sidbeam.Vocabulary(odd)),
        lambda: sidbeam.Index.build([(0, 1)], codes=odd),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match="has dtype|is no array of numbers|has shape|expected an?"):
            call()


def test_errors_survive_pickle(session: sidbeam.Session) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="logits has 1 dimensions, expected") as caught:
        session.step(zeros(4))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.code, str(again)) == (type(caught.value), 1, str(caught.value))


def test_a_status_of_the_future() -> None:
    error = sidbeam.errors.make(99, "what")
    assert type(error) is sidbeam.SidbeamError and (error.code, error.name) == (99, "unknown status")
