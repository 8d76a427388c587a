"""From one layout to another: the nodes that lead there, each with a proof that it makes what it is said to make.

A tensor x *in layout B* is what one program makes of x, its definition: ``layout_transform``, ``pad``, or x itself.
That the node R makes B from A is the theorem ``definition of B ⊑ρ R``, where ρ puts the operand in layout A: given x in
layout A, R gives x in layout B, padding included.  The kernel moves the operand of the definition, and proves that what
is stored then is what R stores; nothing rests on how the index map of R was found.

Where an inverse leads from the whole physical box to a larger logical one, as for tiles of channels that do not come
out even, there are two nodes: ``layout_transform`` back, and ``crop``.  Where three channels take the room of a tile of
sixteen, there are ``pad`` and ``layout_transform``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from math import prod
from typing import Any, final

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Node, TensorType, Value
from verified_tir.graph.layouts import (
    Layout,
    Padded,
    constant,
    index_map_of,
    is_identity,
    layout_text,
    normal,
    number,
    pads,
    room_of,
    serves,
    shape_in,
    value_of,
)
from verified_tir.graph.operators import legalize, result_types
from verified_tir.graph.program import composed, one_store
from verified_tir.graph.relayout import Relaid, why_not
from verified_tir.graph.sizes import numbers
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Seq, Store, seq
from verified_tir.ir.visit import rewrite, substitute, walk
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.tactics.constraints import only_assumes
from verified_tir.script import tir as T  # noqa: N812


@final
@dataclass(frozen=True, slots=True)
class Conversion:
    """An operator with attributes, the type it gives, the layout that is reached, and the proof."""

    op: str
    attrs: Mapping[str, Any]
    type: TensorType
    layout: Layout
    proof: Relaid


# -- what a tensor in a layout is --------------------------------------------------------------------------------------


def definition(t: TensorType, layout: Layout) -> PrimFunc:
    """The program that makes a tensor of type ``t`` in a layout from the tensor as its indices say.

    :raises GraphError: for a layout that needs more room than its map makes of a larger box.
    """
    x = Value("x", t)
    nodes = definition_nodes(x, layout)
    return composed(nodes, [x], [nodes[-1].output])


def definition_nodes(v: Value, layout: Layout) -> list[Node]:
    """The rewrites that make a value in a layout, as nodes."""
    nodes: list[Node] = []
    for k, (op, attrs) in enumerate(_definition(v.type, layout)):
        here = nodes[-1].output if nodes else v
        (made,) = result_types(op, [here.type], attrs)
        nodes.append(Node(op, (here,), (Value(f"{v.name}_{k}", made),), attrs))
    return nodes


def _definition(t: TensorType, layout: Layout) -> list[tuple[str, dict[str, Any]]]:
    """One operator, or two: more room first, and then the map of the whole box."""
    index_map = index_map_of(layout)
    room = room_of(layout)
    if index_map is None:
        return [("permute_dims", {"axes": tuple(range(len(t.dims)))})]
    value = plain_value(value_of(layout), t.dtype)
    if room is None:
        return [("layout_transform", {"index_map": index_map, "pad_value": value})]
    before = _moves_by(index_map)
    if before is not None:
        return [_pad(t, before, room, value)]
    box = _whole_box(t, layout)
    first = [] if box == t.shape else [_pad(t, [0] * len(box), box, value)]
    return [*first, ("layout_transform", {"index_map": index_map, "pad_value": None})]


def _pad(t: TensorType, before: Sequence[int], room: Sequence[int], value: Any) -> tuple[str, dict[str, Any]]:
    widths = tuple((b, n - b - e) for b, n, e in zip(before, room, t.shape, strict=True))
    return "pad", {"pad_width": widths, "pad_value": value}


def _whole_box(t: TensorType, layout: Layout) -> tuple[int, ...]:
    """The logical box whose elements fill a layout's room.

    :raises GraphError: if there is none.
    """
    try:
        room = numbers(shape_in(layout, t.shape), "a box")
        box = numbers(shape_in(_inverse(_several(t), layout), room), "a box")
    except GraphError as problem:
        raise GraphError(f"the way back from {layout} is not a layout of the whole box: {problem}") from None
    if prod(box) != prod(room) or any(n < e for n, e in zip(box, t.shape, strict=True)):
        raise GraphError(f"elements and padding of the layout {layout} of {t} do not fill a whole box")
    return box


def _several(t: TensorType) -> TensorType:
    """The type with more than one element along each dimension: an index that is always 0 does not say its tile."""
    return TensorType(tuple(max(2, n) if isinstance(n, int) else n for n in t.dims), t.dtype)


def _moves_by(index_map: IndexMap) -> list[int] | None:
    """The constants that a map adds to each index, if that is all it does."""
    found: list[int] = []
    for i, o in zip(index_map.inputs, index_map.outputs, strict=False):
        match o:
            case Var() if o is i:
                found.append(0)
            case Binary(op="add", a=a, b=IntImm(value=k)) if a is i:
                found.append(k)
            case _:
                return None
    return found if len(index_map.outputs) == len(index_map.inputs) else None


def plain_value(value: float | int | None, dtype: str) -> Any:
    """A value of padding as a Python number of the type."""
    return None if value is None else number(value, dtype).item()


# -- the way from one to another ---------------------------------------------------------------------------------------


def conversions(t: TensorType, given: Layout, wanted: Layout) -> list[Conversion]:
    """The nodes that lead a tensor of type ``t`` (as its indices say) from one layout to another, with their proofs.

    :raises GraphError: if an inverse is not understood, or a proof fails.
    """
    here, wanted = normal(given, t.dims), normal(wanted, t.dims)
    steps: list[Conversion] = []
    while layout_text(here) != layout_text(wanted):
        op, attrs, reached = _next(t, here, wanted)
        before = TensorType(shape_in(here, t.dims), t.dtype)
        (made,) = result_types(op, [before], attrs)
        proof = prove_conversion(t, here, reached, legalize(op, [before], attrs))
        steps.append(Conversion(op, attrs, made, reached, proof))
        here = reached
    return steps


def _next(t: TensorType, here: Layout, wanted: Layout) -> tuple[str, dict[str, Any], Layout]:
    """The next operator on the way, its attributes, and where it leads."""
    if here is None:
        op, attrs = _definition(t, wanted)[0]
        if op == "pad" and _room_only(wanted) is None:
            return op, attrs, _flat(t, _whole_box(t, wanted), value_of(wanted))
        return op, attrs, wanted
    to, start = index_map_of(wanted), _room_only(here)
    if start is not None and pads(here, t.dims):
        if to is not None and _is_flat_of(t, here, wanted):
            return "layout_transform", {"index_map": to, "pad_value": None}, wanted
        hint = plain_value(value_of(here), t.dtype)
        cropped: dict[str, Any] = {"start_indices": tuple(start), "slice_sizes": t.dims}
        return "crop", cropped | ({} if hint is None else {"cropped_value": hint}), None
    back = _inverse(t, here)
    if pads(here, t.dims):
        back = _inverse(_several(t), here)
        flat = _flat(t, _whole_box(t, here), value_of(here))
        return "layout_transform", {"index_map": back, "pad_value": None}, flat
    if to is None or room_of(wanted) is not None:
        return "layout_transform", {"index_map": back, "pad_value": None}, None
    attrs = {"index_map": to.compose(back), "pad_value": plain_value(value_of(wanted), t.dtype)}
    return "layout_transform", attrs, wanted


def _inverse(t: TensorType, layout: Layout) -> IndexMap:
    index_map = index_map_of(layout)
    assert index_map is not None
    try:
        return index_map.inverse(t.dims)
    except IndexMapError as problem:
        raise GraphError(f"the layout {index_map} of {t} has no inverse: {problem}") from None


def _flat(t: TensorType, box: tuple[int, ...], value: float | int | None) -> Layout:
    """As the indices say, with more room behind each dimension."""
    return normal(Padded(IndexMap.identity(len(t.dims)), value, box), t.dims)


def _room_only(layout: Layout) -> list[int] | None:
    """Where the elements begin, in a layout that is nothing but room around them."""
    index_map = index_map_of(layout)
    return None if index_map is None or room_of(layout) is None else _moves_by(index_map)


def _is_flat_of(t: TensorType, here: Layout, wanted: Layout) -> bool:
    """Whether ``here`` is the whole box that a map turns into ``wanted``, with the same padding."""
    if room_of(wanted) is None:
        return False
    try:
        box = _whole_box(t, wanted)
    except GraphError:
        return False
    return serves(layout_text(here), layout_text(_flat(t, box, value_of(wanted))))


# -- proofs ------------------------------------------------------------------------------------------------------------


def prove_conversion(t: TensorType, given: Layout, reached: Layout, target: PrimFunc) -> Relaid:
    """That ``target`` makes x in layout ``reached`` from x in layout ``given``, for x of type ``t``.

    :raises GraphError: if not, with the counterexample of the kernel.
    """
    try:
        s = one_store(definition_nodes(Value("x", t), reached))
        put_operand(s, t, given)
        return arrive(s, target)
    except ScheduleError as refused:
        what = f"{target.name} does not make {reached or 'the plain layout'} of {t} from {given or 'the plain one'}"
        raise GraphError(f"{what}: {why_not(refused)}") from refused


def put_operand(s: Schedule, t: TensorType, given: Layout) -> None:
    """Put the operand, a program's first parameter of type ``t``, in a layout."""
    index_map, x = index_map_of(given), s.func.buffers[0].name
    if index_map is None:
        return
    if pads(given, t.dims):
        value = value_of(given)
        free = T.undef() if value is None else constant(value, t.dtype)
        s.transform_layout(x, index_map, pad_value=free, shape=shape_in(given, t.dims))
    elif not is_identity(index_map):
        s.transform_layout(x, index_map)


def arrive(s: Schedule, target: PrimFunc, *, assumed: bool = False) -> Relaid:
    """Let the single store of a schedule's program store what that of another program does; the proof that ends there.

    :param assumed: the schedule's program begins with assumptions, which ``target`` does without.
    :raises ScheduleError: if the values differ.
    :raises GraphError: if the programs differ in more than the value that they store.
    """
    wanted = Schedule(target)
    if not structural_equal(_without_assumptions(s.func, assumed), wanted.func):
        _restate(s, wanted.func)
    if not structural_equal(_without_assumptions(s.func, assumed), wanted.func):
        raise GraphError(f"{target.name} goes through its result in another way than what it is compared with")
    return Relaid(target, s.theorem, (), s)


def _without_assumptions(func: PrimFunc, assumed: bool) -> PrimFunc:
    if not assumed or not isinstance(func.body, Seq):
        return func
    return func.with_body(seq(*dropwhile(only_assumes, func.body.stmts)))


def _restate(s: Schedule, target: PrimFunc) -> None:
    stores = [n for n in walk(target.body) if isinstance(n, Store)]
    mine = s.func.buffers
    if len(stores) != 1 or stores[0].buffer is not target.buffers[-1] or len(mine) != len(target.buffers):
        raise GraphError(f"{target.name} is not a program of a single store")
    store = stores[0]
    buffers: dict[Buffer, Buffer] = dict(zip(target.buffers, mine, strict=True))

    def value(*indices: Expr) -> Expr:
        own = {a: i for a, i in zip(store.indices, indices, strict=True) if isinstance(a, Var)}
        there = substitute(store.value, own)
        return rewrite(
            there, lambda n: Load(buffers[n.buffer], n.indices) if isinstance(n, Load) and n.buffer in buffers else None
        )

    s.restate(mine[-1].name, value)
