"""What traces are made of: instructions and their operands, as they stand in JSON (see
:mod:`verified_tir.schedule.trace`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

OWN: Final = "VerifiedTIR"
"""The kind of instructions that TVM does not have."""
POSTPROC: Final = "EnterPostproc"
"""The instruction behind which postprocessing begins."""


class TraceError(ValueError):
    """A trace does not fit the schedule, or an instruction is none that is known here."""


@final
@dataclass(slots=True)
class Instruction:
    """One instruction, its operands as they stand in the JSON."""

    kind: str
    inputs: list[Any] = field(default_factory=list)
    attrs: list[Any] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        given = ", ".join([*map(_text, self.inputs), *map(repr, self.attrs)])
        left = f"{', '.join(self.outputs)} = " if self.outputs else ""
        return f"{left}{self.kind}({given})"


DecisionProvider = Callable[[Instruction, list[Any], list[Any], Any], Any]
"""Gives the decision for a sampling instruction: of the instruction, its inputs, its attributes and its decision."""


def plain(value: Any) -> Any:
    """A value of TVM's JSON as one of Python's: constants of TVM's IR become numbers."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "value"):  # T.int32(3)
        return plain(value.value)
    return [plain(v) for v in value]


def _text(operand: Any) -> str:
    return operand if isinstance(operand, str) else repr(operand)
