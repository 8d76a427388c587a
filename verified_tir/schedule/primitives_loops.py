"""Primitives of the schedule that change loops, the reductions that they run through, and what is noted at them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Expr, StringImm, Var
from verified_tir.ir.script.literals import LITERAL_DICT
from verified_tir.ir.stmt import AnnotationValue, Block, For
from verified_tir.schedule import codes
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.rule_builders import annotated
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.shown import listed, short
from verified_tir.schedule.tactics import fission, follow, loops, merge, pad_einsum, reduction, rfactor
from verified_tir.schedule.tactics.layout import BufferIn
from verified_tir.schedule.tactics.recompose import reorder_sum

Annotation: TypeAlias = "str | int | float | Sequence[Annotation]"
"""What may be noted."""


class LoopPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def split(
        self, loop: Handle, factors: Sequence[int | None], preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[Var]:  # fmt: skip
        """Split a loop into nested serial loops of the given extents, outermost first; one factor may be ``None``.

        Where the factors do not divide the extent, a guard is added.  Gives the new loops, ``<loop>_0``, ``<loop>_1`` …

        :param preserve_unit_iters: TVM's; it is about iteration variables of blocks, which are expanded here, and
            changes nothing.
        :param disable_predication: leave the guard out.  Unlike in TVM this is refused unless the factors are proved to
            divide the extent, as ``T.assume(n % 4 == 0)`` may say.
        """
        del preserve_unit_iters
        said = (loop, listed(factors), *(["disable_predication=True"] if disable_predication else []))
        return self._do("split", said, lambda s: loops.split(s, loop, factors, guarded=not disable_predication))

    @recorded
    def fuse(self, *handles: Handle, preserve_unit_iters: bool = True) -> Var:
        """Make one serial loop of perfectly nested ones, given outermost first; gives it, ``<loop>_<loop>_fused``.

        :param preserve_unit_iters: TVM's; it changes nothing, as in :meth:`split`.
        """
        del preserve_unit_iters
        return self._do("fuse", handles, lambda s: loops.fuse(s, handles))

    @recorded
    def reorder(self, *handles: Handle, reassociate: str = "") -> None:
        """Put nested loops into the given order; loops between them that are not named keep their places.

        Handles of the loops stay good.

        :param reassociate: the user's word that a float reduction may be rounded in another order: the name of the
            buffer that is reduced into.  Integers need none.
        """
        said = [*handles, *([f"reassociate={reassociate}"] if reassociate else [])]
        self._do("reorder", said, lambda s: reorder_sum(s, handles, reassociate))

    @recorded
    def tile(self, *handles: Handle, factors: Sequence[int]) -> list[Var]:
        """Split each loop by its factor and put all outer loops before all inner ones; gives outer, then inner
        loops."""
        return self._do("tile", (*handles, listed(factors)), lambda s: loops.tile(s, handles, factors))

    @recorded
    def partition(self, loop: Handle, mid: Expr | int) -> tuple[Var, Var]:
        """Cut a loop's range in two at ``mid``, which must lie in it; gives the two loops.

        ``mid`` may use symbols (see :meth:`symbol`) and the variables of loops around.  Handles into the loop stay with
        the first part.
        """
        return self._do("partition", (loop, mid), lambda s: loops.partition(s, loop, mid))

    @recorded
    def peel(self, loop: Handle, end: bool = False) -> Var:
        """Run the first (``end``: the last) iteration outside the loop; gives the rest, where handles stay."""
        return self._do("peel", (loop, "end") if end else (loop,), lambda s: loops.peel(s, loop, end))

    @recorded
    def fission(self, loop: Handle, position: int | None = None, *, after: Handle | None = None) -> tuple[Var, Var]:
        """Split a loop over several statements into two loops; gives both.

        :param position: the statement of the body that begins the second part (1 unless given).
        :param after: instead, the block or loop that ends the first part, at any depth; loops between are split too.

        Handles go with their statements; that of the loop itself stays with the first part.
        """
        said = (loop, f"after={short(after)}") if after is not None else (loop, 1 if position is None else position)
        return self._do("fission", said, lambda s: fission.fission(s, loop, position, after))

    @recorded
    def merge_loops(self, first: Handle, second: Handle) -> Var:
        """Merge two adjacent loops; gives the merged loop, which both handles mean from then on."""
        return self._do("merge_loops", (first, second), lambda s: fission.merge(s, first, second))

    @recorded
    def merge_adjacent_loops(self, *handles: Handle) -> list[Var]:
        """Merge neighbouring nests of equal ranges, as deep as they agree; without loops, all that may be merged.

        RFC 77, "Utility - Merge Adjacent Loops".  Labels around the nests go inside.  Given loops need not be
        neighbours: if one may move past what stands between them, it does.  Gives the merged loops in program order;
        handles of both mean the merged one from then on.

        :raises ScheduleError: if nothing can be merged; it says which of the RFC's two conditions fails, and where.
        """
        return self._do("merge_adjacent_loops", handles, lambda s: merge.merge_adjacent_loops(s, handles))

    @recorded
    def move_before(self, first: Handle, second: Handle) -> None:
        """Move ``first`` directly before ``second``: blocks or loops, or what holds them, in one sequence.

        All that it moves past must touch other elements.  Handles stay good.
        """
        self._do("move_before", (first, second), lambda s: merge.move(s, first, second, after=False))

    @recorded
    def move_after(self, second: Handle, first: Handle) -> None:
        """Move ``second`` directly behind ``first``: blocks or loops, or what holds them, in one sequence."""
        self._do("move_after", (second, first), lambda s: merge.move(s, second, first, after=True))

    @recorded
    def remove_loop(self, loop: Handle) -> None:
        """Replace a loop whose iterations all do the same by its body."""
        self._do("remove_loop", (loop,), lambda s: reduction.remove_loop(s, loop))

    @recorded
    def parallel(self, loop: Handle) -> None:
        """Permit a loop's iterations to run at once."""
        self._do("parallel", (loop,), lambda s: loops.mark(s, loop, "parallel"))

    @recorded
    def vectorize(self, loop: Handle) -> None:
        """Permit a loop's iterations to run as vector lanes."""
        self._do("vectorize", (loop,), lambda s: loops.mark(s, loop, "vectorized"))

    @recorded
    def unroll(self, loop: Handle) -> None:
        """Mark a loop to be unrolled."""
        self._do("unroll", (loop,), lambda s: loops.mark(s, loop, "unrolled"))

    @recorded
    def bind(self, loop: Handle, thread: str) -> None:
        """Bind a loop to a thread axis such as ``"threadIdx.x"``."""
        self._do("bind", (loop, thread), lambda s: loops.mark(s, loop, "thread_binding", thread))

    @recorded
    def sequential_buffer_access(
        self, buffer: BufferIn, block: str | Var | Buffer | None = None, *, reassociate: str = ""
    ) -> list[Var]:
        """Make the loops around the accesses of a buffer follow its layout.

        RFC 77, "New Utility - Reorder Loops According to Buffer".  The indices of an access become the loops, with a
        guard where they run over places that were not touched; loops that the indices do not determine stay innermost.
        What stands between the loops stays there if each of the two can be rebuilt by itself; if an index needs both,
        it gets a nest of its own (``init_<block>``), or the step is refused.  Of several accesses in one statement the
        store counts, else the first load.  A nest that is in order already does not change.

        Gives the loops of the last nest, in the order of the layout.

        :param block: a block, or a loop: only accesses in it.  Then the buffer may also be ``("read", k)`` or
            ``("write", k)``; and the two may come in TVM's order, block first.
        :param reassociate: the user's word that a float reduction may be rounded in another order: the name of the
            buffer that is reduced into.  Integers need none.
        """
        said = [buffer, *([] if block is None else [f"block={short(block)}"]),
                *([f"reassociate={reassociate}"] if reassociate else [])]  # fmt: skip
        return self._do("sequential_buffer_access", said,
                        lambda s: follow.sequential_buffer_access(s, buffer, block, reassociate))  # fmt: skip

    @recorded
    def rfactor(self, loop: Handle, factor_axis: int = 0, *, reassociate: str = "") -> str:
        """Split a reduction: one partial result for each iteration of ``loop``, then the sum of these.

        Gives the block of the partial results, ``<block>_rf``.  They are kept in ``<buffer>_rf``, which has one more
        dimension than the result.  The block itself adds them up.  Handles go on meaning the loops of the partial
        results; in TVM, and so in traces, they mean those of the block itself.  (TVM's ``rfactor``.)

        :param loop: a loop of the reduction, in a block, or in a nest around one update ``B[x] = B[x] ⊕ e``.
        :param factor_axis: which dimension of the new buffer is the new one; from the end if negative.
        :param reassociate: the user's word that a float reduction may be rounded in another order: the name of the
            buffer that is reduced into.  The theorem, and the certificate, then name it.  Integers need none.
        :raises ScheduleError: if the loop is none of a reduction, or the bits would change without the user's word.
        """
        said = [loop, factor_axis, *([f"reassociate={reassociate}"] if reassociate else [])]
        return self._do("rfactor", said, lambda s: rfactor.rfactor(s, loop, factor_axis, reassociate))

    @recorded
    def pad_einsum(self, block: str, padding: Sequence[int]) -> None:
        """Pad the loops of a sum of products to multiples of factors, on padded copies (TVM's ``pad_einsum``).

        The operands are copied to ``<buffer>_pad``, which holds 0 beyond the operand; the result is computed in a
        ``<buffer>_pad``, and what lies in the result's box is copied back.  Conditions there are none in the loops.

        :param block: an update ``C[…] = C[…] + A[…] * B[…] …``, indexed by loops' variables and constants.
        :param padding: one factor for each loop directly around the block, in the order of the axes that the block
            declares, or else outermost first; 1 pads nothing.
        :raises ScheduleError: if the block is no such sum, or adding the padding might change a bit: products of floats
            need padding in *all* operands, or one that is finite, and a sum that is never -0.0.
        """
        said = (block, listed(padding))
        self._do("pad_einsum", said, lambda s: pad_einsum.pad_einsum(s, block, padding))

    @recorded
    def annotate(self, block_or_loop: Handle, ann_key: str, ann_val: Annotation) -> None:
        """Note something at a block or a loop, as TVM's pragmas do.  A note of the same key is replaced.

        :param ann_val: a text or a number, or a list or a dictionary of such.
        :raises ScheduleError: if there is no such block or loop, or for another value.
        """

        def steps(s: Session) -> None:
            _noted(s, block_or_loop, ann_key, _annotation(ann_val))

        self._do("annotate", (block_or_loop, ann_key, ann_val), steps)

    @recorded
    def unannotate(self, block_or_loop: Handle, ann_key: str) -> None:
        """Remove an annotation.

        :raises ScheduleError: if there is none of this key.
        """
        self._do("unannotate", (block_or_loop, ann_key), lambda s: _noted(s, block_or_loop, ann_key, None))


def _annotation(value: object) -> AnnotationValue:
    """A value as a program holds it.

    :raises TacticFailed: if it is neither a text or a number nor a list or a dictionary of such.
    """
    if isinstance(value, dict):
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as problem:
            raise fail(
                f"the annotation {value!r} is no dictionary of texts, numbers and lists: {problem}",
                code=codes.WRONG_ARGUMENT,
            ) from None
        return Call(HANDLE, LITERAL_DICT, (StringImm(text),))
    if isinstance(value, (list, tuple)):
        return tuple([_annotation(v) for v in value])
    if isinstance(value, (str, int, float)):
        return value
    raise fail(
        f"the value of an annotation is a text, a number, or a list or dictionary of such, not {value!r}",
        code=codes.WRONG_ARGUMENT,
    )


def _noted(session: Session, handle: Handle, key: str, value: AnnotationValue | None) -> None:
    path = session.place(handle)
    stmt = session.stmt(path)
    assert isinstance(stmt, (Block, For))
    others = tuple((k, v) for k, v in stmt.annotations if k != key)
    if value is None and len(others) == len(stmt.annotations):
        known = ", ".join(repr(k) for k, _ in stmt.annotations)
        raise fail(
            f"there is no annotation {key!r} here{f'; there are {known}' if known else ''}",
            path,
            code=codes.NOTHING_OF_THAT_NAME,
        )
    session.apply(annotated(path, others if value is None else (*others, (key, value))))
