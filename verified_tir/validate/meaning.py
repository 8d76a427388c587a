"""What a program means apart from how it is written: claims, annotations and kinds of loops left out.

Two programs that are the same tree without them are equal at all sizes, on data that decide addresses too; many steps
of a schedule change nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import TRUE, Binary, Call, FloatImm, IntImm, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, Evaluate, For, If, LetStmt, Seq, Stmt, Store, While, seq
from verified_tir.ir.visit import bound_vars, nodes_of, rewrite, walk
from verified_tir.semantics.interpreter.extents import symbols_of
from verified_tir.validate.loops import MARKED
from verified_tir.validate.threads import splits


def may_be_same(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether nothing shows at a glance that two functions are other trees without claims and annotations."""
    counts = [[len(nodes_of(f.body, kind)) for kind in (For, If, LetStmt, While)] for f in (before, after)]
    return counts[0] == counts[1] and _stores(before.body) == _stores(after.body)


@once
def _stores(body: Stmt) -> tuple[tuple[str, ...], ...]:
    """The classes and operators of what is stored, statement by statement."""
    return tuple([_outline(store) for store in nodes_of(body, Store)])


@once
def _outline(store: Store) -> tuple[str, ...]:
    named = (Binary, Call)
    return tuple([n.op if isinstance(n, named) else type(n).__name__ for n in walk(store) if not isinstance(n, Buffer)])


def same_meaning(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether two closed programs differ in nothing but names, claims, annotations, scopes and kinds of loops.

    Where threads wait for each other or share memory, scopes and kinds have a meaning.
    """
    if not may_be_same(before, after):
        return False
    if splits(before.body) or splits(after.body):
        return structural_equal(before, after)
    return structural_equal(_bare(before), _bare(after))


def adds_marked_loops(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether, of two programs of the same meaning, *after* permits an execution that *before* does not.

    Where a program has loops over threads, it also matters who has memory for itself.
    """
    pairs = list(zip(_loops(before), _loops(after), strict=True))
    if any(b.kind in MARKED and (a.kind, a.thread) != (b.kind, b.thread) for a, b in pairs):
        return True
    return any(b.thread for _, b in pairs) and not structural_equal(*[_bare(f, scopes=True) for f in (before, after)])


def _loops(func: PrimFunc) -> list[For]:
    return [s for _, s in places(func.body, lambda s: isinstance(s, For)) if isinstance(s, For)]


def _bare(func: PrimFunc, *, scopes: bool = False) -> PrimFunc:
    bare = rewrite(func, _without)
    if not scopes:
        bare = rewrite(bare, _without_scope)
    return replace(bare, attrs=(), ret_type=None)


def _without_scope(node: Node) -> Node | None:
    match node:
        case Var(type=PointerType(element=element, scope=scope)) if scope != "global":
            return Var(node.name, PointerType(element), node.uid)
    return None


def _without(node: Node) -> Node | None:
    """A node without what means nothing; its children have been rewritten before."""
    match node:
        case Buffer() if node.axis_separators:
            return replace(node, axis_separators=())
        case For():
            return replace(node, kind="serial", thread="", annotations=())
        case AttrStmt(body=body):
            return body
        case Evaluate(value=IntImm() | FloatImm() | StringImm()):
            return seq()
        case Seq(stmts=stmts):
            return seq(*stmts)
        case Allocate():
            return replace(node, annotations=())
        case Block():
            return _block(node)
        case _:
            return None


def _block(block: Block) -> Stmt:
    """Kinds of iteration variables matter only to an initialisation."""
    if not block.iter_vars and block.init is None and block.predicate is TRUE:
        body = block.body
        for buffer in reversed(block.alloc_buffers):
            body = Allocate(buffer, body)
        return body
    variables = tuple(
        iv if block.init is not None and iv.kind == "reduce" else replace(iv, kind="spatial") for iv in block.iter_vars
    )
    return replace(block, iter_vars=variables, reads=None, writes=None, annotations=())


# ----------------------------------------------------------------------------------------------------- closing


def closed(before: PrimFunc, after: PrimFunc) -> tuple[PrimFunc, PrimFunc]:
    """Both functions with the free variables of either, by name and type, as further parameters.

    A recorded program may be a piece of a larger one, with variables that are bound elsewhere.  A variable that only
    attributes are about (``var = T.int32(); T.attr(var, "pragma_unroll_explicit", 1)``) is none: attributes mean
    nothing, and those go.
    """
    before, after = (_without_loose_attributes(func) for func in (before, after))
    free = [_free(func) for func in (before, after)]
    names = dict.fromkeys((v.name, v.dtype) for found in free for v in found)
    if not names:
        return before, after
    one, other = (_with(func, found, list(names)) for func, found in zip((before, after), free, strict=True))
    return one, other


def _without_loose_attributes(func: PrimFunc) -> PrimFunc:
    """The function without attributes about variables that nothing binds."""
    loose = set(_free(func))
    if not loose:
        return func

    def dropped(node: Node) -> Node | None:
        match node:
            case AttrStmt(node=about, value=value, body=body):
                parts = [e for e in (about, value) if isinstance(e, Node)]
                if any(v in loose for e in parts for v in nodes_of(e, Var)):
                    return body
        return None

    return func.with_body(rewrite(func.body, dropped))


def _free(func: PrimFunc) -> list[Var]:
    """Variables that nothing in the function binds; pointers are not among them."""
    bound = {*func.params, *bound_vars(func.body)}
    for buffer in func.buffers:
        bound.add(buffer.data)
        bound.update(symbols_of(buffer))
    found = [n for n in walk(func.body) if isinstance(n, Var) and n not in bound]
    return [v for v in dict.fromkeys(found) if not isinstance(v.type, PointerType) and v.dtype.code != "handle"]


def _with(func: PrimFunc, free: list[Var], wanted: list[tuple[str, DType]]) -> PrimFunc:
    there = {(v.name, v.dtype): v for v in reversed(free)}
    taken = {p.name for p in func.params}
    further = []
    for name, dtype in wanted:
        var = there.get((name, dtype))
        if var is None:
            var = Var.fresh(name if name not in taken else f"{name}_free", dtype)
        further.append(var)
    return replace(func, params=(*func.params, *further))
