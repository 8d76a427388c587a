"""At which sizes programs with symbolic shapes are compared.

Small sizes come first, with empty ranges and extents of one.  Then, since tails and tiles begin there, the numbers by
which the programs divide, their neighbours and their multiples.  With several symbols all get the same value first;
then they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.visit import free_vars, walk

SIZES: Final = (0, 1, 2, 3, 7, 8, 17)
"""What every symbol is, in turns."""
MIXED: Final = (3, 8, 2, 7, 1, 17)
"""What several symbols are, each one entry further than the one before it."""
_LARGEST_DIVISOR: Final = 1 << 12
_MOST_DIVISORS: Final = 2


def symbols(func: PrimFunc) -> list[str]:
    """The integer parameters and the symbols in the parameters' shapes, by name; strides and offsets are not."""
    found = [p.name for p in func.params if func.buffer_of(p) is None and isinstance(p.type, type(p.dtype)) and
             p.dtype.is_int]  # fmt: skip
    for buffer in func.buffers:
        for extent in buffer.shape:
            found.extend(v.name for v in free_vars(extent) if v.name not in found)
    return found


def layout_symbols(func: PrimFunc) -> list[tuple[Buffer, int, Var]]:
    """Symbols that are a parameter's stride, with its number; ``-1`` for its offset."""
    named = set(symbols(func))
    found = []
    for buffer in func.buffers:
        for k, stride in enumerate(buffer.strides):
            if isinstance(stride, Var) and stride.name not in named:
                found.append((buffer, k, stride))
        if isinstance(buffer.elem_offset, Var) and buffer.elem_offset.name not in named:
            found.append((buffer, -1, buffer.elem_offset))
    return found


def divisors(*funcs: PrimFunc) -> list[int]:
    """The largest constants by which the programs divide something that has a symbol of theirs, descending."""
    found: set[int] = set()
    for func in funcs:
        names = set(symbols(func))
        for node in walk(func):
            match node:
                case Binary(op="floordiv" | "floormod" | "truncdiv" | "truncmod", a=a, b=IntImm(value=v)):
                    if 1 < v <= _LARGEST_DIVISOR and any(x.name in names for x in free_vars(a)):
                        found.add(v)
                case _:
                    continue
    return sorted(found, reverse=True)[:_MOST_DIVISORS]


def choices(names: list[str], given: Mapping[str, int], factors: list[int]) -> Iterator[dict[str, int]]:
    """Values for symbols, those that are ``given`` left alone.

    :param factors: what the programs divide by (:func:`divisors`).
    """
    fixed = {name: given[name] for name in names if name in given}
    free = [name for name in names if name not in given]
    if not free:
        yield fixed
        return
    every = [*SIZES, *sorted({v for m in factors for v in (m, m + 1, 2 * m)} - set(SIZES))]
    for value in every:
        yield {**fixed, **dict.fromkeys(free, value)}
    if len(free) > 1:
        for turn in range(len(MIXED)):
            yield {**fixed, **{name: MIXED[(turn + k) % len(MIXED)] for k, name in enumerate(free)}}
