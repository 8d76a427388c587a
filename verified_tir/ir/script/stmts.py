"""Statements of the text, loops and blocks excepted."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from verified_tir.ir.expr import TRUE, Binary, Call, Expr, Var
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.bindings import ALLOCATIONS, VIEWS, BindingParser, Piece, Wrapper, assemble
from verified_tir.ir.script.calls import HEAD_ONLY
from verified_tir.ir.script.device import ENTRY, ENTRY_KEY, HINT, IDS, device_statement, entry, hint
from verified_tir.ir.script.linear import same_value
from verified_tir.ir.script.opaque import REDUCER
from verified_tir.ir.script.source import Located
from verified_tir.ir.script.values import EnvThread, condition
from verified_tir.ir.stmt import SKIP, Assert, Assume, AttrStmt, Evaluate, If, Stmt, While, seq
from verified_tir.ir.sugar import const

NAMELESS_WITH = frozenset({"attr", "hint", "Assert", "let", "Let"})
"""What stands in a ``with`` and gives nothing a name."""


class StmtParser(BindingParser):
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
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                sum_ = ast.BinOp(target, op, value, lineno=node.lineno, col_offset=node.col_offset)
                return self.assignment(target, sum_)
            case ast.AugAssign():
                raise self.error(node, "only variables and elements of buffers can be updated in place")
            case ast.Expr(value=value):
                return self.expression(node, value)
            case ast.If(test=test, body=body, orelse=orelse):
                condition = self.truth(test)
                return If(condition, self.body(body), self.body(orelse) if orelse else None)
            case ast.While(test=test, body=body, orelse=[]):
                return While(self.truth(test), self.body(body))
            case ast.Assert(test=test, msg=msg):
                return self.assertion(test, self.message(msg))
            case ast.For():
                return self.loop(node)
            case ast.With():
                return self.with_items(node, list(node.items))
            case ast.Pass():
                return SKIP
            case ast.Break() | ast.Continue():
                raise self.error(node, "there is no loop around it that could be left")
            case ast.Return():
                raise self.error(node, "a return cannot stand here")
        raise self.error(node, f"{type(node).__name__} has no meaning as a statement of TVMScript")

    def loop(self, node: ast.For) -> Stmt:
        """A ``for`` statement."""
        raise self.error(node, "a loop cannot stand here")

    def block(self, node: ast.With, call: ast.Call) -> Stmt:
        """``with T.sblock(name): …``."""
        raise self.error(node, "a block cannot stand here")

    def assertion(self, test: ast.expr, message: str) -> Stmt:
        """``assert``: what it says about types (RFC 39 and 63) is known here, and no statement is left of it."""
        said = self.typing(test)
        if said is None:
            return Assert(self.condition(test), message)
        if not said and isinstance(test, ast.Compare):
            found = [self.value(e) for e in (test.left, *test.comparators)]
            types = " and ".join(str(e) for e in found)
            raise self.error(test, f"this does not hold: the dtypes are {types}")
        return SKIP

    def truth(self, node: ast.expr) -> Expr:
        """The condition of ``if`` and ``while``: a bool, or an integer, which TVM takes for true unless it is 0."""
        found = self.number(node)
        if isinstance(found, Expr) and found.dtype.is_int and found.dtype.lanes == 1:
            return Binary("ne", found, const(0, found.dtype))
        with self.located(node):
            return condition(found)

    def message(self, node: ast.expr | None) -> str:
        """The message of an assertion: a string, or TVM's ``("RuntimeError", ["part", …])``."""
        match node:
            case None:
                return ""
            case ast.Tuple(elts=[_, ast.List(elts=parts)]):
                return "".join(self.string(p) for p in parts)
        return self.string(node)

    # -- expression statements and with ------------------------------------------------------------------------------

    def expression(self, node: ast.Expr, value: ast.expr) -> Piece:
        """A statement that is an expression: a directive, or an evaluation for its effect."""
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is Ellipsis):
            return SKIP
        match value:
            case ast.Call(func=ast.Attribute(value=buffer, attr="vstore")):
                return self.vector_store(value, buffer)
        name = self.t_name(value.func) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and (name == "Allocate" or _is_plain(value.func, "Allocate")):
            return self.allocated(value)
        if isinstance(value, ast.Call) and (name in IDS or name in (ENTRY, HINT)):
            return device_statement(self, value, name or "")
        if isinstance(value, ast.Call) and name is not None:
            match name:
                case "evaluate" | "Evaluate":
                    inner = match_arguments(self.source, value, ("value",), 1)["value"]
                    if isinstance(inner, ast.Call) and self.t_name(inner.func) == "assume":
                        return self.expression(node, inner)
                    return self.evaluated(inner)
                case "assume":
                    inner = match_arguments(self.source, value, ("condition",), 1)["condition"]
                    return Assume(self.condition(inner))
                case "bind" | "Bind":
                    return self.old_let(node, "_", value)
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

    def vector_store(self, call: ast.Call, buffer: ast.expr) -> Stmt:
        """``B.vstore([i], value, predicate=p)``: lanes of the index where the predicate is false are not stored."""
        args = match_arguments(self.source, call, ("begin", "value", "predicate"), 2)
        return self.store_to(call, self.selection(self.buffer(buffer), args["begin"]), args["value"],
                             self.mask(args.get("predicate")))  # fmt: skip

    def attributes(self, call: ast.Call) -> list[Wrapper]:
        """``T.attr(node, key, value)`` or ``T.attr({key: value, …})``."""
        if len(call.args) == 1 and isinstance(call.args[0], ast.Dict) and not call.keywords:
            found = []
            for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
                if key is None:
                    raise self.error(call, "** has no meaning here")
                found.append(self.attribute(const(0), self.string(key), value))
            return found
        return [self.one_attribute(call)]

    def one_attribute(self, call: ast.Call) -> Wrapper:
        """``T.attr(node, key, value)``: a thread that is bound, or an attribute about a literal or an expression."""
        args = match_arguments(self.source, call, ("node", "attr_key", "value"), 3)
        key = self.string(args["attr_key"])
        if key == "thread_extent":
            thread = self.thread_of(args["node"], args["value"])
            if thread is not None:
                return self.bind_thread(args["node"], *thread, args["value"])
        literal = self.literal(args["node"])
        if literal is not None:
            if isinstance(literal, Call) and literal.op == REDUCER:
                self.scope.hide(REDUCER, literal)
            return self.attribute(literal, key, args["value"])
        node = self.value(args["node"])
        about = node if isinstance(node, str) else self.argument(args["node"])
        return self.attribute(about, key, args["value"])

    def attribute(self, about: Expr | str, key: str, value: ast.expr) -> Wrapper:
        """One attribute over the rest of the scope."""
        if key == ENTRY_KEY:
            begin = entry(self, value)
            if self.value(value) not in (1, TRUE):
                raise self.error(value, "the attribute that begins a program of a device is True")
            return lambda body: seq(begin, body)
        made = self.literal(value) or self.argument(value)
        return lambda body: AttrStmt(key, about, made, body)

    def thread_of(self, node: ast.expr, extent: ast.expr) -> tuple[str, EnvThread] | None:
        """The thread that ``T.attr(thread, "thread_extent", n)`` binds, with its name; ``None`` for anything else.

        It is a ``T.env_thread``, or ``T.iter_var(tx, T.Range(0, n), "ThreadIndex", "threadIdx.x")``.
        """
        if isinstance(node, ast.Name) and self.scope.has(node.id):
            found = self.scope.find(node.id)
            return (node.id, found) if isinstance(found, EnvThread) else None
        if not isinstance(node, ast.Call) or self.t_name(node.func) != "iter_var":
            return None
        args = match_arguments(self.source, node, ("var", "dom", "iter_type", "thread_tag"), 1, 4)
        var = self.value(args["var"])
        if not isinstance(args["var"], ast.Name) or not isinstance(var, Var) or var not in self.symbols:
            raise self.error(args["var"], "the variable of a thread is declared by T.int32() and has no value yet")
        if "iter_type" not in args or self.string(args["iter_type"]) != "ThreadIndex" or "thread_tag" not in args:
            raise self.error(node, 'a thread is an axis of type "ThreadIndex" with the tag of the thread')
        match args.get("dom"):
            case None:
                pass
            case ast.Call(args=[low, high]) if same_value(self.expr(low), const(0, var.dtype)) and same_value(
                self.expr(high), self.expr(extent, var.dtype)
            ):
                pass
            case other:
                raise self.error(other, "the domain of a thread runs from 0 to the extent that the attribute says")
        return args["var"].id, EnvThread(self.string(args["thread_tag"]), var.dtype)

    def bind_thread(self, target: Located, name: str, thread: EnvThread, extent: ast.expr) -> Wrapper:
        """A loop bound to a thread, over the rest of the scope."""
        raise self.error(target, "a thread cannot be launched here")

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
            if item.optional_vars is not None:
                raise self.error(item.optional_vars, "a block gives nothing that could be named so")
            return self.block(node, call)
        with self.scope.frame():
            wrappers = self.with_call(item, call, name)
            body = self.with_items(node, rest) if rest else self.body(node.body)
            return assemble([wrappers, body])

    def with_call(self, item: ast.withitem, call: ast.Call, name: str) -> list[Wrapper]:
        """What ``with T.name(…) as x`` puts around its body."""
        target = item.optional_vars
        if target is not None and (
            not isinstance(target, ast.Name) or name in ("attr", "hint", "Assert", "let", "Let")
        ):
            raise self.error(target, f"T.{name} gives nothing that could be named so")
        bound = target.id if isinstance(target, ast.Name) else "_"
        place: Located = target or call
        piece: Piece | None = None
        match name:
            case "attr":
                return self.attributes(call)
            case "hint":
                return [hint(self, call)]
            case "launch_thread":
                return [self.launch(place, thread_name(call) if target is None else bound, call)]
            case "LetStmt":
                piece = self.old_let(place, bound, call)
            case "let" | "Let":
                args = match_arguments(self.source, call, ("var", "value"), 2)
                if isinstance(args["var"], ast.Name):
                    piece = self.let(args["var"], args["var"].id, args["value"], self.literal_type(args["value"]))
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


def thread_name(call: ast.Call) -> str:
    """The name that ``T.launch_thread(thread, n)`` binds when none is given: that of the ``T.env_thread``."""
    return call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else "_"


def _is_plain(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
