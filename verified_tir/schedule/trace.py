"""Traces: the instructions of a schedule and the decisions of those that sample, in the format of TVM's traces.

A trace is JSON: instructions ``[kind, inputs, attributes, outputs]`` over names of random variables (blocks ``b0``,
loops ``l1``, numbers ``v2``), and decisions ``[number of the instruction, decision]``.  What TVM has no instruction for
has the kind ``VerifiedTIR``; its attributes are a primitive with its arguments, as certificates have them.

Applying a trace calls the primitives again.  Each step is proved as when a user calls it: a trace proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from verified_tir.schedule.trace_instructions import POSTPROC, DecisionProvider, Instruction, TraceError, plain
from verified_tir.schedule.trace_replay import apply

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule


@final
@dataclass(slots=True)
class Trace:
    """Instructions, and the decisions of those that sample, by the number of the instruction.

    The interface is that of TVM's ``Trace``.
    """

    insts: list[Instruction] = field(default_factory=list)
    decisions: dict[int, Any] = field(default_factory=dict)

    @staticmethod
    def from_json(json_obj: str | Sequence[Any]) -> Trace:
        """A trace from JSON, as text or as lists: as TVM's ``as_json`` gives it, or :meth:`as_json`.

        :raises TraceError: if it is none.
        """
        try:
            loaded: Any = json.loads(json_obj) if isinstance(json_obj, str) else json_obj
            insts, decisions = loaded
            made = [Instruction(str(k), plain(i), plain(a), [str(o) for o in out]) for k, i, a, out in insts]
            return Trace(made, {int(plain(k)): plain(d) for k, d in decisions})
        except (ValueError, TypeError) as problem:
            raise TraceError(f"not a trace: {problem}") from problem

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """The trace as lists, texts and numbers, which :meth:`from_json` and TVM read."""
        count = self._count(remove_postproc)
        insts = [[i.kind, i.inputs, i.attrs, i.outputs] for i in self.insts[:count]]
        return [insts, [[k, d] for k, d in sorted(self.decisions.items()) if k < count]]

    def get_decision(self, inst: Instruction) -> Any:
        """The decision of an instruction, or ``None``."""
        return next((self.decisions.get(k) for k, i in enumerate(self.insts) if i is inst), None)

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool = False) -> Trace:
        """The trace with another decision for a sampling instruction of it.

        :raises TraceError: if the instruction is not one of the trace.
        """
        number = next((k for k, i in enumerate(self.insts) if i is inst), None)
        if number is None:
            raise TraceError(f"{inst} is not an instruction of this trace")
        count = self._count(remove_postproc)
        return Trace(self.insts[:count], {**self.decisions, number: decision})

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool = False,
        decision_provider: DecisionProvider | None = None,
        *,
        reassociate: str | Sequence[str] = (),
    ) -> None:
        """Run the instructions on a schedule.  One that samples and has no decision decides anew.

        :param reassociate: the user's word that float reductions may be rounded in another order: the names of the
            buffers that are reduced into.  TVM reorders and splits reductions without asking.
        :raises TraceError: if an instruction is unknown here, or gives another number of loops than in the trace.
        :raises ScheduleError: if a step is refused; the steps before it stay.
        """
        words = [reassociate] if isinstance(reassociate, str) else list(reassociate)
        apply(self.insts[: self._count(remove_postproc)], self.decisions, sch, decision_provider, words)

    @staticmethod
    def apply_json_to_schedule(
        json_obj: str | Sequence[Any], sch: Schedule, *, reassociate: str | Sequence[str] = ()
    ) -> None:
        """Run a trace that was kept as JSON, by TVM perhaps, on a schedule (see :meth:`apply_to_schedule`)."""
        Trace.from_json(json_obj).apply_to_schedule(sch, reassociate=reassociate)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """The instructions as lines of text, each with its decision."""
        lines = []
        for k, inst in enumerate(self.insts[: self._count(remove_postproc)]):
            decided = f"  # decision: {self.decisions[k]}" if k in self.decisions else ""
            lines.append(f"{inst}{decided}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.as_python())

    def _count(self, remove_postproc: bool) -> int:
        kinds = [i.kind for i in self.insts]
        return kinds.index(POSTPROC) if remove_postproc and POSTPROC in kinds else len(kinds)


__all__ = ["Instruction", "Trace", "TraceError"]
