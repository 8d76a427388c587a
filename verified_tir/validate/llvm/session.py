"""One symbolic run of one kernel: from a function's parameters at entry to memory at exit.

``vtir_kernel`` takes the function's parameters in order, then the symbols in the extents of its buffers that are no
parameters, in order of first occurrence.  A buffer is the address of element 0 of an array, which may have no better
alignment than its elements; bool elements are bytes, bfloat16 goes by its bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from verified_tir.ir.dtype import BFLOAT16, BOOL, DType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.semantics.interpreter.extents import symbols_of
from verified_tir.validate.interface import Parameter, Side
from verified_tir.validate.llvm.blocks import Block, Undefined
from verified_tir.validate.llvm.graph import UNDEF, Graph, Lane, integer, signed
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.parser import KERNEL
from verified_tir.validate.llvm.syntax import FloatType, IntType, Module, PointerType, Type
from verified_tir.validate.llvm.translate import translate
from verified_tir.validate.memory import Refused
from verified_tir.validate.terms import Ids

_NAMES: Final = {16: "half", 32: "float", 64: "double"}


@final
@dataclass(frozen=True, slots=True)
class LLVMExit:
    """How a run ended: as ``session.Exit``, with the kernel's ``status``, instructions, and blocks never reached."""

    memory: Mapping[int, Ids]
    events: Mapping[tuple[int, int], str]
    status: int
    steps: int
    unreached: frozenset[str]
    undefined: str | None = None


def symbols(func: PrimFunc) -> list[Var]:
    """The variables in the extents of the parameter buffers that are no parameters, in order of first occurrence."""
    found = dict.fromkeys(v for buffer in func.buffers for v in symbols_of(buffer))
    return [v for v in found if v not in func.params]


def register_type(dtype: DType) -> Type:
    if dtype is BFLOAT16:
        return IntType(16)
    return FloatType(_NAMES[dtype.bits]) if dtype.is_float else IntType(dtype.bits)


def run_kernel(
    module: Module,
    side: Side,
    graph: Graph,
    *,
    limit: int,
    contents: Mapping[int, Ids] | None = None,
    chosen: bool = False,
    backwards: bool = False,
    shared: bool = False,
) -> LLVMExit:
    """Run the kernel symbolically.

    :param limit: the most instructions to execute.
    :param contents: by position, terms of the parameters' elements at entry in place of inputs.
    :param chosen: whether undef is 0 (:class:`Machine`).
    :param backwards: where memory lies; ``shared``: into which parts parallel loops are divided (:class:`Machine`).
    :raises Refused: where the executor cannot follow.
    """
    kernel = module.functions.get(KERNEL)
    if kernel is None:
        raise Refused(f"LLVM IR: there is no function {KERNEL}")
    machine = Machine(module, graph, translate, limit, chosen=chosen, backwards=backwards, shared=shared)
    given = contents or {}
    arguments: list[Lane] = []
    kinds: list[Type] = []
    entered: dict[int, Block] = {}
    for parameter in side.params:
        declared = kernel.parameters[parameter.position] if parameter.position < len(kernel.parameters) else None
        if parameter.buffer is not None:
            align = 1 if declared is None else declared.promised.align
            block = _enter(parameter, machine, given.get(parameter.position), align)
            block.readonly = declared is not None and declared.promised.readonly
            entered[parameter.position] = block
            arguments.append(block.base)
            kinds.append(PointerType())
        else:
            arguments.append(_scalar(parameter, side.values, graph, given.get(parameter.position)))
            kinds.append(register_type(parameter.var.dtype))
    for var in symbols(side.func):
        if var not in side.values:
            raise Refused(f"give a size for {var.name}")
        arguments.append(side.values[var] & ((1 << var.dtype.bits) - 1))
        kinds.append(register_type(var.dtype))
    if [p.type for p in kernel.parameters] != kinds:
        raise Refused(f"LLVM IR: the parameters of {KERNEL} are not those of {side.func.name}")
    return _finished(machine, side.params, entered, arguments)


def _finished(
    machine: Machine, params: Sequence[Parameter], entered: Mapping[int, Block], arguments: list[Lane]
) -> LLVMExit:
    graph = machine.graph
    undefined, status = None, 0
    try:
        returned = machine.call(KERNEL, arguments)
        status = _status(machine, returned)
    except Undefined as found:
        undefined = str(found)
    memory = {} if undefined else {p.position: _leave(p, entered[p.position], machine) for p in params if p.buffer}
    events = {
        (graph.term(g, BOOL), graph.term(c, BOOL)): what
        for (g, c), what in machine.events.items()
        if graph.settled(g) != 0 and graph.settled(c) != 0
    }
    true = graph.terms.true
    undefined = undefined or events.get((true, true))
    reached = {(name, b) for name, code in machine.codes.items() for b in code.seen}
    unreached = frozenset(
        f"{f.name}:{b}" for f in machine.module.functions.values() for b in f.blocks if (f.name, b) not in reached
    )
    return LLVMExit(memory, events, status, machine.steps, unreached, undefined)


def _status(machine: Machine, returned: object) -> int:
    if not isinstance(returned, int):
        raise Refused(f"LLVM IR: {KERNEL} returns no number")
    found = machine.graph.settled(returned)
    if found == UNDEF:
        raise Undefined(f"{KERNEL} returns undef or poison")
    if found < 0:
        raise Refused("LLVM IR: whether an assertion fails depends on data")
    return signed(32, found)


def _scalar(parameter: Parameter, values: Mapping[Var, int], graph: Graph, given: Ids | None) -> Lane:
    var, dtype = parameter.var, parameter.var.dtype
    if var in values:
        return values[var] & ((1 << dtype.bits) - 1)
    if dtype.is_int:
        raise Refused(f"give a value for {var.name}")
    term = graph.terms.sequence(f"input:{parameter.position}", dtype, 1) if given is None else given
    lane = graph.leaf(int(term.reshape(-1)[0]), dtype)
    return graph.reinterpret(lane, integer(16, "uint")) if dtype is BFLOAT16 else graph.settled(lane)


def _enter(parameter: Parameter, machine: Machine, given: Ids | None, align: int) -> Block:
    buffer, graph = parameter.buffer, machine.graph
    assert buffer is not None
    scalar = buffer.dtype.scalar
    width, count = scalar.nbytes, parameter.elements * parameter.lanes
    if align > width:
        raise Refused(f"LLVM IR: the alignment {align} is declared for {parameter.name}; arrays have {width}")
    block = machine.blocks.new(parameter.name, count * width, width, width)
    places = parameter.scalars(parameter.at).reshape(-1)
    ids = graph.terms.sequence(f"input:{parameter.position}", scalar, places.size) if given is None else given
    for place, term in zip(places.tolist(), ids.reshape(-1).tolist(), strict=True):
        block.cells[place] = _to_memory(graph, scalar, graph.leaf(term, scalar))
    if places.size < count:
        block.closed = frozenset(range(count)) - frozenset(places.tolist())
    return block


def _to_memory(graph: Graph, dtype: DType, lane: Lane) -> Lane:
    """An element as its bytes: integers and bools that are known become numbers."""
    term = graph.known_term(lane)
    if term is not None and graph.terms.op_of(term) == "const" and not dtype.is_float:
        return int(graph.terms.value(term)) & ((1 << dtype.bits) - 1)
    if dtype.is_bool:
        return graph.cast(BOOL, integer(8, "uint"), lane)
    return graph.reinterpret(lane, integer(16, "uint")) if dtype is BFLOAT16 else lane


def _leave(parameter: Parameter, block: Block, machine: Machine) -> Ids:
    """The terms of the elements, shape (elements, lanes)."""
    graph, buffer = machine.graph, parameter.buffer
    assert buffer is not None
    scalar = buffer.dtype.scalar
    while block.unit > scalar.nbytes:
        machine.blocks.refine(block, scalar.nbytes)
    ratio = scalar.nbytes // block.unit
    nodes = []
    for place in parameter.scalars(parameter.at).reshape(-1).tolist():
        cells = block.cells[place * ratio : (place + 1) * ratio]
        lane = cells[0] if ratio == 1 else machine.blocks.parts.join(cells, 8 * block.unit)
        nodes.append(_from_memory(graph, scalar, lane))
    ids = graph.term_array(nodes) if nodes else np.zeros(0, dtype=np.int64)
    return ids.reshape(-1, buffer.dtype.lanes)


def _from_memory(graph: Graph, dtype: DType, lane: Lane) -> int:
    if not dtype.is_bool:
        viewed = lane < UNDEF and graph.dtypes[~lane].is_float  # stored through a view of another type
        return graph.at(graph.reinterpret(lane, dtype) if dtype.is_float or viewed else lane, dtype)
    if lane >= 0:
        return graph.at(lane if lane < 2 else UNDEF, BOOL)  # a byte that is neither is undefined
    if lane == UNDEF:
        return 0
    made = graph.operation(lane)
    if made is not None and made[0][0] == "cast" and made[0][2].is_bool:
        return made[1][0]
    kind = graph.dtypes[~lane]
    one = graph.binary("eq", kind, lane, 1)
    either = graph.choose(BOOL, one, 1, graph.binary("eq", kind, lane, 0))
    return ~graph.choose(BOOL, either, one, UNDEF)
