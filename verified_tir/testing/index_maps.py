"""Index maps: how a buffer's elements may be laid out, as for ``transform_layout``.

A map is put together from a few moves on its outputs: split, exchange, fuse, turn, rotate, swizzle.  Which kind of move
is made decides what the map is on the shape that it is drawn for: a bijection, an injection with padding, or (in a
small share) many to one, which no layout may be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias, final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from verified_tir.index.map import IndexMap
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.sugar import const
from verified_tir.testing.drawing import Picker

MapKind: TypeAlias = Literal["bijective", "padded", "many_to_one"]

_NAMES = "ijkl"
_OUTPUTS_AT_MOST = 5


def index_maps(
    shape: Sequence[int | Expr], *, kinds: Collection[MapKind] = ("bijective", "padded", "many_to_one"), moves: int = 4
) -> SearchStrategy[IndexMap]:
    """Maps for a shape (its extents are numbers or expressions in symbols), of at most so many moves.

    The simplest is the identity.  ``many_to_one`` maps come in a small share; with ``kinds=("bijective",)`` every map
    is a bijection from the shape to ``padded_shape(shape)``.

    :raises ValueError: for more than 4 dimensions, or kinds without ``bijective``.
    """
    if len(shape) > len(_NAMES):
        raise ValueError(f"index maps are drawn for at most {len(_NAMES)} dimensions, not {len(shape)}")
    if "bijective" not in kinds:
        raise ValueError("every map may turn out a bijection, so 'bijective' must be among the kinds")
    return _index_maps(tuple(shape), frozenset(kinds), moves)


@st.composite
def _index_maps(draw: DrawFn, shape: tuple[int | Expr, ...], kinds: frozenset[MapKind], moves: int) -> IndexMap:
    made = _Moves(Picker(draw), shape, kinds)
    made.some(moves)
    return IndexMap(made.inputs, tuple(made.outputs))


@final
class _Moves:
    """A map in the making: its outputs, and the extent of each if that is a number (``None`` if it is symbolic)."""

    def __init__(self, pick: Picker, shape: tuple[int | Expr, ...], kinds: frozenset[MapKind]) -> None:
        dtype = next((e.dtype for e in shape if isinstance(e, Expr)), INT32)
        self.pick = pick
        self.kinds = kinds
        self.inputs = tuple(Var.fresh(name, dtype) for name in _NAMES[: len(shape)])
        self.dtype = dtype
        self.outputs: list[Expr] = list(self.inputs)
        self.extents: list[int | None] = [
            e if isinstance(e, int) else e.value if isinstance(e, IntImm) else None for e in shape
        ]

    def some(self, most: int) -> None:
        """At most so many moves."""

        def move() -> None:
            if most == 0 or not self.outputs or not self.pick.rarely(2):
                return
            self.pick.among(self._choices())()
            self.some(most - 1)

        self.pick.body(move)

    def _choices(self) -> list[Callable[[], None]]:
        found = [self.exchange, self.split, self.split, self.turn, self.fuse, self.rotate, self.swizzle, self.skew]
        if "padded" in self.kinds:
            found += [self.ragged, self.ragged, self.shift, self.spread, self.fuse_apart]
        if "many_to_one" in self.kinds and self.pick.rarely(20):
            found = [self.coarsen, self.wrap, self.forget]
        return found

    def _any(self) -> int:
        return self.pick.integer(0, len(self.outputs) - 1)

    def _put(self, k: int, *parts: tuple[Expr, int | None]) -> None:
        self.outputs[k : k + 1] = [e for e, _ in parts]
        self.extents[k : k + 1] = [n for _, n in parts]

    def _const(self, value: int) -> Expr:
        return const(value, self.dtype)

    # -- bijections ---------------------------------------------------------------------------------------------------

    def exchange(self) -> None:
        """Two outputs change places."""
        a, b = self._any(), self._any()
        b = (a + 1) % len(self.outputs) if a == b else b
        self.outputs[a], self.outputs[b] = self.outputs[b], self.outputs[a]
        self.extents[a], self.extents[b] = self.extents[b], self.extents[a]

    def split(self) -> None:
        """``i`` to ``i // c, i % c``, where c divides the extent."""
        k = self._any()
        n, e = self.extents[k], self.outputs[k]
        factors = [c for c in (2, 3, 4, 5, 8) if n is not None and n % c == 0 and n > c]
        if n is None or not factors or len(self.outputs) >= _OUTPUTS_AT_MOST:
            return
        c = self.pick.among(factors)
        self._put(k, (e // c, n // c), (e % c, c))

    def turn(self) -> None:
        """``i`` to ``last - i``."""
        k = self._any()
        n = self.extents[k]
        if n is not None and n > 0:
            self._put(k, (self._const(n - 1) - self.outputs[k], n))

    def fuse(self, gap: int = 0) -> None:
        """``i, j`` to ``i * n + j``."""
        k = self.pick.integer(0, max(0, len(self.outputs) - 2))
        if k + 1 >= len(self.outputs):
            return
        outer, inner = self.extents[k], self.extents[k + 1]
        if inner is None:
            return
        stride = inner + gap
        both = self.outputs[k] * stride + self.outputs[k + 1]
        extent = None if outer is None else max(0, (outer - 1) * stride + inner)
        self.outputs[k : k + 2] = [both]
        self.extents[k : k + 2] = [extent]

    def rotate(self) -> None:
        """``i`` to ``(i + c) % n``."""
        k = self._any()
        n = self.extents[k]
        if n is not None and n > 1:
            self._put(k, ((self.outputs[k] + self.pick.integer(1, n - 1)) % n, n))

    def swizzle(self) -> None:
        """``i`` to ``i ^ (j & (n - 1))``, for an extent n that is a power of two."""
        k, m = self._any(), self._any()
        n = self.extents[k]
        if k != m and n is not None and n > 1 and n & (n - 1) == 0:
            mask = Binary("bitand", self.outputs[m], self._const(n - 1))
            self._put(k, (Binary("bitxor", self.outputs[k], mask), n))

    def skew(self) -> None:
        """``i`` to ``(i + j) % n``."""
        k, m = self._any(), self._any()
        n = self.extents[k]
        if k != m and n is not None and n > 1:
            self._put(k, ((self.outputs[k] + self.outputs[m]) % n, n))

    # -- injections with padding --------------------------------------------------------------------------------------

    def ragged(self) -> None:
        """``i`` to ``i // c, i % c``, whether c divides the extent or not."""
        k = self._any()
        n, e = self.extents[k], self.outputs[k]
        if len(self.outputs) < _OUTPUTS_AT_MOST:
            c = self.pick.one(4, 2, 3, 5, 8)
            self._put(k, (e // c, None if n is None else -(-n // c)), (e % c, c))

    def shift(self) -> None:
        """``i`` to ``i + c``."""
        k, c = self._any(), self.pick.integer(1, 3)
        n = self.extents[k]
        self._put(k, (self.outputs[k] + c, None if n is None else n + c))

    def spread(self) -> None:
        """``i`` to ``2 * i``."""
        k = self._any()
        n = self.extents[k]
        self._put(k, (self.outputs[k] * 2, None if n is None else max(0, 2 * n - 1)))

    def fuse_apart(self) -> None:
        """``i, j`` to ``i * (n + 1) + j``."""
        self.fuse(gap=self.pick.integer(1, 3))

    # -- many to one --------------------------------------------------------------------------------------------------

    def coarsen(self) -> None:
        """``i`` to ``i // 2``."""
        k = self._any()
        n = self.extents[k]
        self._put(k, (self.outputs[k] // 2, None if n is None else (n + 1) // 2))

    def wrap(self) -> None:
        """``i`` to ``i % c``."""
        k, c = self._any(), self.pick.integer(2, 4)
        self._put(k, (self.outputs[k] % c, c))

    def forget(self) -> None:
        """One output less."""
        if len(self.outputs) > 1:
            k = self._any()
            del self.outputs[k], self.extents[k]
