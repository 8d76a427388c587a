"""How axis separators are counted: by the axis behind them, as in TVM, or by the axis in front of them, as in RFC 39.

    axes      n   c_outer   h   |   w   c_inner
    number    0      1      2       3      4             TVM: [3]          RFC 39: [2]

A buffer stores TVM's numbers; texts and calls may use either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from verified_tir.ir.node import IRError

SeparatorNumbering: TypeAlias = Literal["tvm", "rfc39"]
"""``"tvm"``: the axis behind the separator; ``"rfc39"``: the axis in front of it."""


def stored(positions: Sequence[int], numbering: SeparatorNumbering) -> tuple[int, ...]:
    """The separators in TVM's numbers.

    :raises IRError: if there is no such numbering.
    """
    return tuple(k + _offset(numbering) for k in positions)


def shown(separators: Sequence[int], numbering: SeparatorNumbering) -> list[int]:
    """The separators of a buffer in the numbers that are asked for.

    :raises IRError: for a separator in front of all axes, which RFC 39 has no number for.
    """
    if numbering == "rfc39" and 0 in separators:
        raise IRError("a separator in front of all axes has no number in RFC 39, which counts by the axis before it")
    return [k - _offset(numbering) for k in separators]


def _offset(numbering: SeparatorNumbering) -> int:
    if numbering not in ("tvm", "rfc39"):
        raise IRError(f'axis separators are counted as by "tvm" or by "rfc39", not by {numbering!r}')
    return 1 if numbering == "rfc39" else 0
