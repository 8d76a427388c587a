"""Index arithmetic by plain numpy on many points at once, and what the simplifier and index maps are held against.

Values are Python's own integers, so nothing overflows here that would not in mathematics; a point where a subexpression
leaves its type, or divides by zero, has no meaning, and nothing is asked of it.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from verified_tir.durations import duration
from verified_tir.fuzz.target import Disagreement
from verified_tir.index.map import IndexMap, IndexMapError, NegativeIndex, NotInjective, NotInvertible
from verified_tir.index.simplify import simplify
from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, Not, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Evaluate, For, Stmt
from verified_tir.ir.visit import sub_statements, walk

Values: TypeAlias = npt.NDArray[Any]
MOST_POINTS: Final = 600
SYMBOLS: Final = (0, 1, 2, 3, 5, 8)
"""What shape symbols are tried on."""
PATIENCE: Final = 20.0


def index_values(expr: Expr, at: Mapping[Var, Values], *, limited: bool = True) -> tuple[Values, Values]:
    """The values of an expression at points, and where it has one.

    :param limited: whether a subexpression that leaves its type has no meaning; otherwise integers have no limits.
    :raises ValueError: for an expression that is no index arithmetic.
    """

    def go(e: Expr) -> tuple[Values, Values]:
        return index_values(e, at, limited=limited)

    match expr:
        case Var():
            return at[expr], _everywhere(at)
        case IntImm(value=number):
            return np.full(len(_everywhere(at)), number, object), _everywhere(at)
        case Not(a=a):
            x, there = go(a)
            return 1 - x, there
        case Binary(op="and" | "or" as op, a=a, b=b):
            (x, there), (y, here) = go(a), go(b)
            decided = ~x.astype(bool) if op == "and" else x.astype(bool)
            return np.where(decided, x, y), there & (decided | here)
        case IfThenElse(condition=c, true_value=a, false_value=b):
            (x, there), (y, yes), (z, no) = go(c), go(a), go(b)
            return np.where(x.astype(bool), y, z), there & np.where(x.astype(bool), yes, no)
        case Select(condition=c, true_value=a, false_value=b):
            (x, there), (y, yes), (z, no) = go(c), go(a), go(b)
            return np.where(x.astype(bool), y, z), there & yes & no
        case Binary(op=op, a=a, b=b):
            (x, there), (y, here) = go(a), go(b)
            means = there & here
            if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
                means, y = means & (y != 0), np.where(y == 0, 1, y)
            value = np.asarray(_OPERATIONS[op](x, y), object)
            if limited and expr.dtype.is_int:
                means = means & (value >= expr.dtype.min_value) & (value <= expr.dtype.max_value)
            return value, means.astype(bool)
    raise ValueError(f"{expr} is no index arithmetic")


def _everywhere(at: Mapping[Var, Values]) -> Values:
    return np.full(len(next(iter(at.values()))) if at else 1, True)


def _truncated(x: Values, y: Values) -> Values:
    quotient: Values = abs(x) // abs(y) * np.where((x < 0) == (y < 0), 1, -1)
    return quotient


_OPERATIONS: Final[Mapping[str, Any]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "floordiv": lambda x, y: x // y,
    "floormod": lambda x, y: x % y, "truncdiv": _truncated, "truncmod": lambda x, y: x - y * _truncated(x, y),
    "bitand": lambda x, y: x & y, "bitor": lambda x, y: x | y, "bitxor": lambda x, y: x ^ y,
    "min": np.minimum, "max": np.maximum, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
}  # fmt: skip


# --------------------------------------------------------------------------------------------------------- simplifier


def assert_simplifies_alike(func: PrimFunc) -> int:
    """What the simplifier of index arithmetic makes of each ``T.evaluate(e)`` has the value of ``e``.

    Loops around give the ranges of their variables, and integer parameters are symbols.  All points of the loops are
    tried for a few sizes, and the ends of the type for variables that no loop binds.  The result must not be much
    larger, must be found soon, and simplifying it twice more changes nothing.

    :returns: how many points were compared.
    :raises AssertionError: if something is wrong.
    """
    compared = 0
    symbols = [p for p in func.params if p.dtype.is_int]
    for expr, loops in _evaluated(func.body, ()):
        ranges = {loop.var: (loop.min, loop.extent) for loop in loops}
        begun = time.perf_counter()
        simple = simplify(expr, ranges)
        seconds = time.perf_counter() - begun
        if seconds > PATIENCE:
            raise Disagreement("simplifier-slow", "simplify", f"{duration(seconds)} for {script(expr)}")
        if simple.dtype is not expr.dtype:
            raise Disagreement(
                "simplifier-differs", "simplify", f"{script(expr)} becomes {script(simple)}, of another type"
            )
        if _size(simple) > 4 * _size(expr) + 16:
            raise Disagreement("simplifier-grows", "simplify", f"{script(expr)} becomes {script(simple)}")
        twice = simplify(simplify(simple, ranges), ranges)
        if simplify(twice, ranges) is not twice:
            raise Disagreement(
                "simplifier-restless", "simplify", f"{script(twice)} becomes {script(simplify(twice, ranges))}"
            )
        at = points_in(symbols, loops)
        value, means = index_values(expr, at)
        found, there = index_values(simple, at, limited=False)
        wrong = means & (~there | (found != value)).astype(bool)
        compared += int(np.sum(means))
        if np.any(wrong):
            k = int(np.argmax(wrong))
            point = ", ".join(f"{v.name} = {x[k]}" for v, x in at.items())
            text = f"{script(expr)} is {value[k]}, {script(simple)} is {found[k]} at {point}"
            raise Disagreement("simplifier-differs", "simplify", f"{text}\n{script(func)}")
    return compared


def _evaluated(stmt: Stmt, loops: tuple[For, ...]) -> Iterator[tuple[Expr, tuple[For, ...]]]:
    if isinstance(stmt, Evaluate):
        yield stmt.value, loops
    inside = (*loops, stmt) if isinstance(stmt, For) else loops
    for sub in sub_statements(stmt):
        yield from _evaluated(sub, inside)


def _size(expr: Expr) -> int:
    """Nodes of the tree, or very many."""
    count = 0
    waiting = [expr]
    while waiting and count < 100_000:
        count += 1
        waiting += [n for n in _operands(waiting.pop()) if isinstance(n, Expr)]
    return count


def _operands(e: Expr) -> list[Any]:
    match e:
        case Binary(a=a, b=b):
            return [a, b]
        case Not(a=a):
            return [a]
        case Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b):
            return [c, a, b]
    return []


def points_in(symbols: Sequence[Var], loops: Sequence[For]) -> dict[Var, Values]:
    """Points in a nest of loops, for a few sizes; the ends of ranges are among them."""
    order = random.Random(0)
    found: list[tuple[int, ...]] = []
    bound = {loop.var for loop in loops}
    free = [s for s in symbols if s not in bound]
    sizes = list(itertools.product(*[_choices(s, loops) for s in free]))
    for values in order.sample(sizes, min(40, len(sizes))):
        points = [dict(zip(free, values, strict=True))]
        for loop in loops:
            points = [{**p, loop.var: x} for p in points for x in _steps(loop, p, order)]
            points = order.sample(points, min(60, len(points)))
        found += [tuple(p[v] for v in (*free, *(x.var for x in loops))) for p in points]
    found = order.sample(found, min(MOST_POINTS, len(found)))
    columns = list(zip(*found, strict=True)) if found else [()] * (len(free) + len(loops))
    return {v: np.array(c, object) for v, c in zip((*free, *(x.var for x in loops)), columns, strict=True)}


def _choices(symbol: Var, loops: Sequence[For]) -> tuple[int, ...]:
    """Sizes for a symbol that bounds a loop; for another one, small numbers of both signs and the ends of its type."""
    if any(symbol in walk(e) for loop in loops for e in (loop.min, loop.extent)):
        return SYMBOLS
    low, high = symbol.dtype.min_value, symbol.dtype.max_value
    return tuple(v for v in (0, 1, -1, 2, -3, 7, -8, low, low + 1, high, high - 1, high // 2) if low <= v <= high)


def _steps(loop: For, point: Mapping[Var, int], order: random.Random) -> list[int]:
    at = {v: np.array([x], object) for v, x in point.items()}
    (low, one), (extent, other) = index_values(loop.min, at), index_values(loop.extent, at)
    if not (one.all() and other.all()):
        return []
    first, count = int(low[0]), max(0, int(extent[0]))
    if count <= 12:
        return [first + k for k in range(count)]
    return [first, first + 1, first + count - 2, first + count - 1, *(first + order.randrange(count) for _ in range(8))]


# --------------------------------------------------------------------------------------------------------- index maps


def assert_index_map_right(index_map: IndexMap, shape: Sequence[int]) -> str:
    """The box of a map on a shape, its inverse and padding, packing and unpacking, by counting out the points.

    :returns: ``injective``, ``not injective``, ``negative``, or ``unknown`` if one of these was not found.
    :raises AssertionError: if something is wrong.
    """
    points = list(itertools.product(*[range(n) for n in shape]))
    columns = np.array(points, object).reshape(len(points), len(shape)).T
    at = {v: np.asarray(c, object) for v, c in zip(index_map.inputs, columns, strict=True)}
    outputs = [index_values(e, at) for e in index_map.outputs]
    if not points or not all(means.all() for _, means in outputs):
        return "unknown"
    images = [tuple(int(x) for x in row) for row in zip(*[v for v, _ in outputs], strict=True)]
    text = f"{index_map} on {list(shape)}"
    injective = len(set(images)) == len(images)
    negative = any(x < 0 for image in images for x in image)
    ended = _check_inverse(index_map, shape, points, images, text, injective)
    if _check_box(index_map, shape, images, text, negative) and injective and ended != "unknown":
        _check_packing(index_map, shape, points, images, text)
    return "negative" if negative else ended


def _check_box(f: IndexMap, shape: Sequence[int], images: list[tuple[int, ...]], text: str, negative: bool) -> bool:
    """The padded shape; whether there is one."""
    try:
        padded = [e.value if isinstance(e, IntImm) else None for e in f.padded_shape(shape)]
    except NegativeIndex:
        if not negative:
            raise Disagreement("map-negative", "index map", f"{text} is called negative") from None
        return False
    except IndexMapError:
        return False
    most = [max(column) + 1 for column in zip(*images, strict=True)]
    if negative or padded != most:
        raise Disagreement("map-box", "index map", f"{text} has the box {padded}, should be {most}")
    return True


def _check_inverse(
    f: IndexMap,
    shape: Sequence[int],
    points: list[tuple[int, ...]],
    images: list[tuple[int, ...]],
    text: str,
    injective: bool,
) -> str:
    try:
        inverse = f.inverse(shape)
    except NotInjective as refused:
        if injective or refused.first == refused.second:
            raise Disagreement("map-injective", "index map", f"{text} is called many-to-one: {refused}") from refused
        where = dict(zip(points, images, strict=True))
        if where[refused.first] != where[refused.second]:
            raise Disagreement("map-injective", "index map", f"{text}: {refused}, which is not so") from refused
        return "not injective"
    except NotInvertible:
        return "unknown"
    if not injective:
        raise Disagreement("map-inverse", "index map", f"{text} has the inverse {inverse}, and is many-to-one")
    at = {v: np.array(c, object) for v, c in zip(inverse.inputs, zip(*images, strict=True), strict=True)}
    back = [index_values(e, at) for e in inverse.outputs]
    for k, p in enumerate(points):
        if not all(m[k] for _, m in back) or tuple(int(v[k]) for v, _ in back) != p:
            raise Disagreement("map-inverse", "index map", f"{text} has the inverse {inverse}, wrong for {images[k]}")
    return "injective"


def _check_packing(
    f: IndexMap, shape: Sequence[int], points: list[tuple[int, ...]], images: list[tuple[int, ...]], text: str
) -> None:
    array = np.arange(1, len(points) + 1).reshape(shape)
    packed = f.pack(array, -1)
    expected = np.full(packed.shape, -1)
    for p, image in zip(points, images, strict=True):
        expected[image] = array[p]
    if not np.array_equal(packed, expected) or not np.array_equal(f.unpack(packed, shape), array):
        raise Disagreement("map-pack", "index map", f"{text} packs to {packed.tolist()}, should be {expected.tolist()}")
    try:
        names, predicate = f.padding_predicate(shape)
    except NotInvertible:
        return
    box = list(itertools.product(*[range(n) for n in packed.shape]))[:2000]
    at = {v: np.array(c, object) for v, c in zip(names, zip(*box, strict=True), strict=True)}
    value, means = index_values(predicate, at)
    inside = set(images)
    for k, y in enumerate(box):
        if not means[k] or bool(value[k]) != (y not in inside):
            raise Disagreement("map-padding", "index map", f"{text} has the padding {script(predicate)}, wrong at {y}")
