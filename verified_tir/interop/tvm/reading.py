"""TVM's functions as our programs: printed by TVM, read by our parser.

The text is the only bridge.  What cannot be read is a value, with the construct that the parser named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import ScriptError, parse
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, Evaluate, For
from verified_tir.ir.visit import nodes_of
from verified_tir.validate.meaning import may_be_same


@final
@dataclass(frozen=True, slots=True)
class Printed:
    """One function of a TVM module.

    ``text`` is what TVM prints, ``func`` what our parser makes of it; or else ``problem`` says why there is none.
    """

    name: str
    text: str
    func: PrimFunc | None = field(default=None, compare=False)
    problem: str = ""


def is_tir(function: Any) -> bool:
    """Whether it is a ``PrimFunc``; modules also hold functions of Relax, and references to foreign ones."""
    return type(function).__name__ == "PrimFunc"


def text_of(function: Any) -> str:
    """What TVM prints of a function of TIR; empty where there is nothing to read."""
    return _printed(_Same(function)) if is_tir(function) else ""


@final
class _Same:
    """A function as a key: functions of TVM are never changed, and its ``==`` makes an expression."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __hash__(self) -> int:
        return hash(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and bool(self.function.same_as(other.function))


@lru_cache(maxsize=256)  # what one pass leaves is what the next one finds
def _printed(same: _Same) -> str:
    try:
        return str(same.function.script())
    except Exception:  # TVM's printer fails with whatever its C++ raises; :func:`read` says so
        return ""


def read(function: Any, name: str) -> Printed:
    """A function of a TVM module.

    :param function: a ``tvm.tirx.PrimFunc``; of another kind of function only the kind is read.
    :param name: its name in the module.
    """
    if not is_tir(function):
        return Printed(name, "", None, f"it is a {type(function).__name__}, no function of TIR")
    text = text_of(function)
    if not text:
        try:
            text = function.script()
        except Exception as problem:  # TVM's printer fails with whatever its C++ raises
            return Printed(name, "", None, f"TVM cannot print it: {_first_line(problem)}")
    return read_text(text, name)


@lru_cache(maxsize=256)  # what one pass leaves is what the next one finds
def read_text(text: str, name: str) -> Printed:
    """A printed function."""
    try:
        functions = parse(text, name).functions
    except ScriptError as problem:
        where = problem.source_line.strip()
        shown = where if len(where) <= 60 else where[:57] + "..."
        return Printed(name, text, None, f"not read: {problem.message} (line {problem.line}: {shown})")
    except Exception as problem:  # a fault of the parser must not end somebody's build
        return Printed(name, text, None, f"not read, by a fault of the parser: {_first_line(problem)}")
    if len(functions) != 1:
        return Printed(name, text, None, f"the text has {len(functions)} functions")
    return Printed(name, text, functions[0][1])


def same_program(before: Printed, after: Printed) -> bool:
    """Whether nothing but names and attributes of the function changed."""
    if before.text == after.text:
        return bool(before.text)
    if before.func is None or after.func is None:
        return False
    if not may_be_same(before.func, after.func) or _statements(before.func) != _statements(after.func):
        return False
    return structural_equal(_bare(before.func), _bare(after.func))


def _statements(func: PrimFunc) -> tuple[object, ...]:
    """What of the statements is seen at a glance."""
    loops = [(s.kind, s.thread) for s in nodes_of(func.body, For)]
    return (*loops, *(len(nodes_of(func.body, kind)) for kind in (Allocate, AttrStmt, Block, DeclBuffer, Evaluate)))


def _bare(func: PrimFunc) -> PrimFunc:
    """Without the attributes, which mean nothing, and under one name."""
    return PrimFunc("f", func.params, func.buffer_map, func.body, (), func.ret_type)


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {lines[0][:120] if lines else ''}"
