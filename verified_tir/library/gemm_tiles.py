"""How large the tiles of a matrix product are, from the registers and vectors of a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.codegen.target import Target
from verified_tir.library.kernel import lanes_of

DEEPEST = 512
"""Products that a tile adds up between loading and storing its sums: so many columns of eight rows of A fit into the
first level of a cache."""

SHALLOWEST = 192
"""If there are so many, fewer are not added up at a time: loading and storing the sums would show."""

PANELS = 2**20
"""Bytes of B that are packed together: a part of the second level of a cache.."""

UNROLLED = 4
"""Terms of a sum that follow each other without a jump."""

FEW_ROWS = 4
"""With so many tiles of rows B is read where it lies: packing it would take as long."""

SMALL = 40 * 1024
"""Bytes of B that stay in the first level of a cache wherever they lie."""


@final
@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of one product of ``rows`` × ``depth`` and ``depth`` × ``columns`` elements.

    ``height`` × ``width`` sums stay in registers.  ``block`` columns of B are packed at a time, ``deep`` rows of them,
    in panels that are ``width`` wide.
    """

    rows: int
    columns: int
    depth: int
    height: int
    width: int
    lanes: int
    block: int
    deep: int
    packed: bool

    @staticmethod
    def of(
        rows: int, columns: int, depth: int, dtype: str, target: Target, *, transposed: bool = False
    ) -> Tiles:  # fmt: skip
        """Two vectors of sums in each of eight rows, or of six where there are 16 registers; another height
        where those leave an edge and it does not."""
        lanes, few = lanes_of(target, dtype), target.is_x86 and target.vector_bits < 512
        width, nbytes = 2 * lanes, target.vector_bits // (8 * lanes)
        heights = (6, 5, 4) if few else (8, 9, 10, 12, 7, 6)
        height = next((h for h in heights if rows % h == 0), heights[0])
        block, deep = _blocks(columns // width, depth, width * nbytes)
        packed = transposed or (rows > FEW_ROWS * height and columns * depth * nbytes > SMALL)
        return Tiles(rows, columns, depth, min(height, rows), width, lanes, block * width, deep, packed)


def _blocks(panels: int, depth: int, nbytes: int) -> tuple[int, int]:
    """How many panels are packed together, and how many rows of them.

    All blocks of panels have one size, so it divides their number.  Of those that fit into the cache, the choice has
    the least traffic: A is read once for each block of panels, C read and written once for each block of terms.

    :param nbytes: of one row of a panel.
    """

    def traffic(choice: tuple[int, int]) -> float:
        block, deep = choice
        return 1 / (32 * block) + 2 / deep

    choices = []
    for parts in range(-(-depth // DEEPEST), -(-depth // SHALLOWEST) + 1):
        deep = max(1, -(-depth // parts))
        most = max(1, PANELS // (deep * nbytes))
        choices.append((max((n for n in range(1, min(panels, most) + 1) if panels % n == 0), default=1), deep))
    return min(choices, key=traffic, default=(1, 1))
