"""The questions that are put to a solver: those that this project writes, and no others.

SMT-LIB can say things on which no counter of a solver's bounds the work: strings of a billion letters, bit vectors of
as many bits, quantifiers, numbers of a million digits.  A question of somebody else is therefore read with the
grammar of ``verified_tir.logic.read_smtlib``, written again, and refused if that gives another text.  So it consists of
the sorts and operations there, without quantifiers and strings; here are the bounds on sizes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from verified_tir.logic.read_smtlib import NotCanonical, read
from verified_tir.logic.standalone import NotAQuery, body_of, standalone

LENGTH: Final = 4_000_000
"""Letters of a question."""
DIGITS: Final = 400
"""Digits of a number (products of extents have some twenty)."""
WIDTH: Final = 128
"""Bits of a vector."""
DEPTH: Final = 5_000
"""How deep terms are nested."""

_NUMBER: Final = re.compile(rf"\d{{{DIGITS + 1},}}")
_WIDTH: Final = re.compile(r"\(_ (?:int_to_bv|BitVec) (\d+)\)")
_BRACKET: Final = re.compile(r"[()]")


def assert_in_fragment(text: str) -> None:
    """Refuse a question that is not in the spelling of this project, or too large.

    :raises NotAQuery: if it is not; the message says why.
    """
    if len(text) > LENGTH:
        raise NotAQuery(f"it has {len(text)} letters; {LENGTH} are the most")
    _, body = body_of(text)
    _assert_small(body)
    with _deep():
        try:
            given, goal = read(body)
        except NotCanonical as problem:
            raise NotAQuery(f"it is not in the fragment of SMT-LIB that vtir writes: {str(problem)[:200]}") from None
        again = standalone(given, goal)
    if again != text:
        raise NotAQuery("its logic is not the smallest one that holds it")


def _assert_small(body: str) -> None:
    if _NUMBER.search(body):
        raise NotAQuery(f"a number has more than {DIGITS} digits")
    for m in _WIDTH.finditer(body):
        if not 1 <= int(m[1]) <= WIDTH:
            raise NotAQuery(f"a vector of {m[1]} bits; {WIDTH} are the most")
    depth = 0
    for m in _BRACKET.finditer(body):
        depth += 1 if m[0] == "(" else -1
        if depth > DEPTH:
            raise NotAQuery("its terms are nested too deeply")


@contextmanager
def _deep() -> Iterator[None]:
    """Recursion as deep as terms may be nested; the interpreter's frames are on the heap."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 6 * DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


__all__ = ["assert_in_fragment"]
