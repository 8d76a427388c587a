"""Programs for a device as text (``device`` says what stands for them)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, PointerType
from verified_tir.ir.expr import Call, Expr, IntImm, Load, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script.device import (
    DEVICE_SCOPE,
    ENTRY,
    FUNCTION,
    HINT,
    IDS,
    LIST,
    NAMED,
    OPERATOR,
    REGION,
    SINK,
    WHOLE,
    is_tile,
)
from verified_tir.ir.script.placed import parts as placed_parts
from verified_tir.ir.stmt import AttrStmt, LetStmt, Stmt
from verified_tir.ir.visit import nodes_of

if TYPE_CHECKING:
    from verified_tir.ir.script.write_expr import ExprWriter


def quote(text: str) -> str:
    """A string literal in double quotes."""
    shown = json.dumps(text, ensure_ascii=False)
    # not JSON's escapes beyond 16 bits: it writes two, and Python reads them as two characters
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" if ord(c) < 1 << 16 else f"\\U{ord(c):08x}" for c in shown)


def device_call(w: ExprWriter, e: Call) -> str | None:
    """The text of a call that belongs to a device; ``None`` of another one."""
    if e.op == SINK:
        return f"T.{SINK}"
    if e.op == ENTRY:
        return "T.device_entry()"
    if is_tile(e.op) and e.args and is_device(e.args[0]):
        return f"T.{e.op}({', '.join([w.operand(a) for a in e.args[1:]])})"
    if e.op in (FUNCTION, LIST, NAMED, OPERATOR, REGION, WHOLE):
        return _structure(w, e)
    if e.op in IDS and e.args and is_device(e.args[0]):
        raise IRError(f"T.{e.op} gives names to numbers of threads, and is no part of an expression")
    return None


def of_device(func: PrimFunc) -> bool:
    """Whether a function is one of a device: TVM 0.27 keeps layouts in no others, and compiles them in its own way."""
    return any(is_device(v) for v in nodes_of(func.body, Var)) or any(
        placed_parts(b.elem_offset)[0] is not b.elem_offset for b in (*func.buffers, *nodes_of(func.body, Buffer))
    )


def strides_as_layout(w: ExprWriter, b: Buffer, view: bool) -> list[str]:
    """The strides of a buffer in a function of a device, where the default layout would say something else."""
    sizes, steps = ([e.value for e in es if isinstance(e, IntImm)] for es in (b.shape, b.strides))
    if view and len(sizes) == len(b.shape) and len(steps) == len(b.strides):
        extents, strides = (", ".join(map(str, numbers)) for numbers in (sizes, steps))
        return [f"layout=T.TileLayout(T.S[({extents}):({strides})])"]
    return [f"strides={w.shape(b.strides)}", "layout=None"]


def is_device(e: Expr) -> bool:
    """Whether the expression is the pointer that nothing binds."""
    return isinstance(e, Var) and isinstance(e.type, PointerType) and e.type.scope == DEVICE_SCOPE


def _structure(w: ExprWriter, e: Call) -> str:
    """A list, named arguments, or a region."""
    match e:
        case Call(op="list{}", args=(StringImm(value="None"),)):
            return "None"
        case Call(op="list{}", args=args):
            return f"[{', '.join([w.operand(a) for a in args])}]"
        case Call(op="named{}", args=(StringImm(value="{}"), *rest)):
            return "{" + ", ".join([f'"{key}": {value}' for key, value in _pairs(w, rest)]) + "}"
        case Call(op="named{}", args=args):
            return ", ".join([f"{key}={value}" for key, value in _pairs(w, list(args))])
        case Call(op="lambda{}", args=(StringImm(value=text),)):
            return text
        case Call(op="op{}", args=(StringImm(value=name),)):
            return f'I.Op("{name}")'
        case Call(op="whole{}", args=(Call(args=(Load(buffer=buffer),)),)):
            return w.names.name(buffer)
        case Call(op="region{}", args=(Call(args=(Load(buffer=buffer, indices=mins),)), *extents)):
            shown = [f"{w.expr(low)}:{w.stop(low, extent)}" for low, extent in zip(mins, extents, strict=True)]
            return f"{w.names.name(buffer)}[{', '.join(shown) or '()'}]"
    raise IRError(f"{e.op} cannot be written")


def _pairs(w: ExprWriter, args: list[Expr]) -> list[tuple[str, str]]:
    """Names and values, which alternate."""
    keys = [k.value for k in args[::2] if isinstance(k, StringImm)]
    return list(zip(keys, [w.operand(v) for v in args[1::2]], strict=True))


def hint_text(w: ExprWriter, s: AttrStmt) -> str | None:
    """``T.hint("…")`` for the attribute that stands for it; ``None`` for another one."""
    if s.key != HINT or not isinstance(s.node, str):
        return None
    shown = [quote(s.node)] if s.node else []
    match s.value:
        case Call(op="named{}"):
            shown.append(w.operand(s.value))
        case IntImm(value=0):
            pass
        case _:
            return None
    return f"T.hint({', '.join(shown)})"


def id_lets(s: LetStmt) -> tuple[list[Var], Call, Stmt] | None:
    """The variables, the last call and the body of lets that stand for one ``T.cta_id``; ``None`` of another let."""
    found: list[Var] = []
    body: Stmt = s
    while isinstance(body, LetStmt):
        match body.value:
            case Call(op=op, args=(Var() as first, IntImm(value=k), IntImm(value=n), *_)) as call if (
                op in IDS and is_device(first) and k == len(found)
            ):
                found.append(body.var)
                body = body.body
                if k == n - 1:
                    return found, call, body
            case _:
                break
    return None


def id_call(w: ExprWriter, call: Call) -> str:
    """``T.cta_id([4, 8], dtype="uint32")``."""
    about = _pairs(w, list(call.args[3:]))
    shown = [value if key == "extents" else f"{key}={value}" for key, value in about]
    if call.type is not INT32:
        shown.append(f'dtype="{call.type}"')
    return f"T.{call.op}({', '.join(shown)})"
