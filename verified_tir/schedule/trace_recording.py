"""What a schedule notes of its calls for its trace (see :mod:`verified_tir.schedule.trace`).

Blocks, loops and sampled numbers are random variables in a trace.  One that no instruction has given yet, since users
name blocks and loops as they like, is looked up by instructions ``GetSBlock`` and ``GetLoops`` that are added before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import nodes_of
from verified_tir.schedule.copies import block_of_copy
from verified_tir.schedule.intrinsic import Intrinsic
from verified_tir.schedule.sampling import COMPUTE_INLINE, COMPUTE_ROOT, Sampled
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.spelling import signature_of
from verified_tir.schedule.tactics.buffers import buffer_arguments
from verified_tir.schedule.tactics.counted import Side, counted
from verified_tir.schedule.tactics.layout import buffer_in, layout_arguments, map_of_buffer
from verified_tir.schedule.trace import Trace
from verified_tir.schedule.trace_instructions import OWN, Instruction, TraceError
from verified_tir.schedule.trace_maps import map_written
from verified_tir.schedule.trace_places import places_noted


@final
@dataclass(frozen=True, slots=True)
class Tracer:
    """The trace of a schedule so far, and the names that blocks, loops and numbers have in it.

    It does not change: each step gives another one, so that a schedule that is copied has a trace of its own.
    """

    insts: tuple[Instruction, ...] = ()
    decisions: Mapping[int, Any] = field(default_factory=dict)
    loops: Mapping[Var, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """Blocks by name, and the locations that ``sample_compute_location`` gives if it gives no loop."""
    numbers: Mapping[int, tuple[Sampled, str]] = field(default_factory=dict)
    """Sampled numbers, by the identity of the object."""
    count: int = 0

    @property
    def trace(self) -> Trace:
        """The instructions and decisions so far."""
        return Trace(list(self.insts), dict(self.decisions))

    def sampled(
        self, session: Session, kind: str, inputs: Sequence[Any], attrs: Sequence[Any], result: Any, decision: Any
    ) -> Tracer:
        """With a sampling instruction that has decided."""
        call = Pending(self, session)
        noted = [call.place(x) for x in inputs]
        made = self.with_step(call, Instruction(kind, noted, list(attrs)), result)
        return replace(made, decisions={**self.decisions, len(made.insts) - 1: decision})

    def begun(
        self,
        session: Session,
        primitive: str,
        call: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
        fallback: tuple[list[Any], dict[str, Any]],
    ) -> tuple[Pending, Instruction]:
        """Note a call before it is made; :meth:`with_step` follows if it succeeds.

        :param fallback: the arguments as a certificate has them, for what TVM has no instruction for.
        """
        pending = Pending(self, session)
        try:
            if primitive in ENCODERS:
                bound = signature_of(call).bind(None, *args, **named)
                bound.apply_defaults()
                return pending, ENCODERS[primitive](pending, bound.arguments)
        except (TraceError, TacticFailed, TypeError, KeyError, ValueError):
            pass
        return Pending(self, session), Instruction(OWN, [], [primitive, *fallback, places_noted(session, fallback)])

    def with_step(self, pending: Pending, instruction: Instruction, result: Any) -> Tracer:
        """With an instruction that was carried out, and what it gave."""
        values = result if isinstance(result, (list, tuple)) else [] if result is None else [result]
        for v in values:
            if isinstance(v, (Var, Buffer, str, Sampled)) and instruction.kind not in WITHOUT_OUTPUT:
                instruction.outputs.append(pending.given(v))
        insts = (*self.insts, *pending.before, instruction)
        return Tracer(insts, self.decisions, pending.loops, pending.texts, pending.numbers, pending.count)


WITHOUT_OUTPUT: Final = frozenset({"Blockize", "Tensorize"})
"""Instructions whose results are of no use in a trace, or which in TVM give none."""


@final
class Pending:
    """A call that may yet be refused: names that it would add."""

    def __init__(self, tracer: Tracer, session: Session) -> None:
        self.session = session
        self.before: list[Instruction] = []
        self.loops, self.texts, self.count = dict(tracer.loops), dict(tracer.texts), tracer.count
        self.numbers = dict(tracer.numbers)

    def block(self, name: Any) -> str:
        """The name of a block in the trace.

        :raises TraceError: if it is not a block's name.
        """
        name = block_of_copy(self.session, name)
        if not isinstance(name, str):
            raise TraceError("not a block")
        self.session.block(name)
        if name not in self.texts:
            self.texts[name] = self._new("b")
            self.before.append(Instruction("GetSBlock", [], [name, self.session.func.name], [self.texts[name]]))
        return self.texts[name]

    def loop(self, handle: Any) -> str:
        """The name of a loop in the trace."""
        if handle in (COMPUTE_ROOT, COMPUTE_INLINE):
            return self.texts[handle]
        _, loop = self.session.loop(handle)
        known = [n for v, n in self.loops.items() if self.session.current(v) is loop.var]
        if known:
            return known[-1]
        found = next((b for n in nodes_of(loop, Block) if len(b := self._blocks_called(n.name)) == 1), None)
        if found is None:
            raise TraceError("no block stands in the loop by which it could be named")
        ((path, inside),) = found
        block = self.block(inside.name)
        around = self.session.loops_around(path)
        outputs = [self._new("l") for _ in around]
        self.before.append(Instruction("GetLoops", [block], [], outputs))
        self.loops.update(zip((s.var for s in around), outputs, strict=True))
        return self.loops[loop.var]

    def loop_that_goes(self, handle: Any) -> str:
        """The name of a loop before a step after which TVM's handles mean other loops than here: all are looked up
        again."""
        name = self.loop(handle)
        self.loops.clear()
        return name

    def _blocks_called(self, name: str) -> list[tuple[Path, Block]]:
        """The blocks of a name in the program."""
        return self.session.find(Block, lambda b: b.name == name)

    def place(self, handle: Any) -> str:
        """The name of a block or a loop."""
        handle = block_of_copy(self.session, handle)
        is_block = isinstance(handle, str) and self.session.has_block(handle)
        return self.block(handle) if is_block else self.loop(handle)

    def value(self, x: Any) -> Any:
        """A number, or the name of one that was sampled; texts in quotes, as TVM writes them."""
        if isinstance(x, Sampled) and id(x) in self.numbers:
            return self.numbers[id(x)][1]
        if x is None:
            return "None"
        if isinstance(x, str):
            return json.dumps(x)
        if isinstance(x, IntImm):
            return x.value
        if isinstance(x, (bool, int, float)):
            return x if isinstance(x, (bool, float)) else int(x)
        raise TraceError("neither a number nor a text")

    def given(self, value: Any) -> str:
        """A new name for what an instruction gave."""
        location = value in (COMPUTE_ROOT, COMPUTE_INLINE)
        name = self._new("l" if isinstance(value, Var) or location else "v" if isinstance(value, int) else "b")
        if isinstance(value, Var):
            self.loops[value] = name
        elif isinstance(value, Sampled):
            self.numbers[id(value)] = (value, name)
        else:
            meant = block_of_copy(self.session, value)
            self.texts[meant.name if isinstance(meant, Buffer) else meant] = name
        return name

    def _new(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count - 1}"


# -- by primitive ------------------------------------------------------------------------------------------------------

Bound = Mapping[str, Any]
Encoder = Callable[[Pending, Bound], Instruction]


def _number(p: Pending, a: Bound, kind: Side) -> tuple[str, int]:
    """Block and number of the buffer of a ``cache_read`` and the like.

    :raises TraceError: if TVM's instruction has no room for the arguments.
    """
    block, buffer, scope = a["block"], a["buffer"], a["scope"]
    where, which, _, around = buffer_arguments(p.session, block, buffer, scope, a.get("loop"), kind)
    if where is None or around is not None or a.get("name"):
        raise TraceError("TVM has no such instruction")
    return where, _position(p, where, which, kind)


def _position(p: Pending, block: str, which: Any, kind: Side) -> int:
    """Which of the buffers of a block is meant, counted as TVM counts them."""
    wanted = buffer_in(p.session, block, which)
    numbers = counted(p.session, block, p.session.block(block)[1], kind)
    if wanted not in numbers:
        raise TraceError(f"block {block} does not {kind} {wanted.name}")
    return numbers.index(wanted)


def _cache_read(p: Pending, a: Bound) -> Instruction:
    block, number = _number(p, a, "read")
    others = a["consumer_blocks"]
    consumers = [p.block(c) for c in ([others] if isinstance(others, str) else others)]
    return Instruction("CacheRead", [p.block(block), consumers], [number, _scope(a)])


def _cache_write(p: Pending, a: Bound) -> Instruction:
    block, number = _number(p, a, "write")
    return Instruction("CacheWrite", [p.block(block), []], [number, _scope(a)])


def _set_scope(p: Pending, a: Bound) -> Instruction:
    block, number = _number(p, a, "write")
    return Instruction("SetScope", [p.block(block)], [number, _scope(a)])


def _scope(a: Bound) -> str:
    return a["scope"] if isinstance(a["scope"], str) else "global"


def _transform_layout(p: Pending, a: Bound) -> Instruction:
    block, buffer, index_map, padding, shape = layout_arguments(a["args"], a["named"])
    if block is None or shape is not None or padding is not None:
        raise TraceError("TVM has no such instruction")
    found = buffer_in(p.session, block, buffer)
    index_map = map_of_buffer(found, index_map)
    kind: Side = buffer[0] if isinstance(buffer, tuple) else _side(p, block, found)
    number = _position(p, block, buffer, kind)
    return Instruction("TransformLayout", [p.block(block), map_written(index_map)],
                       [number, int(kind == "write"), None, False])  # fmt: skip


def _side(p: Pending, block: str, buffer: Buffer) -> Side:
    try:
        _position(p, block, buffer, "write")
        return "write"
    except (TacticFailed, TraceError):
        return "read"


def _without_licence(encoder: Encoder) -> Encoder:
    """What the user's word about rounding makes possible, TVM does without asking; but the word would be lost."""

    def encoded(p: Pending, a: Bound) -> Instruction:
        if a.get("reassociate"):
            raise TraceError("TVM has no such instruction")
        return encoder(p, a)

    return encoded


def _tensorize(p: Pending, a: Bound) -> Instruction:
    names = [n for n, i in Intrinsic.registered.items() if i is a["tensor_intrin"] or n == a["tensor_intrin"]]
    if not names:
        raise TraceError("the intrinsic has no name")
    return Instruction("Tensorize", [p.place(a["loop"])], [names[0], True])


def _blockize(p: Pending, a: Bound) -> Instruction:
    if a["name"]:
        raise TraceError("TVM has no such instruction")
    return Instruction("Blockize", [p.loop(a["loop"])], [True])


ENCODERS: Final[dict[str, Encoder]] = {
    "split": lambda p, a: Instruction("Split", [p.loop(a["loop"]), *map(p.value, a["factors"])],
                                      [a["preserve_unit_iters"], a["disable_predication"]]),
    "loop_partition": lambda p, a: Instruction("LoopPartition", [p.loop(a["loop"]), *map(p.value, a["factors"])],
                                               [a["preserve_unit_iters"]]),
    "fuse": lambda p, a: Instruction("Fuse", list(map(p.loop, a["handles"])), [a["preserve_unit_iters"]]),
    "merge": lambda p, a: Instruction("Merge", list(map(p.loop, a["handles"]))),
    "reorder": _without_licence(lambda p, a: Instruction("Reorder", list(map(p.loop, a["handles"])))),
    "parallel": lambda p, a: Instruction("Parallel", [p.loop(a["loop"])]),
    "vectorize": lambda p, a: Instruction("Vectorize", [p.loop(a["loop"])]),
    "unroll": lambda p, a: Instruction("Unroll", [p.loop(a["loop"])]),
    "bind": lambda p, a: Instruction("Bind", [p.loop(a["loop"])], [a["thread"]]),
    "cache_read": _cache_read,
    "cache_write": _cache_write,
    "set_scope": _set_scope,
    "read_at": lambda p, a: Instruction("ReadAt", [p.loop(a["loop"]), p.block(a["block"])],
                                        [a["read_buffer_index"], a["storage_scope"]]),
    "write_at": lambda p, a: Instruction("WriteAt", [p.loop(a["loop"]), p.block(a["block"])],
                                         [a["write_buffer_index"], a["storage_scope"]]),
    "compute_at": lambda p, a: Instruction("ComputeAt", [p.block(a["block"]), p.loop(a["loop"])],
                                           [a["preserve_unit_loops"], a["index"]]),
    "reverse_compute_at": lambda p, a: Instruction("ReverseComputeAt", [p.block(a["block"]), p.loop(a["loop"])],
                                                   [a["preserve_unit_loops"], a["index"]]),
    "compute_inline": lambda p, a: Instruction("ComputeInline", [p.block(a["block"])]),
    "reverse_compute_inline": lambda p, a: Instruction("ReverseComputeInline", [p.block(a["block"])]),
    "decompose_reduction": lambda p, a: Instruction("DecomposeReduction", [p.block(a["block"]), p.loop(a["loop"])]),
    "decompose_padding": lambda p, a: Instruction("DecomposePadding", [p.block(a["block"]), p.loop(a["loop"])]),
    "fuse_reduction_epilogue": lambda p, a: Instruction(
        "FuseReductionEpilogue", [p.block(a["reduction_block"]), p.block(a["epilogue_block"])]
    ),
    "rfactor": _without_licence(lambda p, a: Instruction("RFactor", [p.loop_that_goes(a["loop"])], [a["factor_axis"]])),
    "pad_einsum": lambda p, a: Instruction("PadEinsum", [p.block(a["block"]), list(map(p.value, a["padding"]))]),
    "blockize": _blockize,
    "tensorize": _tensorize,
    "annotate": lambda p, a: Instruction("Annotate", [p.place(a["block_or_loop"]), p.value(a["ann_val"])],
                                         [a["ann_key"]]),
    "unannotate": lambda p, a: Instruction("Unannotate", [p.place(a["block_or_loop"])], [a["ann_key"]]),
    "transform_layout": _transform_layout,
}  # fmt: skip
"""How a call becomes an instruction of TVM's, for primitives that TVM has."""
