"""Attributes of parameters, arguments and results."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from verified_tir.validate.llvm.lexer import Reader
from verified_tir.validate.llvm.syntax import Attributes
from verified_tir.validate.llvm.values import read_type

_KNOWN: Final = frozenset({
    "noalias", "readonly", "writeonly", "readnone", "nonnull", "noundef", "nocapture", "captures", "align",
    "dereferenceable", "dereferenceable_or_null", "initializes", "nofree", "returned", "immarg", "allocalign",
    "allocptr", "dead_on_unwind", "writable", "range",
})  # fmt: skip


def read_attributes(r: Reader) -> Attributes:
    """All attributes that come next; reading ends at one that is not known, which is no operand either."""
    found = Attributes()
    while r.kind == "word" and r.here in _KNOWN:
        word = r.take()
        match word:
            case "align":
                found = replace(found, align=r.number())
            case "range":
                found = replace(found, bounds=_range(r))
            case "dereferenceable":
                found = replace(found, dereferenceable=_in_parentheses(r))
            case "dereferenceable_or_null":
                found = replace(found, or_null=_in_parentheses(r))
            case "initializes":
                found = replace(found, initializes=_ranges(r))
            case "readnone":
                found = replace(found, readonly=True, writeonly=True)
            case "readonly":
                found = replace(found, readonly=True)
            case "writeonly":
                found = replace(found, writeonly=True)
            case "noundef":
                found = replace(found, noundef=True)
            case "nonnull":
                found = replace(found, nonnull=True)
            case "returned":
                found = replace(found, returned=True)
            case "nocapture":
                found = replace(found, ways=frozenset())
            case "captures":
                found = replace(found, ways=_ways(r))
            case "noalias":
                pass
            case _:
                found = replace(found, unchecked=found.unchecked | {word})
    return found


def _ways(r: Reader) -> frozenset[str] | None:
    """``(none)``, ``(address)``, ``(address, ret: address, provenance)``; ``None`` if all are allowed.

    An address that is compared with null only, or only read through later, is taken for one that is not captured.
    """
    ways, result, separate = set[str](), set[str](), False
    r.expect("(")
    while not r.accept(")"):
        word = r.take()
        separate = separate or word == "ret"
        (result if separate else ways).add(word)
    everywhere = ways & {"address", "provenance"}
    returned = "provenance" in (result if separate else ways)
    return None if "provenance" in ways and returned else frozenset(everywhere | ({"ret"} if returned else set()))


def _in_parentheses(r: Reader) -> int:
    r.expect("(")
    number = r.number()
    r.expect(")")
    return number


def _range(r: Reader) -> tuple[int, int]:
    r.expect("(")
    read_type(r)
    low = r.number()
    r.expect(",")
    high = r.number()
    r.expect(")")
    return low, high


def _ranges(r: Reader) -> tuple[tuple[int, int], ...]:
    """``((0, 4), (8, 16))``."""
    found: list[tuple[int, int]] = []
    r.expect("(")
    while not r.accept(")"):
        if found:
            r.expect(",")
        r.expect("(")
        low = r.number()
        r.expect(",")
        found.append((low, r.number()))
        r.expect(")")
    return tuple(found)
