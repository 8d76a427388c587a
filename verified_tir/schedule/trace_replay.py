"""Applying a trace: every instruction becomes a call of a primitive (see :mod:`verified_tir.schedule.trace`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block
from verified_tir.schedule.copies import block_of_copy
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.counted import accessed, counted, enclosing
from verified_tir.schedule.trace_instructions import OWN, POSTPROC, DecisionProvider, Instruction, TraceError
from verified_tir.schedule.trace_maps import map_read, padding_read
from verified_tir.schedule.trace_places import check_places

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

ROOT: Final = "root"
"""What TVM calls the block around a whole function."""

Values = dict[str, Any]
Decoder = Callable[["Replay", list[Any], list[Any]], Any]


class Replay:
    """A schedule to which a trace is applied, and what its random variables are there.

    TVM gives some blocks other names than they have here: those of a copy that is written back, and of a reduction
    without its initialisation.  They are known by both.
    """

    def __init__(self, schedule: Schedule, words: Sequence[str]) -> None:
        self.sch: Any = schedule  # its primitives are decorated, and lead here again
        self.words = words
        self.values: Values = {}
        self.aliases: dict[str, Any] = {}

    def operand(self, x: Any) -> Any:
        """What an operand of an instruction stands for."""
        if isinstance(x, list):
            return [self.operand(v) for v in x]
        if not isinstance(x, str):
            return x
        if x in self.values:
            return self.values[x]
        if x == "None":
            return None
        if x.startswith('"'):
            return json.loads(x)
        if x.startswith("{"):
            return x  # an index map
        if x.lstrip("-").isdigit():
            return int(x)
        raise TraceError(f"{x} is neither a constant nor given by an instruction before")

    def block(self, name: str, function: str) -> Any:
        """The block that TVM knows by a name, in a function of a name.

        :raises TraceError: if that is not the schedule's function.  One that was not picked from several is ``main``,
            too: so TVM calls a function that its ``Schedule`` is given.
        """
        if function not in self.sch._function_names:
            raise TraceError(f"the trace is of the function {function!r}, and the schedule of {self.sch.func.name!r}")
        if name == ROOT and ROOT not in self.sch.blocks:
            return ROOT
        return self.aliases[name] if name in self.aliases and name not in self.sch.blocks else self.sch.get_block(name)

    def licensed(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call that may change the order of a float sum: as it is, or else with the user's word for a buffer."""
        try:
            return call(*arguments)
        except Refuted as refused:
            for word in self.words:
                with suppress(ScheduleError):
                    return call(*arguments, reassociate=word)
            raise refused from None

    def factored(self, loop: Any, axis: int) -> Any:
        """``rfactor``, after which handles mean what they mean in TVM."""
        session: Session = self.sch._session
        session.handles_of_tvm = True
        try:
            return self.licensed(self.sch.rfactor, loop, axis)
        finally:
            session.handles_of_tvm = False

    def noted(self, where: Any, key: str, value: Any) -> None:
        """Annotate a block or a loop.  What TVM notes at the root block, for its postprocessing, is left out."""
        if where != ROOT:
            self.sch.annotate(where, key, value)

    def unnoted(self, where: Any, key: str) -> None:
        if where != ROOT:
            self.sch.unannotate(where, key)

    def children(self, block: Any) -> list[str]:
        """The blocks in a block or a loop, those inside of them left out."""
        session: Session = self.sch._session
        path = () if block == ROOT else session.place(block_of_copy(session, block))
        found: list[tuple[Path, str]] = []
        for p, b in session.find(Block, under=path):
            if p != path and not any(p[: len(q)] == q for q, _ in found):
                found.append((p, b.name))
        return [name for _, name in found]

    def neighbours(self, block: Any, *, after: bool) -> list[str]:
        """The blocks that read what a block stores or store to it again (``after``), or the blocks before it that store
        what it reads or stores, in the order of TVM's dependency edges.

        :raises TraceError: if the order of several is not known.
        """
        session: Session = self.sch._session
        place, label = session.block(block_of_copy(session, block))
        blocks = session.find(Block)
        places = [p for p, _ in blocks]
        siblings = [(p, b) for p, b in blocks if enclosing(p, places) == enclosing(place, places)]
        if after:
            stored, later = _data(accessed(label.body, "write")), [b for p, b in siblings if p > place]
            return [
                b.name for b in later if stored & (_data(accessed(b.body, "read")) | _data(accessed(b.body, "write")))
            ]
        stores = [(b.name, _data(accessed(b.body, "write"))) for p, b in siblings if p < place]
        try:
            read = counted(session, label.name, label, "read")
        except TacticFailed as problem:
            if sum(bool(data & _data(accessed(label.body, "read"))) for _, data in stores) > 1:
                raise TraceError(f"the order of the producers is not known: {problem}") from problem
            read = [*accessed(label.body, "read")]
        order = [b for b in (*read, *accessed(label.body, "write")) if b is not None]
        return list(dict.fromkeys(name for b in order for name, data in stores if b.data in data))

    def decomposed(self, block: str, loop: Any) -> str:
        init: str = self.sch.decompose_reduction(block, loop)
        self.aliases[f"{block}_update"] = block
        return init

    def cached(self, block: str, consumers: list[str], number: int, scope: str) -> Buffer:
        if consumers:
            raise TraceError(
                f"with consumer_blocks, {', '.join(consumers)} would read the copy of what {block} writes before it is "
                "copied back; there is no such cache_write here"
            )
        copy: Buffer = self.sch.cache_write(block, number, scope)
        self.aliases[copy.name] = copy
        return copy

    def moved(self, primitive: Callable[..., None], inputs: list[Any], attrs: list[Any]) -> None:
        """Run a block elsewhere, at TVM's number of a place in the iteration, which older traces do not have."""
        primitive(*inputs, bool(attrs[0]), int(attrs[1]) if len(attrs) > 1 else -1)

    def laid_out(self, inputs: list[Any], attrs: list[Any]) -> None:
        side = "write" if int(attrs[1]) else "read"
        padding = padding_read(attrs[2])
        self.sch.transform_layout(inputs[0], (side, int(attrs[0])), map_read(inputs[1]), padding)


def _data(buffers: Iterable[Buffer]) -> set[Var]:
    return {b.data for b in buffers}


def apply(
    insts: Sequence[Instruction],
    decisions: Mapping[int, Any],
    schedule: Schedule,
    provider: DecisionProvider | None,
    words: Sequence[str],
) -> None:
    """Run instructions on a schedule; ``words`` are the buffers whose float sums may be rounded in another order."""
    replay = Replay(schedule, words)
    for number, inst in enumerate(insts):
        where = f"instruction {number}, {inst}"
        try:
            inputs = [replay.operand(x) for x in inst.inputs]
            result = _run(replay, inst, inputs, decisions.get(number), provider)
        except TraceError as problem:
            raise TraceError(f"{where}: {problem}") from problem
        _bind(replay, inst, result, where)


def _run(replay: Replay, inst: Instruction, inputs: list[Any], decision: Any, provider: DecisionProvider | None) -> Any:
    if inst.kind in SAMPLERS:
        if provider is not None:
            decision = provider(inst, inputs, inst.attrs, decision)
        return SAMPLERS[inst.kind](replay, inputs, inst.attrs, decision)
    if inst.kind not in DECODERS:
        known = ", ".join(sorted([*DECODERS, *SAMPLERS]))
        raise TraceError(f"there is no instruction {inst.kind} here; there are {known}")
    try:
        return DECODERS[inst.kind](replay, inputs, inst.attrs)
    except (IndexError, KeyError, TypeError) as problem:
        raise TraceError(f"its operands do not fit: {problem}") from problem


def _bind(replay: Replay, inst: Instruction, result: Any, where: str) -> None:
    """Give the results of an instruction their names."""
    if not inst.outputs:
        return
    values = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(values) != len(inst.outputs):
        what = "loops" if any(isinstance(v, Var) for v in values) else "results"
        hint = "; TVM keeps loops of one iteration that are simplified away here" if what == "loops" else ""
        raise TraceError(f"{where}: gives {len(values)} {what} here, {len(inst.outputs)} in the trace{hint}")
    replay.values.update(zip(inst.outputs, values, strict=True))


def _own(replay: Replay, attrs: Sequence[Any]) -> Any:
    primitive, arguments, named, *noted = attrs
    check_places(replay.sch._session, (arguments, named), noted[0] if noted else None)
    result = replay.sch._call_again(primitive, arguments, named)
    values = result if isinstance(result, (list, tuple)) else [result]
    return [v for v in values if isinstance(v, (Var, Buffer, str))]


DECODERS: Final[dict[str, Decoder]] = {
    OWN: lambda r, x, a: _own(r, a),
    POSTPROC: lambda r, x, a: None,
    "GetSBlock": lambda r, x, a: r.block(a[0], a[1]),
    "GetLoops": lambda r, x, a: r.sch.get_loops(x[0]),
    "GetChildBlocks": lambda r, x, a: r.children(x[0]),
    "GetConsumers": lambda r, x, a: r.neighbours(x[0], after=True),
    "GetProducers": lambda r, x, a: r.neighbours(x[0], after=False),
    "Split": lambda r, x, a: r.sch.split(x[0], x[1:], disable_predication=bool(a[1]) if len(a) > 1 else False),
    "LoopPartition": lambda r, x, a: r.sch.loop_partition(x[0], x[1:]),
    "Fuse": lambda r, x, a: r.sch.fuse(x[0], *x[1:]),
    "Merge": lambda r, x, a: r.sch.merge(*x),
    "Reorder": lambda r, x, a: r.licensed(r.sch.reorder, *x) if len(x) > 1 else None,
    "Parallel": lambda r, x, a: r.sch.parallel(x[0]),
    "Vectorize": lambda r, x, a: r.sch.vectorize(x[0]),
    "Unroll": lambda r, x, a: r.sch.unroll(x[0]),
    "Bind": lambda r, x, a: r.sch.bind(x[0], a[0]),
    "CacheRead": lambda r, x, a: r.sch.cache_read(x[0], int(a[0]), a[1], consumer_blocks=x[1] if len(x) > 1 else ()),
    "CacheWrite": lambda r, x, a: r.cached(x[0], x[1] if len(x) > 1 else [], int(a[0]), a[1]),
    "ReadAt": lambda r, x, a: r.sch.read_at(x[0], x[1], int(a[0]), a[1]),
    "WriteAt": lambda r, x, a: r.sch.write_at(x[0], x[1], int(a[0]), a[1]),
    "SetScope": lambda r, x, a: r.sch.set_scope(x[0], int(a[0]), a[1]),
    "ComputeAt": lambda r, x, a: r.moved(r.sch.compute_at, x, a),
    "ReverseComputeAt": lambda r, x, a: r.moved(r.sch.reverse_compute_at, x, a),
    "ComputeInline": lambda r, x, a: r.sch.compute_inline(x[0]),
    "ReverseComputeInline": lambda r, x, a: r.sch.reverse_compute_inline(x[0]),
    "DecomposeReduction": lambda r, x, a: r.decomposed(x[0], x[1]),
    "DecomposePadding": lambda r, x, a: r.sch.decompose_padding(x[0], x[1]),
    "FuseReductionEpilogue": lambda r, x, a: r.sch.fuse_reduction_epilogue(x[0], x[1]),
    "RollingBuffer": lambda r, x, a: r.sch.rolling_buffer(x[0], int(a[0])),
    "RFactor": lambda r, x, a: r.factored(x[0], int(a[0])),
    "PadEinsum": lambda r, x, a: r.sch.pad_einsum(x[0], x[1]),
    "Blockize": lambda r, x, a: r.sch.blockize(x[0]),
    "Tensorize": lambda r, x, a: r.sch.tensorize(x[0], a[0]),
    "Annotate": lambda r, x, a: r.noted(x[0], a[0], x[1]),
    "Unannotate": lambda r, x, a: r.unnoted(x[0], a[0]),
    "TransformLayout": lambda r, x, a: r.laid_out(x, a),
}  # fmt: skip
"""How an instruction is run: on its inputs and attributes."""

SAMPLERS: Final[dict[str, Callable[[Replay, list[Any], list[Any], Any], Any]]] = {
    "SampleCategorical": lambda r, x, a, d: r.sch.sample_categorical(a[0], a[1], d),
    "SamplePerfectTile": lambda r, x, a, d: r.sch.sample_perfect_tile(x[0], int(a[0]), int(a[1]), d),
    "SampleComputeLocation": lambda r, x, a, d: r.sch.sample_compute_location(x[0], d),
}
"""The same for instructions that sample; with a decision, or ``None``."""
