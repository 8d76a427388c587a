"""Names of dtypes in the text, TVM's spellings included."""

from __future__ import annotations

import re

from verified_tir.ir.dtype import BITS, DType
from verified_tir.ir.node import IRError

_NAME = re.compile(rf"({'|'.join(BITS)}|boolean)(\d*)(x\d+)?")
_UINT1 = re.compile(r"uint1(?=x|$)")


def dtype_named(text: str) -> DType:
    """``"float32x4"`` and the like; ``"uint1"`` and ``"boolean"`` mean bool.

    :raises IRError: if no such type exists here; scalable vectors are named as what they are.
    """
    if "vscale" in text:
        raise IRError(f"{text}: scalable vectors are not supported")
    return DType.parse(_UINT1.sub("bool", text).replace("boolean", "bool"))


def is_dtype_name(name: str) -> bool:
    """Whether ``T.name`` is a dtype."""
    return _NAME.fullmatch(name) is not None or "vscalex" in name
