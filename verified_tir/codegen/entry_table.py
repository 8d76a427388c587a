"""The parts of the entry module that need no checks: the table of Python's interface, the ways around the fast path.

``vtir_call`` runs the kernel on arguments in an array of 64-bit words; ``vtir_control`` reads the control register.
"""

from __future__ import annotations

from verified_tir.codegen.entry_control import Register
from verified_tir.codegen.entry_plan import ArrayParameter, EntryPlan
from verified_tir.codegen.llvm_types import parameter_type

API = (
    "PyObject_GetBuffer", "PyBuffer_Release", "PyErr_Clear", "PyObject_Vectorcall", "Py_IncRef", "Py_DecRef",
    "PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
"""Functions of Python's C interface in the table, in its order."""

OBJECTS = ("None", "True", "False", "int", "float", "slow", "failed", "checking")
"""What follows them: objects; the function to call for what is not accepted here, and with the number of a failed
assertion; a word that is not zero while every call shall go the slow way."""

ONCE = "noinline optnone"
"""Attributes of these functions: LLVM's passes would take longer over them than over most kernels, for nothing."""

HEAD = f"define ptr @vtir_entry(ptr %self, ptr %args, i64 %nargs, ptr %names) {ONCE} {{"


def table_text() -> str:
    """The table's declaration."""
    return f"@vtir_api = global [{len(API) + len(OBJECTS)} x ptr] zeroinitializer"


def control_text(register: Register) -> str:
    """``vtir_control``."""
    return f"define i32 @vtir_control() {ONCE} {{\n{register.code}  ret i32 %control\n}}\n"


def kernel_types(plan: EntryPlan) -> list[str]:
    """The LLVM types of the kernel's parameters."""
    own = ["ptr" if isinstance(p, ArrayParameter) else parameter_type(p.var.dtype) for p in plan.parameters]
    return own + [parameter_type(b.var.dtype) for b in plan.bindings]


def call_text(plan: EntryPlan) -> str:
    """``vtir_call``."""
    lines = [f"define i32 @vtir_call(ptr %words) {ONCE} {{"]
    arguments = []
    for k, t in enumerate(kernel_types(plan)):
        lines.append(f"  %p{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  %a{k} = load {'i8' if t == 'i1' else t}, ptr %p{k}")
        if t == "i1":
            lines.append(f"  %b{k} = trunc i8 %a{k} to i1")
        arguments.append(f"{t} %{'b' if t == 'i1' else 'a'}{k}")
    lines += [f"  %status = call i32 @vtir_kernel({', '.join(arguments)}) noinline", "  ret i32 %status", "}", ""]
    return "\n".join(lines)


def slow_entry_text() -> str:
    """A ``vtir_entry`` that leaves everything to the check in Python."""
    lines = [HEAD]
    slow, vectorcall = api_register(lines, "slow"), api_register(lines, "PyObject_Vectorcall")
    lines += [
        f"  %result = call ptr {vectorcall}(ptr {slow}, ptr %args, i64 %nargs, ptr %names)",
        "  ret ptr %result",
        "}",
        "",
    ]
    return "\n".join(lines)


def api_register(lines: list[str], name: str) -> str:
    """A register that holds an entry of the table, loaded at the end of ``lines``."""
    place = (*API, *OBJECTS).index(name)
    register = f"%api{len(lines)}"
    lines.append(f"  {register} = load ptr, ptr getelementptr (ptr, ptr @vtir_api, i64 {place})")
    return register
