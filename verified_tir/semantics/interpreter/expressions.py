"""The meaning of expressions.

``meaning_of(e)`` is a function from the state of a run to the value of ``e`` there.  It is composed once from the
meanings of the subexpressions and then applied as often as the program asks.  Operators are strict in the operands that
they evaluate.  ``and``, ``or`` and ``if_then_else`` evaluate from left to right and only what they need; with lanes,
``and`` and ``or`` evaluate both operands, and then each lane decides for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, PointerType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError
from verified_tir.semantics.calls import call_operation
from verified_tir.semantics.errors import UBKind, UndefinedBehaviour, Unsupported
from verified_tir.semantics.interpreter.frame import Frame, Meaning
from verified_tir.semantics.interpreter.world import Given, Pointer
from verified_tir.semantics.memory import reinterpret
from verified_tir.semantics.operators import binary_operation, cast_operation, fitted, negation
from verified_tir.semantics.values import UNDEF, Operation, Scalar, Value, lanes_of, vector

DataVars = Set[Var]
"""The variables of lets and blocks that hold data (``find.data_vars``)."""


def meaning_of(expr: Expr, data: DataVars) -> Meaning:  # noqa: PLR0911 (one case for each class)
    """The meaning of ``expr``, where the variables in ``data`` hold data."""
    match expr:
        case IntImm(type=t, value=value):
            return _constant(bool(value) if t.is_bool else value)
        case FloatImm(type=t, value=value):
            return _constant(round_to(t, value))
        case Undef(type=t):
            return _constant(vector([UNDEF] * t.lanes))
        case Var(type=PointerType()):
            return _pointer(expr)
        case Var():
            return _variable(expr)
        case Binary(op="and" | "or" as op, a=a, b=b) if expr.dtype.lanes == 1:
            return lazy(op, meaning_of(a, data), meaning_of(b, data))
        case Binary(op=op, a=a, b=b):
            operate = binary_operation(op, a.dtype.scalar, is_index(expr, data))
            if isinstance(b, IntImm) and not b.type.is_bool:
                return _with_number(operate, meaning_of(a, data), b.value)
            return _lanewise(operate, [meaning_of(a, data), meaning_of(b, data)], expr.dtype.lanes)
        case Not(a=a):
            return _lanewise(negation, [meaning_of(a, data)], expr.dtype.lanes)
        case Cast(type=t, value=v):
            return _lanewise(cast_operation(v.dtype.scalar, t.scalar), [meaning_of(v, data)], t.lanes)
        case Select():
            return _select(expr, data)
        case IfThenElse():
            return _if_then_else(expr, data)
        case Ramp():
            return _ramp(expr, data)
        case Broadcast(value=v, lanes=lanes):
            return _broadcast(meaning_of(v, data), lanes)
        case Shuffle(vectors=vectors, indices=indices):
            return _shuffle([meaning_of(v, data) for v in vectors], indices)
        case LetExpr(var=var, value=v, body=body):
            return _let(var, meaning_of(v, data), meaning_of(body, data))
        case Load():
            return _load(expr, data)
        case Call():
            return _call(expr, data)
        case StringImm():
            return _unsupported("a string as a value")
    raise IRError(f"an expression of unknown class {type(expr).__name__}")


# ----------------------------------------------------------------------------------------- what statements also ask


def number(expr: Expr, data: DataVars, kind: UBKind, what: str) -> Callable[[Frame], int]:
    """The meaning of an integer or bool that must be defined: an extent or a condition.

    An undefined one is undefined behaviour of the given kind; ``what`` names it in the message.
    """
    meaning = meaning_of(expr, data)
    if expr.dtype.lanes != 1:
        raise IRError(f"{what} must be a scalar, not a {expr.dtype}")

    def evaluate(frame: Frame) -> int:
        value = meaning(frame)
        if value is UNDEF:
            raise UndefinedBehaviour(kind, f"{what} is undef")
        assert isinstance(value, int)
        return value

    return evaluate


def indices_of(name: str, indices: Sequence[Expr], data: DataVars) -> Callable[[Frame], list[tuple[int, ...]]]:
    """The elements that an access touches, one index tuple for each lane of the last index, in order.

    An undefined index is undefined behaviour; whether the elements exist is asked by the access itself.
    """
    meanings = [meaning_of(index, data) for index in indices]

    def undefined(k: int) -> UndefinedBehaviour:
        return UndefinedBehaviour("undef-index", f"index {k} of {name} is undef")

    def scalars(frame: Frame) -> list[tuple[int, ...]]:
        found = tuple([meaning(frame) for meaning in meanings])
        for k, index in enumerate(found):
            if index is UNDEF:
                raise undefined(k)
        return [found]  # type: ignore[list-item]  # integers, by the typing rule of an access

    if not indices or indices[-1].dtype.lanes == 1:
        return scalars

    def vectors(frame: Frame) -> list[tuple[int, ...]]:
        *lead, last = [meaning(frame) for meaning in meanings]
        rows = [(*lead, lane) for lane in lanes_of(last)]
        for row in rows:
            if UNDEF in row:
                raise undefined(row.index(UNDEF))
        return rows  # type: ignore[return-value]

    return vectors


def lazy(op: str, left: Meaning, right: Meaning) -> Meaning:
    """``and`` or ``or`` of two scalars: the right one is evaluated only if the left one does not decide."""
    decides = op == "or"

    def evaluate(frame: Frame) -> Value:
        a = left(frame)
        if a is UNDEF:
            raise UndefinedBehaviour("undef-branch", f"the left operand of {op} is undef")
        return decides if a == decides else right(frame)

    return evaluate


# ------------------------------------------------------------------------------------------------------- the cases


def _constant(value: Value) -> Meaning:
    return lambda frame: value


def _variable(var: Var) -> Meaning:
    def read(frame: Frame) -> Value:
        try:
            return frame.values[var]
        except KeyError:
            raise IRError(f"variable {var.name} is not bound here") from None

    return read


def _unsupported(what: str) -> Meaning:
    def stop(frame: Frame) -> Value:
        raise Unsupported(f"the interpreter has no meaning for {what}")

    return stop


def _lanewise(operate: Operation, operands: list[Meaning], lanes: int) -> Meaning:
    """Apply an operation to each lane."""
    match operands, lanes:
        case [a], 1:
            return lambda frame: operate(a(frame))
        case [a, b], 1:
            return lambda frame: operate(a(frame), b(frame))
        case _, 1:
            return lambda frame: operate(*[operand(frame) for operand in operands])
    return lambda frame: tuple(map(operate, *[lanes_of(operand(frame)) for operand in operands]))


def _with_number(operate: Operation, a: Meaning, b: int) -> Meaning:
    """The same for a number on the right, of which there is nothing to evaluate; most index arithmetic is so."""
    return lambda frame: operate(a(frame), b)


def _choose(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    if condition is UNDEF:
        return UNDEF
    return a if condition else b


def _select(expr: Select, data: DataVars) -> Meaning:
    """Evaluates all three; undefined only where the condition or the chosen arm is."""
    condition = meaning_of(expr.condition, data)
    a, b = meaning_of(expr.true_value, data), meaning_of(expr.false_value, data)
    if expr.condition.dtype.lanes < expr.dtype.lanes:
        condition = _broadcast(condition, expr.dtype.lanes)
    return _lanewise(_choose, [condition, a, b], expr.dtype.lanes)


def _if_then_else(expr: IfThenElse, data: DataVars) -> Meaning:
    condition = number(expr.condition, data, "undef-branch", "the condition of if_then_else")
    a, b = meaning_of(expr.true_value, data), meaning_of(expr.false_value, data)
    return lambda frame: a(frame) if condition(frame) else b(frame)


def _ramp(expr: Ramp, data: DataVars) -> Meaning:
    """Lane k is base + k * stride, computed exactly and then fitted to the type, as one operation."""
    base, stride = meaning_of(expr.base, data), meaning_of(expr.stride, data)
    index, dtype = is_index(expr, data), expr.dtype.scalar

    def evaluate(frame: Frame) -> Value:
        start, step = base(frame), stride(frame)
        if start is UNDEF or step is UNDEF:
            return vector([UNDEF] * expr.lanes)
        assert isinstance(start, int) and isinstance(step, int)
        return vector([fitted("ramp", dtype, start + k * step, index) for k in range(expr.lanes)])

    return evaluate


def _broadcast(value: Meaning, lanes: int) -> Meaning:
    def evaluate(frame: Frame) -> Value:
        return vector(lanes_of(value(frame)) * lanes)

    return evaluate


def _shuffle(vectors: list[Meaning], indices: tuple[int, ...]) -> Meaning:
    def evaluate(frame: Frame) -> Value:
        lanes = [lane for vector in vectors for lane in lanes_of(vector(frame))]
        return vector([lanes[k] for k in indices])

    return evaluate


def _let(var: Var, value: Meaning, body: Meaning) -> Meaning:
    def evaluate(frame: Frame) -> Value:
        frame.values[var] = value(frame)
        return body(frame)

    return evaluate


def _load(expr: Load, data: DataVars) -> Meaning:
    buffer = expr.buffer
    indices = indices_of(buffer.name, expr.indices, data)
    if expr.predicate is not None:
        return _masked_load(buffer, indices, mask_of(buffer.name, expr.predicate, data))

    def evaluate(frame: Frame) -> Value:
        rows = indices(frame)
        view = frame.view(buffer)
        if len(rows) == 1 and frame.run.watch is None:  # as below, and most loads are so
            return view.load(rows[0])
        loaded = [view.load(row) for row in rows]
        if frame.run.watch is not None:
            for row in rows:
                frame.run.watch.access(view, row, write=False)
        return loaded[0] if len(loaded) == 1 else tuple([lane for value in loaded for lane in lanes_of(value)])

    return evaluate


def _masked_load(
    buffer: Buffer, indices: Callable[[Frame], list[tuple[int, ...]]], mask: Callable[[Frame], list[bool]]
) -> Meaning:
    nothing = (UNDEF,) * buffer.dtype.lanes

    def evaluate(frame: Frame) -> Value:
        rows, taken = indices(frame), mask(frame)
        view = frame.view(buffer)
        found: list[Scalar] = []
        for row, here in zip(rows, taken, strict=True):
            found.extend(lanes_of(view.load(row)) if here else nothing)
            if here and frame.run.watch is not None:
                frame.run.watch.access(view, row, write=False)
        return vector(found)

    return evaluate


def mask_of(name: str, predicate: Expr, data: DataVars) -> Callable[[Frame], list[bool]]:
    """Which lanes of a masked access take place; an undefined one is a branch on undef."""
    meaning = meaning_of(predicate, data)

    def evaluate(frame: Frame) -> list[bool]:
        lanes = lanes_of(meaning(frame))
        if UNDEF in lanes:
            raise UndefinedBehaviour("undef-branch", f"lane {lanes.index(UNDEF)} of the predicate of {name} is undef")
        return [bool(lane) for lane in lanes]

    return evaluate


def _call(expr: Call, data: DataVars) -> Meaning:
    info = PURE_CALLS.get(expr.op)
    if info is None:
        return _opaque(expr, data)
    if len(expr.args) != info.arity:
        raise IRError(f"{expr.op} takes {info.arity} arguments, not {len(expr.args)}")
    args = [meaning_of(a, data) for a in expr.args]
    source, target = expr.args[0].dtype, expr.type
    if expr.op == "reinterpret":
        return lambda frame: reinterpret(args[0](frame), source, target)
    wanted = {"same": source, "bool": BOOL.with_lanes(source.lanes), "given": target}[info.result]
    if any(a.dtype is not source for a in expr.args) or target is not wanted or target.lanes != source.lanes:
        raise IRError(f"{expr.op} of {', '.join(str(a.dtype) for a in expr.args)} cannot give a {target}")
    return _lanewise(call_operation(expr.op, source.scalar, target.scalar), args, target.lanes)


# ------------------------------------------------------------------------------------------- what the world is told


def _pointer(var: Var) -> Meaning:
    """A pointer means something to callees only."""
    unknown = _unsupported(f"the pointer {var.name} as a value")

    def evaluate(frame: Frame) -> Value:
        if frame.run.world is None:
            return unknown(frame)
        whole = frame.whole.get(var)
        return frame.values[var] if whole is None else Pointer(whole)  # type: ignore[return-value]

    return evaluate


def _opaque(expr: Call, data: DataVars) -> Meaning:
    """A call that is not pure: its arguments are evaluated, then the world knows what happens."""
    unknown = _unsupported(f"the opaque call {expr.op}")
    if expr.op == "address_of" and isinstance(expr.args[0], Load):
        return _address(expr.args[0], data, unknown)
    arguments = [_given(a, data) for a in expr.args]

    def evaluate(frame: Frame) -> Value:
        if frame.run.world is None:
            return unknown(frame)
        given = [argument(frame) for argument in arguments]
        if any(g is UNDEF or (isinstance(g, tuple) and UNDEF in g) for g in given):
            raise UndefinedBehaviour("undef-argument", f"an argument of {expr.op} is undef")
        return frame.run.world.call(expr.op, given, expr.dtype)

    return evaluate


def _given(expr: Expr, data: DataVars) -> Callable[[Frame], Given]:
    if isinstance(expr, StringImm):
        text = expr.value
        return lambda frame: text
    return meaning_of(expr, data)


def _address(load: Load, data: DataVars, unknown: Meaning) -> Meaning:
    """Where an element lies; it is not read."""
    indices = indices_of(load.buffer.name, load.indices, data)

    def evaluate(frame: Frame) -> Value:
        if frame.run.world is None:
            return unknown(frame)
        whole, byte = frame.whole[load.buffer.data], frame.view(load.buffer).locate(indices(frame)[0])
        return Pointer(whole, byte)  # type: ignore[return-value]

    return evaluate
