"""The folder in the hub's layout: ``generate(custom_generate=FOLDER, trust_remote_code=True)`` of transformers, against
brute force and against the loops that it makes.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import pathlib
import shutil

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import sidbeam
from conftest import index_of, vocabulary_of
from models import batch, histories, model_of, real
from oracle import DUPLICATES, VARIABLE
from sidbeam import _transformers_hub, serving
from sidbeam.transformers import HUB, SidBeamSearch, SidSampler, SidTokens
from serving_cases import install_entry_points
from transformers_cases import KINDS, VOCAB, assert_beams, at, brute_force, generate, sids_of

WIDTH = 6
OFFSETS = [100, 356, 612]


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """transformers looks whether what requirements.txt names is."""
    install_entry_points(tmp_path_factory.mktemp("site"))


@pytest.fixture(params=KINDS)
def model(request, tmp_path_factory):
    """As its users have it: loaded from its folder by an AutoModel."""
    folder = tmp_path_factory.mktemp("model")
    model_of(request.param, VOCAB).save_pretrained(folder)
    kind = transformers.AutoModelForCausalLM if request.param == "decoder" else transformers.AutoModelForSeq2SeqLM
    return kind.from_pretrained(folder).eval()


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    _transformers_hub._loops.clear()
    monkeypatch.setattr(serving, "_registered", {})
    monkeypatch.delenv(serving.ENVIRONMENT, raising=False)
    serving._read_environment.cache_clear()
    yield
    serving._read_environment.cache_clear()


@pytest.fixture
def requests():
    return batch(histories(real()[0], 3))


@pytest.fixture
def path(tmp_path):
    index_of(real()[0], path=tmp_path / "items.sidx").close()
    return tmp_path / "items.sidx"


def by_folder(model, inputs, folder=HUB, **options):
    return generate(model, inputs, WIDTH, custom_generate=str(folder), trust_remote_code=True, **options)


def test_an_index_by_its_path(model, requests, path) -> None:
    catalogue, _ = real()
    found, scores = by_folder(model, requests, index=path, offsets=OFFSETS)
    own, own_scores = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(sids_of(catalogue)))
    assert torch.equal(found, own) and torch.equal(scores, own_scores)
    for request in range(3):
        assert_beams(
            catalogue, found[request], scores[request], brute_force(model, requests, catalogue, WIDTH, request)
        )
    by_folder(model, requests, index=str(path), offsets=OFFSETS)
    assert len(_transformers_hub._loops) == 1


@pytest.mark.parametrize("catalogue", [at(DUPLICATES), at(VARIABLE)], ids=["duplicates", "variable"])
def test_a_catalogue_by_its_name(model, catalogue) -> None:
    serving.register("shop", index_of(catalogue), vocabulary=vocabulary_of(catalogue))
    inputs = batch([[5, 21], [22, 30, 7]])
    found, scores = by_folder(model, inputs, catalogue="shop", eos_token_id=19 if catalogue.variable else None)
    for request in range(2):
        assert_beams(catalogue, found[request], scores[request], brute_force(model, inputs, catalogue, WIDTH, request))


def test_a_name_of_the_environment(monkeypatch, requests, path) -> None:
    model = model_of("decoder", VOCAB)
    monkeypatch.setenv(serving.ENVIRONMENT, f'{{"shop": {{"path": "{path}", "offsets": {OFFSETS}}}}}')
    by_name = by_folder(model, requests, catalogue="shop")
    assert torch.equal(by_name[0], by_folder(model, requests, index=path, offsets=OFFSETS)[0])


def test_rules(model, requests, path) -> None:
    """One user's list each."""
    catalogue, _ = real()
    index = sidbeam.Index.open(path)
    seen = [[row] for row in range(3)]
    found = by_folder(model, requests, index=path, offsets=OFFSETS, exclude=seen)
    search = SidBeamSearch(SidTokens(index, vocabulary_of(catalogue)))
    assert torch.equal(found[0], generate(model, requests, WIDTH, custom_generate=search, exclude=seen)[0])


@pytest.mark.parametrize("rounds", [None, 3])
def test_draws(model, requests, path, rounds) -> None:
    sampler = SidSampler(sids_of(real()[0]), rounds=rounds)
    options = {"do_sample": True, "num_return_sequences": 4, "max_new_tokens": 3, "seed": 7, "top_k": 0}
    own = model.generate(**requests, custom_generate=sampler, **options)
    options |= {} if rounds is None else {"rounds": rounds}
    folder = {"custom_generate": HUB, "trust_remote_code": True, "index": path, "offsets": OFFSETS}
    assert torch.equal(model.generate(**requests, **folder, **options), own)
    config = transformers.GenerationConfig(**{**options, "seed": None, "rounds": None})
    given = {"seed": 7} | ({} if rounds is None else {"rounds": rounds})
    assert torch.equal(model.generate(**requests, **folder, generation_config=config, **given), own)


def test_an_index_that_is_replaced(requests, path) -> None:
    """Is followed from the next call on; one that is not stays open."""
    model, few = model_of("decoder", VOCAB), real()[0].sids[:40]
    before = by_folder(model, requests, index=path, offsets=OFFSETS)[0]
    sidbeam.Index.build(few, codes=[256] * 3, path=path.with_suffix(".new")).close()
    path.with_suffix(".new").rename(path)
    after = by_folder(model, requests, index=path, offsets=OFFSETS)[0]
    said = {tuple(token - offset for token, offset in zip(row, OFFSETS)) for row in after.flatten(0, 1).tolist()}
    assert said <= set(few) and not torch.equal(before, after) and len(_transformers_hub._loops) == 1


def test_a_live_catalogue(requests, tmp_path, path) -> None:
    model = model_of("decoder", VOCAB)
    live = sidbeam.Catalog.create(sidbeam.Index.open(path), tmp_path / "live")
    first = by_folder(model, requests, index=tmp_path / "live", offsets=OFFSETS)[0]
    assert torch.equal(first, by_folder(model, requests, index=path, offsets=OFFSETS)[0])
    live.close()


def test_the_folder_as_it_is_uploaded(requests, path, tmp_path) -> None:
    """Elsewhere, and beside a model, whose generate() it then is."""
    model = model_of("decoder", VOCAB)
    shutil.copytree(HUB, tmp_path / "repo")
    expected = by_folder(model, requests, index=path, offsets=OFFSETS)[0]
    assert torch.equal(by_folder(model, requests, tmp_path / "repo", index=path, offsets=OFFSETS)[0], expected)
    model.save_pretrained(tmp_path / "repo")
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "repo", trust_remote_code=True).eval()
    assert torch.equal(generate(loaded, requests, WIDTH, index=path, offsets=OFFSETS)[0], expected)
    named = {line.split(">")[0] for line in pathlib.Path(HUB, "custom_generate/requirements.txt").read_text().split()}
    assert named == {"sidbeam", "transformers", "torch"}
    assert "\n  - custom_generate\n" in pathlib.Path(HUB, "README.md").read_text()


def test_it_is_not_run_unasked(requests, path) -> None:
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        generate(model_of("decoder", VOCAB), requests, WIDTH, custom_generate=HUB, trust_remote_code=False, index=path)


@pytest.mark.parametrize(
    "given, error, said",
    [
        ({}, sidbeam.InvalidArgument, "expected catalogue, a name, or index, a path, and neither is given"),
        ({"catalogue": "shop", "index": "PATH"}, sidbeam.InvalidArgument, "and both are given"),
        ({"catalogue": "shop"}, sidbeam.InvalidArgument, "catalogue 'shop' is not known, expected one of \\[\\]"),
        ({"catalogue": "shop", "offsets": [1]}, sidbeam.InvalidArgument, "offsets is given, expected it with index"),
        ({"index": "/nowhere.sidx"}, sidbeam.IOFailure, "/nowhere.sidx"),
        ({"index": 7}, sidbeam.WrongType, "index is int, expected a path"),
        ({"index": "PATH", "offsets": [1, 2]}, sidbeam.InvalidArgument, "offsets"),
        ({"index": "PATH", "offsets": OFFSETS, "rounds": 2}, sidbeam.InvalidArgument, "rounds is given, expected do_s"),
        ({"index": "PATH", "offsets": OFFSETS, "beams": 2}, ValueError, "beams"),
        ({"index": "PATH", "offsets": OFFSETS, "max_new_tokens": 2}, sidbeam.InvalidArgument, "max_new_tokens"),
    ],
)
def test_wrong_arguments(requests, path, given, error, said) -> None:
    given = {name: path if value == "PATH" else value for name, value in given.items()}
    with pytest.raises(error, match=said):
        by_folder(model_of("decoder", VOCAB), requests, **given)
