"""What the tests of sidbeam.vllm share: vLLM's own machinery, imported from the real package: its loaders, V1's
InputBatch (which adds, removes, condenses and swaps rows), the newer runner's RequestState and LogitsContext. No GPU,
no engine: of the newer runner, pinned buffers are those that vLLM's CPU worker puts there itself, the one Triton kernel
that writes token histories is written in Python below; a model's logits are random. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from serving_cases import CATALOGUES, COLUMNS, allowed_after, assert_row, install_entry_points, name_catalogues

torch = pytest.importorskip("torch")
pytest.importorskip("vllm", exc_type=ImportError)
import vllm.utils.torch_utils

vllm.utils.torch_utils.PIN_MEMORY = False  # before anybody copies it: there is no driver that could pin
from vllm.sampling_params import SamplingParams
from vllm.v1.sample.logits_processor import build_logitsprocs, validate_logits_processors_parameters
from vllm.v1.worker.gpu import buffer_utils, states
from vllm.v1.worker.gpu.sample.logits_processor import (
    LogitsContext,
    build_custom_logits_processors,
    build_custom_logits_processors_params_validator,
)
from vllm.v1.worker.gpu_input_batch import CachedRequestState, InputBatch

SLOTS, LENGTH = 6, 64
CHOICES = [None, *(name + tag for name in CATALOGUES for tag in ("", "-tagged"))]
CONFIG = SimpleNamespace(
    speculative_config=None,
    parallel_config=SimpleNamespace(tensor_parallel_size=1),
    scheduler_config=SimpleNamespace(max_num_seqs=SLOTS, max_num_batched_tokens=64),
    model_config=SimpleNamespace(get_vocab_size=lambda: COLUMNS),
)


class _WriteKernel:
    """buffer_utils._apply_write_kernel for memory of the CPU."""

    def __getitem__(self, grid):
        def write(out, stride, indices, starts, contents, ends, groups, **_):
            flat, begin = out.view(-1), 0
            for index, start, end in zip(indices.tolist(), starts.tolist(), ends.tolist()):
                at = index * stride + start
                flat[at : at + end - begin] = contents[begin:end]
                begin = end

        return write


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory):
    from vllm.v1.worker.cpu.buffer_utils import UvaBuffer

    install_entry_points(tmp_path_factory.mktemp("site"))
    name_catalogues()
    buffer_utils.UvaBuffer, buffer_utils.is_uva_available = UvaBuffer, lambda: True
    buffer_utils._apply_write_kernel = _WriteKernel()
    buffer_utils.async_tensor_h2d = lambda data, device, dtype: torch.tensor(data, dtype=dtype)


def params(choice=None, extra=None, **more):
    asked = {**({} if choice is None else {"sidbeam": choice}), **(extra or {})}
    return SamplingParams(max_tokens=32, extra_args=asked or None, **more)


class Request:
    """`kept`: the items that its rules leave."""

    def __init__(self, number, choice, prompt, kept=None, **more):
        self.name, self.choice, self.prompt, self.output = f"r{number}", choice, list(prompt), []
        self.kept, self.params = kept, params(choice, **more)

    def check(self, before, after):
        history = self.prompt + self.output
        assert_row(before.numpy(), after.numpy(), allowed_after(self.choice, history, len(self.prompt), self.kept))


class V1:
    """Rows of the persistent batch, as GPUModelRunner keeps it."""

    def __init__(self):
        processors = build_logitsprocs(CONFIG, torch.device("cpu"), False, False, ())
        self.processors = processors.non_argmax_invariant
        self.batch = InputBatch(SLOTS, LENGTH, 64, torch.device("cpu"), COLUMNS, [16], [4], logitsprocs=processors)
        self.requests = {}

    def add(self, request):
        self.requests[request.name] = request
        state = CachedRequestState(
            request.name, request.prompt, [], request.params, None, ([0],), 0, request.output
        )
        self.batch.add_request(state)

    def remove(self, request):
        del self.requests[request.name]
        self.batch.remove_request(request.name)

    @torch.inference_mode()
    def step(self, logits, rng):
        self.batch.condense()
        if len(self.requests) > 1:
            self.batch.swap_states(*(int(i) for i in rng.choice(len(self.requests), 2, replace=False)))
        self.batch.refresh_metadata()
        for processor in self.processors:
            logits = processor.apply(logits)
        return [self.requests[name] for name in self.batch.req_ids], logits

    def told(self, request, token):
        request.output.append(token)


class V2:
    """Slots of the newer runner; rows in any order."""

    def __init__(self):
        self.states = states.RequestState(SLOTS, LENGTH, 64, 2, COLUMNS, torch.device("cpu"))
        self.processors = build_custom_logits_processors(CONFIG, self.states, False, ())
        self.requests = {}

    def add(self, request):
        self.requests[request.name] = request
        self.states.add_request(request.name, len(request.prompt), request.prompt + request.output, 0, 32)
        slot = self.states.req_id_to_index[request.name]
        self.modified = [processor.add_request(slot, request.params) for processor in self.processors]
        self.states.apply_staged_writes()

    def remove(self, request):
        del self.requests[request.name]
        self.states.remove_request(request.name)

    @torch.inference_mode()
    def step(self, logits, rng, drafts=None):
        """Drafts: {request: tokens}; a request then has a row before each of them and one after the last."""
        order = [self.requests[name] for name in rng.permutation(sorted(self.requests))]
        slot_of = {request: self.states.req_id_to_index[request.name] for request in order}
        rows = [(r, local) for r in order for local in range(1 + len((drafts or {}).get(r, ())))]
        slots = torch.tensor([slot_of[request] for request in order], dtype=torch.int32)
        full = {request: request.prompt + request.output for request in order}
        ids = [
            (full[request] + (drafts or {}).get(request, []))[: len(full[request]) + local] for request, local in rows
        ]
        context = LogitsContext(
            expanded_idx_mapping=torch.tensor([slot_of[request] for request, _ in rows], dtype=torch.int32),
            idx_mapping=slots,
            idx_mapping_np=slots.numpy(),
            expanded_local_pos=torch.tensor([local for _, local in rows], dtype=torch.int32),
            input_ids=torch.tensor([history[-1] for history in ids], dtype=torch.int32),
            pos=torch.tensor([len(history) - 1 for history in ids], dtype=torch.int64),
            seq_lens_upper_bound_np=np.array([len(full[request]) for request in order]),
        )
        for processor in self.processors:
            processor.apply_staged_writes()
        for processor in self.processors:
            logits = processor.apply(logits, context)
        return [request for request, _ in rows], logits

    def told(self, request, token):
        slot = self.states.req_id_to_index[request.name]
        self.states.all_token_ids.stage_write(slot, len(request.prompt + request.output), [token])
        request.output.append(token)
        self.states.total_len.stage_write_elem(slot, len(request.prompt + request.output))
        self.states.apply_staged_writes()


runners = pytest.mark.parametrize("Runner", [V1, V2])


def logits_of(rng, rows):
    return torch.from_numpy(rng.normal(size=(rows, COLUMNS)).astype(np.float32))


def one_step(Runner, request, before):
    runner = Runner()
    runner.add(request)
    return runner.step(before.clone(), np.random.default_rng(0))[1]


def validators():
    """Both runners' checks of a request's parameters, when it comes."""
    return [
        build_custom_logits_processors_params_validator(None),
        lambda p: validate_logits_processors_parameters(None, p),
    ]
