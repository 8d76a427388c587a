"""Programs that each thread of a device runs: ``T.device_entry()``, ``T.cta_id([n])``, ``T.tile.copy(…)``.

In such a program of TVM 0.27 nothing says how its threads are nested: ``T.warp_id``, ``T.lane_id`` and ``T.thread_id``
name one and the same thread, and ``T.warp.copy`` is one operation of 32 of them.  That has no meaning here.  So such a
text is read and printed, and that is all: what stands for it are calls about a pointer ``device`` that nothing binds.
A program with them is not well-formed, and nothing is proved, run or compiled of it (``ir.misplaced`` says why).

    ``T.device_entry()``             a call ``device_entry``
    ``bx, by = T.cta_id([4, 8])``    two lets, of calls ``cta_id`` with the number of the name
    ``T.warp.copy(B[0:8], A)``       a call ``warp.copy`` of regions

A region is a call ``region{}``: the address of its first element, then its extents; a whole buffer is ``whole{}``, with
the address.  Lists and what is passed by name are calls ``list{}`` and ``named{}``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, VOID, PointerType
from verified_tir.ir.expr import Call, Expr, Load, StringImm, Var
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.linear import extent_between
from verified_tir.ir.script.source import Located
from verified_tir.ir.script.values import Selection, Slice
from verified_tir.ir.stmt import AttrStmt, Evaluate, LetStmt, Stmt
from verified_tir.ir.sugar import const

if TYPE_CHECKING:
    from verified_tir.ir.script.bindings import BindingParser, Piece, Wrapper
    from verified_tir.ir.script.exprs import ExprParser

ENTRY: Final = "device_entry"
ENTRY_LEVEL: Final = "T.device_entry() stands at the level of the function, whose rest it is about"
ENTRY_KEY: Final = "tirx.device_entry"
"""The key of the attribute as which TVM prints ``T.device_entry()``."""
IDS: Final = frozenset(
    {"cluster_id", "cta_id", "cta_id_in_cluster", "cta_id_in_pair", "warpgroup_id", "warp_id", "warp_id_in_wg",
     "lane_id", "thread_id", "thread_id_in_wg"}
)  # fmt: skip
"""Calls that give the numbers of a thread, or of a group of threads."""
TILES: Final = frozenset({"tile", "warp", "wg", "cta", "cluster"})
"""Namespaces of operations on tiles."""

DEVICE_SCOPE: Final = "device"
"""The storage scope by which the pointer that nothing binds is known."""
REGION: Final = "region{}"
WHOLE: Final = "whole{}"
OPERATOR: Final = "op{}"
FUNCTION: Final = "lambda{}"
SINK: Final = "ptx.SINK"
HINT: Final = "hint"
"""The key of the attribute that stands for ``T.hint("…")``: words for whoever reads the program."""
LIST: Final = "list{}"
NAMED: Final = "named{}"


def tile_name(path: str) -> str:
    """The name below ``T`` of what is called ``Tx.path``: below ``T.tile``, or that of a group of threads."""
    return path if path.split(".", maxsplit=1)[0] in TILES else f"tile.{path}"


def is_tile(name: str) -> bool:
    """Whether the call is an operation on tiles."""
    return "." in name and name.split(".", maxsplit=1)[0] in TILES


def device(p: ExprParser) -> Var:
    """The pointer that nothing binds, one for each function."""
    if p.device is None:
        p.device = Var.fresh("device", PointerType(VOID, DEVICE_SCOPE))
    return p.device


def device_statement(p: BindingParser, call: ast.Call, name: str) -> Piece:
    """``T.device_entry()``, ``T.cta_id([4])`` without a name, or ``T.hint("…")``."""
    if name == HINT:
        return [hint(p, call)]
    if name in IDS:
        return list(ids(p, [], call, name))
    match_arguments(p.source, call, ())
    return entry(p, call)


# -- where the program begins, and which thread runs it ---------------------------------------------------------------


def entry(p: ExprParser, place: Located) -> Stmt:
    """``T.device_entry()``: from here to the end of the function, each thread of the device runs the program."""
    if len(p.scope.frames) != 1:
        raise p.error(place, ENTRY_LEVEL)
    p.entered = place
    return Evaluate(Call(VOID, ENTRY, (device(p),)))


def ids(p: BindingParser, targets: Sequence[ast.expr], call: ast.Call, name: str) -> list[Wrapper]:
    """``bx, by = T.cta_id([4, 8])``: variables to the end of the scope."""
    names: tuple[str, ...] = ("dtype",) if name == "cta_id_in_pair" else ("extents", "dtype")
    if name in ("cta_id", "cta_id_in_cluster"):
        names = ("extents", "preferred", "dtype")
    args = match_arguments(p.source, call, names)
    dtype = p.dtype(args["dtype"]) if "dtype" in args else INT32
    about: list[Expr] = []
    for key in ("extents", "preferred"):
        if key in args:
            given = args[key]
            if not isinstance(given, (ast.List, ast.Tuple)):
                raise p.error(given, f"the {key} of T.{name} are a list")
            about += [StringImm(key), Call(HANDLE, LIST, tuple([p.expr(e) for e in given.elts]))]
    extents = args.get("extents")
    count = len(extents.elts) if isinstance(extents, (ast.List, ast.Tuple)) else len(targets)
    if isinstance(extents, (ast.List, ast.Tuple)) and not count:
        raise p.error(extents, f"T.{name} gives a number for each extent, of which there is none")
    if targets and len(targets) != count:
        raise p.error(call, f"T.{name} gives {count} numbers, for {len(targets)} names")
    wrappers: list[Wrapper] = []
    for k in range(max(count, 1)):
        target = targets[k] if targets else None
        if target is not None and not isinstance(target, ast.Name):
            raise p.error(target, "a number of a thread has a name")
        var = Var.fresh(target.id if target is not None else "v", dtype)
        value = Call(dtype, name, (device(p), const(k), const(max(count, 1)), *about))
        if target is not None:
            p.bind(target, target.id, var)
        wrappers.append(_let(var, value))
    return wrappers


def _let(var: Var, value: Expr) -> Wrapper:
    return lambda body: LetStmt(var, value, body)


def hint(p: BindingParser, call: ast.Call) -> Wrapper:
    """``T.hint("message", key=value)``, over the rest of the scope."""
    if len(call.args) > 1:
        raise p.error(call.args[1], "T.hint takes one message; the rest is passed by name")
    message = p.string(call.args[0]) if call.args else ""
    about = named(p, call.keywords)
    value = about[0] if about else const(0)
    return lambda body: AttrStmt(HINT, message, value, body)


# -- operations on tiles, and calls with named arguments --------------------------------------------------------------


def operation(p: ExprParser, node: ast.Call, name: str) -> Expr:
    """``T.tile.copy(B[0:8], A[0:8], dispatch="tma")``."""
    args: list[Expr] = [device(p), *[operand(p, a, k == 0) for k, a in enumerate(node.args)]]
    args += named(p, node.keywords)
    return Call(VOID, name, tuple(args))


def named(p: ExprParser, keywords: Sequence[ast.keyword]) -> list[Expr]:
    """The arguments that are passed by name, as one more; none if there are none."""
    pairs: list[Expr] = []
    for keyword in keywords:
        if keyword.arg is None:
            raise p.error(keyword.value, "** has no meaning here")
        pairs += [StringImm(keyword.arg), operand(p, keyword.value)]
    return [Call(HANDLE, NAMED, tuple(pairs))] if pairs else []


def operand(p: ExprParser, node: ast.expr, written: bool = False) -> Expr:
    """An operand of an operation on tiles: a region, a number, a string, a list of these, or names with such values.

    :param written: whether it is what the operation writes, and so a place even if it is one element.
    """
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return Call(HANDLE, LIST, tuple([operand(p, e) for e in elts]))
        case ast.Dict(keys=keys, values=values):
            pairs: list[Expr] = []
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    raise p.error(node, "** has no meaning here")
                pairs += [StringImm(p.string(key)), operand(p, value)]
            return Call(HANDLE, NAMED, (StringImm("{}"), *pairs))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="I"), attr="Op"), args=[op], keywords=[]):
            return Call(HANDLE, OPERATOR, (StringImm(p.string(op)),))
        case ast.Lambda():
            return Call(HANDLE, FUNCTION, (StringImm(_lambda(p, node)),))
        case ast.Constant(value=None):
            return Call(HANDLE, LIST, (StringImm("None"),))
    found = p.value(node)
    sourced = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "source"
    if isinstance(found, Buffer):
        first = Load(found, tuple([const(0, e.dtype) for e in found.shape]))
        return Call(HANDLE, WHOLE, (Call(HANDLE, "address_of", (first,)),))
    if isinstance(found, Selection) and (written or sourced or any(isinstance(i, Slice) for i in found.indices)):
        return region(p, node, found)
    return p.argument(node)


def _lambda(p: ExprParser, node: ast.Lambda) -> str:
    """The text of a function of indices, which names nothing else."""
    names = {a.arg for a in node.args.args}
    if extra := [a for a in (node.args.vararg, node.args.kwarg, *node.args.kwonlyargs) if a is not None]:
        raise p.error(extra[0], "a function takes positional parameters only")
    for inner in ast.walk(node.body):
        if isinstance(inner, ast.Name) and inner.id not in names and inner.id not in p.aliases:
            raise p.error(inner, f"{inner.id} is no variable of the function")

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(node.id if node.id in names else "T", node.ctx)

    return ast.unparse(Renamed().visit(ast.parse(ast.unparse(node), mode="eval").body)).replace("'", '"')


def region(p: ExprParser, node: ast.expr, selection: Selection) -> Expr:
    """``A[0:8, i]`` as a place of memory."""
    buffer = selection.buffer
    missing = len(buffer.shape) - len(selection.indices)
    if missing < 0:
        raise p.error(node, f"{buffer.name} has {len(buffer.shape)} dimensions, not {len(selection.indices)}")
    indices = (*selection.indices, *[Slice(None, None, 1)] * missing)  # the rest of the axes is whole
    mins: list[Expr] = []
    extents: list[Expr] = []
    with p.located(node):
        for part, whole in zip(indices, buffer.shape, strict=True):
            if isinstance(part, Expr):
                low, extent = part, const(1, part.dtype)
            elif part.step != 1:
                raise p.error(node, "a region has no gaps; its slices have no step")
            else:
                stop = whole if part.stop is None else part.stop
                low = const(0, stop.dtype) if part.start is None else part.start
                extent = extent_between(low, stop)
            mins.append(low)
            extents.append(extent)
        return region_of(buffer, tuple(mins), tuple(extents))


def region_of(buffer: Buffer, mins: tuple[Expr, ...], extents: tuple[Expr, ...]) -> Expr:
    """The call that stands for a region."""
    return Call(HANDLE, REGION, (Call(HANDLE, "address_of", (Load(buffer, mins),)), *extents))
