"""Programs as text: ``script``, ``script_lines`` and ``texts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, INT64, VOID, DType, PointerType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path
from verified_tir.ir.script.names import Names, identifier
from verified_tir.ir.script.separators import SeparatorNumbering
from verified_tir.ir.script.write_device import of_device, quote
from verified_tir.ir.script.write_expr import pointer_text
from verified_tir.ir.script.write_stmt import StmtWriter, bound_buffers
from verified_tir.ir.stmt import SKIP, Stmt
from verified_tir.ir.visit import children, free_vars, walk

_HEADER = "# from tvm.script import tirx as T"
_MODULE_HEADER = "# from tvm.script import ir as I"
_TYPE_VAR_HEADER = "# from typing import TypeVar"


def script(
    node: PrimFunc | IRModule | Stmt | Expr,
    mark: Mapping[Path, str] | None = None,
    *,
    flat: bool = False,
    axis_separators: SeparatorNumbering = "tvm",
) -> str:
    """The text of a program or a piece of one, in the dialect of TVM 0.27.

    ``mark`` (for a function or a statement) puts ``# <-- message`` behind the line on which the statement at a path
    starts.

    A let or an allocation that ends before the scope around it is written as a ``with``, which TVM 0.27 cannot read.
    With ``flat`` it reaches to the end of that scope instead: the same meaning, not the same tree.

    :param axis_separators: how they are counted: by the axis behind, as TVM does, or by the one in front
        (``"rfc39"``), as :func:`parse` reads with the same option.
    :raises IRError: if a path marks no statement.
    """
    style = _Style(flat, axis_separators)
    match node:
        case PrimFunc():
            lines, places = _lines(node, style)
        case Stmt():
            writer = _pieces((node,), style)
            writer.scope(node, (), 0)
            lines, places = writer.lines, writer.places
        case IRModule():
            return _module(node, style)
        case _:
            return _pieces((node,), style).expr(node)
    for path, message in (mark or {}).items():
        if path not in places:
            raise IRError(f"no statement at path {path}")
        lines[places[path]] += f"  # <-- {' '.join(message.split())}"
    return "\n".join(lines)


@final
@dataclass(frozen=True, slots=True)
class _Style:
    flat: bool
    separators: SeparatorNumbering

    def writer(self, names: Names) -> StmtWriter:
        made = StmtWriter(names, self.flat)
        made.numbering = self.separators
        return made


def script_lines(func: PrimFunc, *, flat: bool = False) -> tuple[list[str], dict[Path, int]]:
    """The lines of a function's text; for every path into its body the index of the line that starts the statement."""
    return _lines(func, _Style(flat, "tvm"))


def _lines(func: PrimFunc, style: _Style) -> tuple[list[str], dict[Path, int]]:
    symbols = _type_vars(func, _reserved(func))
    writer = style.writer(Names())
    writer.functions = {func.name: func.ret_type or VOID}
    _function(writer, func, func.name, symbols, 0)
    head = [_TYPE_VAR_HEADER] if symbols else []
    head += [_HEADER, "", *(f'{name} = TypeVar("{name}")' for name in symbols.values())]
    head += [""] if symbols else []
    return [*head, *writer.lines], {path: line + len(head) for path, line in writer.places.items()}


def texts(*exprs: Expr) -> list[str]:
    """The texts of several expressions, in all of which a variable has one name, and no two have the same."""
    writer = _pieces(exprs, _Style(flat=False, separators="tvm"))
    return [writer.expr(e) for e in exprs]


def _pieces(pieces: Sequence[Node], style: _Style) -> StmtWriter:
    """A writer in which everything that is free in one of the pieces has its name already."""
    names = Names()
    nodes = [n for piece in pieces for n in walk(piece)]
    bound = bound_buffers(nodes)
    for n in dict.fromkeys(nodes):
        if isinstance(n, Buffer) and n not in bound:
            names.give(n)
    for v in dict.fromkeys(v for piece in pieces for v in free_vars(piece)):
        if v not in names.blocks:
            names.give(v)
    return style.writer(names)


# -- modules ----------------------------------------------------------------------------------------------------------


def _module(module: IRModule, style: _Style) -> str:
    reserved: frozenset[str] = frozenset()
    symbols: dict[str, dict[Var, str]] = {}
    for key, func in module.functions:
        # one TypeVar may serve several functions, as each makes its own variable of it
        symbols[key] = _type_vars(func, _reserved(func))
        reserved |= frozenset(symbols[key].values())
    returns = {key: func.ret_type or VOID for key, func in module.functions}
    lines = [_TYPE_VAR_HEADER] if reserved else []
    lines += [_MODULE_HEADER, _HEADER, ""]
    lines += [f'{name} = TypeVar("{name}")' for name in sorted(reserved)]
    lines += ["@I.ir_module", "class Module:"]
    for k, (key, func) in enumerate(module.functions):
        writer = style.writer(Names(reserved))
        writer.functions = returns
        _function(writer, func, key, symbols[key], 1)
        lines += ([""] if k else []) + writer.lines
    if not module.functions:
        lines.append("    pass")
    return "\n".join(lines)


# -- functions --------------------------------------------------------------------------------------------------------


def layout_vars(buffer: Buffer) -> list[Var]:
    """The variables in shape, strides and offset of a buffer."""
    exprs = (*buffer.shape, *buffer.strides, buffer.elem_offset)
    return list(dict.fromkeys(n for e in exprs for n in walk(e) if isinstance(n, Var)))


def _reserved(func: PrimFunc) -> frozenset[str]:
    """Names of parameters, which shape symbols must not take."""
    names = [p.name for p in func.params if func.buffer_of(p) is None]
    return frozenset(identifier(n) for n in [*names, *(b.name for b in func.buffers)])


def _annotated(func: PrimFunc) -> list[Buffer]:
    """The buffers that the parameter list can declare.

    TVM reads an annotation from left to right: a symbol of the shape may be quoted where it first occurs, which makes
    it an int32 or the scalar parameter of that name; int64 symbols are type variables.  Strides and offsets cannot be
    quoted.
    """
    found = []
    params = set(func.params)
    known: set[Var] = set()
    mentioned = _mentioned(func) & params
    for p in func.params:
        b = func.buffer_of(p)
        if b is None:
            known.add(p)
            continue
        if p in mentioned:  # an annotation leaves the handle itself without a name
            continue
        in_shape = {n for e in b.shape for n in walk(e) if isinstance(n, Var)}
        new = [v for v in layout_vars(b) if v not in known and (v in params or v.dtype is not INT64)]
        if all(v in in_shape and (v in params or v.dtype is INT32) for v in new):
            known |= in_shape
            found.append(b)
    return found


def _mentioned(func: PrimFunc) -> set[Node]:
    """What occurs in the body, the attributes, and the layouts of the parameters."""
    attributes = children(PrimFunc(func.name, (), (), SKIP, func.attrs))
    return {n for root in (func.body, *attributes) for n in walk(root)} | {
        v for b in func.buffers for v in layout_vars(b)
    }


def _type_vars(func: PrimFunc, taken: frozenset[str]) -> dict[Var, str]:
    """Names of the int64 shape symbols in annotations, which TVM declares outside the function."""
    names = Names(taken)
    params = set(func.params)
    symbols = dict.fromkeys(v for b in _annotated(func) for v in layout_vars(b) if v not in params)
    return {v: names.give(v) for v in symbols if v.dtype is INT64}


def _function(writer: StmtWriter, func: PrimFunc, name: str, type_vars: Mapping[Var, str], depth: int) -> None:
    """The lines of a function, with the paths into its body."""
    pad = "    " * depth
    for v, text in type_vars.items():
        writer.names.reserve(text)
        writer.names.set(v, text)
    writer.device = of_device(func)
    signature = _Signature(func, writer, set(type_vars))
    params = signature.params()
    returns = f" -> T.{func.ret_type}" if func.ret_type is not None else ""
    decorator = "@T.prim_func" if writer.device else "@T.prim_func(s_tir=True)"
    writer.lines += [f"{pad}{decorator}", f"{pad}def {identifier(name)}({', '.join(params)}){returns}:"]
    if func.attrs:
        writer.line(depth + 1, f"T.func_attr({writer.annotations(func.attrs)})")
    for line in signature.prelude():
        writer.line(depth + 1, line)
    writer.scope(func.body, (), depth + 1)


class _Signature:
    """The parameters of a function as text.

    A buffer is annotated ``A: T.Buffer(…)`` where TVM can read that; any other is a handle, matched in the body.
    """

    def __init__(self, func: PrimFunc, writer: StmtWriter, known: set[Var]) -> None:
        self.func = func
        self.writer = writer
        self.known = known
        """Variables that the text has bound so far."""
        self.annotated = _annotated(func)
        self.matched: list[tuple[str, Buffer]] = []

    def params(self) -> list[str]:
        """The parameters, in order."""
        names = self.writer.names
        given: dict[Var, str] = {}
        for p in self.func.params:
            # first all parameters, then the symbols: quoted extents may name parameters to their right
            b = self.func.buffer_of(p)
            given[p] = names.give(p if b is None else b)
        texts = []
        for p in self.func.params:
            b = self.func.buffer_of(p)
            if b is None:
                texts.append(f"{given[p]}: {self._scalar(p.type)}")
                self.known.add(p)
            elif b in self.annotated:
                texts.append(f"{given[p]}: T.Buffer({self.writer.buffer_args(b, self._shape(b))})")
            else:
                handle = names.reserve(names.unique(f"{given[p]}_handle"))
                names.set(p, handle)
                texts.append(f"{handle}: T.handle")
                self.matched.append((handle, b))
        return texts

    @staticmethod
    def _scalar(kind: DType | PointerType) -> str:
        return f"T.{kind}" if isinstance(kind, DType) and kind is not HANDLE else pointer_text(kind)

    def _shape(self, b: Buffer) -> str:
        parts = []
        for e in b.shape:
            new = [n for n in walk(e) if isinstance(n, Var) and n not in self.known]
            text = self.writer.expr(e)
            self.known.update(new)
            parts.append(quote(text) if new else text)
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"

    def prelude(self) -> list[str]:
        """The lines of the body that declare symbols and match handles."""
        lines = []
        data = {b.data for b in self.func.buffers}
        self.known.update(self.func.params)
        for handle, b in self.matched:
            for v in layout_vars(b):
                if v not in self.known and v not in data:
                    self.known.add(v)
                    lines.append(f"{self.writer.names.name(v)} = T.{v.dtype}()")
            lines.append(f"{self.writer.names.name(b)} = T.match_buffer({handle}, {self.writer.buffer_args(b)})")
        viewed = {b.data for b in bound_buffers(walk(self.func.body))}
        for v in free_vars(self.func.body):
            if v not in self.known and v not in data and (isinstance(v.type, DType) or v in viewed):
                # the program is not closed, but it can be written
                self.known.add(v)
                kind = self._scalar(v.type)
                lines.append(f"{self.writer.names.name(v)} = {kind if kind.endswith(')') else f'{kind}()'}")
        return lines
