"""verified_tir: a loop-level tensor compiler in which no transformation is believed.

Every schedule step emits proof obligations, which Z3 discharges before the program changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from verified_tir.ir import sugar as _sugar  # noqa: F401
from verified_tir.ir.outside import answer

__version__ = "0.1.0"

if TYPE_CHECKING:
    from verified_tir.codegen.build import build
    from verified_tir.codegen.errors import CodegenError
    from verified_tir.codegen.runtime import Function
    from verified_tir.codegen.target import Target
    from verified_tir.index.map import AXIS_SEPARATOR, IndexMap
    from verified_tir.ir.func import IRModule, PrimFunc
    from verified_tir.ir.script import ScriptError, parse, parse_func, script
    from verified_tir.kernel.theorem import Refines
    from verified_tir.schedule.constraint import BufferConstraint
    from verified_tir.schedule.errors import NotApplicable, Refuted, ScheduleError, Undecided
    from verified_tir.schedule.footprint import DomainTouched, domain_touched
    from verified_tir.schedule.intrinsics import TensorIntrin
    from verified_tir.schedule.registry import expect_refusal, schedule
    from verified_tir.schedule.schedule import Schedule
    from verified_tir.schedule.tactics.hoist import HoistConditional, HoistLetBinding
    from verified_tir.schedule.trace import Trace, TraceError

_WHERE = {
    "AXIS_SEPARATOR": "verified_tir.index.map",
    "BufferConstraint": "verified_tir.schedule.constraint",
    "CodegenError": "verified_tir.codegen.errors",
    "DomainTouched": "verified_tir.schedule.footprint",
    "Function": "verified_tir.codegen.runtime",
    "HoistConditional": "verified_tir.schedule.tactics.hoist",
    "HoistLetBinding": "verified_tir.schedule.tactics.hoist",
    "IRModule": "verified_tir.ir.func",
    "IndexMap": "verified_tir.index.map",
    "NotApplicable": "verified_tir.schedule.errors",
    "PrimFunc": "verified_tir.ir.func",
    "Refines": "verified_tir.kernel.theorem",
    "Refuted": "verified_tir.schedule.errors",
    "Schedule": "verified_tir.schedule.schedule",
    "ScheduleError": "verified_tir.schedule.errors",
    "ScriptError": "verified_tir.ir.script",
    "Target": "verified_tir.codegen.target",
    "TensorIntrin": "verified_tir.schedule.intrinsics",
    "Trace": "verified_tir.schedule.trace",
    "TraceError": "verified_tir.schedule.trace",
    "Undecided": "verified_tir.schedule.errors",
    "build": "verified_tir.codegen.build",
    "domain_touched": "verified_tir.schedule.footprint",
    "expect_refusal": "verified_tir.schedule.registry",
    "parse": "verified_tir.ir.script",
    "parse_func": "verified_tir.ir.script",
    "schedule": "verified_tir.schedule.registry",
    "script": "verified_tir.ir.script",
}

__all__ = [
    "AXIS_SEPARATOR",
    "BufferConstraint",
    "CodegenError",
    "DomainTouched",
    "Function",
    "HoistConditional",
    "HoistLetBinding",
    "IRModule",
    "IndexMap",
    "NotApplicable",
    "PrimFunc",
    "Refines",
    "Refuted",
    "Schedule",
    "ScheduleError",
    "ScriptError",
    "Target",
    "TensorIntrin",
    "Trace",
    "TraceError",
    "Undecided",
    "__version__",
    "build",
    "domain_touched",
    "expect_refusal",
    "parse",
    "parse_func",
    "schedule",
    "script",
]


class _Package(ModuleType):
    """Keeps ``schedule`` and ``script`` the functions: importing the subpackages of these names would replace them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _WHERE):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _printed(what: Any) -> str:
    from verified_tir.logic.formula import Term

    if isinstance(what, str):
        return what
    if isinstance(what, tuple):
        return "".join(map(_printed, what))
    if isinstance(what, Term):
        from verified_tir.logic.readable import readable

        return readable(what)
    from verified_tir.ir.script import script

    return script(what)


answer("text", _printed)


def _imported(module: str, name: str) -> Callable[..., Any]:
    """A function that is imported when it is called first."""

    def called(*asked: Any) -> Any:
        return getattr(import_module(f"verified_tir.{module}"), name)(*asked)

    return called


for _question, _module, _name in (
    ("address", "logic.addresses", "solve_address"),
    ("facts", "search.facts", "facts"),
    ("attempts", "search.facts", "attempts"),
    ("attempt", "logic.strategy", "attempt"),
    ("query", "logic.answers", "answered"),
    ("statistics", "logic.answers", "Statistics"),
    ("used", "logic.kept", "note_use"),
    ("keep", "logic.kept", "keep"),
):
    answer(_question, _imported(_module, _name))


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, which keeps ``import verified_tir`` fast."""
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(where), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext verified_tir`` calls: programs, schedules and the like are shown as HTML."""
    _imported("explain.display", "register")(shell)


if "IPython" in sys.modules:
    _imported("explain.display", "register")()
