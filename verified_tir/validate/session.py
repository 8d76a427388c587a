"""One symbolic run of one function, from its parameters at entry to memory at exit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Call, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import walk
from verified_tir.validate.access import Access
from verified_tir.validate.calls import needs_order
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.execute import Asserted, Executor, cell_widths, names_of
from verified_tir.validate.frame import Frame, Value, given
from verified_tir.validate.interface import Parameter, Side
from verified_tir.validate.memory import UndefinedRun, View
from verified_tir.validate.operators import Builder
from verified_tir.validate.places import are_asked_for
from verified_tir.validate.terms import UNDEF_ID, Ids
from verified_tir.validate.verdict import Equal, Unknown
from verified_tir.validate.widths import parts


@final
@dataclass(frozen=True, slots=True)
class Exit:
    """How a run ended.

    ``undefined`` says which undefined behaviour it has on every input, ``asserted`` which assertion ended it.
    ``memory`` has, by position, the terms of each buffer parameter: (elements of *before*, lanes) and the padding.
    ``races`` are the blocks of shared memory in which threads conflict without a barrier between.
    ``events`` are conditions under which the run has undefined behaviour, ``world`` what opaque calls did.
    """

    memory: Mapping[int, tuple[Ids, Ids]]
    events: Mapping[tuple[int, int], str]
    findings: tuple[str, ...]
    world: int
    undefined: str | None = None
    asserted: str | None = None
    races: frozenset[str] = frozenset()


def execute(
    side: Side,
    build: Builder,
    *,
    fast: bool,
    budget: int,
    declared: bool = False,
    marked: bool = False,
    noted: dict[str, None] | None = None,
    alone: int = 0,
) -> Exit:
    """Run a program symbolically.

    :param budget: the most operations to execute.
    :param declared: whether opaque calls touch no more than the blocks around them declare.
    :param marked: whether sums of floats of several threads are told from those in a fixed order.
    :param noted: filled with the races, as they are found, also if the run is refused later.
    :param alone: operations that an iteration counts as which does not run together with others.
    :raises Refused: where the validator cannot follow.
    :raises TooManyTerms: beyond the budget.
    """
    func, params = side.func, side.params
    nodes = list(walk(func.body))
    written = frozenset(node.buffer.data for node in nodes if isinstance(node, Store))
    widths = cell_widths(func)
    if any(isinstance(node, Call) and needs_order(node) for node in nodes):
        written = frozenset(widths)
    access = Access(build, written)
    evaluator = Evaluator(access, data_vars(func.body), declared=declared)
    executor = Executor(evaluator, fast, build.operations + budget, widths, names_of(func), marked)
    loops = executor.loops
    loops.alone = alone
    if noted is not None:
        loops.findings = noted
    frame = Frame(1, regions=loops.watch_places(func) if are_asked_for(func) else ())
    for var, number in side.values.items():
        frame.values[var] = given(var.dtype, number, build.terms)
    for parameter in params:
        _enter(parameter, frame, access, build, widths)
    undefined = asserted = None
    try:
        executor.run(func.body, frame)
    except UndefinedRun as found:
        undefined = str(found)
    except Asserted as found:
        asserted = str(found)
    finally:
        loops.note_strays()
    left = {p.position: _leave(p, frame, access) for p in params if p.buffer is not None}
    races = frozenset(loops.races)
    return Exit(left, dict(access.events.found), tuple(loops.findings), access.world, undefined, asserted, races)


def asserted(before: Exit, after: Exit) -> Equal | Unknown:
    """The verdict where an assertion ends *before* on every input: one must end *after*, too, with the same calls made.

    What memory holds then is left open.
    """
    end = f"the assertion {before.asserted!r}"
    if after.asserted is None:
        return Unknown(f"before ends by {end}, and after does not")
    if before.world != after.world:
        return Unknown(f"before ends by {end}, and after too, but opaque calls before that differ")
    return Equal(vacuous=True, undefined=f"{end}, on every input")


def _enter(parameter: Parameter, frame: Frame, access: Access, build: Builder, widths: Mapping[Var, int]) -> None:
    buffer, terms = parameter.buffer, build.terms
    if buffer is None:
        var = parameter.var
        if var not in frame.values and not isinstance(var.type, PointerType) and not var.dtype.is_int:
            term = terms.sequence(f"input:{parameter.position}", var.dtype, 1).reshape(1, 1)
            frame.values[var] = Value(var.dtype, None, term)
        return
    lanes, scalar = buffer.dtype.lanes, buffer.dtype.scalar
    ratio = scalar.nbytes // widths[buffer.data]
    block = access.memory.new_block(buffer.name, buffer.dtype, parameter.elements * lanes, ratio)
    block.dtypes.add(scalar)
    block.data, block.identity = buffer.data, parameter.position
    at, rest = _cells(parameter.at, lanes * ratio), _cells(parameter.rest, lanes * ratio)
    inputs = terms.sequence(f"input:{parameter.position}", scalar, parameter.at.size * lanes).reshape(-1, lanes)
    block.ids[at] = inputs if ratio == 1 else parts(build, scalar, inputs, ratio)
    closed = np.ones(block.ids.size, dtype=np.bool_)
    closed[at] = False
    if parameter.padding is not None:
        closed[rest] = False
        value = UNDEF_ID if parameter.padding == "undef" else terms.constant(scalar, parameter.padding)
        padding = np.full((rest.shape[0], lanes), value, dtype=np.int64)
        block.ids[rest] = padding if ratio == 1 else parts(build, scalar, padding, ratio)
    if closed.any():
        block.closed = closed
    view = View(buffer.name, buffer.dtype, block, parameter.extents, block.ids.size)
    frame.views[buffer] = frame.blocks[buffer.data] = view
    access.reachable.append(block)


def _cells(elements: Ids, size: int) -> Ids:
    """The cells of some elements, one row of ``size`` for each."""
    return elements[:, None] * size + np.arange(size)


def _leave(parameter: Parameter, frame: Frame, access: Access) -> tuple[Ids, Ids]:
    assert parameter.buffer is not None
    view = frame.views[parameter.buffer]
    size, ids = view.dtype.lanes * view.ratio, view.block.ids
    return (
        access.typed(ids[_cells(parameter.at, size)], view),
        access.typed(ids[_cells(parameter.rest, size)], view),
    )
