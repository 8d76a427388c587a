"""What ``target datalayout`` and ``target triple`` say, against what the reading of a module takes for granted.

The same instructions mean other things where bytes stand in another order, addresses have another size, or elements
another alignment.  The reading here has one layout (``syntax.py``): little-endian, addresses of 64 bits, natural
alignments.  A module that asks for another one is refused, and so is one that says something which is not known.  One
that says nothing gets the layout of whoever compiles it, which is the host's (``jit.py``, ``codegen``).
"""

from __future__ import annotations

import re
from typing import Final

from verified_tir.validate.llvm.lexer import Reader

_LINE: Final = re.compile(r'target (datalayout|triple) = "([^"\\]*)"')
_PROCESSORS: Final = frozenset({"x86_64", "aarch64", "arm64", "riscv64", "powerpc64le"})
"""Processors whose bytes stand in the order, and whose addresses have the size, that are taken for granted."""
_OTHER_ADDRESSES: Final = ("gnux32", "muslx32", "ilp32")
"""Environments in which addresses on these have 32 bits all the same."""
_NATURAL: Final = re.compile(r"([ifv])(\d+):(\d+)(?::(\d+))?")
_WITHOUT_EFFECT: Final = re.compile(
    r"e|m:[a-z]|n\d+(?::\d+)*|S\d+|a:0:64|a:0|a:64|F[in]\d+|[AGP]0|p27[0-2]:\d+:\d+(?::\d+)*"
)
"""Little-endian (which is required apart), mangling, native sizes, the stack, aggregates, spaces that are not used."""
_ADDRESSES: Final = re.compile(r"p(?:0)?:64:64(?::64)*")


def check_target(lines: list[str]) -> None:
    """Refuse a module for which the reading would be another one.

    :param lines: those that begin with ``target``.
    :raises Refused: if it is so; the message shows what is said.
    """
    said: dict[str, str] = {}
    for line in lines:
        found = _LINE.fullmatch(line.strip())
        if found is None or found[1] in said:
            raise Reader("").refused(f"the line {line[:80]!r}")
        said[found[1]] = found[2]
    if "datalayout" in said:
        _check_layout(said["datalayout"])
    if "triple" in said:
        _check_triple(said["triple"])


def _check_layout(layout: str) -> None:
    parts = layout.split("-") if layout else []
    if parts and "e" not in parts:
        raise Reader("").refused(f"the data layout {layout!r}, which is not little-endian")
    if parts and not any(p.startswith("i64:64") for p in parts):
        raise Reader("").refused(f"the data layout {layout!r}, in which i64 has another alignment")
    for part in parts:
        if not (_WITHOUT_EFFECT.fullmatch(part) or _ADDRESSES.fullmatch(part) or _is_natural(part)):
            raise Reader("").refused(f"{part!r} in the data layout {layout!r}")


def _is_natural(part: str) -> bool:
    """Whether elements of this type are aligned to their size (``i1`` to a byte, long double to 16 bytes)."""
    found = _NATURAL.fullmatch(part)
    if found is None:
        return False
    size, alignment = int(found[2]), int(found[3])
    preferred = int(found[4] or alignment)
    wanted = {1: 8, 80: 128}.get(size, size)
    return alignment == wanted and (preferred >= alignment and preferred % alignment == 0)


def _check_triple(triple: str) -> None:
    processor = triple.partition("-")[0]
    if processor not in _PROCESSORS or any(word in triple for word in _OTHER_ADDRESSES):
        raise Reader("").refused(f"the target {triple!r}")


__all__ = ["check_target"]
