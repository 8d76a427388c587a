"""Calls of functions mean what they expand to: the callee's body, with the caller's buffers and values in it.

    A function f(P₁, …, n)      f(a₁, …, e)  means  its body with aₖ for Pₖ and e for n

Buffers are passed whole, by their data variables, as the interpreter does; a parameter of another shape is another view
of the same block.  What is computed from memory is not passed as a scalar: it might be undefined, which an argument may
not be.  A label with the callee's name stays around its body (``CALL`` in its annotations), so that tactics find it.

Arguments are evaluated also where the callee does not use them: what :func:`expand_with_arguments` gives evaluates each
before the body, so that somebody may ask whether that is defined; the program itself does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Binary, Call, Expr, IntImm, Load, Undef, Var, const
from verified_tir.ir.find import data_vars, recursion
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, Evaluate, Seq, Stmt, Store, seq
from verified_tir.ir.visit import children, map_children, rewrite, substitute, walk
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments, instantiate

CALL: Final = "call"
"""The annotation of a label around what a function does: the function's name."""

ARGUMENT: Final = "argument_of"
"""The annotation of a label around the evaluation of a call's argument: the function's name."""


class Misfit(IRError):
    """A call that does not fit the function that it names, or comes back to the function that it stands in.

    :ivar caller: the function in which the call stands.
    :ivar path: where it stands there.
    """

    def __init__(self, message: str, caller: PrimFunc, path: Path = ()) -> None:
        super().__init__(message)
        self.caller = caller
        self.path = path


def expand_calls(module: IRModule, name: str) -> PrimFunc:
    """The function of a module with all calls of other functions of the module replaced by what they mean.

    :raises Misfit: for recursion, and for a call that does not fit the function that it names.
    """
    return without_arguments(expand_with_arguments(module, name))


def expand_with_arguments(module: IRModule, name: str) -> PrimFunc:
    """The function with all calls expanded, and scalar arguments evaluated under labels (``ARGUMENT``) before what the
    functions do.

    :raises Misfit: for recursion, and for a call that does not fit the function that it names.
    """
    refuse_recursion(module)
    return _expanded_function(module[name], module)


def without_arguments(func: PrimFunc) -> PrimFunc:
    """The function without the evaluations that :func:`expand_with_arguments` put into it."""

    def left(node: Node) -> Node | None:
        if isinstance(node, Seq) and any(map(is_argument, node.stmts)):
            return seq(*[s for s in node.stmts if not is_argument(s)])
        return None

    return func.with_body(rewrite(func.body, left))


def is_argument(stmt: Stmt) -> bool:
    """Whether the statement is the evaluation of an argument."""
    return isinstance(stmt, Block) and stmt.is_label and ARGUMENT in dict(stmt.annotations)


def refuse_recursion(module: IRModule) -> None:
    """:raises Misfit: if functions of the module call each other in a circle."""
    circle = recursion(module)
    if circle is not None:
        caller = module[circle[0]]
        raise Misfit(f"recursion has no meaning here: {' calls '.join(circle)}", caller, _place_of(caller, circle[1]))


def _place_of(caller: PrimFunc, callee: str) -> Path:
    """Where a function first calls another one."""

    def mentions(stmt: Stmt) -> bool:
        own = [c for c in children(stmt) if not isinstance(c, Stmt)]
        return any(isinstance(n, Call) and n.op == f"@{callee}" for c in own for n in walk(c))

    return next((path for path, _ in places(caller.body, mentions)), ())


def _expanded_function(func: PrimFunc, module: IRModule) -> PrimFunc:
    """The function with the calls in it expanded."""
    data = data_vars(func.body)
    calls = {n: path for path, n in places(func.body, lambda s: isinstance(s, Evaluate))}

    def go(stmt: Stmt, owners: Mapping[Var, Buffer]) -> Stmt:
        match stmt:
            case Evaluate(value=Call(op=op) as call) if op.startswith("@"):
                try:
                    return _expanded(call, module, owners, data)
                except Misfit:
                    raise
                except IRError as problem:
                    raise Misfit(str(problem), func, calls[stmt]) from None
            case Allocate(buffer=b):
                owners = {**owners, b.data: b}
            case Block(alloc_buffers=buffers) if buffers:
                owners = {**owners, **{b.data: b for b in buffers}}
        return map_children(stmt, lambda n: go(n, owners) if isinstance(n, Stmt) else n)

    return func.with_body(go(func.body, {b.data: b for b in func.buffers}))


def _expanded(call: Call, module: IRModule, owners: Mapping[Var, Buffer], data: frozenset[Var]) -> Stmt:
    """What a call means.

    :param owners: the buffers as which blocks were passed or allocated, by data variable.
    :param data: the variables that hold data.
    """
    callee = module[call.op[1:]]
    if len(call.args) != len(callee.params):
        raise IRError(f"{callee.name} takes {len(callee.params)} arguments, not {len(call.args)}")
    if any(isinstance(n, Call) and n.op == "ret" for n in walk(callee.body)):
        raise IRError(f"{callee.name} returns a value, and cannot be expanded where it is called")
    passed: dict[Buffer, Buffer] = {}
    values: dict[Var, Expr] = {}
    for param, argument in zip(callee.params, call.args, strict=True):
        buffer = callee.buffer_of(param)
        if argument.dtype is not param.dtype:
            raise IRError(f"{callee.name} takes a {param.dtype} for {param.name}, not a {argument.dtype}")
        if buffer is not None:
            if not (isinstance(argument, Var) and argument in owners):
                raise IRError(f"{callee.name} takes a whole buffer for {param.name}")
            passed[buffer] = owners[argument]
            if buffer.scope not in ("global", owners[argument].scope):
                raise IRError(
                    f"{callee.name} takes memory of scope {buffer.scope!r} for {param.name}, not of "
                    f"{owners[argument].scope!r}"
                )
        elif param.dtype.code == "handle":
            raise IRError(
                f"{param.name} of {callee.name} is a pointer without its extent; say it at the head of {callee.name}: "
                f"T.match_buffer({param.name}, shape, dtype)"
            )
        elif any(n in data or _of_memory(n) for n in walk(argument)):
            raise IRError(f"{param.name} of {callee.name} would be computed from memory; pass the buffer")
        elif not param.dtype.is_float and not is_index(argument, data):
            raise IRError(f"{param.name} of {callee.name} would be data, which wraps; pass index arithmetic")
        else:
            values[param] = argument
    _solve_symbols(callee, passed, values)
    body = _expanded_function(callee, module).body
    _refuse_overlap(callee, body, passed)
    buffers = {p: _view(p, a, values) for p, a in passed.items()}
    body = instantiate(callee.with_body(body), Arguments(tuple(buffers.values()), tuple(values.items())))
    body = Block.label(callee.name, body, ((CALL, callee.name),))
    for p, a in passed.items():
        if buffers[p] is not a:
            body = DeclBuffer(buffers[p], body)
    arguments = [
        Block.label(p.name, Evaluate(a), ((ARGUMENT, callee.name),))
        for p, a in zip(callee.params, call.args, strict=True) if not isinstance(a, (Var, IntImm))
    ]  # fmt: skip
    return seq(*arguments, body)


def _of_memory(node: Node) -> bool:
    return isinstance(node, (Load, Undef)) or (isinstance(node, Call) and not is_pure(node.op))


def _solve_symbols(callee: PrimFunc, passed: Mapping[Buffer, Buffer], values: dict[Var, Expr]) -> None:
    """Symbols are what the first equation that can be solved makes them, as in the interpreter (``extents``)."""
    for mine, given in _equations([(p, a) for p, a in passed.items() if len(p.shape) == len(a.shape)]):
        solved = _solved(mine, given, values)
        if solved is not None:
            symbol, value = solved
            if symbol.dtype is not value.dtype:
                raise IRError(_unsaid(callee, symbol.name))
            values[symbol] = value
    missing = [v.name for v in scalars_of(callee) if v not in values]
    if missing:
        raise IRError(_unsaid(callee, ", ".join(missing)))


def _unsaid(callee: PrimFunc, symbols: str) -> str:
    return f"the call of {callee.name} does not say what {symbols} is; make it a parameter"


def _equations(pairs: Sequence[tuple[Buffer, Buffer]]) -> Iterator[tuple[Expr, Expr]]:
    """What extents of parameters should be; shapes come before strides and offsets."""
    for p, a in pairs:
        yield from zip(p.shape, a.shape, strict=True)
    for p, a in pairs:
        if p.strides:
            yield from zip(p.strides, a.strides or _row_major(a.shape), strict=True)
        yield p.elem_offset, a.elem_offset


def _row_major(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The strides of a compact buffer."""
    strides: list[Expr] = [const(1, shape[-1].dtype)] if shape else []
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return tuple(strides)


def _solved(mine: Expr, given: Expr, known: Mapping[Var, Expr]) -> tuple[Var, Expr] | None:
    """The symbol in ``mine`` that is not known yet, and what it is if ``mine`` is ``given``."""
    match mine:
        case Var():
            return None if mine in known else (mine, given)
        case Binary(op="add", a=inner, b=IntImm() as c) | Binary(op="add", a=IntImm() as c, b=inner):
            return _solved(inner, given - c, known)
        case Binary(op="sub", a=inner, b=IntImm() as c):
            return _solved(inner, given + c, known)
        case Binary(op="sub", a=IntImm() as c, b=inner):
            return _solved(inner, c - given, known)
        case Binary(op="mul", a=inner, b=IntImm() as c) | Binary(op="mul", a=IntImm() as c, b=inner) if c.value != 0:
            return _solved(inner, given // c, known)
    return None


def _refuse_overlap(callee: PrimFunc, body: Stmt, passed: Mapping[Buffer, Buffer]) -> None:
    written = {n.buffer.data for n in walk(body) if isinstance(n, Store)}
    if any(isinstance(n, Call) and not is_pure(n.op) for n in walk(body)):
        written |= {b.data for b in callee.buffers}
    for p, a in passed.items():
        for q, b in passed.items():
            if p is not q and a.data is b.data and p.data in written:
                raise IRError(f"{a.name} is passed to {callee.name} for {p.name}, which it writes, and for {q.name}")


def _view(parameter: Buffer, argument: Buffer, values: Mapping[Var, Expr]) -> Buffer:
    """The argument itself, or the parameter as another view of its block."""
    made = substitute(parameter, {**values, parameter.data: argument.data})
    fields = ("dtype", "shape", "strides", "elem_offset")
    return argument if all(getattr(made, k) == getattr(argument, k) for k in fields) else made
