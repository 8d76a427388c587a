"""Primitives of the schedule that change how reductions are computed."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Handle
from verified_tir.schedule.shown import listed
from verified_tir.schedule.tactics import pad_einsum, rfactor


class ReductionPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def rfactor(self, loop: Handle, factor_axis: int = 0, *, reassociate: str = "") -> str:
        """Split a reduction: one partial result for each iteration of ``loop``, then the sum of these.

        Gives the block of the partial results, ``<block>_rf``.  They are kept in ``<buffer>_rf``, which has one more
        dimension than the result.  The block itself adds them up.  (TVM's ``rfactor``.)

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
        :param padding: one factor for each loop directly around the block, outermost first; 1 pads nothing.
        :raises ScheduleError: if the block is no such sum, or adding the padding might change a bit: products of floats
            need padding in *all* operands, or one that is finite, and a sum that is never -0.0.
        """
        said = (block, listed(padding))
        self._do("pad_einsum", said, lambda s: pad_einsum.pad_einsum(s, block, padding))
