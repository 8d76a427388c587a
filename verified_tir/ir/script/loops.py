"""Loops and blocks of the text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import TRUE, Expr, IntImm, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.bindings import Wrapper, assemble
from verified_tir.ir.script.buffers import ALLOC_ARGS, MATCH_ARGS
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.linear import extent_between
from verified_tir.ir.script.opaque import spread
from verified_tir.ir.script.regions import Matched
from verified_tir.ir.script.source import Located
from verified_tir.ir.script.stmts import StmtParser
from verified_tir.ir.script.values import EnvThread, Plain, converted, is_plain, matched, typed, unified
from verified_tir.ir.stmt import (
    Annotations,
    Block,
    DeclBuffer,
    For,
    ForKind,
    IterKind,
    IterVar,
    LetStmt,
    Region,
    Stmt,
)
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import substitute

LOOP_KINDS: dict[str, ForKind] = {
    "serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled",
    "unrolled": "unrolled", "thread_binding": "thread_binding",
}  # fmt: skip
AXIS_KINDS: dict[str, IterKind] = {
    "spatial": "spatial", "S": "spatial", "reduce": "reduce", "R": "reduce", "opaque": "opaque", "O": "opaque",
}  # fmt: skip


@final
@dataclass(slots=True)
class _Domain:
    """What stands behind ``in`` of a loop: one variable's range and kind."""

    min: Expr
    extent: Expr
    kind: ForKind = "serial"
    thread: str = ""
    annotations: Annotations = ()
    step: int = 1


@final
@dataclass(slots=True)
class _Head:
    """The head of a block, while it is read."""

    name: str
    iter_vars: list[IterVar] = field(default_factory=list)
    predicate: Expr | None = None
    reads: tuple[Region, ...] | None = None
    writes: tuple[Region, ...] | None = None
    init: Stmt | None = None
    alloc_buffers: list[Buffer] = field(default_factory=list)
    views: list[Matched] = field(default_factory=list)
    annotations: Annotations = ()


class LoopParser(StmtParser):
    """Reads loops and blocks."""

    # -- loops -----------------------------------------------------------------------------------------------------

    def loop(self, node: ast.For) -> Stmt:
        """``for i in range(n)``, ``for i, j in T.grid(n, m)``, …"""
        if node.orelse:
            raise self.error(node, "a loop has no else")
        domains = self._domains(node.iter)
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        whole = node.target.id if isinstance(node.target, ast.Name) and len(domains) > 1 else None
        if whole is not None:  # one name for all loop variables
            place = {"lineno": node.target.lineno, "col_offset": node.target.col_offset}
            targets = [ast.Name(f"{whole}_{k}", ast.Store(), **place) for k in range(len(domains))]
        if len(targets) != len(domains):
            raise self.error(node.target, f"{len(domains)} loops are bound to {len(targets)} names")
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if len(set(names)) < len(names):
            raise self.error(node.target, "two loops of one nest have one name")
        with self.scope.frame():
            loops: list[tuple[Var, _Domain, Var, list[Wrapper]]] = []
            for target, domain in zip(targets, domains, strict=True):
                if not isinstance(target, ast.Name):
                    raise self.error(target, "a loop variable is a name")
                loops.append(self._loop_variable(target, target.id, domain, whole is None))
            if whole is not None:
                self.scope.hide(whole, tuple([named for _, _, named, _ in loops]))
            body = self.body(node.body)
            for var, domain, _, inner in reversed(loops):
                with self.located(node.iter):
                    body = For(
                        var, domain.min, domain.extent, assemble([inner, body]) if inner else body, domain.kind,
                        domain.thread, domain.annotations,
                    )  # fmt: skip
                self.scope.loops.pop(var, None)
        return body

    def _loop_variable(
        self, place: Located, name: str, domain: _Domain, visible: bool
    ) -> tuple[Var, _Domain, Var, list[Wrapper]]:
        """The variable of the loop, and the one that the name stands for (bound if it is ``visible``).

        They differ in a loop with a step, which counts its iterations and computes the named variable.
        """
        if not domain.min.dtype.is_int or domain.min.dtype.lanes != 1:
            raise self.error(place, f"the bounds of a loop are scalar integers, not {domain.min.dtype}")
        var = Var.fresh(name, domain.min.dtype)
        if domain.step == 1:
            if visible:
                self.scope.hide(name, var)
            self.scope.loops[var] = (domain.min, domain.extent)
            return var, domain, var, []
        with self.located(place):
            step = const(domain.step, domain.min.dtype)
            count = (domain.extent + (step - 1)) // step
            value = domain.min + var * step
        stepped = Var.fresh(name, domain.min.dtype)
        if visible:
            self.scope.hide(name, stepped)
        counted = _Domain(const(0, var.dtype), count, domain.kind, domain.thread, domain.annotations)
        return var, counted, stepped, [lambda body: LetStmt(stepped, value, body)]

    def _domains(self, node: ast.expr) -> list[_Domain]:
        """The ranges that a loop runs over."""
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "range":
                names: tuple[str, ...] = ("start", "stop", "step", "annotations")
                return [self._range(node, "serial", names, 3)]
            name = self.t_name(node.func)
            if isinstance(node.func, ast.Name) and node.func.id == "grid" and not self.scope.has("grid"):
                name = "grid"  # as after ``from tvm.script.tir import grid``, and in RFC 63
            if name in LOOP_KINDS:
                if name == "thread_binding":
                    return [self._range(node, "thread_binding", ("start", "stop", "thread", "annotations", "step"), 3)]
                extra = ("unroll",) if name == "serial" else ()
                names = ("start", "stop", "annotations", "step", "dtype", *extra)
                return [self._range(node, LOOP_KINDS[name], names, 2)]
            if name in ("grid", "range"):
                dtype: DType | None = None
                for keyword in node.keywords:
                    if keyword.arg != "dtype":
                        raise self.error(keyword.value, "T.grid takes extents only")
                    dtype = self._loop_dtype(keyword.value)
                return [self._grid_entry(a, dtype) for a in spread(self, node.args)]
        raise self.error(
            node, "a loop runs over range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding"
        )

    def _loop_dtype(self, node: ast.expr) -> DType:
        """The type that ``dtype=`` gives a loop variable: bounds of another type are converted to it."""
        found = self.dtype(node)
        if not found.is_int or found.lanes != 1:
            raise self.error(node, f"a loop variable is a scalar integer, not {found}")
        return found

    def _bound(self, node: ast.expr, dtype: DType | None) -> Expr | Plain:
        """A bound of a loop, converted to ``dtype`` if one is given."""
        found = self.number(node, dtype)
        if dtype is None:
            return found
        made = self.typed(node, found, dtype)
        if not made.dtype.is_int:
            raise self.error(node, f"the bounds of a loop are scalar integers, not {made.dtype}")
        with self.located(node):
            return converted(dtype, made)

    def _grid_entry(self, node: ast.expr, dtype: DType | None) -> _Domain:
        """One extent of ``T.grid``, or a pair (start, extent)."""
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
            a, b = self._bound(node.elts[0], dtype), self._bound(node.elts[1], dtype)
            with self.located(node):
                return _Domain(*unified(a, b, None))
        extent = self.typed(node, self._bound(node, dtype), None)
        if not extent.dtype.is_int or extent.dtype.lanes != 1:
            raise self.error(node, f"the bounds of a loop are scalar integers, not {extent.dtype}")
        return _Domain(const(0, extent.dtype), extent)

    def _range(self, node: ast.Call, kind: ForKind, names: tuple[str, ...], positional: int) -> _Domain:
        """``range(stop)``, ``T.parallel(start, stop)``, ``T.thread_binding(stop, thread=…)``, …"""
        args = match_arguments(self.source, node, names, positional=positional)
        match args.get("stop"):
            case ast.Constant(value=str()) as tag if kind == "thread_binding" and "thread" not in args:
                args["thread"] = tag
                del args["stop"]
        if "stop" not in args and "start" in args:
            args["stop"] = args.pop("start")
        if "stop" not in args:
            raise self.error(node, "a loop needs its extent")
        dtype = self._loop_dtype(args["dtype"]) if "dtype" in args else None
        stop = self._bound(args["stop"], dtype)
        start = self._bound(args["start"], dtype) if "start" in args else 0
        with self.located(node):
            low, high = (unified if is_plain(start) or is_plain(stop) else matched)(start, stop, None)
            if not low.dtype.is_int or low.dtype.lanes != 1:
                raise IRError(f"the bounds of a loop are scalar integers, not {low.dtype}")
            extent = high if isinstance(low, IntImm) and low.value == 0 else extent_between(low, high)
        step = self.int_constant(args["step"]) if "step" in args else 1
        if step < 1:
            raise self.error(args["step"], "the step of a loop is positive")
        thread = self.string(args["thread"]) if "thread" in args else ""
        if kind == "thread_binding" and not thread:
            raise self.error(node, "T.thread_binding needs thread=")
        annotations = self.annotations(args["annotations"]) if "annotations" in args else ()
        if "unroll" in args:
            annotations = self.merged(args["unroll"], annotations, self._pragma(args["unroll"]))
        return _Domain(low, extent, kind, thread, annotations, step)

    def _pragma(self, node: ast.expr) -> Annotations:
        """``unroll=True`` and the like, the way in which TVM writes these annotations."""
        found = self.value(node)
        if isinstance(found, int) and found >= (0 if isinstance(found, bool) else 1):
            return (("disable_unroll", True),) if found is False else (("pragma_unroll", found),)
        raise self.error(node, "unroll is True, False or a positive number")

    def launch(self, target: Located, name: str, call: ast.Call) -> Wrapper:
        """``bx = T.launch_thread("blockIdx.x", n)``: a loop bound to a thread, over the rest of the scope."""
        args = match_arguments(self.source, call, ("thread", "extent"), 2)
        thread = self.value(args["thread"])
        if isinstance(thread, str) and thread:
            thread = EnvThread(thread)
        if not isinstance(thread, EnvThread) or not thread.tag:
            raise self.error(args["thread"], "a thread is named by a string, or by T.env_thread")
        return self.bind_thread(target, name, thread, args["extent"])

    def bind_thread(self, target: Located, name: str, thread: EnvThread, extent: ast.expr) -> Wrapper:
        """A loop bound to a thread, over the rest of the scope."""
        made = self.expr(extent, thread.dtype)
        if not made.dtype.is_int or made.dtype.lanes != 1:
            raise self.error(extent, f"the extent of a thread is a scalar integer, not {made.dtype}")
        if thread.dtype is not None and made.dtype is not thread.dtype:
            raise self.error(extent, f"the thread has type {thread.dtype}, its extent {made.dtype}")
        var = Var.fresh(name, made.dtype)
        before = self.scope.find(name) if self.scope.has(name) else None
        if isinstance(before, EnvThread) or (isinstance(before, Var) and before in self.symbols):
            self.scope.hide(name, var)
        else:
            self.bind(target, name, var)
        zero = const(0, made.dtype)
        return lambda body: For(var, zero, made, body, "thread_binding", thread.tag)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def block(self, node: ast.With, call: ast.Call) -> Stmt:
        """``with T.sblock(name): …``: the head first, then the statements."""
        args = match_arguments(self.source, call, ("name", "no_realize", "exec_scope"))
        if "no_realize" in args and self.value(args["no_realize"]) is not False:
            raise self.error(args["no_realize"], "a block that is not realized does not run; it cannot be represented")
        if "exec_scope" in args and self.string(args["exec_scope"]):
            raise self.error(args["exec_scope"], "an execution scope cannot be represented")
        head = _Head(self.string(args["name"]) if "name" in args else "")
        # in the older dialect an allocation at the head belongs to the block, in the newer it is a statement
        old = self.t_name(call.func) == "block"
        with self.scope.frame():
            rest: Sequence[ast.stmt] = node.body
            while rest and self._head(head, rest[0], old):
                rest = rest[1:]
            body = self.statements(rest)
        symbols: dict[Var, Expr] = {}
        for view in reversed(head.views):
            body = DeclBuffer(view.buffer, body)
            head.init = None if head.init is None else DeclBuffer(view.buffer, head.init)
            symbols.update(view.symbols)
        predicate = TRUE if head.predicate is None else head.predicate
        block = Block(
            head.name, tuple(head.iter_vars), predicate, head.reads, head.writes, head.init, body,
            tuple(head.alloc_buffers), head.annotations,
        )  # fmt: skip
        return substitute(block, symbols)  # a head may name a symbol above the region that gives it its value

    def _head(self, head: _Head, node: ast.stmt, old: bool) -> bool:
        """Read one statement into the head; false if the head has ended."""
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call):
                name = self.t_name(call.func) or ""
                if name.startswith("axis."):
                    with self.located(node):
                        self._axes(head, target, call, name.removeprefix("axis."))
                    return True
                if isinstance(target, ast.Name):
                    with self.located(node):
                        return self._head_buffer(head, target, call, name, old)
            case ast.Expr(value=ast.Call() as call):
                return self._directive(head, call, self.t_name(call.func))
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return True
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=body):
                if self.t_name(call.func) == "init":
                    if head.init is not None:
                        raise self.error(node, "the block has an init already")
                    head.init = self.body(body)
                    return True
        return False

    def _directive(self, head: _Head, call: ast.Call, name: str | None) -> bool:
        """``T.where``, ``T.reads``, ``T.writes``, ``T.sblock_attr``."""
        match name:
            case "where":
                if head.predicate is not None:
                    raise self.error(call, "the block has a T.where already; join the conditions with T.And")
                head.predicate = self.condition(match_arguments(self.source, call, ("predicate",), 1)["predicate"])
            case "reads" | "writes":
                if call.keywords:
                    raise self.error(call, f"T.{name} takes regions")
                if (head.reads if name == "reads" else head.writes) is not None:
                    raise self.error(call, f"the block has a T.{name} already; list all regions in one")
                regions = self.regions(call.args)
                if name == "reads":
                    head.reads = regions
                else:
                    head.writes = regions
            case "sblock_attr" | "block_attr":
                given = self.annotations(match_arguments(self.source, call, ("attrs",), 1)["attrs"])
                head.annotations = self.merged(call, head.annotations, given, again=True)
            case _:
                return False
        return True

    def _head_buffer(self, head: _Head, target: ast.Name, call: ast.Call, name: str, old: bool) -> bool:
        """Allocations and matched regions at the head of a block."""
        if name == "sblock_alloc_buffer" or (name == "alloc_buffer" and old):
            layout, args = self.declaration(call, ALLOC_ARGS)
            if layout.data is not None or "annotations" in args:
                raise self.error(call, "an allocation of a block has neither data nor annotations")
            buffer = self.make(call, target.id, layout)
            self.bind(target, target.id, buffer)
            head.alloc_buffers.append(buffer)
            return True
        if name == "match_buffer":
            args = match_arguments(self.source, call, MATCH_ARGS, 1, positional=9)
            with self.located(call):
                view = self.match_region(call, target.id, args)
            self.bind(target, target.id, view.buffer)
            head.views.append(view)
            return True
        if is_dtype_name(name) and not call.args and not call.keywords:
            self.declare_symbol(target, target.id, dtype_named(name))  # for a T.Let in what follows
            return True
        return False

    def _axes(self, head: _Head, target: ast.expr, call: ast.Call, kind: str) -> None:
        """``vi = T.axis.spatial(n, e)`` or ``vi, vj = T.axis.remap("SR", [i, j])``."""
        if kind == "remap":
            self._remap(head, target, call)
            return
        if kind not in AXIS_KINDS:
            raise self.error(call, f"an axis is spatial, reduce or opaque, not {kind}")
        if not isinstance(target, ast.Name):
            raise self.error(target, "one axis has one name")
        args = match_arguments(self.source, call, ("dom", "binding", "dtype"), 2)
        value = self.number(args["binding"])
        dom = args["dom"]
        if isinstance(dom, (ast.Tuple, ast.List)):
            if len(dom.elts) != 2:
                raise self.error(dom, "a domain is an extent or a pair (begin, end)")
            low, high = unified(self.number(dom.elts[0]), self.number(dom.elts[1]), None)
            start, extent = low, extent_between(low, high)
        else:
            number = self.number(dom)
            like = value.dtype if isinstance(value, Expr) and value.dtype.is_int and is_plain(number) else None
            extent = self.typed(dom, number, like)
            start = const(0, extent.dtype)
        bound = self.typed(args["binding"], value, extent.dtype if is_plain(value) else None)
        self._add_axis(head, target, start, extent, AXIS_KINDS[kind], bound)
        self._axis_dtype(args, extent)

    def _remap(self, head: _Head, target: ast.expr, call: ast.Call) -> None:
        args = match_arguments(self.source, call, ("kinds", "bindings", "dtype"), 2)
        kinds = self.string(args["kinds"])
        bindings = args["bindings"]
        nodes = spread(self, bindings.elts if isinstance(bindings, (ast.List, ast.Tuple)) else [bindings])
        if len(nodes) == 1 and isinstance(self.value(nodes[0]), tuple):
            nodes = spread(self, [ast.copy_location(ast.Starred(nodes[0], ast.Load()), nodes[0])])
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        if not len(kinds) == len(nodes) == len(targets):
            raise self.error(call, "T.axis.remap needs as many kinds as bindings and names")
        for t, k, n in zip(targets, kinds, nodes, strict=True):
            value = self.number(n)
            domain = self.scope.loops.get(value) if isinstance(value, Var) else None
            if domain is None or not isinstance(value, Var):
                raise self.error(n, "T.axis.remap takes variables of the loops around the block")
            if k not in AXIS_KINDS or not isinstance(t, ast.Name):
                raise self.error(call, f"an axis of kind {k!r} cannot be made")
            self._add_axis(head, t, *domain, AXIS_KINDS[k], value)
            self._axis_dtype(args, value)

    def _axis_dtype(self, args: dict[str, ast.expr], axis: Expr) -> None:
        """An axis has the type of its domain; ``dtype=`` may only say so."""
        if "dtype" in args and self.dtype(args["dtype"]) is not axis.dtype:
            raise self.error(args["dtype"], f"the domain of the axis has type {axis.dtype}")

    def _add_axis(self, head: _Head, target: ast.Name, start: Expr, extent: Expr, kind: IterKind, value: Expr) -> None:
        value = typed(value, None)
        if not start.dtype.is_int or start.dtype.lanes != 1:
            raise self.error(target, f"a domain is given by scalar integers, not {extent.dtype}")
        if value.dtype is not extent.dtype:
            raise self.error(target, f"the domain has type {extent.dtype}, the binding {value.dtype}")
        var = Var.fresh(target.id, extent.dtype)
        # the binding may use the loop variable of the same name: from here on the name is the axis
        self.scope.hide(target.id, var)
        head.iter_vars.append(IterVar(var, start, extent, kind, value))
