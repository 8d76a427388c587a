"""Statements of the text.

Some statements bind a name to the end of the enclosing scope (``B = T.alloc_buffer(…)``, ``x: T.let[T.int32] = …``).
They are read as *wrappers*: functions from the statements that follow to one statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Expr, Var, const
from verified_tir.ir.node import IRError
from verified_tir.ir.script.annotations import AnnotationParser
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.buffers import BUFFER_ARGS, MATCH_ARGS
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.source import Located, ScriptError
from verified_tir.ir.script.values import EnvThread, PlainUndef, Selection, Value, broadcast_to, is_plain, typed
from verified_tir.ir.stmt import (
    SKIP,
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    If,
    LetStmt,
    Stmt,
    Store,
    While,
    seq,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Wrapper: TypeAlias = Callable[[Stmt], Stmt]
Piece: TypeAlias = "Stmt | list[Wrapper]"

ALLOCATIONS = {
    "alloc_buffer": None, "sblock_alloc_buffer": None, "alloc_local": "local", "alloc_shared": "shared",
    "allocate": None,
}  # fmt: skip
"""Calls that make a fresh block, with the scope that the name implies."""
VIEWS = frozenset({"decl_buffer", "buffer_decl", "Buffer"})
"""Calls that declare a view (or, without ``data=``, allocate)."""
HEAD_ONLY = frozenset({"reads", "writes", "where", "init", "sblock_attr", "block_attr"})
"""Calls that belong at the head of a block."""


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


class StmtParser(AnnotationParser):
    """Reads statements; loops and blocks are read by its subclasses."""

    # -- bodies ----------------------------------------------------------------------------------------------------

    def body(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """The statements of one scope."""
        with self.scope.frame():
            return self.statements(nodes)

    def statements(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """The statements, in the scope as it is."""
        pieces: list[Piece] = []
        for node in nodes:
            with self.located(node):
                pieces.append(self.statement(node))
        return assemble(pieces)

    @contextmanager
    def located(self, node: Located) -> Iterator[None]:
        """Reports what the IR refuses inside at ``node``."""
        try:
            yield
        except ScriptError:
            raise
        except IRError as e:
            raise self.error(node, str(e)) from None

    def bind(self, node: Located, name: str, value: Value) -> None:
        """Bind a name; a name of an enclosing scope is refused at ``node``."""
        with self.located(node):
            self.scope.bind(name, value)

    def statement(self, node: ast.stmt) -> Piece:
        """One statement, or the wrappers that it stands for."""
        match node:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self.store(target, value)
            case ast.Assign(targets=[target], value=value):
                return self.assignment(target, value)
            case ast.AnnAssign(target=ast.Name() as target):
                return self.annotated(node, target)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                sum_ = ast.BinOp(target, op, value, lineno=node.lineno, col_offset=node.col_offset)
                return self.store(target, sum_)
            case ast.AugAssign():
                raise self.error(node, "only elements of buffers can be updated in place; a variable is bound once")
            case ast.Expr(value=value):
                return self.expression(node, value)
            case ast.If(test=test, body=body, orelse=orelse):
                condition = self.condition(test)
                return If(condition, self.body(body), self.body(orelse) if orelse else None)
            case ast.While(test=test, body=body, orelse=[]):
                return While(self.condition(test), self.body(body))
            case ast.Assert(test=test, msg=msg):
                return Assert(self.condition(test), self.message(msg))
            case ast.For():
                return self.loop(node)
            case ast.With():
                return self.with_items(node, list(node.items))
            case ast.Pass():
                return SKIP
            case ast.Break() | ast.Continue():
                raise self.error(node, "leaving a loop early has no meaning here")
            case ast.Return():
                raise self.error(node, "a return may only end the function")
        raise self.error(node, f"{type(node).__name__} has no meaning as a statement of TVMScript")

    def loop(self, node: ast.For) -> Stmt:
        """A ``for`` statement."""
        raise self.error(node, "a loop cannot stand here")

    def block(self, node: ast.With, call: ast.Call) -> Stmt:
        """``with T.sblock(name): …``."""
        raise self.error(node, "a block cannot stand here")

    def message(self, node: ast.expr | None) -> str:
        """The message of an assertion: a string, or TVM's ``("RuntimeError", ["part", …])``."""
        match node:
            case None:
                return ""
            case ast.Tuple(elts=[_, ast.List(elts=parts)]):
                return "".join(self.string(p) for p in parts)
        return self.string(node)

    # -- stores and bindings ---------------------------------------------------------------------------------------

    def store(self, target: ast.Subscript, value: ast.expr) -> Stmt:
        """``B[i] = e``; a literal takes the type of the buffer, a scalar fills all lanes."""
        selection = self.value(target)
        if not isinstance(selection, Selection):
            raise self.error(target, "only elements of buffers can be stored to")
        buffer = selection.buffer
        indices = self.access(target, selection)
        lanes = buffer.dtype.lanes * (indices[-1].dtype.lanes if indices else 1)
        want = buffer.dtype.with_lanes(lanes)
        made = self.number(value, want)
        stored = self.typed(value, made, want if is_plain(made) else None)
        with self.located(target):
            return Store(buffer, broadcast_to(stored, lanes), indices)

    def assignment(self, target: ast.expr, value: ast.expr) -> Piece:
        """``x = …``: a declaration of a buffer, a thread, a symbol, or a let."""
        match target, value:
            case ((ast.Tuple() | ast.List()), (ast.Tuple() | ast.List())):
                if len(target.elts) != len(value.elts):
                    raise self.error(target, f"{len(value.elts)} values for {len(target.elts)} names")
                found: list[Wrapper] = []
                for t, v in zip(target.elts, value.elts, strict=True):
                    piece = self.assignment(t, v)
                    found.extend(piece if isinstance(piece, list) else [])
                return found
            case ast.Name(id=name), ast.Call(func=ast.Attribute(value=inner, attr="view")) if (
                self.t_name(value.func) is None
            ):
                base = self.value(inner)
                if not isinstance(base, Buffer):
                    raise self.error(inner, "only a buffer has views")
                return self.declare_view(target, self.view(value, name, base))
            case ast.Name(id=name), ast.Call():
                called = self.t_name(value.func)
                if called is not None:
                    declared = self.call_assignment(target, name, value, called)
                    if declared is not None:
                        return declared
        if not isinstance(target, ast.Name):
            raise self.error(target, "only names and elements of buffers can be assigned to")
        return self.let(target, target.id, value, None)

    def call_assignment(self, target: ast.expr, name: str, call: ast.Call, called: str) -> Piece | None:
        """``name = T.called(…)`` where the call declares something; ``None`` if it is a plain value."""
        if called in ALLOCATIONS or called in VIEWS:
            return self.declare(target, name, call, called)
        match called:
            case "match_buffer":
                args = match_arguments(self.source, call, MATCH_ARGS)
                return self.match(target, name, call, args)
            case "bind" | "Bind":
                return self.let(target, name, match_arguments(self.source, call, ("value", "var"), 1)["value"], None)
            case "meta_var":
                found = self.value(match_arguments(self.source, call, ("value",), 1)["value"])
                self.bind(target, name, found)
                return []
            case "launch_thread":
                return [self.launch(target, name, call)]
            case "env_thread":
                tag = self.string(match_arguments(self.source, call, ("thread_tag", "dtype"), 1)["thread_tag"])
                self.bind(target, name, EnvThread(tag))
                return []
            case "var" | "Var":
                args = match_arguments(self.source, call, ("dtype", "name"), 1)
                return self.declare_symbol(target, name, self.dtype(args["dtype"]))
            case _ if is_dtype_name(called) and not call.args and not call.keywords:
                with self.located(call):
                    return self.declare_symbol(target, name, dtype_named(called))
        if called.startswith("axis."):
            raise self.error(call, f"T.{called} belongs at the head of a block")
        return None

    def declare_symbol(self, target: Located, name: str, dtype: DType) -> Piece:
        """``n = T.int32()``: a variable that a shape, a let or a call's ``where`` binds."""
        self.bind(target, name, Var.fresh(name, dtype))
        return []

    def let(self, target: Located, name: str, node: ast.expr, want: DType | None) -> Piece:
        """A let over the rest of the scope; a literal without a type is only named."""
        found = self.value(node, want)
        if isinstance(found, Selection):
            found = self.load(node, found)
        if want is None and (isinstance(found, (int, float, str, tuple, Buffer, EnvThread))):
            self.bind(target, name, found)
            return []
        if not isinstance(found, (Expr, int, float, PlainUndef)):
            raise self.error(node, "this is no value that a variable can have")
        value = self.typed(node, found, want)
        if want is not None and value.dtype is not want:
            raise self.error(node, f"{name} has type {want}, its value {value.dtype}")
        kind = value.type if isinstance(value, Var) else value.dtype
        var = Var.fresh(name, kind if isinstance(kind, PointerType) else value.dtype)
        self.bind(target, name, var)
        return [lambda body: LetStmt(var, value, body)]

    def annotated(self, node: ast.AnnAssign, target: ast.Name) -> Piece:
        """``x: T.let[T.int32] = e``, ``x: T.let = e``, ``x: T.int32 = e``, ``x: T.float32[4]``."""
        annotation = node.annotation
        if self.t_name(annotation) in ("let", "Let"):
            if node.value is None:
                raise self.error(node, "a let needs a value")
            return self.let_typed(target, node.value, None)
        if isinstance(annotation, ast.Subscript) and self.t_name(annotation.value) in ("let", "Let"):
            annotation = annotation.slice
        elif isinstance(annotation, ast.Subscript) and node.value is None:
            dtype, shape = self.dtype(annotation.value), self.extents(annotation.slice)
            buffer = Buffer.declare(target.id, shape, dtype, scope="local")
            return self.allocate(target, buffer, ())
        if isinstance(annotation, ast.Call) and self.t_name(annotation.func) == "handle":
            if node.value is None:
                raise self.error(node, "a let needs a value")
            return self.let_typed(target, node.value, None)
        dtype = self.dtype(annotation)
        if node.value is None:
            return self.declare_symbol(target, target.id, dtype)
        return self.let_typed(target, node.value, dtype)

    def let_typed(self, target: ast.Name, value: ast.expr, want: DType | None) -> Piece:
        """A let that is one even if its value is a literal."""
        if want is None:
            found = self.value(value)
            if isinstance(found, (int, float)):
                want = typed(found, None).dtype
        return self.let(target, target.id, value, want)

    # -- buffers ---------------------------------------------------------------------------------------------------

    def declare(self, target: Located, name: str, call: ast.Call, called: str) -> Piece:
        """``B = T.alloc_buffer(…)`` or ``B = T.decl_buffer(…)``, over the rest of the scope."""
        if called == "allocate":
            return self.old_allocate(target, name, call)
        layout, args = self.declaration(call, BUFFER_ARGS)
        implied = ALLOCATIONS.get(called)
        if implied is not None and "scope" not in args:
            layout.scope = implied
        if called in VIEWS and layout.data is not None:
            return self.declare_view(target, self.make(call, name, layout))
        if layout.data is not None:
            raise self.error(args["data"], "an allocation has no data of its own yet; use T.decl_buffer")
        annotations = self.annotations(args["annotations"]) if "annotations" in args else ()
        return self.allocate(target, self.make(call, name, layout), annotations)

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
        return self.declare_view(target, self.match_region(call, name, args))

    # -- expression statements and with ------------------------------------------------------------------------------

    def expression(self, node: ast.Expr, value: ast.expr) -> Piece:
        """A statement that is an expression: a directive, or an evaluation for its effect."""
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is Ellipsis):
            return SKIP
        name = self.t_name(value.func) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and name is not None:
            match name:
                case "evaluate" | "Evaluate":
                    inner = match_arguments(self.source, value, ("value",), 1)["value"]
                    return self.evaluated(inner)
                case "assume":
                    inner = match_arguments(self.source, value, ("condition",), 1)["condition"]
                    return Assume(self.condition(inner))
                case "attr":
                    return self.attributes(value)
                case "launch_thread":
                    return [self.launch(node, thread_name(value), value)]
                case "buffer_store" | "BufferStore":
                    return self.old_store(value)
                case "Assert":
                    args = match_arguments(self.source, value, ("condition", "message"), 1)
                    return Assert(self.condition(args["condition"]), self.message(args.get("message")))
                case "func_attr":
                    raise self.error(value, "T.func_attr stands at the head of a function")
                case _ if name in HEAD_ONLY:
                    raise self.error(value, f"T.{name} belongs at the head of a block")
        return self.evaluated(value)

    def evaluated(self, node: ast.expr) -> Stmt:
        """Evaluation for its effect; here an unknown call may stand."""
        self.opaque_depth += 1
        try:
            return Evaluate(self.expr(node))
        finally:
            self.opaque_depth -= 1

    def old_store(self, call: ast.Call) -> Stmt:
        """``T.buffer_store(B, value, [i, j])``."""
        args = match_arguments(self.source, call, ("buffer", "value", "indices"), 3)
        indices = args["indices"]
        parts = indices.elts if isinstance(indices, (ast.List, ast.Tuple)) else [indices]
        inner: ast.expr = ast.Tuple(parts, ast.Load(), lineno=call.lineno, col_offset=call.col_offset)
        target = ast.Subscript(args["buffer"], inner, ast.Store(), lineno=call.lineno, col_offset=call.col_offset)
        return self.store(target, args["value"])

    def attributes(self, call: ast.Call) -> list[Wrapper]:
        """``T.attr(node, key, value)`` or ``T.attr({key: value, …})``."""
        if len(call.args) == 1 and isinstance(call.args[0], ast.Dict) and not call.keywords:
            found = []
            for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
                if key is None:
                    raise self.error(call, "** has no meaning here")
                found.append(self.attribute(const(0), self.string(key), value))
            return found
        args = match_arguments(self.source, call, ("node", "attr_key", "value"), 3)
        node = self.value(args["node"])
        about = node if isinstance(node, str) else self.argument(args["node"])
        return [self.attribute(about, self.string(args["attr_key"]), args["value"])]

    def attribute(self, about: Expr | str, key: str, value: ast.expr) -> Wrapper:
        """One attribute over the rest of the scope."""
        made = self.argument(value)
        return lambda body: AttrStmt(key, about, made, body)

    def with_items(self, node: ast.With, items: list[ast.withitem]) -> Stmt:
        """``with a, b: …``, the first item outermost."""
        item, rest = items[0], items[1:]
        call = item.context_expr
        name = self.t_name(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or name is None:
            raise self.error(call, "with takes T.sblock, T.init, T.attr, T.launch_thread and the like")
        if name in ("sblock", "block"):
            if rest:
                raise self.error(rest[0].context_expr, "a block stands alone in its with")
            return self.block(node, call)
        with self.scope.frame():
            wrappers = self.with_call(item, call, name)
            body = self.with_items(node, rest) if rest else self.body(node.body)
            return assemble([wrappers, body])

    def with_call(self, item: ast.withitem, call: ast.Call, name: str) -> list[Wrapper]:
        """What ``with T.name(…) as x`` puts around its body."""
        target = item.optional_vars
        bound = target.id if isinstance(target, ast.Name) else "_"
        place: Located = target or call
        piece: Piece | None = None
        match name:
            case "attr":
                return self.attributes(call)
            case "launch_thread":
                return [self.launch(place, thread_name(call) if target is None else bound, call)]
            case "LetStmt":
                args = match_arguments(self.source, call, ("value", "type_annotation", "var"), 1)
                piece = self.let(place, bound, args["value"], typed_or_none(self, args["value"]))
            case "let" | "Let":
                args = match_arguments(self.source, call, ("var", "value"), 2)
                if isinstance(args["var"], ast.Name):
                    piece = self.let(args["var"], args["var"].id, args["value"], typed_or_none(self, args["value"]))
            case "Assert":
                args = match_arguments(self.source, call, ("condition", "message"), 1)
                check = Assert(self.condition(args["condition"]), self.message(args.get("message")))
                return [lambda body: seq(check, body)]
            case _ if name in ALLOCATIONS or name in VIEWS:
                piece = self.declare(place, bound, call, name)
            case "init":
                raise self.error(call, "T.init belongs at the head of a block")
        if not isinstance(piece, list):
            raise self.error(call, f"T.{name} has no meaning in a with")
        return piece

    def launch(self, target: Located, name: str, call: ast.Call) -> Wrapper:
        """``bx = T.launch_thread("blockIdx.x", n)``: a loop bound to a thread, over the rest of the scope."""
        raise self.error(call, "a thread cannot be launched here")


def thread_name(call: ast.Call) -> str:
    """The name that ``T.launch_thread(thread, n)`` binds when none is given: that of the ``T.env_thread``."""
    return call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else "_"


def typed_or_none(parser: StmtParser, node: ast.expr) -> DType | None:
    """The type of a literal, so that a let of it stays a let."""
    found = parser.value(node)
    return typed(found, None).dtype if isinstance(found, (int, float)) else None
