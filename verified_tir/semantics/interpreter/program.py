"""Functions: composed once, then run on frames; calls of other functions of the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final
from weakref import WeakKeyDictionary

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Call, Expr, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import walk
from verified_tir.semantics.errors import ArgumentError, Stopped, UndefinedBehaviour
from verified_tir.semantics.interpreter.expressions import DataVars, meaning_of
from verified_tir.semantics.interpreter.extents import bind_symbols, symbols_of
from verified_tir.semantics.interpreter.frame import Effect, Frame
from verified_tir.semantics.interpreter.statements import body_effect, declaration
from verified_tir.semantics.memory import Extents, View
from verified_tir.semantics.values import Value, is_undef

NO_DATA: DataVars = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Program:
    """A function, composed: what it does to a frame in which its parameters are bound.

    ``params`` pairs each parameter with its buffer; ``symbols`` are the variables in the buffers' extents.  ``stored``
    are the data variables of the blocks that the body itself stores to, ``calls`` its calls of other functions.
    """

    name: str
    params: tuple[tuple[Var, Buffer | None], ...]
    declarations: dict[Buffer, Callable[[Frame], Extents]]
    symbols: tuple[Var, ...]
    body: Effect
    stored: frozenset[Var]
    calls: tuple[Call, ...]


_PROGRAMS: WeakKeyDictionary[PrimFunc, Program] = WeakKeyDictionary()  # a program does not hold its function


def program_of(func: PrimFunc) -> Program:
    """The function's program, composed when first asked for."""
    found = _PROGRAMS.get(func)
    if found is None:
        nodes = list(walk(func.body))
        found = _PROGRAMS[func] = Program(
            func.name,
            tuple((p, func.buffer_of(p)) for p in func.params),
            {b: declaration(b, NO_DATA) for b in func.buffers},
            tuple(dict.fromkeys(symbol for b in func.buffers for symbol in symbols_of(b))),
            body_effect(func.body, call_effect),
            frozenset(n.buffer.data for n in nodes if isinstance(n, Store)),
            tuple(n for n in nodes if isinstance(n, Call) and n.op.startswith("@")),
        )
    return found


def callee_of(module: IRModule | None, call: Call) -> PrimFunc:
    """The function that a call names.

    :raises ArgumentError: if the module has none of that name, or it takes other arguments.
    """
    name = call.op.removeprefix("@")
    functions = dict(module.functions) if module is not None else {}
    if name not in functions:
        raise ArgumentError(f"{call.op} is called, which the module does not have")
    callee = functions[name]
    if len(call.args) != len(callee.params):
        raise ArgumentError(f"{call.op} takes {len(callee.params)} arguments, not {len(call.args)}")
    for argument, param in zip(call.args, callee.params, strict=True):
        if argument.dtype is not param.dtype:
            raise ArgumentError(f"{call.op} takes a {param.dtype} for {param.name}, not a {argument.dtype}")
    return callee


def written(program: Program, module: IRModule | None, callers: tuple[str, ...] = ()) -> frozenset[Var]:
    """The data variables of the blocks that a program may store to, itself or by calls.

    :raises ArgumentError: if the program calls itself, through others or directly.
    """
    found = set(program.stored)
    for call in program.calls:
        callee = callee_of(module, call)
        refuse_recursion(callee.name, (*callers, program.name))
        inner = program_of(callee)
        stored = written(inner, module, (*callers, program.name))
        for argument, (_, buffer) in zip(call.args, inner.params, strict=True):
            if isinstance(argument, Var) and buffer is not None and buffer.data in stored:
                found.add(argument)
    return frozenset(found)


def refuse_recursion(name: str, callers: Sequence[str]) -> None:
    """:raises ArgumentError: if ``name`` is being run already."""
    if name in callers:
        raise ArgumentError(f"recursion: {' calls '.join([*callers, name])}")


def refuse_overlap(program: Program, pairs: Sequence[tuple[Buffer, Buffer]], module: IRModule | None) -> None:
    """Written parameters overlap nothing; those that are only read may coincide.

    :param pairs: the parameters that have memory in common.
    :raises UndefinedBehaviour: if one of a pair is written.
    """
    if not pairs:
        return
    stored = written(program, module)
    for a, b in pairs:
        if a.data in stored or b.data in stored:
            raise UndefinedBehaviour("overlap", f"{a.name} and {b.name} share memory, and {program.name} writes it")


def call_effect(call: Call, data: DataVars) -> Effect:
    """Calling another function: whole buffers are passed by their data variables, scalars by value."""
    arguments = [_argument(a, data) for a in call.args]

    def enter(frame: Frame) -> None:
        run = frame.run
        callee = callee_of(run.module, call)
        refuse_recursion(callee.name, run.callers)
        program, inner = program_of(callee), Frame(run)
        passed = _bind(program, inner, [argument(frame) for argument in arguments])
        shared = [(a, b) for (a, v), (b, w) in combinations(passed, 2) if v.block is w.block]
        refuse_overlap(program, shared, run.module)
        given = [(b, v.extents) for b, v in passed if len(b.shape) == len(v.extents.shape)]
        bind_symbols(inner, program.symbols, given)
        for buffer, view in passed:
            extents = program.declarations[buffer](inner)
            inner.views[buffer] = inner.whole[buffer.data] = View(buffer.name, buffer.dtype, view.block, extents)
        run.callers = (*run.callers, callee.name)
        try:
            program.body(inner)
        except Stopped as end:  # the place that counts is the call's
            end.message = f"in {call.op}: {end.message}"
            end.place = None
            raise
        run.callers = run.callers[:-1]

    return enter


def _argument(expr: Expr, data: DataVars) -> Callable[[Frame], View | Value]:
    """A whole buffer's view, or a scalar's value."""
    if not (isinstance(expr, Var) and isinstance(expr.type, PointerType)):
        return meaning_of(expr, data)

    def whole(frame: Frame) -> View:
        if expr not in frame.whole:
            raise IRError(f"{expr.name} is passed, which is not a block here")
        return frame.whole[expr]

    return whole


def _bind(program: Program, frame: Frame, arguments: list[View | Value]) -> list[tuple[Buffer, View]]:
    """Bind the scalar parameters; the buffers with what was passed for them."""
    passed: list[tuple[Buffer, View]] = []
    for (param, buffer), argument in zip(program.params, arguments, strict=True):
        if isinstance(argument, View) != (buffer is not None):
            raise ArgumentError(f"{program.name} takes {'a buffer' if buffer else 'a scalar'} for {param.name}")
        if isinstance(argument, View):
            assert buffer is not None
            passed.append((buffer, argument))
        elif is_undef(argument):
            raise UndefinedBehaviour("undef-argument", f"{param.name} of {program.name} is undef")
        else:
            frame.values[param] = argument
    return passed
