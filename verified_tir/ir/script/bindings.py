"""Stores, and the statements that bind a name: buffers, symbols, lets, threads.

A binding reaches to the end of the enclosing scope (``B = T.alloc_buffer(…)``, ``x: T.let[T.int32] = …``), so it is
read as *wrappers*: functions from the statements that follow to one statement.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, INT64, VOID, DType, PointerType
from verified_tir.ir.expr import Call, Expr, Load, StringImm, Var
from verified_tir.ir.script import scalable
from verified_tir.ir.script.annotations import AnnotationParser
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.buffers import ALLOC_ARGS, BUFFER_ARGS, MATCH_ARGS
from verified_tir.ir.script.device import IDS, ids
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.linear import constant_difference
from verified_tir.ir.script.scalars import SCALARS, declared_scalar, is_one_element, scalar_memory
from verified_tir.ir.script.scope import Scope
from verified_tir.ir.script.source import Located, Source
from verified_tir.ir.script.values import (
    EnvThread,
    PlainUndef,
    Selection,
    Value,
    broadcast_to,
    cast_to,
    is_number,
    is_plain,
    typed,
)
from verified_tir.ir.script.views import view_of
from verified_tir.ir.stmt import SKIP, Allocate, DeclBuffer, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import as_expr, const
from verified_tir.ir.visit import substitute

Wrapper: TypeAlias = Callable[[Stmt], Stmt]
Piece: TypeAlias = "Stmt | list[Wrapper]"

TENSOR_MAP = PointerType(VOID, "tensormap")
"""``T.TensorMap()``, a pointer to the description of a tensor, of which nothing else is known."""

ALLOCATIONS = {
    "alloc_buffer": None, "sblock_alloc_buffer": None, "alloc_local": "local", "alloc_shared": "shared",
    "allocate": None,
}  # fmt: skip
"""Calls that make a fresh block, with the scope that the name implies."""
VIEWS = frozenset({"decl_buffer", "buffer_decl", "Buffer"})
"""Calls that declare a view (or, without ``data=``, allocate)."""


def assemble(pieces: Sequence[Piece]) -> Stmt:
    """Statements in order, each wrapper around all that follows it."""
    tail: list[Stmt] = []
    for piece in reversed(pieces):
        if isinstance(piece, list):
            for wrap in reversed(piece):
                tail = [wrap(seq(*reversed(tail)))]
        else:
            tail.append(piece)
    return seq(*reversed(tail))


def is_a_number(value: Value) -> bool:
    """Whether the value is one that a scalar variable can have."""
    return isinstance(value, (int, float)) or (isinstance(value, Expr) and is_number(value.dtype))


def pointed_to(value: Expr) -> DType | PointerType | None:
    """The type of a pointer that an expression computes, as far as it is known."""
    match value:
        case Var():
            return value.type
        case Call(
            op="ptr_byte_offset",
            args=(Var(type=PointerType(scope=scope)), _, Call(args=(StringImm(value=kind),)) | StringImm(value=kind)),
        ):
            return PointerType(dtype_named(kind), scope)
        case Call(op="address_of", args=(Load(buffer=buffer),)):
            return PointerType(buffer.dtype, buffer.scope)
        case Call(op="handle_add_byte_offset", args=(Var(type=PointerType(scope=scope)), _)):
            return HANDLE if scope == "global" else PointerType(VOID, scope)
    return None


class BindingParser(AnnotationParser):
    """Reads stores and bindings."""

    updated: frozenset[int] = frozenset()
    """The targets (by ``id``) of assignments that make a scalar in memory."""

    def __init__(self, source: Source, scope: Scope, aliases: frozenset[str], functions: dict[str, DType]) -> None:
        super().__init__(source, scope, aliases, functions)
        self.assignable: set[Var] = set()
        """Variables of lets that may be assigned again, since no ``T.let`` declares them."""

    def bind(self, node: Located, name: str, value: Value) -> None:
        """Bind a name; a name of an enclosing scope is refused at ``node``."""
        with self.located(node):
            self.scope.bind(name, value)

    # -- stores and lets -------------------------------------------------------------------------------------------

    def store(self, target: ast.Subscript, value: ast.expr) -> Stmt:
        """``B[i] = e``; a literal takes the type of the buffer, a scalar fills all lanes."""
        lanes = scalable.lanes_in(self, (target, value))
        if lanes is None:
            return self._store(target, value)
        of = Var.fresh("lane", INT32)
        self.lane = of, lanes
        try:
            return scalable.over_lanes(self, target, self._store(target, value), of, lanes)
        finally:
            self.lane = None

    def _store(self, target: ast.Subscript, value: ast.expr) -> Stmt:
        selection = self.value(target)
        if not isinstance(selection, Selection):
            raise self.error(target, "only elements of buffers can be stored to")
        return self.store_to(target, selection, value)

    def store_to(self, target: Located, selection: Selection, value: ast.expr, mask: Expr | None = None) -> Stmt:
        """The store of a value to selected elements."""
        buffer = selection.buffer
        indices = self.access(target, selection)
        lanes = buffer.dtype.lanes * (indices[-1].dtype.lanes if indices else 1)
        want = buffer.dtype.with_lanes(lanes)
        made = self.number(value, want)
        stored = self.typed(value, made, want if is_plain(made) else None)
        if stored.dtype.scalar is not want.scalar and is_number(stored.dtype) and is_number(want):
            stored = cast_to(want.scalar, stored)  # as TVM does
        with self.located(target):
            return Store(buffer, broadcast_to(stored, lanes), indices, mask)

    def assignment(self, target: ast.expr, value: ast.expr) -> Piece:
        """``x = …``: a declaration of a buffer, a thread, a symbol, or a let."""
        match target, value:
            case ((ast.Tuple() | ast.List()), (ast.Tuple() | ast.List())):
                if len(target.elts) != len(value.elts):
                    raise self.error(target, f"{len(value.elts)} values for {len(target.elts)} names")
                named = {n.id for t in target.elts for n in ast.walk(t) if isinstance(n, ast.Name)}
                for v in value.elts[1:]:
                    for n in ast.walk(v):
                        if isinstance(n, ast.Name) and n.id in named:
                            raise self.error(n, f"{n.id} is assigned by the same statement; write one for each name")
                found: list[Wrapper] = []
                for t, v in zip(target.elts, value.elts, strict=True):
                    piece = self.assignment(t, v)
                    if not isinstance(piece, list):
                        raise self.error(t, "only names can be assigned together")
                    found.extend(piece)
                return found
            case ((ast.Tuple() | ast.List()), ast.Call()) if (which := self.t_name(value.func)) in IDS:
                return list(ids(self, target.elts, value, which or ""))
            case ast.Name(id=name), (ast.Call() | ast.Subscript()) if (made := view_of(self, value, name)) is not None:
                return self.declare_view(target, made)
            case ast.Name(id=name), ast.Call():
                called = self.t_name(value.func)
                if called is not None:
                    declared = self.call_assignment(target, name, value, called)
                    if declared is not None:
                        return declared
        if not isinstance(target, ast.Name):
            raise self.error(target, "only names and elements of buffers can be assigned to")
        return self.assigned(target, value, None)

    def call_assignment(self, target: ast.expr, name: str, call: ast.Call, called: str) -> Piece | None:
        """``name = T.called(…)`` where the call declares something; ``None`` if it is a plain value."""
        if called in ALLOCATIONS or called in VIEWS:
            return self.declare(target, name, call, called)
        if called in IDS:
            return list(ids(self, [target], call, called))
        if called in SCALARS:
            return declared_scalar(self, target, name, call, called)
        match called:
            case "match_buffer":
                args = match_arguments(self.source, call, MATCH_ARGS, positional=9)
                return self.match(target, name, call, args)
            case "bind" | "Bind":
                return self.old_let(target, name, call)
            case "meta_var":
                found = self.value(match_arguments(self.source, call, ("value",), 1)["value"])
                self.bind(target, name, found)
                return []
            case "launch_thread":
                return [self.launch(target, name, call)]
            case "env_thread":
                args = match_arguments(self.source, call, ("thread_tag", "dtype"), 1)
                dtype = self.dtype(args["dtype"]) if "dtype" in args else None
                self.bind(target, name, EnvThread(self.string(args["thread_tag"]), dtype))
                return []
            case "var" | "Var":
                args = match_arguments(self.source, call, ("name", "dtype", "ty"), 0, 2)
                return self.declare_symbol(target, name, self._var_type(call, args))
            case "handle":
                return self.declare_symbol(target, name, self.variable_type(call))
            case _ if is_dtype_name(called) and not call.args and not call.keywords:
                with self.located(call):
                    return self.declare_symbol(target, name, dtype_named(called))
        if called.startswith("axis."):
            raise self.error(call, f"T.{called} belongs at the head of a block")
        return None

    def _var_type(self, call: ast.Call, args: dict[str, ast.expr]) -> DType:
        """The type in ``T.Var("n", "int32")``, ``T.Var("n", ty="int32")`` and the older ``T.var("int32")``."""
        given = [args[k] for k in ("ty", "dtype") if k in args] or [args[k] for k in ("name",) if k in args]
        if len(given) != 1:
            raise self.error(call, "a variable has a name and a type")
        return self.dtype(given[0])

    def declare_symbol(self, target: Located, name: str, dtype: DType | PointerType) -> Piece:
        """``n = T.int32()``: a variable that a shape, a let or a call's ``where`` binds."""
        var = Var.fresh(name, dtype)
        self.symbols.add(var)
        self.scope.hide(name, var)  # to the end of the scope, as TVM reads it
        return []

    def let(
        self, target: Located, name: str, node: ast.expr, want: DType | PointerType | None, declared: bool = False
    ) -> Piece:
        """A let over the rest of the scope; a literal without a type is only named.

        :param declared: whether the name was declared for this, perhaps in an enclosing scope.
        """
        like = want if isinstance(want, DType) else None
        found = self.value(node, like)
        if isinstance(found, Selection) or (isinstance(found, Buffer) and like is not None and is_number(like)):
            found = self.number(node, like)
        if want is None and (isinstance(found, (int, float, str, tuple, Buffer, EnvThread))):
            self.bind(target, name, found)
            return []
        if not isinstance(found, (Expr, int, float, PlainUndef)):
            raise self.error(node, "this is not a value that a variable can have")
        with self.located(node):
            block = self.block_of(found, want)
        if block is not None:
            self.bind(target, name, block)
            return []
        value = self.typed(node, found, like)
        kind = want or pointed_to(value) or value.dtype
        var = Var.fresh(name, kind)
        if var.dtype is not value.dtype:
            raise self.error(node, f"{name} has type {kind}, its value {value.dtype}")
        if declared:
            self.scope.hide(name, var)
        else:
            self.bind(target, name, var)
        return [lambda body: LetStmt(var, value, body)]

    def assigned(self, target: ast.Name, node: ast.expr, want: DType | None) -> Piece:
        """``x = e`` or ``x: T.int32 = e``: a let, or a store to a scalar (``scalars`` says when that is needed).

        A name keeps the type that its first value has; further values are converted to it, as TVM does.
        """
        before = self.scope.find(target.id) if self.scope.has(target.id) else None
        if isinstance(before, Buffer) and (before in self.scalars or (want is None and self.is_number(node))):
            if not is_one_element(before):
                raise self.error(target, f"{target.id} is a buffer; its elements are stored to by {target.id}[…] = …")
            return self.store_to(target, Selection(before, (const(0),)), node)
        updated = id(target) in self.updated
        here = self.scope.frames[-1].get(target.id)
        if want is None:
            if isinstance(here, (int, float)):
                want = typed(here, None).dtype
            elif isinstance(here, Var) and (here in self.assignable or (updated and here in self.symbols)):
                want = here.dtype
        found = self.value(node, want)
        if isinstance(found, Selection):
            found = self.load(node, found)
        plain = isinstance(found, (int, float)) and not updated
        if not is_a_number(found) or (plain and (want is None or (not isinstance(found, Expr) and before is None))):
            return self.let(target, target.id, node, want)
        assert isinstance(found, (Expr, int, float))
        value = self.typed(node, found, want)
        with self.located(node):
            value = value if want is None else broadcast_to(cast_to(want.scalar, value), want.lanes)
        if want is not None and value.dtype is not want:
            raise self.error(node, f"{target.id} has type {want}, its value {value.dtype}")
        if updated:
            buffer = Buffer.declare(target.id, (const(1),), value.dtype, scope="local")
            self.scalars.add(buffer)
            self.bind(target, target.id, buffer)
            return [lambda body: Allocate(buffer, seq(Store(buffer, value, (const(0),)), body))]
        var = Var.fresh(target.id, value.dtype)
        self.assignable.add(var)
        self.bind(target, target.id, var)
        return [lambda body: LetStmt(var, value, body)]

    def old_let(self, target: Located, name: str, call: ast.Call) -> Piece:
        """``x = T.Bind(value, type)`` and ``with T.LetStmt(value, type) as x``; ``var=x`` names a declared variable."""
        args = match_arguments(self.source, call, ("value", "type_annotation", "var"), 1, 2)
        want = self.variable_type(args["type_annotation"]) if "type_annotation" in args else None
        if "var" in args:
            declared = self.value(args["var"])
            if not (isinstance(args["var"], ast.Name) and isinstance(declared, Var) and declared in self.symbols):
                raise self.error(args["var"], "var= names a variable that is declared and has no value yet")
            want = want or declared.type
            if name not in ("_", args["var"].id):
                raise self.error(args["var"], f"the variable would have two names, {args['var'].id} and {name}")
            name = args["var"].id
        return self.let(target, name, args["value"], want or self.literal_type(args["value"]), "var" in args)

    def annotated(self, node: ast.AnnAssign, target: ast.Name) -> Piece:
        """``x: T.let[T.int32] = e``, ``x: T.let = e``, ``x: T.int32 = e``, ``x: T.float32[4]``."""
        annotation = node.annotation
        want: DType | PointerType | None = None
        if isinstance(annotation, ast.Subscript) and self.t_name(annotation.value) in ("let", "Let"):
            want = self.variable_type(annotation.slice)
        elif isinstance(annotation, ast.Subscript):
            if node.value is not None:
                raise self.error(node.value, "a local array is declared without a value")
            dtype, shape = self.dtype(annotation.value), self.extents(annotation.slice)
            with self.located(annotation):
                buffer = Buffer.declare(target.id, shape, dtype, scope="local")
            return self.allocate(target, buffer, ())
        elif self.t_name(annotation) not in ("let", "Let"):
            want = self.variable_type(annotation)
            if node.value is None and isinstance(want, DType) and is_number(want):
                return scalar_memory(self, target, Buffer.declare(target.id, (const(1),), want, scope="local"))
            if node.value is None:
                return self.declare_symbol(target, target.id, want)
            if isinstance(want, DType) and is_number(want):
                return self.assigned(target, node.value, want)
        if node.value is None:
            raise self.error(node, "a let needs a value")
        return self.let(target, target.id, node.value, want or self.literal_type(node.value))

    def literal_type(self, node: ast.expr) -> DType | None:
        """The type of a literal, so that a let of it stays a let; ``None`` for anything else."""
        found = self.value(node)
        return typed(found, None).dtype if isinstance(found, (int, float)) else None

    def variable_type(self, node: ast.expr) -> DType | PointerType:
        """``T.int32``, ``T.handle``, ``T.handle("float32", "shared")``."""
        if isinstance(node, ast.Call) and self.t_name(node.func) == "TensorMap":
            match_arguments(self.source, node, ())
            return TENSOR_MAP
        if isinstance(node, ast.Call) and self.t_name(node.func) == "handle":
            args = match_arguments(self.source, node, ("dtype", "storage_scope"))
            match args:
                case {"dtype": ast.Constant(value="tensormap")} if len(args) == 1:
                    return TENSOR_MAP
            if "dtype" not in args and "storage_scope" not in args:
                return HANDLE
            scope = self.string(args["storage_scope"]) if "storage_scope" in args else "global"
            element = self.dtype(args["dtype"]) if "dtype" in args else VOID
            return HANDLE if element is VOID and scope == "global" else PointerType(element, scope)
        return self.dtype(node)

    # -- buffers ---------------------------------------------------------------------------------------------------

    def declare(self, target: Located, name: str, call: ast.Call, called: str) -> Piece:
        """``B = T.alloc_buffer(…)`` or ``B = T.decl_buffer(…)``, over the rest of the scope."""
        if called == "allocate":
            return self.old_allocate(target, name, call)
        computed = next((k for k in call.keywords if k.arg == "data" and self._is_computed(k.value)), None)
        if computed is not None and called in VIEWS:  # the pointer gets a name of its own
            pointer = f"{name}_data"
            what = self.value(computed.value.args[0]) if isinstance(computed.value, ast.Call) else None
            kind = PointerType(INT64) if what == "shape" else HANDLE
            bound = self.let(computed.value, pointer, computed.value, kind)
            given = ast.copy_location(ast.Name(pointer, ast.Load()), computed.value)
            rest = [ast.keyword("data", given) if k is computed else k for k in call.keywords]
            again = self.declare(target, name, ast.copy_location(ast.Call(call.func, call.args, rest), call), called)
            return [*bound, *again] if isinstance(bound, list) and isinstance(again, list) else again
        layout, args = self.declaration(call, BUFFER_ARGS if called in VIEWS else ALLOC_ARGS)
        implied = ALLOCATIONS.get(called)
        if implied is not None and "scope" not in args:
            layout.scope = implied
        if called in VIEWS and layout.data is not None:
            return self.declare_view(target, self.make(call, name, layout))
        if layout.data is not None:
            raise self.error(args["data"], "an allocation has no data of its own yet; use T.decl_buffer")
        annotations = self.annotations(args["annotations"]) if "annotations" in args else ()
        made = self.make(call, name, layout)
        if called in VIEWS:
            self.unallocated.add(made.data)
        return self.allocate(target, made, annotations)

    def _is_computed(self, node: ast.expr) -> bool:
        """Whether ``data=`` is a pointer that TVM's runtime gives."""
        return isinstance(node, ast.Call) and self.t_name(node.func) == "tvm_stack_alloca"

    def allocated(self, call: ast.Call) -> Stmt:
        """RFC 63's ``Allocate(A.data, [16], "float32")`` of a buffer that was declared without data: it has its own."""
        args = match_arguments(self.source, call, ("buffer_var", "extents", "dtype"), 3)
        pointer, _ = self.data_pointer(args["buffer_var"], self.dtype(args["dtype"]))
        if pointer not in self.unallocated:
            raise self.error(args["buffer_var"], f"{pointer.name} has memory already, or is declared somewhere else")
        buffer = next(b for b in self.scope.buffers() if b.data is pointer)
        size = as_expr(math.prod(buffer.shape, start=const(1)))
        given = as_expr(math.prod(self.extents(args["extents"]), start=const(1)))
        if constant_difference(size, given) != 0 or self.dtype(args["dtype"]) is not buffer.dtype:
            raise self.error(call, f"{buffer.name} needs {buffer.dtype} for as many elements as its shape has")
        self.unallocated.discard(pointer)
        return SKIP

    def old_allocate(self, target: Located, name: str, call: ast.Call) -> Piece:
        """``A = T.allocate([16], "float32", "global")``: the name stands for block and flat buffer alike."""
        args = match_arguments(self.source, call, ("extents", "dtype", "scope", "condition", "annotations"), 2)
        scope = self.string(args["scope"]) if "scope" in args else "global"
        if "condition" in args and self.value(args["condition"]) is not True:
            raise self.error(args["condition"], "a conditional allocation cannot be represented")
        buffer = Buffer.declare(name, self.extents(args["extents"]), self.dtype(args["dtype"]), scope=scope)
        annotations = self.annotations(args["annotations"]) if "annotations" in args else ()
        return self.allocate(target, buffer, annotations)

    def allocate(self, target: Located, buffer: Buffer, annotations: object) -> Piece:
        """Allocate over the rest of the scope."""
        made = annotations if isinstance(annotations, tuple) else ()
        self.bind(target, buffer.name, buffer)
        return [lambda body: Allocate(buffer, body, made)]

    def declare_view(self, target: Located, buffer: Buffer) -> Piece:
        """Declare a view over the rest of the scope."""
        self.bind(target, buffer.name, buffer)
        return [lambda body: DeclBuffer(buffer, body)]

    def match(self, target: Located, name: str, call: ast.Call, args: dict[str, ast.expr]) -> Piece:
        """``T.match_buffer`` below function level: a view of a region."""
        if "param" not in args:
            raise self.error(call, "T.match_buffer inside a function takes a region of a buffer")
        found = self.match_region(call, name, args)
        self.bind(target, name, found.buffer)
        return [lambda body: substitute(DeclBuffer(found.buffer, body), found.symbols)]

    def launch(self, target: Located, name: str, call: ast.Call) -> Wrapper:
        """``bx = T.launch_thread("blockIdx.x", n)``: a loop bound to a thread, over the rest of the scope."""
        raise self.error(call, "a thread cannot be launched here")
