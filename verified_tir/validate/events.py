"""Undefined behaviour that depends on data: under which condition, on which path.

Undefined behaviour on every input ends a run at once.  The rest is a set of pairs (path condition, condition) of terms:
if both hold, the run has no meaning.
"""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import BOOL
from verified_tir.validate.frame import Frame
from verified_tir.validate.memory import UndefinedRun
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import MAY_UNDEF, UNDEF_ID, Ids


@final
class Events:
    """What was met; the order of ``found`` is that of the run, and its last entries can be taken back."""

    def __init__(self, build: Builder) -> None:
        self.build = build
        self.found: dict[tuple[int, int], str] = {}

    def note(self, frame: Frame, kind: str, where: npt.NDArray[np.bool_]) -> None:
        """Undefined behaviour in the rows (the first axis) where a condition that is known holds in some lane.

        :raises UndefinedRun: if such a row has no symbolic path condition.
        """
        if not where.any():
            return
        if frame.guard is None:
            raise UndefinedRun(kind)
        rows = np.broadcast_to(where.reshape(where.shape[0], -1).any(axis=1), (frame.count,))
        for guard in np.unique(frame.guard[rows]).tolist():
            self._add(guard, self.build.terms.true, kind)

    def note_terms(self, frame: Frame, kind: str, condition: Ids) -> None:
        """Undefined behaviour where a term is true; terms have the shape (rows, lanes).

        Where one is undef, so is an operand of the operation, and whoever asks has noted that (:meth:`note_undef`).

        :raises UndefinedRun: if it is true on every input.
        """
        terms = self.build.terms
        condition = np.where(condition == UNDEF_ID, terms.false, condition)
        if (condition == terms.false).all():
            return
        guard = np.full((1, 1), terms.true) if frame.guard is None else frame.guard[:, None]
        guards, conditions = np.broadcast_arrays(guard, condition)
        pairs = np.unique(np.stack([guards.reshape(-1), conditions.reshape(-1)]), axis=1)
        for g, c in pairs.T.tolist():
            self._add(g, c, kind)

    def note_undef(self, frame: Frame, kind: str, ids: Ids) -> None:
        """Undefined behaviour where one of the terms is undef."""
        terms = self.build.terms
        doubtful = terms.flags[ids] & MAY_UNDEF != 0
        if not doubtful.any():
            return
        asked = self.build.opaque("is_undef", BOOL, ids)
        condition = np.where(ids == 0, terms.true, np.where(doubtful, asked, terms.false))
        self.note_terms(frame, kind, condition)

    def _add(self, guard: int, condition: int, kind: str) -> None:
        terms = self.build.terms
        if terms.false in (condition, guard):
            return
        if guard == condition == terms.true:
            raise UndefinedRun(kind)
        self.found.setdefault((guard, condition), kind)

    def undo(self, mark: int) -> None:
        """Forget what came after the first ``mark`` entries."""
        while len(self.found) > mark:
            self.found.popitem()
