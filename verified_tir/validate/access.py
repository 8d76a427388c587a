"""Loads, stores and opaque calls: many rows at once, on the blocks of a run.

Addresses are known numbers.  An access outside its view or its block, or of a scalar declared inaccessible, is
undefined behaviour; under a symbolic path condition the condition is noted, and the access does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import INT64, VOID, PointerType
from verified_tir.ir.expr import Call, Expr, Load, StringImm, Var
from verified_tir.ir.visit import walk
from verified_tir.validate.events import Events
from verified_tir.validate.frame import Frame
from verified_tir.validate.memory import Block, Mask, Memory, Refused, View, note_read, note_write, repeats
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import UNDEF_ID, Ids

if TYPE_CHECKING:
    from verified_tir.validate.evaluate import Evaluator


@final
class Access:
    """The memory of one run, as its statements reach it.

    ``world`` is a term for all that opaque calls have done so far; ``written`` the data variables of the blocks that
    the function stores to (others need no checks for conflicts).
    """

    def __init__(self, build: Builder, events: Events, memory: Memory, written: frozenset[Var]) -> None:
        self.build, self.events, self.memory, self.written = build, events, memory, written
        self.terms = build.terms
        self.world = int(build.opaque("world", VOID, 0))
        self.reachable: list[Block] = []

    # ---------------------------------------------------------------------------------------------- addresses

    def _addresses(
        self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int, mask: Ids | None
    ) -> tuple[View, Ids, Mask | None]:
        """The scalars that an access touches, shape (rows or 1, lanes), and which are accessed (``None``: all)."""
        view = frame.views.get(buffer)
        if view is None:
            raise Refused(f"{buffer.name} is not declared here")
        element: Ids = np.full((1, lanes), view.offset, dtype=np.int64)
        outside: Mask = np.zeros((1, 1), dtype=np.bool_)
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            wrong = (index < 0) | (index >= extent)
            if wrong.any():
                outside = outside | wrong
            element = element + index * stride
        outside = outside | (element < 0) | (element >= view.span // view.dtype.lanes)
        if mask is not None:
            outside = outside & (mask != 0)
        taken: Mask | None = None
        if outside.any():
            self.events.note(frame, f"{buffer.name} is accessed out of bounds", outside)
            taken = ~outside
        if mask is not None:
            taken = mask != 0 if taken is None else taken & (mask != 0)
        if taken is not None:
            element, taken = np.broadcast_arrays(element, taken)
            element = np.where(taken, element, 0)
        at = element * view.dtype.lanes
        if view.dtype.lanes > 1:
            at = (at[:, :, None] + np.arange(view.dtype.lanes)).reshape(at.shape[0], -1)
            if taken is not None:
                taken = np.repeat(taken, view.dtype.lanes, axis=1)
        base = frame.bases.get(buffer.data)
        if base is not None:
            at = at + base[:, None]
        return view, at, self._open(frame, view, at, taken)

    def _open(self, frame: Frame, view: View, at: Ids, taken: Mask | None) -> Mask | None:
        closed = view.block.closed
        if closed is None or at.size == 0:
            return taken
        wrong = closed[np.where(taken, at, 0)] & taken if taken is not None else closed[at]
        if not wrong.any():
            return taken
        self.events.note(frame, f"{view.name} is accessed where it is declared inaccessible", wrong)
        return ~wrong if taken is None else taken & ~wrong

    # --------------------------------------------------------------------------------------------------- load

    def load(self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int, mask: Ids | None) -> Ids:
        """The terms at some elements, shape (rows or 1, scalars)."""
        view, at, taken = self._addresses(frame, buffer, indices, lanes, mask)
        self.build.operations += at.size
        if frame.regions and buffer.data in self.written:
            self._note(frame, view.block, at, taken, write=False)
        if taken is None:
            ids: Ids = view.block.ids[at]
        else:
            ids = np.full(at.shape, UNDEF_ID, dtype=np.int64)
            ids[taken] = view.block.ids[at[taken]]
        return self.typed(ids, view)

    def typed(self, ids: Ids, view: View) -> Ids:
        """What was stored at another type is read by its bytes."""
        target = view.dtype.scalar
        if view.block.dtypes <= {target}:
            return ids
        codes = self.terms.columns[0, ids]
        for code in np.unique(codes).tolist():
            if self.terms.code_op[code] in ("undef", "reinterpret") and self.terms.code_dtype[code] in (VOID, target):
                continue
            here = codes == code
            example = int(ids[here].flat[0])
            if self.terms.result_dtype(example) is not target:
                ids = ids.copy()
                ids[here] = self.build.reinterpret(target, ids[here])
        return ids

    # -------------------------------------------------------------------------------------------------- store

    def store(
        self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], value: Ids, lanes: int, mask: Ids | None
    ) -> None:
        """Store terms, shape (rows or 1, scalars or 1), in the order of the rows and lanes."""
        view, at, taken = self._addresses(frame, buffer, indices, lanes, mask)
        block = view.block
        shape = (frame.count, lanes * view.dtype.lanes)
        at = np.broadcast_to(at, shape)
        value = np.broadcast_to(value, shape)
        taken = None if taken is None else np.broadcast_to(taken, shape)
        if frame.regions:
            self._note(frame, block, at, taken, write=True)
        block.dtypes.add(view.dtype.scalar)
        if frame.guard is not None:
            if frame.count * lanes > 1 and repeats(at):
                raise Refused(f"several rows store to one element of {buffer.name} under a condition")
            old = self.typed(block.ids[at], view)
            value = self.build.choose(view.dtype.scalar, frame.guard[:, None], value, old)
        self.build.operations += at.size
        if taken is None:
            self.memory.store(block, at.reshape(-1), value.reshape(-1))
        else:
            self.memory.store(block, at[taken], value[taken])

    def _note(self, frame: Frame, block: Block, at: Ids, taken: Mask | None, *, write: bool) -> None:
        note = note_write if write else note_read
        shape = (frame.count, at.shape[1])
        flat = np.broadcast_to(at, shape)
        here = None if taken is None else np.broadcast_to(taken, shape)
        for region, numbers in frame.regions:
            rows = np.broadcast_to(numbers[:, None], shape)
            if here is None:
                note(region, block, rows.reshape(-1), flat.reshape(-1))
            else:
                note(region, block, rows[here], flat[here])

    # ------------------------------------------------------------------------------------------- opaque calls

    def opaque_call(self, call: Call, frame: Frame, evaluator: Evaluator) -> Ids:
        """A call that nothing is known about: its result and its effect depend on its arguments and all it can reach.

        It reaches the parameters, and the blocks whose data variables or elements are among its arguments.

        :raises Refused: for many rows at once, or on a symbolic path.
        """
        if frame.count != 1 or frame.guard is not None:
            raise Refused(f"the opaque call {call.op} depends on a condition on data")
        if call.op.startswith("@"):
            raise Refused(f"{call.op} is a call of another function of the module")
        reach = [*self.reachable]
        for argument in call.args:
            reach.extend(self._named(argument, frame))
        blocks = list({id(block): block for block in reach}.values())
        self.reachable = blocks  # whoever was given a pointer may have kept it
        state = int(self.build.opaque(f"call {call.op}", VOID, self.world))
        for argument in call.args:
            state = self._join(state, self._argument(argument, frame, evaluator, blocks))
        for block in blocks:
            for term in block.ids.tolist():
                state = int(self.build.opaque("with", VOID, state, term))
        self.world = int(self.build.opaque("after", VOID, state))
        for number, block in enumerate(blocks):
            self._havoc(number, block)
        lanes = np.arange(call.type.lanes, dtype=np.int64)[None, :]
        return self.build.opaque("result", call.type.scalar, self.world, self.terms.constants(INT64, lanes))

    def _join(self, state: int, argument: Ids | str) -> int:
        if isinstance(argument, str):
            return int(self.build.opaque(f"text {argument}", VOID, state))
        for term in argument.reshape(-1).tolist():
            state = int(self.build.opaque("with", VOID, state, term))
        return state

    def _argument(self, argument: Expr, frame: Frame, evaluator: Evaluator, blocks: list[Block]) -> Ids | str:
        """What a call sees of an argument; a pointer is a block's number among those in reach, and an address in it."""
        match argument:
            case StringImm(value=text):
                return text
            case Var(type=PointerType()):
                view = frame.blocks.get(argument)
                if view is None or argument in frame.bases:
                    raise Refused(f"the pointer {argument.name} is no parameter's")
                return f"pointer {blocks.index(view.block)}"
            case Call(op="address_of", args=(Load(buffer=buffer, indices=indices),)):
                if buffer.data in frame.bases:
                    raise Refused(f"the address of {buffer.name} is no parameter's")
                _, at, _ = self._addresses(frame, buffer, evaluator.indices(buffer.name, indices, frame), 1, None)
                return f"address {blocks.index(frame.views[buffer].block)} {at.reshape(-1).tolist()}"
        if any(isinstance(node, Call) and not is_pure(node.op) for node in walk(argument)):
            raise Refused("an argument of an opaque call is an opaque call")
        return evaluator.terms_of(evaluator.evaluate(argument, frame))

    def _named(self, argument: Expr, frame: Frame) -> list[Block]:
        found = []
        for node in walk(argument):
            data = node.data if isinstance(node, Buffer) else node
            view = frame.blocks.get(data) if isinstance(data, Var) else None
            if view is not None:
                found.append(view.block)
        return found

    def _havoc(self, number: int, block: Block) -> None:
        """Whatever a call left in a block that it could reach."""
        if block.closed is not None:
            raise Refused(f"an opaque call reaches {block.name}, parts of which are inaccessible")
        dtype = next(iter(block.dtypes)) if len(block.dtypes) == 1 else None
        if dtype is None:
            raise Refused(f"an opaque call reaches {block.name}, which holds values of several types, or none")
        at: Ids = np.arange(block.ids.size, dtype=np.int64)
        new = self.build.opaque("left", dtype, self.world, np.full(at.size, number), at)
        self.memory.store(block, at, new)
