"""Functions and modules of the text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, INT64, DType, PointerType
from verified_tir.ir.expr import Call, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.bindings import Piece, Wrapper, assemble
from verified_tir.ir.script.buffers import MATCH_ARGS, Layout
from verified_tir.ir.script.device import ENTRY, ENTRY_KEY, ENTRY_LEVEL
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.leaving import Leaving
from verified_tir.ir.script.loops import LoopParser
from verified_tir.ir.script.placed import parts, placed
from verified_tir.ir.script.scalars import updated
from verified_tir.ir.script.scope import Scope
from verified_tir.ir.script.source import Located, Source
from verified_tir.ir.script.values import Value
from verified_tir.ir.stmt import SKIP, Allocate, Annotations, DeclBuffer, Evaluate, LetStmt, Seq, Stmt
from verified_tir.ir.visit import walk


class FuncParser(LoopParser):
    """Reads one function."""

    def __init__(
        self,
        source: Source,
        node: ast.FunctionDef,
        aliases: frozenset[str],
        functions: dict[str, DType],
        outer: Mapping[str, Value],
        type_vars: frozenset[str],
    ) -> None:
        super().__init__(source, Scope(outer), aliases, functions)
        self.node = node
        self.type_vars = type_vars
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: Annotations = ()
        self.persistent: ast.expr | None = None
        """Where the text says that the function is persistent, which is an attribute of one of a device."""
        self.late_scalars: dict[str, Var] = {}
        """Scalar parameters that stand behind a buffer whose shape names them."""
        self.quoted_symbols: dict[str, Var] = {}

    def parse(self) -> PrimFunc:
        """The function.

        :raises ScriptError: for any mistake in it.
        """
        node = self.node
        args = node.args
        for extra in (args.vararg, args.kwarg, *args.kwonlyargs):
            if extra is not None:
                raise self.error(extra, "a function takes positional parameters only")
        if args.defaults:
            raise self.error(args.defaults[0], "a parameter has no default")
        for name in self.type_vars:
            self.scope.frames[0][name] = Var.fresh(name, INT64)
        given = [*args.posonlyargs, *args.args]
        for arg in given:
            dtype = None if arg.annotation is None else self._scalar_annotation(arg.annotation)
            if dtype is not None:
                self.late_scalars[arg.arg] = Var.fresh(arg.arg, dtype)
                self.scope.frames[0].pop(arg.arg, None)
        seen: set[str] = set()
        for arg in given:
            if arg.arg in seen:
                raise self.error(arg, f"{arg.arg} is a parameter already")
            seen.add(arg.arg)
            self._parameter(arg)
        ret = None
        if node.returns is not None and not (isinstance(node.returns, ast.Constant) and node.returns.value is None):
            ret = self.dtype(node.returns)
        alias = "T" if "T" in self.aliases else min(self.aliases)
        statements = Leaving(self.source, node, self.t_name, alias).body()
        self.updated = updated(statements)
        body = self._function_body(statements)
        if self.entered is not None and not _enters(body):
            raise self.error(self.entered, ENTRY_LEVEL)
        if self.persistent is not None:
            if self.device is None:
                raise self.error(
                    self.persistent, "a persistent function is one of a device, and T.device_entry() begins it"
                )
            told = (("tirx.persistent_kernel", True),)
            self.attrs = self.merged(self.persistent, self.attrs, told, again=True)
        return PrimFunc(
            node.name, tuple(self.params), tuple((v, self.buffer_map[v]) for v in self.params if v in self.buffer_map),
            body, self.attrs, ret,
        )  # fmt: skip

    # -- parameters ------------------------------------------------------------------------------------------------

    def _scalar_annotation(self, node: ast.expr) -> DType | None:
        """The dtype of a scalar parameter; ``None`` for buffers and handles."""
        name = self.t_name(node)
        if name is None and isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
        if name is None or name in ("handle", "Buffer"):
            return None
        found = self.dtype(node)
        return found if found.code != "handle" else None

    def _parameter(self, arg: ast.arg) -> None:
        annotation = arg.annotation
        if annotation is None:
            raise self.error(
                arg, f"the parameter {arg.arg} needs a type, such as T.int32 or T.Buffer((16,), 'float32')"
            )
        if arg.arg in self.late_scalars:
            var = self.late_scalars[arg.arg]
            self.scope.frames[0][arg.arg] = var
        elif isinstance(annotation, ast.Call) and self.t_name(annotation.func) in ("Buffer", "buffer"):
            layout, args = self.declaration(annotation)
            var = self._buffer_parameter(arg, self.make(annotation, arg.arg, self._own_data(args, layout, arg.arg)))
        elif isinstance(annotation, ast.Subscript) and self.t_name(annotation.value) == "Buffer":
            parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
            call = ast.Call(annotation.value, parts, [], lineno=annotation.lineno, col_offset=annotation.col_offset)
            layout, args = self.declaration(call)
            var = self._buffer_parameter(arg, self.make(annotation, arg.arg, self._own_data(args, layout, arg.arg)))
        else:
            kind = self.variable_type(annotation)
            if isinstance(kind, DType) and kind.code != "handle":
                raise self.error(annotation, f"a parameter cannot have type {kind}")
            var = Var.fresh(arg.arg, kind)
            self.scope.frames[0][arg.arg] = var
        self.params.append(var)

    def _own_data(self, args: dict[str, ast.expr], layout: Layout, name: str) -> Layout:
        """The layout of a parameter's buffer, which lies in memory of its own: ``data=`` may only name it.

        As in TVM, it begins at an offset of its own symbol if it says by what this can be divided, and nothing more.
        """
        if layout.data is not None and layout.data not in self.symbols:
            raise self.error(args["data"], "a parameter has data of its own; views of it are declared by T.decl_buffer")
        if "elem_offset" not in args and "offset_factor" in args and self.int_constant(args["offset_factor"]) != 0:
            dtype = layout.shape[0].dtype if layout.shape else INT32
            _, said, address = parts(layout.elem_offset)
            offset = Var.fresh(f"{name}_elem_offset", dtype)
            layout = replace(layout, elem_offset=placed(offset, said, address) if said or address else offset)
        return layout

    def _buffer_parameter(self, arg: ast.arg, buffer: Buffer) -> Var:
        var = Var.fresh(arg.arg, HANDLE)
        self.buffer_map[var] = buffer
        self.scope.frames[0][arg.arg] = buffer
        return var

    def symbol(self, node: ast.expr, name: str) -> Expr:
        """A name first seen in quotes: a scalar parameter further right, or an int32 shape symbol."""
        late = self.late_scalars.get(name)
        if late is not None:
            return late
        var = Var.fresh(name, self._declared_type(name))
        self.quoted_symbols[name] = var
        return var

    def _declared_type(self, name: str) -> DType:
        """The type of a quoted symbol: int32, unless the body declares ``name = T.int64()``, as TVM prints it."""
        for node in self.node.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=f, args=[], keywords=[])):
                    declared = self.t_name(f)
                    if target == name and declared is not None and is_dtype_name(declared):
                        with self.located(node):
                            return dtype_named(declared)
        return INT32

    def _name(self, node: ast.expr, name: str) -> Value:
        # shapes may mention scalar parameters that come later in the list
        if name in self.late_scalars and not self.scope.has(name):
            return self.late_scalars[name]
        return super()._name(node, name)

    def declare_symbol(self, target: Located, name: str, dtype: DType | PointerType) -> Piece:
        """``n = T.int32()`` after a quoted ``"n"`` names the same symbol."""
        known = self.quoted_symbols.get(name)
        if known is None or not self.scope.has(name) or self.scope.find(name) is not known:
            return super().declare_symbol(target, name, dtype)
        if known.dtype is not dtype:
            raise self.error(target, f"{name} is a shape symbol of type {known.dtype} already")
        return []

    # -- body ------------------------------------------------------------------------------------------------------

    def _whole(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, of which a last ``with T.attr({"tirx.device_entry": True})`` is one for those in it."""
        match nodes[-1:]:
            case [ast.With(items=[ast.withitem(optional_vars=None, context_expr=ast.Call() as call)], body=body)]:
                match call.args:
                    case [ast.Dict(keys=[ast.Constant(value=key)])] if self.t_name(call.func) == "attr":
                        if key == ENTRY_KEY:
                            return [*nodes[:-1], ast.copy_location(ast.Expr(call), call), *self._whole(body)]
        return nodes

    def _function_body(self, nodes: list[ast.stmt]) -> Stmt:
        nodes = self._whole(nodes)
        pieces: list[Piece] = []
        for k, node in enumerate(nodes):
            with self.located(node):
                if isinstance(node, ast.Return) and k == len(nodes) - 1:
                    pieces.append(self._return(node))
                else:
                    pieces.append(self.statement(node))
        body = assemble(pieces)
        if nodes and isinstance(nodes[-1], ast.Return) and pieces[-1] is not SKIP and _last(body) is not pieces[-1]:
            raise self.error(nodes[-1], "a return cannot stand inside an attribute or a thread")
        return body

    def _return(self, node: ast.Return) -> Stmt:
        """The return at the end of a run of the function, an opaque call ``ret``."""
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return SKIP
        value = self.expr(node.value)
        return Evaluate(Call(value.dtype, "ret", (value,)))

    def statement(self, node: ast.stmt) -> Piece:
        """Any statement; a return ends the run wherever it stands, which ``leaving`` has seen to."""
        return self._return(node) if isinstance(node, ast.Return) else super().statement(node)

    def expression(self, node: ast.Expr, value: ast.expr) -> Piece:
        """At function level also ``T.func_attr``."""
        if isinstance(value, ast.Call) and len(self.scope.frames) == 1:
            name = self.t_name(value.func)
            if name == "func_attr":
                given = match_arguments(self.source, value, ("attrs",), 1)["attrs"]
                self.attrs = self.merged(value, self.attrs, self.annotations(given))
                return SKIP
            if name == "match_buffer":
                return self.match(node, "_", value, match_arguments(self.source, value, MATCH_ARGS, positional=9))
        return super().expression(node, value)

    def match(self, target: Located, name: str, call: ast.Call, args: dict[str, ast.expr]) -> Piece:
        """At function level ``T.match_buffer`` gives a handle its buffer; without a handle, the next free one."""
        if "param" not in args:
            return self._match_handle(target, name, call, args, self._next_handle(call))
        param = args["param"]
        if isinstance(param, ast.Name) and self.scope.has(param.id):
            found = self.scope.find(param.id)
            if isinstance(found, Var) and found in self.params:
                return self._match_handle(target, name, call, args, found)
        return super().match(target, name, call, args)

    def _next_handle(self, call: ast.Call) -> Var:
        for var in self.params:
            if var.dtype is HANDLE and var not in self.buffer_map:
                return var
        raise self.error(call, "every handle among the parameters has its buffer already")

    def _match_handle(
        self, target: Located, name: str, call: ast.Call, args: dict[str, ast.expr], handle: Var
    ) -> list[Wrapper]:
        if handle.dtype is not HANDLE:
            raise self.error(call, f"{handle.name} is not a handle")
        if handle in self.buffer_map:
            raise self.error(call, f"{handle.name} has its buffer already")
        buffer = self.make(call, name, self._own_data(args, self.layout(args, call), name))
        self.symbols.difference_update(n for n in walk(buffer) if isinstance(n, Var))
        self.buffer_map[handle] = buffer
        if name != "_":
            self.bind(target, name, buffer)
        return []


def _enters(stmt: Stmt) -> bool:
    """Whether a device is entered at the level of the function: in no attribute or loop that a statement put around."""
    match stmt:
        case Seq(stmts=stmts):
            return any(_enters(s) for s in stmts)
        case LetStmt(body=body) | Allocate(body=body) | DeclBuffer(body=body):
            return _enters(body)
        case Evaluate(value=Call(op=op)):
            return op == ENTRY
    return False


def _last(stmt: Stmt) -> Stmt:
    """The statement that the text of a body ends with, not further to the right than the body itself."""
    while True:
        match stmt:
            case Seq(stmts=(*_, last)):
                stmt = last
            case LetStmt(body=body) | Allocate(body=body) | DeclBuffer(body=body):
                stmt = body
            case _:
                return stmt
