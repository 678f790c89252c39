"""What the loops of :mod:`sidbeam.transformers` do with each field of GenerationConfig and each argument of generate().

The tables decide what is refused, and the documentation of the loops is drawn from them. A test reads both of
transformers and fails on a name that is missing here. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import enum
import inspect
import reprlib
import sys
import textwrap
from types import FrameType
from typing import Any, Callable, Mapping, NamedTuple, Optional, TypeVar

import transformers

from .errors import InvalidArgument


class Kind(enum.Enum):
    HONOURED = "Honoured"
    NO_EFFECT = "Without effect"
    REFUSED = "Refused"


class Rule(NamedTuple):
    kind: Kind
    text: str = ""  #: how it is honoured, why it has no effect, or what to do instead
    harmless: tuple[Any, ...] = ()  #: values that are not refused, beside None, False and 0


def honoured(text: str = "") -> Rule:
    return Rule(Kind.HONOURED, text)


def no_effect(text: str) -> Rule:
    return Rule(Kind.NO_EFFECT, text)


def refused(text: str, *harmless: Any) -> Rule:
    return Rule(Kind.REFUSED, text, harmless)


_ROOM = honoured("has to leave room for a SID, with which the search ends")
_LEAST = honoured("as a processor, which keeps eos_token_id from ending a SID of variable length earlier")
_NEGATIVE = honoured("for guidance_scale; a row per beam, as generate() wants them")
_PROCESSOR = honoured("as a processor of generate()")
_ASSISTED = refused("generate() speculates in greedy decoding and sampling alone; leave it out")
_OF_ASSISTANT = no_effect("a setting of assisted decoding, which is refused")
_OF_DRAWS = no_effect("generate() applies it to draws alone")
_OF_STATIC = no_effect("for static caches, which are refused")
_COMPILED = no_effect("generate() compiles with static caches alone, which are refused")
_GROUPS = "a search over SIDs has no groups; SidSampler draws varied SIDs"
_FORCED = "a search over SIDs takes no other constraint; allow=[..] of generate() names the items that may come"
_GREEDY = "it is for greedy decoding; leave it out"
_TOKENIZER = "generate() gives a loop of the caller's no tokenizer"

#: of SidBeamSearch
SEARCH: dict[str, Rule] = {
    "max_length": _ROOM,
    "max_new_tokens": _ROOM,
    "min_length": _LEAST,
    "min_new_tokens": _LEAST,
    "early_stopping": no_effect("it lets generate() give up on better beams; the search is exact"),
    "max_time": refused("a search is one pass per level and cannot stop within a SID; bound the time of the caller"),
    "stop_strings": refused(f"a SID ends by its catalogue, and {_TOKENIZER}"),
    "do_sample": refused("this is a beam search; SidSampler draws"),
    "num_beams": honoured(),
    "use_mtp": _ASSISTED,
    "use_cache": honoured(),
    "cache_implementation": refused(
        "the cache has to be dynamic: None, 'dynamic' or 'offloaded' (with 'paged' as its own argument generate() runs"
        " no loop of the caller's at all)",
        "dynamic",
        "offloaded",
    ),
    "cache_config": no_effect("for quantized caches, which are refused"),
    "max_cache_len": _OF_STATIC,
    "temperature": _OF_DRAWS,
    "top_k": _OF_DRAWS,
    "top_p": _OF_DRAWS,
    "min_p": _OF_DRAWS,
    "top_h": _OF_DRAWS,
    "typical_p": _OF_DRAWS,
    "epsilon_cutoff": _OF_DRAWS,
    "eta_cutoff": _OF_DRAWS,
    "repetition_penalty": _PROCESSOR,
    "encoder_repetition_penalty": _PROCESSOR,
    "length_penalty": honoured("divides sequences_scores; the order is that of the plain sums"),
    "no_repeat_ngram_size": _PROCESSOR,
    "bad_words_ids": _PROCESSOR,
    "renormalize_logits": honoured("behind the mask, as in generate()"),
    "forced_bos_token_id": honoured("if it is a token of the first level; else refused, since no SID begins with it"),
    "forced_eos_token_id": honoured("if it is a token of its level or comes behind the SID; else refused"),
    "remove_invalid_values": _PROCESSOR,
    "exponential_decay_length_penalty": honoured("as a processor; generate() itself fails without eos_token_id"),
    "suppress_tokens": _PROCESSOR,
    "begin_suppress_tokens": _PROCESSOR,
    "sequence_bias": _PROCESSOR,
    "token_healing": refused(f"{_TOKENIZER}; heal the prompt before"),
    "guidance_scale": honoured("as a processor, whose own cache generate() does not reorder with the beams"),
    "watermarking_config": honoured("behind the mask, as in generate()"),
    "num_return_sequences": honoured(),
    "output_attentions": honoured("needs attn_implementation='eager', as in generate()"),
    "output_hidden_states": honoured(),
    "output_scores": honoured("masked; sequences_scores come without it too"),
    "output_logits": honoured(),
    "return_dict_in_generate": honoured(),
    "pad_token_id": honoured("the token of dead beams; 0 without one"),
    "bos_token_id": honoured("where generate() makes a prompt of it"),
    "eos_token_id": no_effect("a SID ends by its catalogue, whatever token that is"),
    "encoder_no_repeat_ngram_size": _PROCESSOR,
    "decoder_start_token_id": honoured(),
    "is_assistant": refused("a search drafts for no other model; leave it out"),
    "num_assistant_tokens": _OF_ASSISTANT,
    "num_assistant_tokens_schedule": _OF_ASSISTANT,
    "assistant_confidence_threshold": _OF_ASSISTANT,
    "prompt_lookup_num_tokens": _ASSISTED,
    "max_matching_ngram_size": _OF_ASSISTANT,
    "assistant_early_exit": _ASSISTED,
    "assistant_lookbehind": _OF_ASSISTANT,
    "target_lookbehind": _OF_ASSISTANT,
    "assistant_ensemble_weight": _OF_ASSISTANT,
    "speculation_type": _OF_ASSISTANT,
    "compile_config": _COMPILED,
    "disable_compile": _COMPILED,
    "continuous_batching_config": no_effect("only generate_batch() reads it"),
    "low_memory": refused("generate() has no such search any more; use fewer beams or requests"),
    "penalty_alpha": refused(f"it asks for contrastive search, which is no beam search; {_GREEDY}"),
    "dola_layers": refused(f"it asks for DoLa, which contrasts layers; {_GREEDY}"),
    "diversity_penalty": refused(_GROUPS),
    "num_beam_groups": refused(_GROUPS, 1),
    "constraints": refused(_FORCED),
    "force_words_ids": refused(_FORCED),
    "prefill_chunk_size": honoured(),
    "_from_model_config": no_effect("it says where the configuration came from"),
    "transformers_version": no_effect("it says which version wrote the configuration"),
}

_OF_BEAMS = no_effect("a draw is no beam search")
_NO_OUTPUT = refused("SidSampler gives sequences, log_probs and log_masses; run the model on the sequences")
_WARPER = honoured("before the mask")

#: of SidSampler, where draws differ
SAMPLING: dict[str, Rule] = {
    **SEARCH,
    "do_sample": honoured("has to be True"),
    "num_beams": honoured("has to be 1"),
    "early_stopping": _OF_BEAMS,
    "length_penalty": _OF_BEAMS,
    **dict.fromkeys(("temperature", "top_k", "top_p", "min_p", "top_h", "typical_p"), _WARPER),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), _WARPER),
    "renormalize_logits": no_effect("draws are by the normalised row anyway"),
    "guidance_scale": honoured(
        "as a processor, which keeps a cache of its own; refused with rounds, which need several"
    ),
    "watermarking_config": refused("a mark is made behind the mask, where the mass of a draw is lost; leave it out"),
    **dict.fromkeys(("output_scores", "output_logits", "output_hidden_states", "output_attentions"), _NO_OUTPUT),
}

#: arguments of generate() that are no fields, in the order of its signature
ARGUMENTS: dict[str, Rule] = {
    "inputs": honoured(),
    "generation_config": honoured("see the fields"),
    "logits_processor": honoured("before the mask; one row per beam or draw; a search gives log-probabilities"),
    "stopping_criteria": refused("a search is one pass per level and cannot stop within a SID; leave them out"),
    "prefix_allowed_tokens_fn": honoured("beside the mask: a token has to be allowed by both"),
    "synced_gpus": no_effect("where torch.distributed runs, each process runs the model once per level"),
    "assistant_model": _ASSISTED,
    "streamer": refused("a SID is known when the search ends; leave it out"),
    "negative_prompt_ids": _NEGATIVE,
    "negative_prompt_attention_mask": _NEGATIVE,
    "custom_generate": honoured("this loop"),
    "kwargs": honoured("inputs of the model, as in generate(); past_key_values empty and dynamic"),
    "tokenizer": no_effect("for stop_strings, token_healing and assistants, which are refused"),
    "assistant_tokenizer": no_effect("for assistants, which are refused"),
    "trust_remote_code": no_effect("for loops that are downloaded"),
}


_SCALAR = (bool, int, float, str, type(None))
_PLAIN = (*_SCALAR, list, tuple, dict)


def _is_set(value: Any, rule: Rule) -> bool:
    if isinstance(value, _SCALAR):
        return bool(value) and value not in rule.harmless
    return True


def _refuse(name: str, value: Any, rule: Rule) -> None:
    if rule.kind is Kind.REFUSED and _is_set(value, rule):
        shown = reprlib.repr(value) if isinstance(value, _PLAIN) else type(value).__name__
        raise InvalidArgument(f"{name} is {shown}, which is refused: {rule.text}")


def check_fields(config: Any, rules: Mapping[str, Rule]) -> None:
    """Refuses fields of a GenerationConfig by these rules, and those of a newer transformers that no rule names. What
    a checkpoint adds of its own, which generate() does not read either, stays."""
    plain = vars(transformers.GenerationConfig())
    for name, value in vars(config).items():
        if name in rules:
            outputs = name.startswith("output_") and not config.return_dict_in_generate  # generate() warns of these
            if not outputs:
                _refuse(name, value, rules[name])
        elif name in plain and value != plain[name]:
            raise InvalidArgument(
                f"{name} is {reprlib.repr(value)}, a field of transformers {transformers.__version__} that this sidbeam"
                " does not know: leave it out"
            )


def check_arguments(stopping_criteria: Any) -> None:
    """Refuses arguments of the call of generate() that runs a loop. It hides some from loops of the caller's, which
    would ignore them without a word (and a streamer would wait forever), so that they are read from its frame."""
    code = inspect.unwrap(transformers.GenerationMixin.generate).__code__
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_code is not code:  # at most a few: decorators stand between
        frame = frame.f_back
    if frame is not None:
        for name in ("assistant_model", "streamer"):
            _refuse(name, frame.f_locals.get(name), ARGUMENTS[name])
    own = (transformers.generation.MaxLengthCriteria, transformers.generation.EosTokenCriteria)
    others = [type(one).__name__ for one in stopping_criteria or () if not isinstance(one, own)]
    _refuse("stopping_criteria", others or None, ARGUMENTS["stopping_criteria"])


_Class = TypeVar("_Class", bound=type)


def documented(rules: Mapping[str, Rule]) -> Callable[[_Class], _Class]:
    """Adds the rules to the documentation of a loop."""

    def add(loop: _Class) -> _Class:
        if loop.__doc__ is not None:  # -OO leaves none
            loop.__doc__ = f"{inspect.cleandoc(loop.__doc__)}\n\n{description(rules)}\n"
        return loop

    return add


def description(rules: Mapping[str, Rule]) -> str:
    """The rules as text: a paragraph per kind, names with the same text together."""
    paragraphs = ["Fields of GenerationConfig and arguments of generate():"]
    for kind in Kind:
        names: dict[str, list[str]] = {}
        for name, rule in {**rules, **ARGUMENTS}.items():
            if rule.kind is kind:
                names.setdefault(rule.text, []).append(f"``{name}``")
        paragraphs.append(f"{kind.value}:")
        for text, same in names.items():
            line = f"- {', '.join(same)}" + (f": {text}" if text else "")
            paragraphs.append(textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(paragraphs)
