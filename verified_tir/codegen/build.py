"""From a theorem to a function that can be called.

    theorem ── pipeline ──▶ theorem ── race freedom proved ──▶ LLVM IR ──▶ object code ──▶ Function
                                                                  └─ or from the cache ─┘

A bare program is not taken: what is compiled was proved.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol
from weakref import WeakKeyDictionary

from verified_tir.codegen import cache as store
from verified_tir.codegen.cache_key import cache_key
from verified_tir.codegen.compile import assembly, compile_llvm, optimised_text
from verified_tir.codegen.emit import Emitted, emit
from verified_tir.codegen.entry_plan import EntryPlan, entry_plan
from verified_tir.codegen.entry_text import entry_text
from verified_tir.codegen.errors import CodegenError, MayRace
from verified_tir.codegen.runtime import Function, function
from verified_tir.codegen.runtime_load import LoadedCode
from verified_tir.codegen.target import Target
from verified_tir.elaborate import meaning
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.refines import Refines, statement_of
from verified_tir.logic.solver import Solver

Pipeline = Callable[[Refines], Refines]
"""Lowering: it extends a theorem by steps that the kernel has checked."""


class HasTheorem(Protocol):
    """What :func:`build` takes besides a theorem: a ``Schedule``."""

    @property
    def theorem(self) -> Refines:
        """What was proved so far."""
        ...


def build(
    theorem: Refines | HasTheorem,
    target: Target | None = None,
    *,
    threads: int | None = None,
    cache: bool = True,
    check_assumptions: bool = False,
    pipeline: Pipeline | None = None,
) -> Function:
    """Compile the program that a theorem ends with.

    :param theorem: a theorem, or a ``Schedule``, of which its theorem is taken.
    :param target: the machine; this one unless given.
    :param threads: into how many threads a parallel loop is divided; all that the process may use unless given.
    :param cache: whether object code is read from and kept on disk.
    :param check_assumptions: whether each call checks what is assumed of the contents of its arguments.
    :param pipeline: lowering passes; none unless given.
    :raises TypeError: for a bare program: there is no theorem about it.
    :raises CodegenError: if the program has no machine code here, or it was not proved that one of its loops does not
        race.
    """
    proved = _theorem(theorem)
    if target is None:
        target = Target.host(threads)
    elif threads is not None and threads != target.threads:
        raise ValueError(f"threads={threads} contradicts the target, which has {target.threads}; give one of them")
    if pipeline is not None:
        proved = _lowered(proved, pipeline)
    asked = getattr(theorem, "solver", None)
    solver = asked if type(asked) is Solver else None
    prove_meaning(proved, solver)
    prove_no_races(proved, solver)
    plan = entry_plan(proved)
    texts = _Texts(plan, target)
    compiled = _compiled(plan, target, texts, cache)
    made = function(proved, plan, target, LoadedCode(compiled.code), compiled.asserts, texts)
    if check_assumptions:
        made.check_assumptions = True
    return made


def _theorem(given: object) -> Refines:
    found = getattr(given, "theorem", None) if not isinstance(given, Refines) else given
    if type(found) is Refines:
        statement_of(found)
        return found
    remedy = "Schedule(program) proves that it has a meaning; build(Schedule(program)) compiles it"
    what = f"the program {given.name}" if isinstance(given, PrimFunc) else f"a {type(given).__qualname__}"
    raise TypeError(f"build takes a theorem or a Schedule, and {what} is neither; {remedy}")


def _lowered(theorem: Refines, pipeline: Pipeline) -> Refines:
    if not callable(pipeline):
        remedy = 'build(s, pipeline=PIPELINES["default"]), from verified_tir.lower'
        raise TypeError(f"a pipeline is an object or a function, not {pipeline!r}; by name: {remedy}")
    after = pipeline(theorem)
    if not isinstance(after, Refines):
        raise TypeError(f"a pipeline gives a theorem, not a {type(after).__qualname__}")
    if after.before is not theorem.before:
        raise ValueError(f"the pipeline gave a theorem about {after.before.name}, not about {theorem.before.name}")
    return after


def _compiled(plan: EntryPlan, target: Target, texts: _Texts, cached: bool) -> store.Compiled:
    key = cache_key(plan.func, plan.shapes, target) if cached else ""
    found = store.load(key) if cached else None
    if found is None:
        found = store.Compiled(compile_llvm(texts.whole, target), texts.emitted.asserts)
        if cached:
            store.store(key, found)
    return found


class _Texts:
    """The texts of one function, each made when it is first needed."""

    def __init__(self, plan: EntryPlan, target: Target) -> None:
        self.plan = plan
        self.target = target

    @cached_property
    def emitted(self) -> Emitted:
        """The kernel."""
        return emit(self.plan.func, self.target)

    @property
    def llvm_ir(self) -> str:
        """The kernel in LLVM IR."""
        return self.emitted.text

    @cached_property
    def optimised_ir(self) -> str:
        """The kernel and its entry in LLVM IR, as machine code is made of them."""
        return optimised_text(self.whole, self.target)

    @property
    def whole(self) -> str:
        """The kernel and its entry, in one module."""
        return f"{self.emitted.text}\n{entry_text(self.plan, self.target.triple)}"

    @cached_property
    def asm(self) -> str:
        """What LLVM makes of it."""
        return assembly(self.whole, self.target)


# -- what is asked of every program that is compiled ------------------------------------------------------------------

_RACE_FREE: WeakKeyDictionary[PrimFunc, set[Entry]] = WeakKeyDictionary()
"""Programs whose race freedom was proved in this process, with what was assumed at their entry."""


def prove_meaning(theorem: Refines, solver: Solver | None = None) -> None:
    """Prove that the program a theorem begins with has a meaning, unless a ``Schedule`` has.

    :raises CodegenError: if it could not be proved.
    """
    func = theorem.before
    if meaning.has_meaning(func):
        return
    found = meaning.prove_meaning(func, Prover(solver or Solver()))
    match found:
        case NoMatch(reason=reason):
            problem = reason
        case Unproved(obligation=obligation, verdict=verdict):
            problem = f"{obligation.claim}, could not be proved ({type(verdict).__name__})"
        case _:
            return
    raise CodegenError(f"{func.name} is not compiled: {problem}; Schedule({func.name}) says more")


def prove_no_races(theorem: Refines, solver: Solver | None = None) -> None:
    """Prove again, on the last program of a theorem, that its marked loops may run as they are marked.

    :param solver: the schedule's, which may have been given a larger budget; a new one unless given.
    :raises MayRace: if one could not be proved.
    """
    func, entry = theorem.after, theorem.entry
    proved = _RACE_FREE.setdefault(func, set())
    if entry in proved:
        return
    match prove_race_free(func, Prover(solver or Solver()), entry):
        case NoMatch(reason=reason):
            raise MayRace(f"{func.name} is not compiled: whether its loops race could not be stated: {reason}")
        case Unproved(obligation=obligation, verdict=verdict):
            raise MayRace(
                f"{func.name} is not compiled: {obligation.claim}, could not be proved ({type(verdict).__name__}); "
                "mark the loop serial"
            )
    proved.add(entry)
