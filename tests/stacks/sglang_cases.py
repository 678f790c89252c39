"""What the tests of sidbeam.sglang share: SGLang's own beam search, imported from the real package: its plugin loader
and hooks, BeamCoordinator, BeamGroup, joint_select, the remapping of KV rows. What surrounds that in a scheduler
(pools, batches, requests, five modules that would import kernels) is written below; a model's logits are a function of
the tokens that a row's KV slots hold, so that a beam with a wrong history gets wrong scores.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from serving_cases import CATALOGUES, COLUMNS, install_entry_points, name_catalogues

torch = pytest.importorskip("torch")
if importlib.util.find_spec("sglang") is None:
    pytest.skip("sglang is not installed", allow_module_level=True)
FIXED = [name for name in CATALOGUES if name != "variable"]
SLOTS, LENGTH = 256, 32


def module(name, **members):
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(members)


def bare(name, folder):
    """The package without what its __init__ imports."""
    module(name, __path__=[str(folder)])


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory):
    install_entry_points(tmp_path_factory.mktemp("site"))
    name_catalogues()
    home = pathlib.Path(importlib.util.find_spec("sglang").submodule_search_locations[0])
    for name in ("sglang", "sglang.srt", "sglang.srt.managers", "sglang.srt.layers", "sglang.srt.sampling"):
        bare(name, home.joinpath(*name.split(".")[1:]))
    nothing = lambda: SimpleNamespace(  # noqa: E731
        disaggregation_mode="null",
        page_size=1,
        enable_hisparse=False,
        pp_size=1,
        tp_size=1,
        enable_hierarchical_cache=False,
    )
    module(
        "sglang.srt.runtime_context",
        **dict.fromkeys(("get_disagg", "get_memory", "get_parallel", "get_schedule"), nothing),
    )
    module("sglang.srt.layers.dp_attention", is_dp_attention_enabled=lambda: False)
    module("sglang.srt.managers.overlap_utils", FutureMap=object, RelayPayload=SimpleNamespace)
    reason = lambda kind: lambda *a, **k: SimpleNamespace(kind=kind, given=(*a, *k.values()))  # noqa: E731
    finishes = {name: reason(name) for name in ("FINISH_ABORT", "FINISH_LENGTH", "FINISH_MATCHED_TOKEN")}
    module("sglang.srt.managers.schedule_batch", Req=object, ScheduleBatch=object, **finishes)
    module("sglang.srt.managers.scheduler", Scheduler=Scheduler)
    importlib.import_module("sglang.srt.plugins").load_plugins()


class Scheduler:
    def init_beam_coordinator(self):
        self.beam_coordinator = Engine(model_of(0)).coordinator


class Engine:
    """One scheduler: requests are admitted, prefilled and decoded in one batch, all at their own step."""

    def __init__(self, model, dtype=None):
        from sglang.srt.beam_search import coordinator

        self.model, self.dtype = model, dtype or torch.float32
        self.pool = SimpleNamespace(
            device="cpu", size=SLOTS, req_to_token=torch.zeros(SLOTS, LENGTH, dtype=torch.int64)
        )
        self.free = list(range(SLOTS))
        self.pool.alloc_rows = lambda n: [self.free.pop(0) for _ in range(n)]
        self.pool.free_rows = lambda rows: self.free.__setitem__(slice(0, 0), rows)
        self.pool.available_size = lambda: len(self.free)
        self.next_token = torch.zeros(SLOTS, dtype=torch.int64)
        self.kv_tokens, self.tick, self.done = [], 0, {}
        off = SimpleNamespace(is_none=lambda: True, supports_swa=lambda: False, supports_mamba=lambda: False)
        stash = lambda rows, payload: self.next_token.__setitem__(rows, payload.bonus_tokens)  # noqa: E731
        self.coordinator = coordinator.BeamCoordinator(
            model_config=SimpleNamespace(is_encoder_decoder=False, vocab_size=COLUMNS),
            spec_algorithm=off,
            dllm_enabled=False,
            max_req_len=LENGTH,
            req_to_token_pool=self.pool,
            token_to_kv_pool_allocator=SimpleNamespace(free=lambda slots: None),
            tree_cache=off,
            future_map=SimpleNamespace(stash=stash),
        )

    def write(self, row, at, token):
        self.kv_tokens.append(int(token))
        self.pool.req_to_token[row, at] = len(self.kv_tokens) - 1

    def logits(self, rows, length):
        histories = [[self.kv_tokens[s] for s in self.pool.req_to_token[row, :length].tolist()] for row in rows]
        return torch.stack([torch.from_numpy(self.model(tuple(h))) for h in histories]).to(self.dtype)

    def admit(self, name, prompt, width, custom=None, max_new_tokens=3):
        from sglang.srt.sampling.sampling_params import SamplingParams

        params = SamplingParams(max_new_tokens=max_new_tokens, beam_width=width, ignore_eos=True, custom_params=custom)
        params.stop_strs, params.stop_regex_strs = [], []
        req = SimpleNamespace(rid=name, sampling_params=params, session_id=None, lora_id=None, origin_input_ids=prompt,
                              eos_token_ids=None, tokenizer=None, to_finish=None, is_retracted=False, output_ids=[],
                              beam_group=None, finished_reason=None)  # fmt: skip
        req.finished = lambda: req.finished_reason is not None
        returned = ("return_logprob", "return_hidden_states", "return_sampling_mask", "return_routed_experts")
        recv = SimpleNamespace(session_params=None, **dict.fromkeys(returned, False))
        error = self.coordinator.validate_and_init(req, recv)
        if error is None:
            row = self.free.pop(0)
            req.kv = SimpleNamespace(req_pool_idx=row, kv_committed_len=len(prompt), kv_allocated_len=len(prompt))
            for at, token in enumerate(prompt):
                self.write(row, at, token)
        return error or req

    def prefill(self, reqs):
        from sglang.srt.beam_search.logits_capture import BeamLogitsCapture

        rows = [self.logits([req.kv.req_pool_idx], len(req.origin_input_ids)) for req in reqs]
        self._relay(reqs, BeamLogitsCapture(torch.cat(rows), leader_rows=list(range(len(reqs)))), False)
        for req in reqs:
            self.coordinator.commit_prefill(req)
        self._collect(reqs)

    def decode(self, reqs):
        from sglang.srt.beam_search.batch_tail import BeamTail, BeamTailEntry
        from sglang.srt.beam_search.logits_capture import BeamLogitsCapture

        leaders, tails, entries, start = [], [], [], 0
        for i, req in enumerate(reqs):
            rows = req.beam_group.all_rows.tolist()
            for row in rows:
                self.write(row, req.kv.kv_committed_len, self.next_token[row])
            req.kv.kv_committed_len += 1
            req.kv.kv_allocated_len += 1
            logits = self.logits(rows, req.kv.kv_committed_len)
            leaders.append(logits[:1])
            tails.append(logits[1:])
            entries.append(BeamTailEntry(req.beam_group, i, start, start := start + len(rows) - 1))
        capture = BeamLogitsCapture(torch.cat(leaders), tail_logits=torch.cat(tails))
        self._relay(reqs, capture, True, BeamTail(len(reqs), entries))
        self.coordinator.commit_decode(SimpleNamespace(reqs=reqs, forward_iter=self.tick))
        self._collect(reqs)

    def _relay(self, reqs, capture, decoding, tail=None):
        self.tick += 1
        mode = SimpleNamespace(is_decode=lambda: decoding, is_extend=lambda: not decoding)
        output = SimpleNamespace(next_token_logits=capture.leader_logits, beam=capture)
        none = SimpleNamespace(is_none=lambda: True)
        batch = SimpleNamespace(
            reqs=reqs, forward_mode=mode, forward_iter=self.tick, beam_tail=tail, spec_algorithm=none
        )
        self.coordinator.maybe_select_and_relay(batch, SimpleNamespace(logits_output=output))

    def _collect(self, reqs):
        for req in reqs:
            if req.finished():
                self.done[req.rid] = [(tuple(r.tokens), r.cum_logprob) for r in req.beam_group.final_results]
                self.free.insert(0, req.kv.req_pool_idx)

    def run(self, reqs):
        self.prefill(reqs)
        while live := [req for req in reqs if not req.finished()]:
            self.decode(live)
        return [self.done[req.rid] for req in reqs]


def model_of(seed, impossible=()):
    """Random numbers that depend on the whole history."""

    def model(history):
        row = np.random.default_rng([seed, *history]).normal(size=COLUMNS, scale=2).astype(np.float32)
        row[list(impossible)] = -np.inf
        return row

    return model


def search(model, sids, prompt, width, levels):
    """Exact beam search over a set of SIDs, in float64; sids None: over all tokens."""
    beams = [((), 0.0)]
    for level in range(levels):
        found = []
        for said, score in beams:
            row = model((*prompt, *said)).astype(np.float64)
            row -= np.log(np.exp(row).sum())
            tokens = range(COLUMNS) if sids is None else {s[level] for s in sids if s[:level] == said}
            found += [((*said, token), score + row[token]) for token in tokens if row[token] > -np.inf]
        beams = sorted(found, key=lambda beam: -beam[1])[:width]
    return beams


def assert_same(results, expected, tolerance=1e-5):
    assert [tokens for tokens, _ in results] == [tokens for tokens, _ in expected]
    np.testing.assert_allclose([s for _, s in results], [s for _, s in expected], rtol=tolerance, atol=tolerance)
