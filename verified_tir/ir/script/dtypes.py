"""Names of dtypes in the text, TVM's spellings included."""

from __future__ import annotations

import re

from verified_tir.ir.dtype import BITS, VOID, DType
from verified_tir.ir.node import IRError

_NAME = re.compile(rf"float[468]_\w+|u?int[24]|({'|'.join(BITS)}|boolean)(\d*)(x\d+)?")
_UINT1 = re.compile(r"uint1(?=x|$)")

_SHORT = {f"{code[0]}{bits}": f"{code}{bits}" for code in ("int", "uint", "float") for bits in BITS[code]}
"""TVM's short names, such as ``T.f32``."""
_SHORT["bf16"] = "bfloat16"
_OTHERS = re.compile(r"float[468]_\w+?(?=x\d|$)|u?int[124](?=x|$)|tensormap|custom\[\w+\]\d*")
"""Types of TVM that have no values here."""
_KNOWN = ", ".join(f"{code}{'/'.join(map(str, BITS[code]))}" for code in BITS if code not in ("handle", "void", "bool"))


def dtype_named(text: str) -> DType:
    """``"float32x4"`` and the like; ``"uint1"`` and ``"boolean"`` mean bool, the empty name means void.

    :raises IRError: if no such type exists here; scalable vectors are named as what they are.
    """
    if "vscale" in text:
        raise IRError(f"{text}: scalable vectors are not supported; use a type with a constant number of lanes")
    if not text:
        return VOID
    text = _SHORT.get(text, text)
    text = _UINT1.sub("bool", text).replace("boolean", "bool")
    if match := _OTHERS.match(text):
        raise IRError(f"{text}: values of {match[0]} have no meaning here; convert them to a type of {_KNOWN}")
    return DType.parse(text)


def is_dtype_name(name: str) -> bool:
    """Whether ``T.name`` is a dtype."""
    return _NAME.fullmatch(name) is not None or "vscalex" in name or name in _SHORT
