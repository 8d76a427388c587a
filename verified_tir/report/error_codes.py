"""The codes of errors that are not refusals: exceptions of files, and of what they call.

Exceptions are known by the names of their classes, so that nothing is imported that the run has not needed.
"""

from __future__ import annotations

from typing import Final

UNREADABLE_FILE: Final = "VT0001"
NOTHING_TO_DO: Final = "VT0002"
NOT_PYTHON: Final = "VT0003"
RAISED: Final = "VT0004"
NO_SUCH_PRIMITIVE: Final = "VT0010"
BUG: Final = "VT0099"

_CLASSES: Final = {
    "SystemExit": "VT0005",
    "RecursionError": "VT0006",
    "ModuleNotFoundError": "VT0007",
    "SyntaxError": NOT_PYTHON,
    "OSError": UNREADABLE_FILE,
    "ScriptError": "VT0101",
    "IndexMapError": "VT0501",
    "NotInjective": "VT0502",
    "NotInvertible": "VT0503",
    "NegativeIndex": "VT0504",
    "UnknownBounds": "VT0505",
    "IRError": "VT0102",
    "CodegenError": "VT0601",
    "ArgumentError": "VT0602",
    "GraphError": "VT0701",
    "TEError": "VT0103",
    "PipelineError": "VT0008",
    "TraceError": "VT0009",
    "BadJson": "VT0801",
    "ReplayFailed": "VT0802",
    "BadRecord": "VT0901",
    "BugInThisTool": BUG,
    "UnknownTarget": "VT1001",
}
"""By the name of the class, or of one that it inherits from."""


def code_of_exception(problem: BaseException) -> str:
    """The code of an exception that a file or a command raised."""
    own = getattr(problem, "code", None)
    if isinstance(own, str) and own.startswith("VT"):
        return own
    if isinstance(problem, AttributeError) and type(problem.obj).__name__ == "Schedule":
        return NO_SUCH_PRIMITIVE
    return next((_CLASSES[c.__name__] for c in type(problem).__mro__ if c.__name__ in _CLASSES), RAISED)
