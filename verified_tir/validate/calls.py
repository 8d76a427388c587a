"""Calls of functions that nothing is known about, but that equal arguments give equal results.

    class                                             reads                       writes, and where its order counts
    pure: ``call_pure_extern``, ``acos``, …           its arguments               nothing
    fragments: ``tvm_mma_sync``, …                    the blocks it is given      those, as a function of what it reads
    all others: ``call_extern``, ``call_packed``, …   all it can reach            all it can reach; the outside world

What a call of the last class can reach are the parameters, the blocks whose pointers are among its arguments, and those
that an earlier call was given: it may have kept them.  ``world`` is a term for all that such calls have done so far, so
that their number and order counts.  A pointer made by ``T.tvm_access_ptr`` for reading only is not written through.

A call is seen by a term that is built of its name, its arguments, and the contents of the blocks that it reads; what it
leaves behind and its result are terms over that one.  Contents go in as a tree of pairs, a few array operations for a
block.  With ``declared``, a call inside a block of the program that declares its regions (``T.reads`` and ``T.writes``)
is believed to touch these only.  What is written may also be read: texts of TVM leave unsaid that an update does so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, final

import numpy as np

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import INT64, VOID, DType, PointerType
from verified_tir.ir.expr import Call, Expr, IntImm, Load, StringImm, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block, Region
from verified_tir.ir.visit import nodes_of, walk
from verified_tir.semantics.memory import Extents
from verified_tir.validate.frame import Declared, Frame
from verified_tir.validate.memory import Block as Memory
from verified_tir.validate.memory import Mask, Refused, View, note_read
from verified_tir.validate.terms import MAY_UNDEF, UNDEF_ID, Ids

if TYPE_CHECKING:
    from verified_tir.validate.access import Access
    from verified_tir.validate.evaluate import Evaluator

BARRIER: Final = "tvm_storage_sync"
_MATHS: Final = frozenset(
    {"acos", "acosh", "asin", "asinh", "atanh", "exp10", "copysign", "nextafter", "hypot", "ldexp", "fmod",
     "q_multiply_shift", "q_multiply_shift_per_axis"}
)  # fmt: skip
_PURE: Final = _MATHS | {"call_pure_extern", "call_llvm_pure_intrin", "type_annotation"}
_POINTERS: Final = frozenset({"tvm_access_ptr", "address_of"})
_FRAGMENTS: Final = frozenset(
    {"tvm_fill_fragment", "tvm_load_matrix_sync", "tvm_store_matrix_sync", "tvm_mma_sync", "tvm_bmma_sync",
     "make_filled_simdgroup_matrix", "simdgroup_load", "simdgroup_store", "simdgroup_multiply_accumulate"}
)  # fmt: skip
_BY_LANE: Final = frozenset(
    {"fabs", "copysign", "canonicalize", "ceil", "floor", "trunc", "rint", "nearbyint", "round", "roundeven",
     "lround", "llround", "lrint", "llrint", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
     "cosh", "tanh", "exp", "exp2", "exp10", "log", "log2", "log10", "pow", "powi", "ldexp", "fma", "fmuladd",
     "minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum", "fptosi.sat", "fptoui.sat", "abs",
     "smin", "smax", "umin", "umax", "ctpop", "ctlz", "cttz", "bswap", "bitreverse", "fshl", "fshr", "sadd.sat",
     "uadd.sat", "ssub.sat", "usub.sat", "sshl.sat", "ushl.sat", "smul.fix", "umul.fix", "smul.fix.sat",
     "umul.fix.sat", "sdiv.fix", "udiv.fix", "sdiv.fix.sat", "udiv.fix.sat"}
)  # fmt: skip
"""Intrinsics of LLVM that its manual defines lane by lane, without the types behind their names."""
_TYPES: Final = re.compile(r"(\.(v\d+)?(i\d+|f\d+|bf16))*$")
_EXCHANGES: Final = ("tvm_warp_", "tvm_thread_allreduce", "tvm_global_barrier")
_READ_ONLY: Final = 1  # the mask of an access pointer


def needs_order(call: Call) -> bool:
    """Whether a call must run one row at a time, in the order of the program."""
    return not (is_pure(call.op) or call.op in _PURE or call.op in _POINTERS or call.op == BARRIER)


def is_data(expr: Expr, data: Collection[Var]) -> bool:
    """Whether a value is not known from sizes and loop variables alone; ``data`` are the variables that hold such."""
    return any(
        isinstance(n, (Load, Undef)) or n in data or (isinstance(n, Call) and not is_pure(n.op)) for n in walk(expr)
    )


def declaration(block: Block) -> Declared | None:
    """What a block says that it reads, and writes; ``None`` if it says nothing, as TVM's root with no regions does."""
    if block.reads is None or block.writes is None or not (block.iter_vars or block.reads or block.writes):
        return None
    return block.reads, block.writes


def declares_calls(func: PrimFunc) -> bool:
    """Whether some block of the function declares its regions and has an opaque call inside."""
    blocks = [n for n in nodes_of(func.body, Block) if declaration(n) is not None]
    return any(needs_order(n) for block in blocks for n in nodes_of(block.body, Call))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Cells of a block that a call touches, and how; ``start`` is where the pointer points, among the row's cells."""

    block: Memory
    at: Ids
    start: int = 0
    read: bool = True
    write: bool = True


_Argument: TypeAlias = "_Part | str | Ids"


@final
class Calls:
    """The calls of one run; ``declared`` says whether the regions of blocks are believed."""

    def __init__(self, access: Access, *, declared: bool = False) -> None:
        self.access, self.declared = access, declared
        self.build, self.terms = access.build, access.build.terms
        self._digests: dict[tuple[int, int, int], tuple[int, int]] = {}

    def call(self, call: Call, frame: Frame, evaluator: Evaluator) -> Ids:
        """The result of a call that is not among the interpreted ones, shape (rows or 1, lanes).

        :raises Refused: where its effect cannot be followed.
        """
        if call.op in _POINTERS or call.op == BARRIER:  # the address of something; one thread alone waits for nobody
            return np.zeros((1, 1), dtype=np.int64)
        if call.op.startswith("@"):
            raise Refused(f"{call.op} is a call of another function of the module, whose text is not given")
        if call.op.startswith(_EXCHANGES):
            raise Refused(f"{call.op} exchanges values between threads")
        if any(needs_order(inner) for argument in call.args for inner in nodes_of(argument, Call)):
            raise Refused(f"an argument of the opaque call {call.op} is an opaque call; bind it by a let first")
        if call.op in _PURE and not any(_is_pointer(a) for a in call.args):
            return self._pure(call, frame, evaluator)
        if frame.count != 1:
            raise Refused(f"the opaque call {call.op} is made by several iterations at once")
        return self._opaque(call, frame, evaluator)

    def _opaque(self, call: Call, frame: Frame, evaluator: Evaluator) -> Ids:
        local = call.op.rsplit(".", 1)[-1] in _FRAGMENTS
        given = [self._argument(a, frame, evaluator) for a in call.args]
        touched = self._touched([part for part in given if isinstance(part, _Part)], frame, evaluator, local=local)
        blocks = list({id(part.block): part.block for part in given if isinstance(part, _Part)}.values())
        believed = self.declared and frame.declared is not None
        if believed or not local:  # numbers that both programs agree on as long as their calls do
            blocks = list({id(block): block for block in (*self.access.reachable, *blocks)}.values())
        if not (believed or local):
            self.access.reachable = blocks  # whoever was given a pointer may have kept it
        state = int(self.build.opaque(f"call {call.op} {call.type}", VOID, 0 if local else self.access.world))
        for argument in given:
            state = self._joined(state, argument, blocks)
        doubtful = False
        for part in touched:
            if part.read:
                contents = part.block.ids[part.at]
                state = int(self.build.opaque("with", VOID, state, self._digest(part, contents)))
                doubtful |= bool((self.terms.flags[contents] & MAY_UNDEF).any())
        for number, part in enumerate(touched):
            self._leave(frame, part, number, state, doubtful=local and doubtful)
        if not local:
            after = int(self.build.opaque("after", VOID, state))
            if frame.guard is not None:
                after = int(self.build.opaque("if", VOID, frame.guard[0], after, self.access.world))
            self.access.world = after
        lanes = np.arange(call.type.lanes, dtype=np.int64)[None, :]
        return self.build.opaque("result", call.type.scalar, state, self.terms.constants(INT64, lanes))

    # ------------------------------------------------------------------------------------------------ pure calls

    def _pure(self, call: Call, frame: Frame, evaluator: Evaluator) -> Ids:
        """A function of its arguments, strict in them; lane by lane where the function is known to work so."""
        lanes = call.type.lanes
        texts = [a.value if isinstance(a, StringImm) else None for a in call.args]
        arguments = [a for a in call.args if not isinstance(a, StringImm)]
        values = [evaluator.terms_of(evaluator.evaluate(a, frame)) for a in arguments]
        name = f"pure {call.op} {texts} {call.type.scalar}"  # texts have their places among the arguments
        each = _lanewise(call, texts) and all(v.shape[1] in (1, lanes) for v in values)
        if not each:
            name += f" {lanes} of {[a.dtype.lanes for a in arguments]}"
            values = [np.broadcast_to(v, (v.shape[0], a.dtype.lanes)) for v, a in zip(values, arguments, strict=True)]
            values = [v[:, k : k + 1] for v in values for k in range(v.shape[1])]
        state: Ids = self.build.opaque(name, VOID, np.zeros((1, 1), dtype=np.int64))
        undef: Mask = np.zeros((1, 1), dtype=np.bool_)
        doubtful: Mask = undef
        for value in values:
            state = self.build.opaque("with", VOID, state, value)
            undef = undef | (value == UNDEF_ID)
            doubtful = doubtful | (self.terms.flags[value] & MAY_UNDEF != 0)
        number: Ids = np.zeros((1, 1), dtype=np.int64) if each else np.arange(lanes, dtype=np.int64)[None, :]
        found = self.build.opaque("result", call.type.scalar, state, self.terms.constants(INT64, number))
        self.build.operations += found.size
        self.terms.flags[found[np.broadcast_to(doubtful, found.shape)]] |= MAY_UNDEF
        return np.where(undef, UNDEF_ID, found)

    # ------------------------------------------------------------------------------------------------- arguments

    def _argument(self, argument: Expr, frame: Frame, evaluator: Evaluator) -> _Argument:
        """What a call gets: a part of a block, a text, or terms."""
        match argument:
            case StringImm(value=text):
                return f"text {text}"
            case Call(op="type_annotation", args=args):
                return f"type {[a.value for a in args if isinstance(a, StringImm)]}"
            case Call(op="tvm_access_ptr", args=(kind, Var() as data, offset, _, mask)):
                view, base = self._block(data, frame)
                at = evaluator.number(offset, frame, "undef index", f"an offset in {view.name}")
                start = int(at[0, 0]) * _step(kind, view)
                write = not (isinstance(mask, IntImm) and mask.value == _READ_ONLY)
                return replace(self._whole(view, base), start=start, write=write)
            case Call(op="address_of", args=(Load(buffer=buffer, indices=indices),)):
                found = evaluator.indices(buffer.name, indices, frame)
                view, base = self._block(buffer.data, frame)
                _, at, _ = self.access.addresses(frame, buffer, found, 1, None)
                return replace(self._whole(view, base), start=int(at.reshape(-1)[0]) - base)
            case Var(type=PointerType()):
                return self._whole(*self._block(argument, frame))
        if _is_pointer(argument):
            raise Refused("a pointer argument that is neither a block's, T.address_of nor T.tvm_access_ptr")
        return np.broadcast_to(evaluator.terms_of(evaluator.evaluate(argument, frame)), (1, argument.dtype.lanes))

    def _block(self, data: Var, frame: Frame) -> tuple[View, int]:
        """The block behind a pointer, and where the row's own part of it begins."""
        view = frame.blocks.get(data)
        if view is None:
            raise Refused(f"the pointer {data.name} is no block's")
        bases = frame.bases.get(data)
        return view, 0 if bases is None else int(bases[0])

    def _whole(self, view: View, base: int) -> _Part:
        _refuse_closed(view.block)
        return _Part(view.block, np.arange(base, base + view.span, dtype=np.int64))

    def _joined(self, state: int, argument: _Argument, blocks: Sequence[Memory]) -> int:
        match argument:
            case str():
                return int(self.build.opaque(argument, VOID, state))
            case _Part():
                number = next(k for k, block in enumerate(blocks) if block is argument.block)
                at = self.terms.constant(INT64, argument.start)
                return int(self.build.opaque(f"pointer {number}", VOID, state, at))
        if argument.size > 1:  # a vector, not as many scalars
            state = int(self.build.opaque(f"vector of {argument.size}", VOID, state))
        for term in argument.reshape(-1).tolist():
            state = int(self.build.opaque("with", VOID, state, term))
        return state

    # --------------------------------------------------------------------------------------------------- effects

    def _touched(self, given: Sequence[_Part], frame: Frame, evaluator: Evaluator, *, local: bool) -> list[_Part]:
        """What a call may read and write, each part of memory once."""
        if self.declared and frame.declared is not None:
            reads, writes = frame.declared
            parts = [replace(self._region(r, frame, evaluator), write=False) for r in reads]
            parts += [self._region(r, frame, evaluator) for r in writes]  # an update reads what it writes
            self._note(frame, parts)
            return parts
        found: dict[tuple[int, int], _Part] = {}
        for part in given:
            key = part.block.serial, int(part.at[0]) if part.at.size else 0
            there = found.get(key)
            found[key] = part if there is None else replace(there, write=there.write or part.write)
        if not local:
            for block in self.access.reachable:
                if not any(part.block is block for part in found.values()):
                    _refuse_closed(block)
                    found[block.serial, 0] = _Part(block, np.arange(block.ids.size, dtype=np.int64))
        self._note(frame, list(found.values()))
        if not local:
            self._note(frame, [_Part(self.access.outside, np.zeros(1, dtype=np.int64))])
        return list(found.values())

    def _region(self, region: Region, frame: Frame, evaluator: Evaluator) -> _Part:
        """The cells of a declared region, row-major; those that the buffer does not have are nobody's."""
        name = region.buffer.name
        mins = [evaluator.number(e, frame, "undef bound", f"a region of {name}")[0, 0] for e in region.mins]
        sizes = [int(evaluator.number(e, frame, "undef bound", f"a region of {name}")[0, 0]) for e in region.extents]
        grid = np.indices([max(0, k) for k in sizes], dtype=np.int64).reshape(len(sizes), -1)
        view = frame.views.get(region.buffer)
        if view is None:
            raise Refused(f"{name} is not declared here")
        _refuse_closed(view.block)
        inside = np.ones(grid.shape[1], dtype=np.bool_)
        for axis, low, extent in zip(grid, mins, view.extents.shape, strict=True):
            inside &= (axis + low >= 0) & (axis + low < extent)
        indices = [(axis + low)[inside][:, None] for axis, low in zip(grid, mins, strict=True)]
        _, at, _ = self.access.addresses(frame, region.buffer, indices, 1, None)
        return _Part(view.block, at.reshape(-1))

    def _note(self, frame: Frame, parts: Sequence[_Part]) -> None:
        """Tell the regions around that this row touches what the call is given."""
        for region, numbers in frame.regions:
            for part in parts:
                rows = np.broadcast_to(numbers, part.at.shape)
                if part.read:
                    note_read(region, part.block, rows, part.at)
                if part.write:
                    self.access.memory.note_write(region, part.block, rows, part.at)

    def _digest(self, part: _Part, contents: Ids) -> int:
        """A term for contents: a tree of pairs, under their number."""
        first = int(part.at[0]) if part.at.size else 0
        key = part.block.serial, first, part.at.size
        whole = part.at.size == 0 or (int(part.at[-1]) - first == part.at.size - 1)
        known = self._digests.get(key) if whole else None
        if known is not None and known[0] == part.block.version:
            return known[1]
        count = self.terms.constant(INT64, contents.size)
        while contents.size > 1:
            if contents.size % 2:
                contents = np.append(contents, UNDEF_ID)
            contents = self.build.opaque("pair", VOID, contents[0::2], contents[1::2])
            self.build.operations += contents.size
        found = int(self.build.opaque("contents", VOID, count, int(contents[0]) if contents.size else 0))
        if whole:
            self._digests[key] = part.block.version, found
        return found

    def _leave(self, frame: Frame, part: _Part, number: int, state: int, *, doubtful: bool) -> None:
        """Whatever a call left in a part of memory that it could write; under a path condition, only there."""
        if not part.write or not part.at.size:
            return
        block = part.block
        stored = [dtype for dtype in block.dtypes if dtype.nbytes == block.width]
        dtype = stored[0] if len(stored) == len(block.dtypes) == 1 else DType("uint", 8 * block.width)
        block.dtypes.add(dtype)
        places = np.arange(part.at.size, dtype=np.int64)
        new = self.build.opaque("left", dtype, state, np.full(places.size, number), places)
        if doubtful:
            self.terms.flags[new] |= MAY_UNDEF
        if frame.guard is not None:
            old = self.access.kept(block.ids[part.at], View(block.name, dtype, block, Extents((), ()), 0))
            new = self.build.choose(dtype, frame.guard[0], new, old)
        self.build.operations += places.size
        self.access.memory.store(block, part.at, new)


def _refuse_closed(block: Memory) -> None:
    if block.closed is not None:
        raise Refused(f"an opaque call reaches {block.name}, parts of which are inaccessible")


def _is_pointer(argument: Expr) -> bool:
    match argument:
        case Var(type=PointerType()):
            return True
        case Call(op="type_annotation"):
            return False
    return argument.dtype.code == "handle" and not isinstance(argument, StringImm)


def _step(kind: Expr, view: View) -> int:
    """The cells that one step of an access pointer's offset takes: it counts elements of the annotated type."""
    match kind:
        case Call(op="type_annotation", args=(StringImm(value=text), *_)):
            nbytes = DType.parse(text).nbytes
            if nbytes % view.block.width:
                raise Refused(f"a pointer to {text} into {view.name}, whose scalars are wider")
            return nbytes // view.block.width
    return view.dtype.nbytes // view.block.width


def _lanewise(call: Call, texts: Sequence[str | None]) -> bool:
    """Whether it is known that each lane of the result depends on the same lane of the arguments only."""
    if call.op in _MATHS:
        return True
    if call.op != "call_llvm_pure_intrin" or not texts or texts[0] is None:
        return False
    return texts[0].startswith("llvm.") and _TYPES.sub("", texts[0].removeprefix("llvm.")) in _BY_LANE
