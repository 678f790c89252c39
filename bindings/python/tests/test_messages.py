"""Messages in Python's own words: none names C's structs, constants or functions, and frequent mistakes get a mend.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import pathlib
import re

import numpy as np
import pytest

import sidbeam
from sidbeam import serving
from sidbeam.messages import in_python

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings/python/src/sidbeam"
STRINGS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
#: what only C says; names of environment variables, files and the format of a message's number apart
C_WORDS = re.compile(
    r"\b(?:config|model_config|args|rows|request|sampling|hidden|tensor)\.(?!json|npy)[\w%]|\bNULL\b|\bcode -\d"
    r"|\bSIDBEAM_(?!CATALOGUES|CUDA_LIBRARY|RUNNER_CUDA_LIBRARY|CUDA_PDL)|\bsidbeam_\w+\("
)


def literals(path: pathlib.Path):
    """The strings of a C or C++ source, those beside each other as one."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("#include"))
    for found in STRINGS.findall(text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found)).replace('\\"', '"')


@pytest.mark.skipif(not (ROOT / "runtime").is_dir(), reason="the sources are not beside the tests")
def test_every_message_of_the_library_is_in_pythons_words() -> None:
    sources = [path for folder in ("runtime", "bindings/flat", "include") for path in (ROOT / folder).rglob("*")]
    sources += (ROOT / "bindings/python").glob("*.[hi]")
    found = [text for path in sources if path.suffix in (".cc", ".cu", ".cuh", ".h", ".i") for text in literals(path)]
    in_c = [text for text in found if C_WORDS.search(text) and not text.endswith(".cc")]
    assert len(in_c) > 200
    assert [(text, in_python(text)) for text in in_c if C_WORDS.search(in_python(text))] == []


def library_messages():
    """As Python shows them, of the library and the importers."""
    for folder in ("runtime", "bindings/flat", "bindings/import", "include"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cc", ".h") and "cuda" not in path.parts:
                yield from map(in_python, literals(path))


def names_of_the_package() -> set[str]:
    """Of what it exports: parameters, methods, fields."""
    names = {field.name for field in dataclasses.fields(sidbeam.ImportOptions)}
    for thing in vars(sidbeam).values():
        names |= set(dir(thing)) if inspect.isclass(thing) else set()
        members = [getattr(thing, name) for name in dir(thing)] if inspect.isclass(thing) else [thing]
        for function in members:
            if inspect.isfunction(function) or inspect.ismethod(function):
                names |= set(inspect.signature(function).parameters)
    return names


#: what only hosts in C have or Python's layer makes, builds that do not fit, columns, strategies and others' words
NOT_PYTHONS = set(
    "shared_kv kv_dtype run_tree request_threads child_offsets row_offsets slot_stride row_stride abi_version"
    " struct_size semantic_id semantic_ids token_ids sorted_topk hash_final n_buffers n_children libsidbeam_import"
    " libsidbeam_runner data_offsets weight_map adapter_config pytorch_model from_pretrained save_pretrained"
    " adapter_model save_file valid_bits weights_only merge_and_unload savez_compressed".split()
)


@pytest.mark.skipif(not (ROOT / "runtime").is_dir(), reason="the sources are not beside the tests")
def test_every_argument_that_a_message_names_is_one_of_pythons() -> None:
    known = names_of_the_package() | NOT_PYTHONS
    assert {"begin_tokens", "memory_limit", "inverse_temperature", "token_pattern"} <= known
    texts = [text for text in library_messages() if "%" in text or "expected" in text]
    named = [(word, text) for text in texts for word in re.findall(r"\b[a-z]+_[a-z_]+\b", text)]
    assert len(named) > 100
    assert [(word, text) for word, text in named if word not in known] == []


def test_every_message_of_the_package_is_in_pythons_words() -> None:
    raised = []
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise):
                raised += [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    assert len(raised) > 200
    assert [text for text in raised if C_WORDS.search(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "cannot open '/srv/config.d/rows.columns/shop.sidx': No such file or directory",
        "the file 'config.json' has no hidden_size, expected one",
        "the runner's CUDA plugin that SIDBEAM_RUNNER_CUDA_LIBRARY names does not load: x",
        "level 1 has 5 codes, expected 4",
    ],
)
def test_what_is_nobodys_name_stays(text: str) -> None:
    assert in_python(text) == text


def slots(count: int) -> sidbeam.Session:
    session = sidbeam.Session(sidbeam.Index.build([(0, 1), (0, 3), (2, 2)], codes=4), slots=count, beams=2)
    session.start()
    return session


F32 = np.float32


@pytest.mark.parametrize(
    "logits, message",
    [
        (np.zeros((3, 1, 4)), "logits has dtype float64, expected float32, .*: cast it, logits.astype(np.float32)"),
        (np.zeros((3, 1, 4), np.int32), "logits has elements of format 'i', .*: cast it, logits.astype(np.float32)"),
        (
            np.zeros((3, 1, 8), F32)[:, :, ::2],
            "logits has columns 2 elements apart, .*: pass np.ascontiguousarray(logits)",
        ),
        (
            np.zeros((6, 4), F32),
            "logits has rows for 1 slots, expected 3: reshape .* logits.reshape(3, -1, logits.shape[-1])",
        ),
    ],
)
def test_logits(logits, message: str) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="^" + re.escape(message).replace(r"\.\*", ".*")):
        slots(3).step(logits)


def test_the_mend_of_the_logits_mends_it() -> None:
    wide = np.arange(48, dtype=np.float64).reshape(6, 8)
    rows = np.ascontiguousarray(wide[:, ::2]).astype(F32)
    session = slots(3)
    session.step(rows.reshape(3, -1, rows.shape[-1]))
    assert session.beams().live.tolist() == [2, 2, 2]


BUILD = sidbeam.Index.build


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: BUILD({"a": [0, 1]}), "sids is a dict, expected [items, levels]: Index.from_file reads catalogues"),
        (lambda: BUILD([["<a_0>", "<b_1>"]]), "sids has the text '<a_0>', expected codes, .*: Index.from_file reads"),
        (lambda: BUILD(["<a_0><b_1>", "<a_10><b_1>"]), "sids has the text '<a_0><b_1>', expected codes"),
        (lambda: BUILD(np.array([["x", "y"]], object)), "sids has the text 'x', expected codes"),
        (lambda: BUILD([[0, -2], [1, 1]]), "sids[0] has -2 at level 1, expected 0..1: codes are not negative"),
        (lambda: BUILD([[0, 7]], codes=4), "sids[0] has 7 at level 1, expected 0..3"),
        (
            lambda: sidbeam.Session(BUILD([[0, 1]]), vocabulary=[1, 2]),
            "vocabulary is list, expected a Vocabulary: Vocabulary(offsets=[..])",
        ),
        (lambda: slots(1).start(prefixes=[0, 1]), "prefixes are not sequences of codes: prefixes[0] is 0, expected"),
        (lambda: slots(1).start(prefixes=[[0], [1]]), "prefixes has 2 sequences, expected 1, one per slot that starts"),
        (lambda: slots(1).start(prefixes=np.zeros((1, 1, 1), int)), "prefixes have shape (1, 1, 1), expected a seq"),
        (lambda: sidbeam.ConstraintSet(BUILD([[0, 1]])).prefixes([0]), "prefixes are not sequences of codes: prefixes"),
        (lambda: BUILD([[0, 1]], kinds=99), "kinds is 99, expected members of sidbeam.Kind or'ed"),
        (
            lambda: sidbeam.Session(BUILD([[0, 1]]), strategy="sorted"),
            "constraint has no columns, expected an index built with kinds sorted for strategy sorted",
        ),
        (
            lambda: sidbeam.Index.from_buffer(np.frombuffer(BUILD([[0, 1]]).to_bytes() + b"1", np.uint8)[1:]),
            "data lies at .*, expected a multiple of 64, or copy=True",
        ),
        (lambda: BUILD([[0, 1]], ["a"]).find_item(3), "item is an integer, expected a str: the ids of this index are"),
    ],
)
def test_calls(call, message: str) -> None:
    with pytest.raises((sidbeam.InvalidArgument, sidbeam.MissingSection, TypeError)) as error:
        call()
    assert re.match(re.escape(message).replace(r"\.\*", ".*"), str(error.value))


@pytest.mark.parametrize(
    "text, message",
    [
        ('["shop.sidx"]', "SIDBEAM_CATALOGUES is a JSON list, expected"),
        ('"shop.sidx"', "SIDBEAM_CATALOGUES is a JSON string, expected"),
        ('{"shop": "shop.sidx"}', "SIDBEAM_CATALOGUES: 'shop' is a JSON string, expected"),
        ('{"shop": [1]}', "SIDBEAM_CATALOGUES: 'shop' is a JSON list, expected"),
        ('{"shop": ', "SIDBEAM_CATALOGUES is no JSON (Expecting value: line 1 column 9 (char 8)), expected"),
        ("missing.json", "SIDBEAM_CATALOGUES is 'missing.json', expected"),
    ],
)
def test_the_shape_of_the_environment(monkeypatch, text: str, message: str) -> None:
    monkeypatch.setenv(serving.ENVIRONMENT, text)
    serving._read_environment.cache_clear()
    try:
        with pytest.raises(sidbeam.InvalidArgument) as error:
            serving.named()
    finally:
        serving._read_environment.cache_clear()
    assert str(error.value).startswith(message + ' {"name": {"path": "shop.sidx"')
    assert json.loads(re.search(r"{.*}", str(error.value))[0].replace("[..]", "[]"))
