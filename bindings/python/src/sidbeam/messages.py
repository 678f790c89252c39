"""Messages of the native library in Python's words: its structs' fields, constants and functions are C's.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
from typing import Callable, Union

from . import _native

#: What C calls otherwise than Python, after its structs' names are gone or where they must be known.
_RENAMED = {
    "device_type": "device",
    "device_id": "the device's number",
    "map_codes": "maps",
    "id_offsets": "ids",
    "id_bytes": "ids",
    "workspace_bytes": "the size of workspace in bytes",
    "memory_limit_bytes": "memory_limit",
    "inverse_temperatures": "inverse_temperature",
    "soft_caps": "soft_cap",
    "top_ks": "top_k",
    "top_ps": "top_p",
    "noise_scales": "noise_scale",
    "level_prefix": "levels",
    "words_per_row": "words",
    "draw_stride": "the number of columns of draws",
    "cap_attribute": "cap_by",
    "sync_interval_ms": "sync_interval",
    "keep_ms": "keep_age",
    "wait_ms": "wait",
}

#: What an array of rows is called here.
_ARRAYS = {"rows": "logits", "logits": "logits", "hidden": "hidden"}

#: Families of constants, and their enumerations here.
_FAMILIES = {
    "KIND": "Kind",
    "COLLISIONS": "Collisions",
    "RESIDENCY": "Residency",
    "VERIFY": "Verify",
    "SYNC": "Sync",
}


# In this order. The first ones are whole messages, which get a mend; the rest are words. The last word of a path or of
# a quotation is left alone, and so are the files of a model (config.json).
_Replacement = Union[str, Callable[[re.Match[str]], str]]
_RULES: tuple[tuple[re.Pattern[str], _Replacement], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"^codes: row (\d+), level (\d+): code (-\d+), expected (\d+) to (-?\d+)",
            r"sids[\1] has \3 at level \2, expected \4..\5: codes are not negative, and lengths, or lists of different"
            " lengths, say where a SID ends",
        ),
        (
            r"^codes: row (\d+), level (\d+): code (\d+), expected (\d+) to (-?\d+)",
            r"sids[\1] has \3 at level \2, expected \4..\5",
        ),
        (
            r"^(\w+) has elements of format 'd', expected float32, float16 or bfloat16",
            r"\1 has dtype float64, expected float32, float16 or bfloat16: cast it, \1.astype(np.float32)",
        ),
        (
            r"^(\w+) has elements of format '(.)', expected float32, float16 or bfloat16",
            r"\1 has elements of format '\2', expected float32, float16 or bfloat16: cast it, \1.astype(np.float32)",
        ),
        (
            r"^(\w+): tensor\.dtype\.bits is (\d+), expected.*",
            r"\1 has elements of \2 bits, expected float32, float16 or bfloat16: cast it to float32",
        ),
        (
            r"^(\w+): tensor\.ndim is (\d+), expected 2 or 3",
            r"\1 has \2 dimensions, expected [slots, rows, columns] or [rows, columns]",
        ),
        (
            r"^(\w+): tensor\.device\.device_type is (\d+), expected.*",
            r"\1 is on a device of DLPack's type \2, expected the CPU or CUDA",
        ),
        (
            r"^(\w+): tensor\.strides\[last\] is (\S+), expected 1.*",
            r"\1 has columns \2 elements apart, expected them side by side: pass np.ascontiguousarray(\1), or"
            r" \1.contiguous() of PyTorch",
        ),
        (
            r"^rows\.slots is (\d+), expected (\d+), the slots of the call.*",
            r"logits has rows for \1 slots, expected \2: reshape the rows of all beams to [slots, beams, columns],"
            r" logits.reshape(\2, -1, logits.shape[-1]), or say by row_map which row is whose",
        ),
        (r"^(data lies at .*, expected a multiple of \d+), or residency COPY", r"\1, or copy=True"),
        (r"^request\.positions is (\d+), expected", r"tokens has \1 positions, expected"),
        (r"(: not a sidbeam index, which begins with .*)", r"\1: Index.from_file reads catalogues"),
        (r"^filters\[1\] is of another index, expected that of filters\[0\]", "the second filter is of another index"),
        (r"(^|^\w+: )tensor\.", r"\1"),
        (r"\bvocabulary\.levels is (\d+), expected (\d+)", r"vocabulary has offsets of \1 levels, expected \2"),
        (
            r"\b(rows|logits|hidden)\.(slots|rows|columns) is (-?\w+), expected",
            lambda match: f"{_ARRAYS[match[1]]} has {match[3]} {match[2]}, expected",
        ),
        (
            r"\b(rows|logits|hidden)\.device_type is (\d), expected (CPU|CUDA) \(\d\)",
            lambda m: f"{_ARRAYS[m[1]]} is on {'cuda' if m[2] == '1' else 'cpu'}, expected {m[3].lower()}",
        ),
        (
            r"\b(rows|logits|hidden)\.device_type is (\d) and device_id (\d+), expected (?:the )?(\w+) \(\d+ and \d+\)",
            lambda m: f"{_ARRAYS[m[1]]} is on {f'cuda:{m[3]}' if m[2] == '1' else 'cpu'}, expected {m[4].lower()}",
        ),
        (
            r"^request\.group is (-?\d+), expected (\d+)\.\.(\d+), (.*)",
            r"tokens has \1 tokens per position, expected at most \3 (max_group): one prompt is [positions]; of many,"
            r" each is a request of its own",
        ),
        (
            r"^name is NULL, expected a name: the ids of this index are strings",
            "item is an integer, expected a str: the ids of this index are strings",
        ),
        (
            r"^name is given, expected NULL and an id: the ids of this index are integers",
            "item is a str, expected an integer: the ids of this index are integers",
        ),
        (r"^names is NULL, expected the names of (\S+) items", r"ids is None, expected the ids of \1 items"),
        (
            r"^sampling is NULL, expected seeds and requests in mode (\w+)",
            lambda match: f'seeds and requests are None, expected both in mode "{match[1].lower()}"',
        ),
        (
            r"^sampling is given, expected NULL in mode (\w+)",
            lambda match: f'seeds and requests are given, expected None in mode "{match[1].lower()}"',
        ),
        (
            r"submit\(\) needs config\.lane_threads or config\.post; sidbeam_runner_run\(\) does not",
            "submit() needs lane_threads; run() does not",
        ),
        (
            r"^id_type is (not )?SIDBEAM_ID_STRING: pairs are added with (\w+), not with (\w+)",
            r'id_type is \1"string", expected ids of that type',
        ),
        (r" \(SIDBEAM_\w+\)", ""),
        (r"\bkinds without SIDBEAM_KIND_(\w+)", lambda match: f'kinds without "{match[1].lower()}"'),
        (r"\bSIDBEAM_([A-Z]+)_\* or'ed", lambda match: f"members of sidbeam.{_FAMILIES.get(match[1], 'enums')} or'ed"),
        (r"\bSIDBEAM_([A-Z]+)_\*", lambda match: f"a member of sidbeam.{_FAMILIES.get(match[1], 'enums')}"),
        (
            r"\bSIDBEAM_(?:KIND|MODE|NORMALIZE|STRATEGY|ID|COLLISIONS|RESIDENCY|VERIFY|DEVICE|WEIGHTS|HIDDEN|SPECULATE"
            r"|DRAFT_VERIFY|DRAFT_INPUT|DRAFT_TRANSITION|DTYPE|LOG|ROWS|TERM|FILTER|ATTRIBUTE|SYNC)_(\w+)",
            lambda match: f'"{match[1].lower()}"',
        ),
        (r"\bSIDBEAM_(?!CATALOGUES|CUDA_|RUNNER_CUDA_)([A-Z0-9_]+)", lambda match: f'"{match[1].lower()}"'),
        (r"\bNORMALIZE_([A-Z]+)\b", lambda match: f'normalization "{match[1].lower()}"'),
        (r"\bsidbeam_([a-z]+)_([a-z_]+)\(\)", lambda match: f"{match[1].capitalize()}.{match[2]}()"),
        (r"\bthe slots of the call \(or 0 and a row_map\)", "the slots of the call"),
    )
)

# After the native layer has taken the names of structs away.
_LATER: tuple[tuple[re.Pattern[str], _Replacement], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bNULL\b", "None"),
        (r"\b(" + "|".join(_RENAMED) + r")\b", lambda match: _RENAMED[match[1]]),
        (r"\bis not (VALID|TRIE|SEARCH)\b", lambda match: f'is not "{match[1].lower()}"'),
        (r"\bmode (SEARCH|SAMPLE|STOCHASTIC)\b", lambda match: f'mode "{match[1].lower()}"'),
    )
)


def in_python(message: str) -> str:
    """The message with Python's names, and with a mend where a frequent mistake has one."""
    for pattern, replacement in _RULES:
        message = pattern.sub(replacement, message)
    message = _shared_words(message)
    for pattern, replacement in _LATER:
        message = pattern.sub(replacement, message)
    return message


def _shared_words(message: str) -> str:
    """What the native layer says to all languages: arguments for fields of structs."""
    text = message.encode(errors="replace")
    words = bytearray(3 * len(text) + 64)
    return words[: _native.flat_words(text, words)].decode(errors="replace")
