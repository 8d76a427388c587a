"""The reference interpreter: the definition of the language, as a program that runs it on numpy arrays.

``expressions.py`` and ``statements.py`` say what each construct means, on the scalars of ``semantics/operators.py`` and
``semantics/calls.py`` and the memory of ``semantics/memory.py``.  The rest brings arguments in and outcomes out.
"""

from verified_tir.semantics.errors import (
    ArgumentError,
    AssertionFailed,
    StepLimit,
    Stopped,
    TooLarge,
    UBKind,
    UndefinedBehaviour,
    Unsupported,
)
from verified_tir.semantics.interpreter.outcome import Difference, Outcome, refines
from verified_tir.semantics.interpreter.races import Finding
from verified_tir.semantics.interpreter.run import run

__all__ = [
    "ArgumentError",
    "AssertionFailed",
    "Difference",
    "Finding",
    "Outcome",
    "StepLimit",
    "Stopped",
    "TooLarge",
    "UBKind",
    "UndefinedBehaviour",
    "Unsupported",
    "refines",
    "run",
]
