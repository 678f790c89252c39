"""The checkpoints of the request benchmark: shapes of published recommenders, random weights, a tokenizer that
CTranslate2's converter can read.

    python models.py FOLDER     with torch and transformers
SPDX-License-Identifier: Apache-2.0"""
import pathlib
import sys

import torch
from tokenizers import Tokenizer, models as tokenizer_models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

VOCABULARY = 1100


def llama(hidden, layers, heads, ffn):
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=heads, intermediate_size=ffn, max_position_embeddings=1024, bos_token_id=1, eos_token_id=2,
        pad_token_id=0, tie_word_embeddings=False))


def t5(hidden, layers, heads, ffn):
    return T5ForConditionalGeneration(T5Config(
        vocab_size=VOCABULARY, d_model=hidden, d_kv=64, num_layers=layers, num_decoder_layers=layers, num_heads=heads,
        d_ff=ffn, decoder_start_token_id=0, eos_token_id=1, pad_token_id=0, feed_forward_proj="relu",
        tie_word_embeddings=True))


# Prompt positions belong to a model: (a) TIGER, (b) and (c) decoders alone.
MODELS = {
    "a": (lambda: t5(128, 4, 6, 1024), 60),
    "b": (lambda: llama(256, 4, 4, 1024), 200),
    "c": (lambda: llama(1024, 12, 16, 2816), 200),
}


def tokenizer(encoder_decoder):
    words = {f"t{i}": i for i in range(VOCABULARY)}
    special = ("t0", "t1", "t2") if encoder_decoder else ("t1", "t2", "t0")
    inner = Tokenizer(tokenizer_models.WordLevel(words, unk_token="t0"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    if encoder_decoder:
        return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="t0", eos_token="t1", unk_token="t0")
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token=special[0], eos_token=special[1],
                                   pad_token="t0", unk_token="t0")


def write(folder, name):
    torch.manual_seed(ord(name))
    make, _ = MODELS[name]
    model = make().eval()
    with torch.no_grad():  # enough spread that beams differ
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, parameter.shape[1] ** -0.5)
    path = pathlib.Path(folder) / name
    model.save_pretrained(path)
    tokenizer(name == "a").save_pretrained(path)
    return path


if __name__ == "__main__":
    for each in MODELS:
        print(write(sys.argv[1], each))
