"""At which sizes programs with symbolic shapes are compared.

Small sizes come first, with empty ranges and extents of one.  Then, since tails and tiles begin there, the numbers by
which the programs divide, their neighbours and their multiples.  With several symbols all get the same value first;
then they differ.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, IntImm, Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, nodes_of, walk

SIZES: Final = (0, 1, 2, 3, 7, 8, 17)
"""What every symbol is, in turns."""
MIXED: Final = (3, 8, 2, 7, 1, 17)
"""What several symbols are, each one entry further than the one before it."""
_POOLS: Final = ((-7, -1, 0, 1, 2, 3, 5, 8), (-1, 0, 1, 3), (0, 1))
_MOST_CORNERS: Final = 64
_LARGEST_DIVISOR: Final = 1 << 12
_MOST_DIVISORS: Final = 2


def symbols(func: PrimFunc) -> list[str]:
    """The symbols in the parameters' extents, and the integer parameters, by name."""
    return list(dict.fromkeys([*extents(func), *scalars(func)]))


def extents(func: PrimFunc) -> list[str]:
    """The symbols in the parameters' shapes, and those that are offsets but mean something else, too."""
    found = dict.fromkeys(v.name for buffer in func.buffers for e in buffer.shape for v in free_vars(e))
    used = _beside_offsets(func)
    return list(found | dict.fromkeys(v.name for v in _offsets(func) if v in used))


def scalars(func: PrimFunc) -> dict[str, DType]:
    """The integer parameters that are in no shape: they may be negative."""
    named = extents(func)
    return {p.name: p.type for p in func.params if isinstance(p.type, DType) and p.dtype.is_int and p.name not in named}


def layout_symbols(*funcs: PrimFunc) -> dict[str, int]:
    """Offsets that are symbols of their own: those of the arguments, on which no result depends, taken to be zero."""
    known = {name for func in funcs for name in (*symbols(func), *[v.name for v in _beside_offsets(func)])}
    return {v.name: 0 for func in funcs for v in _offsets(func) if v.name not in known}


def _offsets(func: PrimFunc) -> list[Var]:
    """The variables that are offsets of parameters."""
    return [b.elem_offset for b in func.buffers if isinstance(b.elem_offset, Var)]


def _beside_offsets(func: PrimFunc) -> set[Var]:
    """The variables of a function that occur elsewhere than as the offset of one parameter."""
    found: set[Var] = set()
    seen: set[Var] = set()
    plain: dict[Buffer, Buffer] = {}
    for buffer in func.buffers:
        found.update(v for e in (*buffer.shape, *buffer.strides) for v in free_vars(e))
        offset = buffer.elem_offset
        if isinstance(offset, Var) and offset not in seen:
            seen.add(offset)
            plain[buffer] = replace(buffer, elem_offset=const(0, offset.dtype))
        else:
            found.update(free_vars(offset))
    return found.union(nodes_of(substitute_buffers(func.body, plain), Var))


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


def choices(
    names: Sequence[str], numbers: Mapping[str, DType], given: Mapping[str, int], factors: Sequence[int]
) -> Iterator[dict[str, int]]:
    """Values for symbols, those that are ``given`` left alone.

    :param names: extents.
    :param numbers: integers that are no extents, with their types.
    :param factors: what the programs divide by (:func:`divisors`).
    """
    every = list(dict.fromkeys([*names, *numbers]))
    fixed = {name: given[name] for name in every if name in given}
    free = [name for name in every if name not in given]
    if not free:
        yield fixed
        return
    for value in [*SIZES, *sorted({v for m in factors for v in (m, m + 1, 2 * m)} - set(SIZES))]:
        yield {**fixed, **{n: _fitting(value, numbers.get(n)) for n in free}}
    if len(free) > 1:
        for turn in range(len(MIXED)):
            yield {**fixed, **{n: MIXED[(turn + k) % len(MIXED)] for k, n in enumerate(free)}}
    signed = {n: t for n, t in numbers.items() if n in free}
    if signed:
        base = {**fixed, **dict.fromkeys(free, 7)}
        for values in _corners(len(signed)):
            yield {**base, **{n: _fitting(v, t) for (n, t), v in zip(signed.items(), values, strict=True)}}


def _corners(count: int) -> list[tuple[int, ...]]:
    """Values of integers that may be negative: all combinations of a few while there are not too many."""
    for pool in _POOLS:
        if len(pool) ** count <= _MOST_CORNERS:
            return list(itertools.product(pool, repeat=count))
    draw = random.Random(count)  # the same ones every time
    return [tuple(draw.choice(_POOLS[0]) for _ in range(count)) for _ in range(_MOST_CORNERS)]


def _fitting(value: int, dtype: DType | None) -> int:
    return value if dtype is None else min(max(value, dtype.min_value), dtype.max_value)
