"""NEZHA's head from PyTorch to C++: what PyTorch decodes from hidden states is what the library decodes from the same
ones, by the file that sidbeam.draft wrote of the modules. The heads are those of samples/train.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples/train"
sys.path.insert(0, str(SAMPLES))

import data
import evaluate
import export
import model
import nezha
import sidbeam
from sidbeam import draft

CODES, LEVELS, HIDDEN, BEAMS = 16, 3, 24, 12
SETTINGS = [("gru", "both"), ("rnn", "both"), ("add", "both"), ("gru", "state"), ("none", "state"), ("none", "hidden")]


@pytest.fixture(scope="module")
def dataset() -> data.Dataset:
    sids = np.unique(np.random.default_rng(5).integers(0, CODES, (300, LEVELS)), axis=0)
    return data.Dataset("random", sids, CODES, [], [])


@pytest.fixture(scope="module")
def index(dataset: data.Dataset) -> sidbeam.Index:
    return sidbeam.Index.build(dataset.sids, codes=CODES, kinds="trie|hash")


def decoder(dataset: data.Dataset, transition: str, input: str) -> nezha.Nezha:
    torch.manual_seed(5)
    shape = model.Shape(LEVELS, CODES, "n", HIDDEN, 2, 2, 32, input=input, transition=transition)
    made = nezha.decoder_of(shape).with_sids(dataset.sids).eval()
    for weight in made.parameters():  # far from zero, so that beams differ
        torch.nn.init.normal_(weight, std=0.3)
    return made


@torch.no_grad()
def search(made: nezha.Nezha, dataset: data.Dataset, hidden: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """PyTorch's own: numbers of SIDs and their scores [B, beams], best first."""

    class FromHidden:  # what evaluate.search asks of a decoder
        decode = staticmethod(made.decode)
        prefill = staticmethod(made.write_first)

    trie = evaluate.Trie(dataset.sids, CODES)
    found = evaluate.search(trie, BEAMS, FromHidden, hidden, None, 1.0)
    codes = torch.from_numpy(dataset.sids)[found]
    logits, state = made.write_first(hidden)
    scores = torch.zeros(found.shape, dtype=torch.float64)
    for level in range(LEVELS):
        log_probs = torch.log_softmax(logits.double(), -1).expand(*found.shape, -1)
        scores += log_probs.gather(-1, codes[..., level, None]).squeeze(-1)
        if level + 1 < LEVELS:
            parents = torch.arange(found.shape[1]) * (level > 0)  # beams of their own from the first code on
            logits, state = made.decode(codes[..., level], parents.expand(found.shape), state)
    return found.numpy(), scores.numpy()


@pytest.mark.parametrize("transition, input", SETTINGS)
def test_cpp_finds_what_pytorch_finds(dataset, index, tmp_path, transition: str, input: str) -> None:
    made = decoder(dataset, transition, input)
    nezha.write(made, tmp_path / "head.sdraft", codebook="books")
    histories = torch.from_numpy(np.random.default_rng(9).integers(0, len(dataset.sids), (40, 6)))
    with torch.no_grad():
        hidden = made.read(histories)
    numbers, scores = search(made, dataset, hidden)
    head = sidbeam.DraftHead.open(tmp_path / "head.sdraft")
    assert (head.info.transition.name.lower(), head.info.input.name.lower()) == (transition, input)
    assert (head.info.hidden, head.info.codes, head.info.codebook) == (HIDDEN, (CODES,) * LEVELS, "books")
    drafts = sidbeam.DraftDecoder(head, index, beams=BEAMS, requests=40).run(hidden.numpy())
    assert (drafts.live == BEAMS).all()
    np.testing.assert_array_equal(drafts.sids, dataset.sids[numbers])
    np.testing.assert_allclose(drafts.scores, scores, atol=2e-5)
    spread = scores.max() - scores.min()
    assert spread > 1 and len(np.unique(numbers)) > 3 * BEAMS  # there was something to get wrong


def test_modules_are_written_whatever_their_dtype_and_gradients(dataset, index, tmp_path) -> None:
    """nn.Linear, nn.Embedding and nn.GRUCell, in f32, f16 and bf16: the bytes of the file are those of the numbers."""
    made = decoder(dataset, "gru", "both")
    tables = [torch.nn.Embedding(CODES, HIDDEN, _weight=weight.detach().clone()) for weight in made.embeddings()]
    cells = made.head.transitions
    modules = {"heads": made.head.heads, "embeddings": torch.nn.ModuleList(tables), "transitions": cells}
    layers = [torch.nn.GRU(HIDDEN, HIDDEN, batch_first=True) for _ in range(LEVELS - 1)]
    for layer, cell in zip(layers, cells):
        layer.load_state_dict({name + "_l0": weight for name, weight in cell.state_dict().items()})
    for stored, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        draft.write(tmp_path / "of_f32", **modules, dtype=stored)
        rounded = {name: [part.to(dtype) for part in parts] for name, parts in modules.items()}
        draft.write(tmp_path / "of_rounded", **rounded, dtype=stored)
        draft.write(tmp_path / "of_layers", **{**rounded, "transitions": [layer.to(dtype) for layer in layers]},
                    dtype=stored)
        expected = (tmp_path / "of_f32").read_bytes()
        assert (tmp_path / "of_rounded").read_bytes() == (tmp_path / "of_layers").read_bytes() == expected
        for part in (*modules["heads"], *modules["embeddings"], *cells, *layers):
            part.float()


@pytest.mark.parametrize("module, setting", [
    (torch.nn.RNNCell(HIDDEN, HIDDEN, nonlinearity="relu"), "nonlinearity='relu'"),
    (torch.nn.RNN(HIDDEN, HIDDEN, nonlinearity="relu"), "nonlinearity='relu'"),
    (torch.nn.RNN(HIDDEN, HIDDEN, num_layers=2), "num_layers=2"),
    (torch.nn.GRU(HIDDEN, HIDDEN, bidirectional=True), "bidirectional=True"),
])
def test_cells_that_no_head_has_are_refused(tmp_path, module: torch.nn.Module, setting: str) -> None:
    heads = [torch.nn.Linear(2 * HIDDEN, CODES) for _ in range(2)]
    with pytest.raises(sidbeam.InvalidArgument, match=f"a transition has {setting}, expected"):
        draft.write(tmp_path / "head", heads=heads, embeddings=[torch.nn.Embedding(CODES, HIDDEN)],
                    transitions=[module])


def test_the_command_writes_what_the_decoder_is(dataset, index, tmp_path) -> None:
    export.save(decoder(dataset, "gru", "both"), tmp_path)
    read = export.load(tmp_path, dataset)  # rounded to f16
    subprocess.run([sys.executable, SAMPLES / "export.py", tmp_path], check=True)
    hidden = read.read(torch.tensor([[3, 14, 15, 9], [2, 6, 5, 8]])).detach()
    numbers, _ = search(read, dataset, hidden)
    head = sidbeam.DraftHead.open(tmp_path / "head.sdraft")
    assert head.info.dtype == sidbeam.DType.F16
    drafts = sidbeam.DraftDecoder(head, index, beams=BEAMS, requests=2).run(hidden.numpy())
    np.testing.assert_array_equal(drafts.sids, dataset.sids[numbers])
    export.save(nezha.decoder_of(model.Shape(LEVELS, CODES, "a", HIDDEN, 1, 2, 32)), tmp_path / "a")
    refused = subprocess.run([sys.executable, SAMPLES / "export.py", tmp_path / "a"], capture_output=True, text=True)
    assert refused.returncode == 1 and "holds a decoder of form a, expected n: it has no head" in refused.stderr


@torch.no_grad()
def test_transformers_reads_the_backbone(dataset, tmp_path) -> None:
    from transformers import LlamaModel

    export.save(decoder(dataset, "gru", "both"), tmp_path)
    read, theirs = export.load(tmp_path, dataset), LlamaModel.from_pretrained(tmp_path, dtype=torch.float32)
    items = torch.tensor([[3, 14, 15, 9], [2, 6, 53, 58]])
    prompt = torch.cat([read.prompt(items), read.alone(read.placeholders().expand(2, -1))], 1)
    states = theirs(inputs_embeds=read.embed(prompt)).last_hidden_state
    torch.testing.assert_close(states[:, -1 - LEVELS :], read.read(items), atol=1e-5, rtol=1e-5)


def test_a_head_without_a_state_has_no_transition() -> None:
    with pytest.raises(ValueError, match="input 'hidden' has no state: transition is 'rnn', expected 'none'"):
        nezha.Head(model.Shape(LEVELS, CODES, "n", HIDDEN, input="hidden", transition="rnn"))


def test_the_runner_carries_the_head(dataset, index, tmp_path) -> None:
    """The model's folder and the head's file, through `sidbeam run --head` and the Python runner, against PyTorch: the
    prefill and the head in one, from histories of items."""
    made = decoder(dataset, "gru", "both")
    export.save(made, tmp_path)
    read = export.load(tmp_path, dataset)
    nezha.write(read, tmp_path / "head.sdraft", codebook="books")
    sidbeam.Index.build(dataset.sids, codes=CODES, kinds="trie|hash", codebook="books", path=tmp_path / "x.sidx")
    histories = np.random.default_rng(9).integers(0, len(dataset.sids), (30, 6))
    with torch.no_grad():
        numbers, scores = search(read, dataset, read.read(torch.from_numpy(histories)))
    placeholders = read.placeholders().tolist()
    offsets = [level * CODES for level in range(LEVELS)]
    lines = [json.dumps({"history": history}) for history in histories.tolist()]
    (tmp_path / "histories.jsonl").write_text("\n".join(lines))
    command = [
        os.environ["SIDBEAM_COMMAND"], "run", tmp_path, tmp_path / "x.sidx", "--input", tmp_path / "histories.jsonl",
        "--beams", str(BEAMS), "--group", str(LEVELS), "--json", "--head", tmp_path / "head.sdraft", "--placeholders",
        ",".join(map(str, placeholders)), "--offsets", ",".join(map(str, offsets)), "--start-tokens",
        ",".join(map(str, [read.shape.begin] + [-1] * (LEVELS - 1)))]
    for verify in ("trie", "hash"):
        found = json.loads(subprocess.run([*command, "--verify", verify], check=True, capture_output=True).stdout)
        for request, wanted, of in zip(found["requests"], numbers, scores, strict=True):
            sids, values = [beam["sid"] for beam in request["beams"]], [beam["score"] for beam in request["beams"]]
            if verify == "trie":
                assert sids == dataset.sids[wanted].tolist()
                np.testing.assert_allclose(values, of, atol=5e-5)
            else:  # fewer may come, and those that do are items
                assert sids and {tuple(sid) for sid in sids} <= {tuple(sid) for sid in dataset.sids.tolist()}
    with sidbeam.Runner(sidbeam.Model.open(tmp_path), index, beams=BEAMS, max_group=LEVELS, placeholders=placeholders,
                        head=sidbeam.DraftHead.open(tmp_path / "head.sdraft")) as runner:
        prompts = read.prompt(torch.from_numpy(histories)).numpy().astype(np.int32)
        for result, wanted in zip([future.result() for future in map(runner.submit, prompts)], numbers, strict=True):
            np.testing.assert_array_equal(result.sids, dataset.sids[wanted])
