"""Which calls have an expansion, and the expansion of a call.

A *template* is an expression over one variable for each argument, with shared subterms; it is built once for each
function and type.  :func:`expand` puts arguments in place of the variables and binds what is used more than once by a
``let``, so that the result is short as a text and its evaluation takes one step for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from verified_tir.ir.dtype import FLOAT32, FLOAT64, DType
from verified_tir.ir.expr import Broadcast, Expr, FloatImm, IntImm, LetExpr, Var
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.visit import children, map_children, rewrite
from verified_tir.semantics.intrinsics import arctangent, error_function, exponential, logarithm, power, trigonometric
from verified_tir.semantics.intrinsics.words import cast

Kernel = Callable[..., Expr]


# Written for float32 and for float64.
_DIRECT: dict[str, Kernel] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "sigmoid": exponential.sigmoid,
    "tanh": exponential.tanh,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "erf": error_function.erf,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "rsqrt": power.rsqrt,
    "pow": power.pow_,
}
# Written for float64; float32 rounds the result once more.
_WIDE: dict[str, Kernel] = {
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "atan": arctangent.atan,
    "atan2": arctangent.atan2,
}

EXPANDED = frozenset({*_DIRECT, *_WIDE})
"""The functions that are defined by an expansion, in every float type."""


def has_expansion(op: str, dtype: DType) -> bool:
    """Whether the call ``op`` on floats of ``dtype`` (any number of lanes) is defined by an expansion."""
    return op in EXPANDED and dtype.is_float


def arity(op: str) -> int:
    """How many arguments a function takes."""
    return 2 if op in ("pow", "atan2") else 1


@cache
def template(op: str, dtype: DType) -> tuple[tuple[Var, ...], Expr]:
    """The parameters of a function on ``dtype`` and its value, an expression in which equal subterms are one node.

    The value evaluates without undefined behaviour, whatever bits the parameters have, and no part of it that it may
    choose is undef.

    :raises IRError: if the function has no expansion on that type.
    """
    if not has_expansion(op, dtype):
        raise IRError(f"{op} of {dtype} has no expansion; those that have are: {', '.join(sorted(EXPANDED))}")
    names = ("x", "y")[: arity(op)]
    parameters = tuple([Var.fresh(name, dtype) for name in names])
    return parameters, _value(op, parameters)


def _value(op: str, args: Sequence[Expr]) -> Expr:
    """The value in the type of the arguments; narrow types take the value of a wider one and round it."""
    dtype = args[0].dtype.scalar
    if dtype.bits == 16:
        return cast(dtype, _value(op, [cast(FLOAT32, a) for a in args]))
    if op in _DIRECT:
        return _DIRECT[op](*args)
    return cast(dtype, _WIDE[op](*[cast(FLOAT64, a) for a in args]))


def expand(op: str, args: Sequence[Expr], replace: Callable[[Node], Node | None] | None = None) -> Expr:
    """The value of the call ``op`` on ``args`` by basic operations alone; the variables that it binds are fresh.

    The operations are ``+ - * /``, ``fma``, ``sqrt``, ``abs``, comparisons, ``select``, casts between types of numbers,
    ``reinterpret`` at the same width, and on integers also shifts and bitwise ones.  Every integer operation is data:
    it wraps.  Shift amounts are in range, and both arms of a ``select`` may always be evaluated.

    :param args: floats of one type, with any number of lanes.
    :param replace: another expression for a part of the value, where a machine has an instruction for the whole part.
    :raises IRError: if there is no such expansion.
    """
    dtype = args[0].dtype
    if any(a.dtype is not dtype for a in args) or len(args) != arity(op):
        raise IRError(f"{op} takes {arity(op)} arguments of one type, not {', '.join(str(a.dtype) for a in args)}")
    parameters, value = template(op, dtype)
    if replace is not None:
        value = rewrite(value, replace)
    return _with_lets(value, dict(zip(parameters, args, strict=True)))


def steps(value: Expr) -> list[Expr]:
    """The nodes of a template that compute something or are constants, operands before what uses them."""
    order: dict[Expr, None] = {}
    pending: list[tuple[Expr, bool]] = [(value, False)]
    while pending:
        node, ready = pending.pop()
        if node in order:
            continue
        if ready:
            order[node] = None
        else:
            pending.append((node, True))
            pending.extend((c, False) for c in reversed(children(node)) if isinstance(c, Expr))
    return list(order)


def _is_constant(node: Expr) -> bool:
    return isinstance(node, (IntImm, FloatImm)) or (isinstance(node, Broadcast) and _is_constant(node.value))


def _with_lets(value: Expr, arguments: dict[Var, Expr]) -> Expr:
    """``value`` with arguments for variables, and a let for each step that is used more than once."""
    order = steps(value)
    uses: dict[Node, int] = {}
    for node in order:
        for child in children(node):
            uses[child] = uses.get(child, 0) + 1
    made: dict[Node, Node] = {}
    lets: list[tuple[Var, Expr]] = []
    for node in order:
        found = arguments[node] if isinstance(node, Var) else map_children(node, lambda n: made[n])
        if uses.get(node, 0) > 1 and not (_is_constant(node) or isinstance(found, Var)):
            var = Var.fresh(node.name if isinstance(node, Var) else f"t{len(lets)}", node.dtype)
            lets.append((var, found))
            found = var
        made[node] = found
    result = made[value]
    assert isinstance(result, Expr)
    for var, bound in reversed(lets):
        result = LetExpr(var, bound, result)
    return result
