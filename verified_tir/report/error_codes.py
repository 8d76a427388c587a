"""The codes of errors that are not refusals: exceptions of files, and of what they call.

Exceptions are known by the names of their classes, so that nothing is imported that the run has not needed.
"""

from __future__ import annotations

import traceback
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import Final

UNREADABLE_FILE: Final = "VT0001"
NOTHING_TO_DO: Final = "VT0002"
NOT_PYTHON: Final = "VT0003"
RAISED: Final = "VT0004"
NO_SUCH_PRIMITIVE: Final = "VT0010"
WRONG_OPTION: Final = "VT0011"
WRONG_ARRAYS: Final = "VT0602"
NOT_REFUSED: Final = "VT0013"
VACUOUS: Final = "VT0014"
NO_INPUT: Final = "VT0015"
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
    "IRError": "VT0102",
    "CodegenError": "VT0601",
    "ArgumentError": WRONG_ARRAYS,
    "GraphError": "VT0701",
    "TEError": "VT0103",
    "PipelineError": "VT0008",
    "TraceError": "VT0009",
    "_Mistake": WRONG_OPTION,
    "Mistake": WRONG_OPTION,
    "RunError": WRONG_OPTION,
    "BadExecutor": WRONG_OPTION,
    "NoStrategy": NOTHING_TO_DO,
    "NoTrials": WRONG_OPTION,
    "WrongCall": "VT0012",
    "BadJson": "VT0801",
    "BadStore": "VT0801",
    "BadSource": UNREADABLE_FILE,
    "BadRecord": "VT0901",
    "BugInThisTool": BUG,
    "_Refused": "VT0601",
    "UnknownTarget": "VT1001",
    "BrokenTarget": "VT1001",
    "MissingModule": "VT1001",
}
"""By the name of the class, or of one that it inherits from."""


@cache
def page_of(code: str) -> str | None:
    """Where the page of a code is on the network, if the package says where its documentation is."""
    try:
        urls = metadata("verified_tir").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(u.split(", ", 1) for u in urls if ", " in u)
    found = next((u for name, u in named.items() if name.lower() == "documentation"), None)
    return None if found is None else f"{found.rstrip('/')}/errors.html#{code.lower()}"


def with_code(message: str, code: str) -> str:
    """A message with its code behind the first line."""
    first, newline, rest = message.partition("\n")
    return f"{first} [{code}]{newline}{rest}" if code else message


def code_of_exception(problem: BaseException) -> str:
    """The code of an exception that a file or a command raised."""
    own = getattr(problem, "code", None)
    if isinstance(own, str) and own.startswith("VT"):
        return own
    if _raised_in(problem, "verified_tir.codegen.runtime"):
        return WRONG_ARRAYS
    if isinstance(problem, AttributeError) and type(problem.obj).__name__ == "Schedule":
        return NO_SUCH_PRIMITIVE
    return next((_CLASSES[c.__name__] for c in type(problem).__mro__ if c.__name__ in _CLASSES), RAISED)


def _raised_in(problem: BaseException, prefix: str) -> bool:
    """Whether an exception passed through a module whose name begins so."""
    frames = traceback.walk_tb(problem.__traceback__)
    return any(str(f.f_globals.get("__name__", "")).startswith(prefix) for f, _ in frames)
