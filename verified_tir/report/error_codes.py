"""The codes of errors that are not refusals: exceptions of files, and of what they call.

Exceptions are known by the names of their classes, so that nothing is imported that the run has not needed.
"""

from __future__ import annotations

import re
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
DIFFERENT: Final = "VT0902"
UNDECIDED: Final = "VT0903"
STOPPED: Final = "VT0017"
WRONG_ARRAYS: Final = "VT0602"
NOT_REFUSED: Final = "VT0013"
VACUOUS: Final = "VT0014"
NO_INPUT: Final = "VT0015"
BUG: Final = "VT0099"

_CLASSES: Final = {
    "SystemExit": "VT0005",
    "Exited": "VT0005",
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
    "Unusable": WRONG_OPTION,
    "BadExecutor": WRONG_OPTION,
    "NoStrategy": NOTHING_TO_DO,
    "NoTrials": WRONG_OPTION,
    "NoneFit": WRONG_OPTION,
    "WrongCall": "VT0012",
    "NotInvertible": "VT0503",
    "NegativeIndex": "VT0504",
    "UnknownBounds": "VT0505",
    "BadJson": "VT0801",
    "BadStore": "VT0801",
    "BadSource": UNREADABLE_FILE,
    "BadRecord": "VT0901",
    "BugInThisTool": BUG,
    "_Refused": "VT0601",
    "UnknownTarget": "VT1001",
    "BrokenTarget": "VT1002",
    "MissingModule": "VT1002",
}
"""By the name of the class, or of one that it inherits from."""


_ORIGINS: Final = {
    "IndexMapError": {
        "index.map.IndexMap.__post_init__": "VT0506",
        "index.map.IndexMap.from_func": "VT0506",
        "index.map.parameter_names": "VT0506",
    },
    "CodegenError": {"codegen.entry_plan": "VT0604"},
    "AssertionError": {"codegen.runtime": "VT0606"},
    "GraphError": {
        "cli.models.load_model": "VT0702",
        "cli.models._text_graph": "VT0702",
        "cli.models.frozen_by": "VT0706",
        "cli.arrays": "VT0710",
        "cli.": WRONG_OPTION,
        "graph.onnx.load": "VT0702",
        "graph.text": "VT0702",
        "graph.read_text": "VT0702",
        "graph.onnx.schema": "VT0703",
        "graph.onnx.functions": "VT0703",
        "graph.operators.registry": "VT0703",
        "graph.operators": "VT0704",
        "graph.annotate": "VT0706",
        "graph.options": "VT0706",
        "graph.layouts": "VT0706",
        "graph.onnx.inputs": "VT0707",
        "graph.onnx.control": "VT0708",
        "graph.execute": "VT0710",
    },
}
"""By the class, then by the place that raised it: the first of the prefixes that fits the innermost frame counts."""

_OF_GRAPHS: Final = {r"; give the size: --shape": "VT0705", r"memory": "VT0709", r"^--shape \S+: a graph": "VT0707"}
"""What many places find of graphs, by a part of the message."""

_SAID: Final = re.compile(r"\[(VT\d{4})\]")
"""A code that a message names already."""


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
    return f"{first} [{code}]{newline}{rest}" if code and not _SAID.search(first) else message


def code_of_exception(problem: BaseException) -> str:
    """The code of an exception that a file or a command raised."""
    own = getattr(problem, "code", None)
    if isinstance(own, str) and own.startswith("VT"):
        return own
    said = _SAID.search(_message(problem).partition("\n")[0])
    if said is not None:
        return said[1]
    found = _by_origin(problem)
    if found is not None:
        return found
    if _raised_in(problem, "verified_tir.codegen.runtime"):
        return WRONG_ARRAYS
    if isinstance(problem, AttributeError) and type(problem.obj).__name__ == "Schedule":
        return NO_SUCH_PRIMITIVE
    return next((_CLASSES[c.__name__] for c in type(problem).__mro__ if c.__name__ in _CLASSES), RAISED)


def _message(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # a file may define exceptions whose message fails
        return ""


def _by_origin(problem: BaseException) -> str | None:
    """The code by the place that raised the exception first; it may have been raised again with a longer message."""
    kinds = next(((c, _ORIGINS[c.__name__]) for c in type(problem).__mro__ if c.__name__ in _ORIGINS), None)
    if kinds is None:
        return None
    kind, codes = kinds
    if kind.__name__ == "GraphError":
        for form, code in _OF_GRAPHS.items():
            if re.search(form, _message(problem)):
                return code
    while (earlier := problem.__context__) is not None and isinstance(earlier, kind):
        problem = earlier
    places = [
        f"{f.f_globals.get('__name__', '')}.{f.f_code.co_qualname}" for f, _ in traceback.walk_tb(problem.__traceback__)
    ]
    for place in reversed(places):
        for prefix, code in codes.items():
            if place.startswith(f"verified_tir.{prefix}"):
                return code
    return None


def _raised_in(problem: BaseException, prefix: str) -> bool:
    """Whether an exception passed through a module whose name begins so."""
    frames = traceback.walk_tb(problem.__traceback__)
    return any(str(f.f_globals.get("__name__", "")).startswith(prefix) for f, _ in frames)
