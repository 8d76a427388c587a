"""Sets of indices and relations between them, by isl: which elements a program stores, and where they come from.

Exact for what isl can express (sums, products with numbers, ``//`` and ``%`` by numbers, conditions of these); anything
else is :class:`~verified_tir.index.isl.Inexpressible`, and so is what takes too long.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from verified_tir.index.isl import Inexpressible
from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import COMPARE_OPS, Binary, Expr, IntImm, Not, Var
from verified_tir.ir.script import script
from verified_tir.ir.sugar import const

if TYPE_CHECKING:
    from types import TracebackType

    from verified_tir.graph.copies import Piece

OPERATIONS = 2_000_000
"""isl operations for one program (some tenths of a second)."""

_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "!="}


@final
class Sets:
    """The indices of a source and a target; a context manager, within which isl's work is bounded."""

    def __init__(self, source: Buffer, target: Buffer, shape: Sequence[int], made: Sequence[int]) -> None:
        import islpy as isl

        self.isl, self.source, self.target = isl, source, target
        self.context = isl.Context()
        self.ranks = len(shape), len(made)
        self.sources = self._set(f"{{ {_tuple('s', len(shape))} : {_box('s', shape)} }}")
        self.targets = self._set(f"{{ {_tuple('t', len(made))} : {_box('t', made)} }}")
        self.context.set_max_operations(OPERATIONS)

    def __enter__(self) -> Sets:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, self.isl.Error):
            raise Inexpressible(f"isl gave up: {str(error).splitlines()[0]}") from error

    def _set(self, text: str) -> Any:
        return self.isl.Set.read_from_str(self.context, text)

    def empty(self) -> Any:
        """No element is copied."""
        s, t = _tuple("s", self.ranks[0]), _tuple("t", self.ranks[1])
        return self.isl.Map.read_from_str(self.context, f"{{ {s} -> {t} : false }}")

    def relation(self, p: Piece) -> Any:
        """From the elements that a piece reads to where it stores them."""
        assert p.of is not None
        names = _names(p.loops)
        equal = [*_equal("s", p.of, names), *_equal("t", p.at, names)]
        s, t = _tuple("s", self.ranks[0]), _tuple("t", self.ranks[1])
        text = f"{{ {s} -> {t} : {_exists(p, names, equal)} }}"
        return self.isl.Map.read_from_str(self.context, text)

    def stored(self, p: Piece) -> Any:
        """Where a piece stores."""
        names = _names(p.loops)
        t = _tuple("t", self.ranks[1])
        return self._set(f"{{ {t} : {_exists(p, names, _equal('t', p.at, names))} }}")

    def fixed(self, p: Piece) -> dict[Var, int]:
        """Loops of which the conditions leave one iteration, which is given."""
        found: dict[Var, int] = {}
        names = _names(p.loops)
        for v, name in names.items():
            others = {w: n for w, n in names.items() if w is not v}
            values = self._set(f"{{ [{name}] : {_exists(p, names, (), bound=others.values())} }}")
            if values.is_singleton():
                found[v] = _coordinate(self.isl, values.sample_point(), 0)
        return found

    def graph_of(self, index_map: IndexMap, *, backward: bool) -> Any:
        """The relation that a map describes; ``backward`` says that it leads from the target to the source."""
        names = {v: f"{'t' if backward else 's'}{k}" for k, v in enumerate(index_map.inputs)}
        equal = _equal("s" if backward else "t", index_map.outputs, names)
        s, t = _tuple("s", self.ranks[0]), _tuple("t", self.ranks[1])
        relation = self.isl.Map.read_from_str(self.context, f"{{ {s} -> {t} : {' and '.join(equal) or 'true'} }}")
        return relation.intersect_range(self.targets) if backward else relation.intersect_domain(self.sources)

    def function(self, relation: Any) -> IndexMap:
        """The map that a single-valued relation is.

        :raises Inexpressible: if it is put together of several.
        """
        found = self.isl.PwMultiAff.from_map(relation).coalesce()
        text = found.to_str()
        if text is None or found.n_piece() != 1:
            raise Inexpressible("the map is put together of several")
        names, _, rest = text.strip("{} ").partition(" -> ")
        return read_map(names.strip("[] ").split(", "), rest.partition(" : ")[0].strip().removesuffix("}").strip())

    def require_function(self, relation: Any) -> None:
        """:raises NoCopy: if an element goes to two places, or a place gets two elements."""
        from verified_tir.graph.copies import NoCopy

        s, t = self.source, self.target
        for one, a, b in ((relation, s, t), (relation.reverse(), t, s)):
            if one.is_single_valued():
                continue
            pairs = one.reverse().apply_range(one)
            twice = pairs.subtract(self.isl.Map.identity(pairs.get_space()))
            point = twice.wrap().sample_point()
            rank = len(b.shape)
            values = [_coordinate(self.isl, point, k) for k in range(2 * rank)]
            first, second = (f"{b.name}{values[k : k + rank]}" for k in (0, rank))
            whose = one.intersect_range(self._set(f"{{ [{', '.join(map(str, values[:rank]))}] }}"))
            place = point_text(a, whose.domain())
            told = f"{place} is copied to {first} and {second}" if a is s else f"{place} gets {first} and {second}"
            raise NoCopy(f"{told}: that is not a bijection")


def point_text(buffer: Buffer, points: Any) -> str:
    """One of the elements, as text."""
    import islpy as isl

    point = points.sample_point()
    return f"{buffer.name}{[_coordinate(isl, point, k) for k in range(len(buffer.shape))]}"


def _coordinate(isl: Any, point: Any, k: int) -> int:
    text = point.get_coordinate_val(isl.dim_type.set, k).to_str()
    if text is None:
        raise Inexpressible("isl gave up: maximal number of operations exceeded")
    return int(text)


# -- text --------------------------------------------------------------------------------------------------------------


def _tuple(name: str, rank: int) -> str:
    return f"[{', '.join(f'{name}{k}' for k in range(rank))}]"


def _box(name: str, shape: Sequence[int]) -> str:
    return " and ".join(f"0 <= {name}{k} < {e}" for k, e in enumerate(shape)) or "true"


def _names(loops: Mapping[Var, tuple[int, int]]) -> dict[Var, str]:
    return {v: f"j{k}" for k, v in enumerate(loops)}


def _equal(name: str, indices: Sequence[Expr], names: Mapping[Var, str]) -> list[str]:
    return [f"{name}{k} = {affine_text(e, names)}" for k, e in enumerate(indices)]


def _exists(p: Piece, names: Mapping[Var, str], equal: Sequence[str], bound: Iterable[str] | None = None) -> str:
    ranges = [f"{low} <= {names[v]} < {low + extent}" for v, (low, extent) in p.loops.items()]
    given = [condition_text(c, names) for c in p.conditions]
    every = " and ".join([*equal, *ranges, *given]) or "true"
    inner = list(names.values() if bound is None else bound)
    return f"exists ({', '.join(inner)} : {every})" if inner else every


def read_map(names: Sequence[str], text: str) -> IndexMap:
    """A list of quasi-affine functions, as isl writes it: ``[(floor((s0)/4)), (2s0 mod 4)]``.

    :raises Inexpressible: if it is none.
    """
    text = re.sub(r"(\d)([a-z(])", r"\1*\2", text).replace(" mod ", " % ")
    inputs = tuple(Var.fresh(f"i{k}", INT32) for k in range(len(names)))
    known: dict[str, Expr] = dict(zip(names, inputs, strict=True))

    def read(n: ast.expr) -> Expr:
        match n:
            case ast.Name(id=name) if name in known:
                return known[name]
            case ast.Constant(value=int(value)):
                return const(value, INT32)
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return const(0, INT32) - read(a)
            case ast.BinOp(left=a, op=ast.Add(), right=b):
                return read(a) + read(b)
            case ast.BinOp(left=a, op=ast.Sub(), right=b):
                return read(a) - read(b)
            case ast.BinOp(left=a, op=ast.Mult(), right=b):
                return read(a) * read(b)
            case ast.BinOp(left=a, op=ast.Mod(), right=ast.Constant(value=int(c))):
                return read(a) % c
            case ast.Call(
                func=ast.Name(id="floor"), args=[ast.BinOp(left=a, op=ast.Div(), right=ast.Constant(value=int(c)))]
            ):
                return read(a) // c
        raise Inexpressible(f"{ast.unparse(n)} is not understood")

    try:
        body = ast.parse(text, mode="eval").body
    except SyntaxError as problem:
        raise Inexpressible(f"{text} is not understood") from problem
    if not isinstance(body, ast.List):
        raise Inexpressible(f"{text} is not understood")
    return IndexMap(inputs, tuple(map(read, body.elts)))


def affine_text(e: Expr, names: Mapping[Var, str]) -> str:
    """An index as isl writes it.

    :raises Inexpressible: if isl has no word for it.
    """
    match e:
        case Var() if e in names:
            return names[e]
        case IntImm(value=value):
            return str(value)
        case Binary(op="add" | "sub" as op, a=a, b=b):
            return f"({affine_text(a, names)} {'+' if op == 'add' else '-'} {affine_text(b, names)})"
        case Binary(op="mul", a=IntImm(value=c), b=a) | Binary(op="mul", a=a, b=IntImm(value=c)):
            return f"({c}*{affine_text(a, names)})"
        case Binary(op="min" | "max" as op, a=a, b=b):
            return f"{op}({affine_text(a, names)}, {affine_text(b, names)})"
        case Binary(op="floordiv", a=a, b=IntImm(value=c)) if c > 0:
            return f"floor({affine_text(a, names)}/{c})"
        case Binary(op="floormod", a=a, b=IntImm(value=c)) if c > 0:
            return f"({affine_text(a, names)} mod {c})"
    raise Inexpressible(f"{script(e)} is not quasi-affine")


def condition_text(e: Expr, names: Mapping[Var, str]) -> str:
    """A condition as isl writes it.

    :raises Inexpressible: if isl has no word for it.
    """
    match e:
        case IntImm(value=value):
            return "true" if value else "false"
        case Not(a=a):
            return f"(not {condition_text(a, names)})"
        case Binary(op="and" | "or" as op, a=a, b=b):
            return f"({condition_text(a, names)} {op} {condition_text(b, names)})"
        case Binary(op=op, a=a, b=b) if op in COMPARE_OPS and a.dtype.is_int:
            return f"({affine_text(a, names)} {_COMPARE[op]} {affine_text(b, names)})"
    raise Inexpressible(f"{script(e)} is not quasi-affine")
