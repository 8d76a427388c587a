"""Attributes of parameters, arguments and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from verified_tir.validate.llvm.lexer import Reader
from verified_tir.validate.llvm.values import read_type

_KNOWN: Final = frozenset({
    "noalias", "readonly", "writeonly", "readnone", "nonnull", "noundef", "nocapture", "captures", "align",
    "dereferenceable", "dereferenceable_or_null", "initializes", "nofree", "returned", "immarg", "allocalign",
    "allocptr", "dead_on_unwind", "writable", "range",
})  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Attributes:
    """Those that are checked: alignment of an address, no stores to it, and bounds of a number."""

    align: int = 1
    readonly: bool = False
    bounds: tuple[int, int] | None = None


def read_attributes(r: Reader) -> Attributes:
    """All attributes that come next; reading ends at one that is not known, which is no operand either."""
    align, readonly, bounds = 1, False, None
    while r.kind == "word" and r.here in _KNOWN:
        word = r.take()
        if word == "align":
            align = r.number()
        elif word == "range":
            r.expect("(")
            read_type(r)
            low = r.number()
            r.expect(",")
            bounds = low, r.number()
            r.expect(")")
        elif r.here == "(":
            r.skip_parentheses()
        readonly = readonly or word in ("readonly", "readnone")
    return Attributes(align, readonly, bounds)
