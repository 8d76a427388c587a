"""What a function of Relax does that calls functions of TIR, as one function of TIR.

    with R.dataflow():                              def fused(x, w, b, out):
        lv = R.call_tir(matmul, (x, w), …)    ⟶         lv = alloc(…)
        gv = R.call_tir(add, (lv, b), …)                body of matmul, on x, w, lv
        R.output(gv)                                    body of add, on lv, b, out

TVM's pass FuseTIR makes one function of such calls; with this one, what it makes can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from verified_tir.interop.tvm.reading import Printed, is_tir, read
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT64, DType
from verified_tir.ir.expr import Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, DeclBuffer, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, refresh_binders, substitute

CALL_TIR: Final = "relax.call_tir"
_Known: TypeAlias = list[tuple[Any, Buffer]]


class NotComposed(Exception):
    """The function does something else than call functions of TIR on tensors of known shapes; the message says what."""


def composed(function: Any, module: Mapping[str, Any], name: str) -> Printed:
    """A function of Relax as one of TIR; ``module`` has the functions that it calls, by name.

    :raises NotComposed: if it is of another form.
    """
    if type(function).__name__ != "Function" or type(function.body).__name__ != "SeqExpr":
        raise NotComposed(f"it is a {type(function).__name__}")
    known: _Known = [(p, _buffer(_name(p), p.ty)) for p in function.params]
    params = [buffer for _, buffer in known]
    made: list[tuple[Buffer, Stmt]] = []
    for binding in [b for block in function.body.blocks for b in block.bindings]:
        if _is_variable(binding.value):
            known.append((binding.var, _of(known, binding.value)))
            continue
        made.append(_called(_name(binding.var), binding.value, known, module))
        known.append((binding.var, made[-1][0]))
    out = _of(known, function.body.body)
    if not made or out in params:
        raise NotComposed("it does not return what a call gives")
    body = seq(*[stmt for _, stmt in made])
    for buffer, _ in reversed(made):
        body = body if buffer is out else Allocate(buffer, body)
    handles = [Var.fresh(b.name, HANDLE) for b in (*params, out)]
    func = PrimFunc(name, tuple(handles), tuple(zip(handles, (*params, out), strict=True)), body)
    return Printed(name, script(func), func)


def _called(bound: str, call: Any, known: _Known, module: Mapping[str, Any]) -> tuple[Buffer, Stmt]:
    """The result of a call, and the body of the function on the arguments."""
    if type(call).__name__ != "Call" or getattr(call.op, "name", "") != CALL_TIR or len(call.args) != 2:
        raise NotComposed(f"{bound} is not the result of R.call_tir")
    callee = module.get(str(getattr(call.args[0], "name_hint", "")))
    types = list(call.ty_args)
    if callee is None or not is_tir(callee) or len(types) != 1 or type(call.args[1]).__name__ != "Tuple":
        raise NotComposed(f"{bound} is the result of a call of another kind")
    func = read(callee, bound).func
    given = [_of(known, a) for a in call.args[1].fields]
    out = _buffer(bound, types[0])
    if func is None or len(func.params) != len(given) + 1 or len(func.buffers) != len(func.params):
        raise NotComposed(f"the function that gives {bound} cannot be read, or takes other arguments")
    body, _ = refresh_binders(func.body)
    views: dict[Buffer, Buffer] = {}
    pointers: dict[Var, Any] = {}
    for p, a in zip(func.params, (*given, out), strict=True):
        mine = func.buffer_of(p)
        if mine is None or mine.dtype is not a.dtype or _extents(mine) != _extents(a):
            raise NotComposed(f"the function that gives {bound} takes other tensors than it is given")
        pointers[mine.data] = a.data
        views[mine] = Buffer(mine.name, a.data, mine.dtype, mine.shape, mine.strides, mine.elem_offset, ())
    stmt: Stmt = substitute(substitute_buffers(body, views), pointers)
    for view in views.values():
        stmt = DeclBuffer(view, stmt)
    if not set(free_vars(stmt)) <= {a.data for a in (*given, out)}:
        raise NotComposed(f"the function that gives {bound} has symbols")
    return out, stmt


def _of(known: _Known, variable: Any) -> Buffer:
    """The buffer that stands for a variable; names need not be unique."""
    if _is_variable(variable):
        for other, buffer in reversed(known):
            if other.same_as(variable):
                return buffer
    raise NotComposed(f"it has a {type(variable).__name__} where the result of a call or a parameter is expected")


def _is_variable(value: Any) -> bool:
    return type(value).__name__ in ("Var", "DataflowVar")


def _name(variable: Any) -> str:
    return str(variable.name)


def _buffer(name: str, kind: Any) -> Buffer:
    """A buffer for a tensor of known shape."""
    shape = getattr(getattr(kind, "shape", None), "values", None)
    if type(kind).__name__ != "TensorType" or shape is None:
        raise NotComposed(f"{name} is not a tensor of known shape")
    sizes = [getattr(e, "value", None) for e in shape]
    if not all(isinstance(e, int) for e in sizes):
        raise NotComposed(f"the shape of {name} is symbolic")
    dtype = DType.parse(str(kind.dtype))
    return Buffer.fresh(name, dtype, tuple([const(int(e), INT64) for e in sizes if e is not None]), "global")


def _extents(buffer: Buffer) -> list[object]:
    return [getattr(e, "value", e) for e in buffer.shape]
