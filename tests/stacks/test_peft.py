"""sidbeam.Runner on LoRA adapters that PEFT made and saved, against generate() of the model that PEFT merged of them.

Of every kind of adapter that the runner takes; and what it refuses, since PEFT's own results differ with the way that
they are had, or since it is another form of LoRA. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
peft = pytest.importorskip("peft", reason="PEFT is not installed")

import conftest  # noqa: F401
import sidbeam
from test_runner import LEVELS, Case, check_unconstrained, random_model

ATTENTION = ["q_proj", "v_proj"]
EMBEDDING, HEAD = "embed_tokens", "lm_head"
PATTERNS = {"q_proj": 3, "layers.0.self_attn.o_proj": 5, "^model.layers.0.mlp.up_proj": 2, "proj": 7}


def model_of(family: str, tied: bool | None, folder: pathlib.Path):
    """Of random weights, saved to the folder; tied: whether its output layer is the embedding, None: either."""
    for seed in range(20):
        rng, model = random_model(family, seed)
        if tied is None or model.config.tie_word_embeddings == tied:
            model.save_pretrained(folder)
            return rng, type(model).from_pretrained(folder, attn_implementation="eager").eval()
    raise AssertionError("no such model")


def save_adapter(model, folder: pathlib.Path, options: dict[str, Any]) -> None:
    """One whose tensors are large enough to change every beam. Changes the model."""
    torch.manual_seed(5)
    adapted = peft.get_peft_model(model, peft.LoraConfig(**options))
    with torch.no_grad():
        for parameter in adapted.parameters():
            if parameter.requires_grad:
                parameter.add_(0.15 * torch.randn(parameter.shape))
    adapted.save_pretrained(folder)


class Adapted(Case):
    def __init__(self, family: str, tied: bool | None, options: dict[str, Any], folder: pathlib.Path) -> None:
        base, adapter = folder / "base", folder / "adapter"
        self.rng, model = model_of(family, tied, base)
        save_adapter(model, adapter, options)
        plain = type(model).from_pretrained(base, attn_implementation="eager").eval()
        self.vocab = plain.config.vocab_size
        self.history = [self.rng.randrange(self.vocab) for _ in range(9)]
        self.beams = 7
        tokens = [self.rng.randrange(self.vocab) for _ in range(LEVELS)]
        self.model = plain
        before = self.logits(tokens)
        live = peft.PeftModel.from_pretrained(plain, adapter).eval()
        self.model = live
        beside = self.logits(tokens)
        self.model = live.merge_and_unload()
        assert (self.logits(tokens) - beside).abs().max() < 1e-3  # PEFT agrees with itself
        assert (before - beside).abs().max() > 0.1
        self.runner_model = sidbeam.Model.open(adapter, base=base)


# family, tied, options
TAKEN: dict[str, tuple[str, bool | None, dict[str, Any]]] = {
    "default": ("llama", None, {"target_modules": ATTENTION}),
    "all-linear": ("llama", None, {"target_modules": "all-linear", "r": 3, "lora_alpha": 5}),
    "expression": ("llama", None, {"target_modules": r".*layers\.0.*(gate|up|down)_proj"}),
    "mistral": ("mistral", None, {"target_modules": ["k_proj", "o_proj", "down_proj"], "r": 1}),
    "qwen2": ("qwen2", None, {"target_modules": ATTENTION, "layers_to_transform": [0]}),
    "qwen3": ("qwen3", None, {"target_modules": ATTENTION + ["gate_proj"], "modules_to_save": ["q_norm"]}),
    "phi3": ("phi3", None, {"target_modules": ["qkv_proj", "gate_up_proj", "o_proj", "down_proj"], "r": 3}),
    "t5": ("t5", None, {"target_modules": ["q", "v", "wo"], "r": 2}),
    "mt5": ("mt5", None, {"target_modules": ["k", "o"], "modules_to_save": ["lm_head"]}),
    "umt5": ("umt5", None, {"target_modules": ["q", "relative_attention_bias"]}),
    "rslora": ("llama", None, {"target_modules": ATTENTION, "r": 5, "use_rslora": True}),
    "rank_pattern": ("llama", None, {"target_modules": "all-linear", "rank_pattern": PATTERNS}),
    "alpha_pattern": ("llama", None, {"target_modules": "all-linear", "alpha_pattern": PATTERNS}),
    "patterns": (
        "llama",
        None,
        {"target_modules": "all-linear", "rank_pattern": PATTERNS, "alpha_pattern": {"up_proj": 9}, "use_rslora": True},
    ),
    "fan_in_fan_out": ("llama", None, {"target_modules": ATTENTION, "fan_in_fan_out": True}),
    "bias-all": ("qwen2", None, {"target_modules": ["q_proj"], "bias": "all"}),
    "bias-lora_only": ("qwen2", None, {"target_modules": ["q_proj"], "bias": "lora_only"}),
    "target_parameters": ("llama", None, {"target_parameters": ["self_attn.o_proj.weight"]}),
    "modules_to_save": ("llama", None, {"target_modules": ATTENTION, "modules_to_save": ["mlp", "norm"]}),
    "save-head": ("llama", True, {"target_modules": ATTENTION, "modules_to_save": [HEAD]}),
    "save-both": ("llama", True, {"target_modules": ATTENTION, "modules_to_save": [EMBEDDING, HEAD]}),
    "save-tied": (
        "llama",
        True,
        {"target_modules": ATTENTION, "modules_to_save": [EMBEDDING], "ensure_weight_tying": True},
    ),
    "save-embedding": ("llama", False, {"target_modules": ATTENTION, "modules_to_save": [EMBEDDING]}),
    "embedding": ("llama", False, {"target_modules": ATTENTION + [EMBEDDING], "r": 2, "alpha_pattern": {EMBEDDING: 3}}),
    "head": ("llama", False, {"target_modules": ATTENTION + [HEAD]}),
    "both": ("llama", False, {"target_modules": [EMBEDDING, HEAD]}),
    **{
        f"init-{way}": ("llama", None, {"target_modules": ATTENTION, "r": 2, "init_lora_weights": way})
        for way in ("gaussian", "orthogonal", "mica")
    },
}


@pytest.mark.parametrize("name", TAKEN)
def test_adapters_are_merged_as_by_peft(name: str, tmp_path) -> None:
    check_unconstrained(Adapted(*TAKEN[name], tmp_path))


# family, tied, options, what the refusal says
TIED = ("is the same tensor as", "(tied), expected one that changes neither")
OF_T5 = ("is the same tensor as the other embeddings of a T5",)
REFUSED: dict[str, tuple[str, bool | None, dict[str, Any], tuple[str, ...]]] = {
    "tied-embedding": ("llama", True, {"target_modules": [EMBEDDING]}, TIED),
    "tied-head": ("llama", True, {"target_modules": [HEAD]}, TIED),
    "tied-both": ("llama", True, {"target_modules": [EMBEDDING], "ensure_weight_tying": True}, TIED),
    "tied-save": ("llama", True, {"target_modules": ATTENTION, "modules_to_save": [EMBEDDING]}, TIED),
    "t5-shared": ("t5", None, {"target_modules": ["q", "shared"]}, OF_T5),
    "t5-save-shared": ("t5", None, {"target_modules": ["q"], "modules_to_save": ["shared"]}, OF_T5),
    "t5-save-embeddings": ("t5", None, {"target_modules": ["q"], "modules_to_save": [EMBEDDING]}, OF_T5),
    "expressions": (
        "llama",
        None,
        {"target_modules": ATTENTION, "alpha_pattern": {r"layers\.\d+\.self_attn\.q_proj": 3}},
        ("alpha_pattern the regular expression 'layers", "merge the adapter with PEFT"),
    ),
    **{
        name: ("qwen2", None, {"target_modules": ["q_proj"], **options}, (next(iter(options)), "merge the adapter"))
        for name, options in {
            "dora": {"use_dora": True},
            "lora_bias": {"lora_bias": True},
            "tokens": {"trainable_token_indices": [1, 2]},
            "replication": {"layer_replication": [[0, 1], [0, 1]]},
            "pissa": {"init_lora_weights": "pissa"},
            "olora": {"init_lora_weights": "olora"},
        }.items()
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_adapters_are_refused(name: str, tmp_path) -> None:
    family, tied, options, phrases = REFUSED[name]
    _, model = model_of(family, tied, tmp_path / "base")
    save_adapter(model, tmp_path / "adapter", options)
    with pytest.raises(sidbeam.Unsupported) as refusal:
        sidbeam.Model.open(tmp_path / "adapter", base=tmp_path / "base")
    for phrase in phrases:
        assert phrase in str(refusal.value)


# Every field of LoraConfig: what of it is honoured (TAKEN), a value that is refused, or why it does nothing here.
HONOURED = "r lora_alpha use_rslora rank_pattern alpha_pattern base_model_name_or_path".split()
REFUSED_VALUES: dict[str, Any] = {
    "peft_type": "LOHA",
    "init_lora_weights": "loftq",
    "use_dora": True,
    "lora_bias": True,
    "use_qalora": True,
    "trainable_token_indices": [1],
    "alora_invocation_tokens": [1],
    "layer_replication": [[0, 1]],
    **{name: {"a": 1} for name in ("velora_config", "monteclora_config", "use_bdlora", "arrow_config", "kasa_config")},
}
WITHOUT_EFFECT = {
    **dict.fromkeys(["task_type", "auto_mapping", "peft_version", "revision", "inference_mode"], "about the file"),
    **dict.fromkeys(["lora_dropout", "runtime_config"], "of training"),
    **dict.fromkeys(["target_modules", "exclude_modules", "target_parameters", "layers_pattern"], "the tensors say"),
    **dict.fromkeys(["layers_to_transform", "modules_to_save", "bias", "ensure_weight_tying"], "the tensors say"),
    **dict.fromkeys(["fan_in_fan_out", "megatron_config", "megatron_core"], "of other layers, or parallel ones"),
    **dict.fromkeys(["eva_config", "corda_config", "lora_ga_config", "loftq_config"], "of init_lora_weights"),
    "qalora_group_size": "of use_qalora",
}


def test_every_field_of_the_config_has_a_place(tmp_path) -> None:
    fields = [field.name for field in dataclasses.fields(peft.LoraConfig)]
    assert sorted([*HONOURED, *REFUSED_VALUES, *WITHOUT_EFFECT]) == sorted(fields)
    _, model = model_of("llama", None, tmp_path / "base")
    save_adapter(model, tmp_path / "adapter", {"target_modules": ATTENTION})
    path = tmp_path / "adapter/adapter_config.json"
    config = json.loads(path.read_text())
    sidbeam.Model.open(tmp_path / "adapter", base=tmp_path / "base")
    for name, value in REFUSED_VALUES.items():
        path.write_text(json.dumps(config | {name: value}))
        with pytest.raises(sidbeam.Unsupported, match=name):
            sidbeam.Model.open(tmp_path / "adapter", base=tmp_path / "base")
