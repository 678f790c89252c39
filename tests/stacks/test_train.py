"""samples/train: what a decoder learns from is what it writes by, the same seed gives the same file, and transformers
opens it. A made-up catalogue of 60 items in which item i is followed by i + 1.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples/train"))

import data
import evaluate
import export
import model
import nezha
import train
import train_cases
import walks

CODES = 8
FORMS = ["a", "b", "n"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> data.Dataset:
    return data.read(train_cases.write(tmp_path_factory.mktemp("data"), CODES), CODES)


def shape(form: str) -> model.Shape:
    return model.Shape(3, CODES, form, hidden=16, layers=2, heads=2, ffn=24)


def decoder(dataset: data.Dataset, form: str) -> model.Decoder:
    torch.manual_seed(5)
    made = nezha.decoder_of(shape(form)).with_sids(dataset.sids).eval()
    for weight in made.parameters():  # far from zero, so that what is compared differs between inputs
        torch.nn.init.normal_(weight, std=0.3)
    return made


def test_windows_of_a_user_make_one_sequence(dataset: data.Dataset) -> None:
    merged = data.sequences(dataset.train)
    assert len(merged) == len({query.user for query in dataset.train})
    for sequence in merged:
        assert all((a + 1) % 60 == b for a, b in zip(sequence, sequence[1:]))
    assert max(map(len, merged)) > max(len(query.history) for query in dataset.train)


@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def test_learning_and_searching_see_the_same(dataset: data.Dataset, form: str) -> None:
    """Logits of one pass over all prefixes are those of a prefill and of decoding on it."""
    made, items = decoder(dataset, form), torch.tensor([[3, 14, 15, 9], [2, 6, 53, 58]])
    passes = made(items)
    for seen in range(1, 4):
        logits, state = made.prefill(items[:, :seen])
        codes = dataset.sids[items[:, seen].numpy()]
        for level in range(3):
            torch.testing.assert_close(logits[:, 0], passes[level][:, seen], atol=1e-5, rtol=1e-5)
            if level < 2:
                one = torch.from_numpy(codes[:, level : level + 1])
                logits, state = made.decode(one, torch.zeros_like(one), state)


@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def test_beams_keep_their_own_past(dataset: data.Dataset, form: str) -> None:
    made, history = decoder(dataset, form), torch.tensor([[3, 14, 15]])
    codes, parents = torch.tensor([[[1, 2, 5]], [[7, 0, 3]]]), torch.tensor([[[0, 0, 0]], [[2, 0, 2]]])
    _, state = made.prefill(history)
    _, state = made.decode(codes[0], parents[0], state)
    logits, _ = made.decode(codes[1], parents[1], state)
    for beam in range(3):
        _, alone = made.prefill(history)
        zero = torch.zeros(1, 1, dtype=torch.int64)
        _, alone = made.decode(codes[0][:, parents[1, 0, beam], None], zero, alone)
        expected, _ = made.decode(codes[1][:, beam, None], zero, alone)
        torch.testing.assert_close(logits[:, beam], expected[:, 0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def test_an_item_that_is_lost_changes_nothing_before_it(dataset: data.Dataset, form: str) -> None:
    made, items = decoder(dataset, form), torch.tensor([[3, 14, 15, 9]])
    lost = torch.tensor([[False, False, True, False]])
    for level, (whole, without) in enumerate(zip(made(items), made(items, lost))):
        torch.testing.assert_close(whole[:, :2], without[:, :2])
        assert not torch.allclose(whole[:, 3], without[:, 3]), level


@pytest.mark.parametrize("form", FORMS)
def test_training_learns_and_repeats_itself(dataset: data.Dataset, form: str, tmp_path: pathlib.Path) -> None:
    recipe = train.Recipe(epochs=12, batch=16, warmup=10, average=0.95, rate=1e-2, dropout=0.05, smoothing=0.01)
    files, losses = [], []
    for run in range(2):
        made = train.train(dataset, shape(form), recipe, 3, lambda line: losses.append(float(line.split()[-1])))
        export.save(made, tmp_path / str(run))
        files.append([path.read_bytes() for path in sorted((tmp_path / str(run)).glob("*.safetensors"))])
    assert files[0] == files[1]
    assert losses[11] < 0.8 * losses[0]
    other = train.train(dataset, shape(form), train.Recipe(epochs=1, batch=16), 4)
    export.save(other, tmp_path / "other")
    assert (tmp_path / "other/model.safetensors").read_bytes() != files[0][-1]
    figures = evaluate.evaluate(dataset, walks.Transitions(dataset), export.load(tmp_path / "0", dataset), beams=20)
    assert figures["decoder"].recall > 0.5  # chance: 1/6


def test_a_head_is_trained_on_a_decoder_that_stays_as_it_is(dataset: data.Dataset, tmp_path: pathlib.Path) -> None:
    recipe = train.Recipe(epochs=5, batch=16, warmup=10, average=0.95, rate=1e-2, dropout=0.05, smoothing=0.01)
    backbone, losses = train.train(dataset, shape("b"), recipe, 3), []
    export.save(backbone, tmp_path / "b")
    backbone = export.load(tmp_path / "b", dataset)
    made = train.train(
        dataset, shape("n"), recipe, 3, lambda line: losses.append(float(line.split()[-1])), backbone=backbone)
    export.save(made, tmp_path / "n")
    before, after = (load_file(tmp_path / form / "model.safetensors") for form in "bn")
    table = after.pop("model.embed_tokens.weight")
    torch.testing.assert_close(table[: made.shape.begin + 1], before.pop("model.embed_tokens.weight"), atol=0, rtol=0)
    assert table[made.shape.begin + 1 :].abs().max() > 0.1  # of the placeholders, which began at 0.02
    assert before.keys() == after.keys()
    for name, weight in before.items():
        torch.testing.assert_close(after[name], weight, atol=0, rtol=0)
    assert losses[-1] < losses[0] - 0.2
    figures = evaluate.evaluate(dataset, walks.Transitions(dataset), export.load(tmp_path / "n", dataset), beams=20)
    assert figures["decoder"].recall > 0.5  # chance: 1/6
    with pytest.raises(ValueError, match="the backbone is of form a, expected b or n"):
        train.train(dataset, shape("n"), recipe, 3, backbone=decoder(dataset, "a"))


@pytest.mark.parametrize("form", ["a", "b"])
@torch.no_grad()
def test_transformers_opens_what_is_written(dataset: data.Dataset, form: str, tmp_path: pathlib.Path) -> None:
    from transformers import LlamaForCausalLM

    made = decoder(dataset, form)
    export.save(made, tmp_path)
    read = export.load(tmp_path, dataset)  # rounded to f16
    theirs = LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    assert sum(weight.numel() for weight in theirs.parameters()) == sum(weight.numel() for weight in made.parameters())
    items = torch.tensor([[3, 14, 15, 9], [2, 6, 53, 58]])
    prompt = read.prompt(items)
    written = torch.tensor([[5], [1]])
    logits, state = read.prefill(items)
    following, _ = read.decode(written, torch.zeros_like(written), state)
    embedded = torch.cat([read.embed(prompt), read.embed(read.alone(written))], 1)
    outputs = theirs(inputs_embeds=embedded).logits
    torch.testing.assert_close(outputs[:, -2, :CODES], logits[:, 0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(outputs[:, -1, CODES : 2 * CODES], following[:, 0], atol=1e-5, rtol=1e-5)
    if form == "a":
        tokens = torch.cat([prompt[..., 0], written], 1)
        torch.testing.assert_close(theirs(input_ids=tokens).logits, outputs, atol=1e-5, rtol=1e-5)


def test_search_is_exact_where_nothing_is_cut(dataset: data.Dataset) -> None:
    """The transition model's search finds the SIDs in the order of their weights."""
    trie, transitions = evaluate.Trie(dataset.sids, CODES), walks.Transitions(dataset)
    history = [3, 4, 5]
    weights = transitions.weigh(history)
    assert weights.sum() == pytest.approx(1)
    found = evaluate.search(trie, 60, None, torch.tensor([history]), trie.masses(weights[None]), 0.0)
    assert sorted(found[0].tolist()) == list(range(60))
    np.testing.assert_allclose(weights[found[0].numpy()], np.sort(weights)[::-1])
    assert found[0, 0] == 6
