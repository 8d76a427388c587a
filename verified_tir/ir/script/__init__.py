"""Text in and text out: TVMScript, the dialect that TVM 0.27 prints and older ones.

``parse`` and ``parse_func`` read a text through ``ast``, without executing it; ``script`` writes one.  Reading what was
written gives a structurally equal program, and writing that again gives the same text, letter for letter.

    source      the text, and errors that point into it
    values      what an expression may stand for: literals without a type, buffers, …
    scope       names in scope
    exprs       operators, accesses, names              calls    T.name(…)
    buffers     declarations, views, regions            annotations
    stmts       statements, bindings                    loops    loops and blocks
    funcs       functions                               module   whole texts
    names       names for printing
    write_expr, write_stmt, printer                     everything back to text
"""

from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.script.module import parse, parse_func
from verified_tir.ir.script.printer import script, script_lines, texts
from verified_tir.ir.script.source import ScriptError


def _printed(program: PrimFunc | IRModule) -> str:
    """What ``print`` shows of a program: its text.  Said here, since the kernel knows programs without any text."""
    return script(program)


PrimFunc.__str__ = IRModule.__str__ = _printed  # type: ignore[method-assign, assignment]

__all__ = ["ScriptError", "parse", "parse_func", "script", "script_lines", "texts"]
