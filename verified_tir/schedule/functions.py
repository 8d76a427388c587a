"""Programs and modules: calls expanded on the way in, labelled blocks as functions of their own on the way out.

    module ── linked ──▶ program, its calls as labelled blocks ── steps ──▶ program ── outlined ──▶ module

A block that is a function's body carries the annotation ``call``.  On the way out its buffers become parameters, those
that it only reads first, each group in the order of their first use; then the variables from around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isfunction
from itertools import count
from typing import final

from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.elaborate.calls import CALL, expand_calls, expand_with_arguments, refuse_recursion, without_arguments
from verified_tir.elaborate.contraction import contracted
from verified_tir.elaborate.labels import without_labels
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, VOID, PointerType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Call, Expr, Load, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.script import parse, script
from verified_tir.ir.stmt import SKIP, Allocate, Assume, Block, DeclBuffer, Evaluate, For, If, Seq, Stmt, Store, seq
from verified_tir.ir.visit import children, free_vars, map_children, nodes_of, rewrite, substitute, walk
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.schedule.spelling import WrongCall

# -- in ----------------------------------------------------------------------------------------------------------------


def module_of(func: object) -> IRModule:
    """What a schedule is given as a module.

    :param func: a program, a module, TVMScript text, or a function or module of TVM's, which is read as its text.
    :raises TypeError: for another object.
    """
    if isinstance(func, str) or is_of_tvm(func):
        func = parse(func if isinstance(func, str) else func.script())  # type: ignore[attr-defined]
    if not isinstance(func, (PrimFunc, IRModule)):
        raise TypeError(f"a schedule takes {no_program(func)}")
    return func if isinstance(func, IRModule) else IRModule(((func.name, func),))


def program_of(func: object, name: str | None = None) -> tuple[PrimFunc, list[tuple[str, str]], PrimFunc]:
    """The function to schedule; its calls with the texts of the functions whose assumptions are to be proved there; and
    the same function with all blocks as they were written, those of called functions too, for what they claim, and
    with its calls' arguments evaluated.

    :param func: what :func:`module_of` takes.
    :param name: which function of a module; the only one, or ``main``, unless given.
    :raises Misfit: if functions call each other in a circle, or a call does not fit the function that it names.
    :raises IRError: if there are several functions to choose from, or none of that name.
    :raises TypeError: for another object.
    """
    module = module_of(func)
    refuse_recursion(module)
    names = [key for key, _ in module.functions]
    if not names:
        raise IRError("a schedule takes a program, and the module has none: write a function with @T.prim_func")
    if len(names) == 1:
        program = module[name or names[0]]
        return program, [], program
    wanted = name or ("main" if "main" in names else None)
    if wanted is None:
        raise IRError(f"a schedule takes one function; pick one of the module's: {', '.join(names)}")
    written = expand_with_arguments(module, wanted)
    program, owed = linked(module, expand_blocks(without_arguments(written)))
    return program, [(block, script(callee)) for block, callee in owed], written


def with_contraction(program: PrimFunc, written: PrimFunc, contract: str | Sequence[str]) -> tuple[PrimFunc, PrimFunc]:
    """A program, as it is scheduled and as it was written, in which the updates of some buffers are contracted.

    :param contract: names of buffers.
    :raises WrongCall: if there is no such buffer, or it has no such update.
    """
    names = [contract] if isinstance(contract, str) else contract
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise WrongCall(f"contract= takes the name of a buffer, or a list of names, not {contract!r}")
    try:
        return contracted(program, names), contracted(written, names)
    except IRError as problem:
        raise WrongCall(f"contract={contract!r}: {problem}") from None


def is_of_tvm(program: object) -> bool:
    """Whether this is a function or a module of TVM's, which can say its text."""
    return type(program).__module__.partition(".")[0] == "tvm" and hasattr(program, "script")


def linked(module: IRModule, func: PrimFunc) -> tuple[PrimFunc, list[tuple[str, PrimFunc]]]:
    """The function, whose calls and blocks are expanded, and the labels of the calls whose function assumes something.

    What a callee assumes before all else is left out of the program: it is to be proved where the function is called.
    """
    owed: list[tuple[str, PrimFunc]] = []
    taken = {n.name for n in nodes_of(func.body, Block) if called_function(n) is None}

    def without(stmt: Stmt) -> Stmt:
        called = called_function(stmt)
        if called is not None and isinstance(stmt, Block):
            label = next(n for k in count() if (n := f"{called}_{k}" if k else called) not in taken)
            taken.add(label)
            assumed, rest = head(stmt.body)
            if assumed is not SKIP:
                owed.append((label, module[called]))
            stmt = Block.label(label, rest, stmt.annotations)
        return map_children(stmt, lambda n: without(n) if isinstance(n, Stmt) else n)

    return func.with_body(without(func.body)), owed


def called_function(stmt: Stmt) -> str | None:
    """The function whose body a labelled block is, if it is one's."""
    if not (isinstance(stmt, Block) and stmt.is_label):
        return None
    found = dict(stmt.annotations).get(CALL)
    return found if isinstance(found, str) else None


def head(body: Stmt) -> tuple[Stmt, Stmt]:
    """What a body assumes before all else, and the rest."""
    stmts = body.stmts if isinstance(body, Seq) else (body,)
    length = next((k for k, s in enumerate(stmts) if not assumes(s)), len(stmts))
    return seq(*stmts[:length]), seq(*stmts[length:])


def assumes(stmt: Stmt) -> bool:
    """Whether a statement does nothing but assume."""
    match stmt:
        case Assume():
            return True
        case For(body=body) | If(then_body=body, else_body=None) | Block(is_label=True, body=body):
            return assumes(body)
        case Seq(stmts=stmts):
            return bool(stmts) and all(assumes(s) for s in stmts)
    return False


# -- out ---------------------------------------------------------------------------------------------------------------


def outlined(func: PrimFunc) -> IRModule:
    """The program as a module: each block that is a function's body becomes a call of it.

    :raises IRError: if a block uses what cannot be passed.
    """
    if not any(called_function(n) is not None for n in nodes_of(func.body, Stmt)):
        return IRModule(((func.name, func),))
    maker = _Maker(func)
    main = func.with_body(maker.stmt(func.body, {b.data: b for b in func.buffers}))
    module = IRModule(((func.name, main), *maker.functions.items()))
    again = expand_calls(module, func.name)
    if not structural_equal(*(without_labels(_undeclared(f.body)) for f in (again, func))):
        raise IRError(f"{func.name} as a module does not read back as the same program")
    return module


def _undeclared(stmt: Stmt) -> Stmt:
    """The statement without declarations of views: where they stand means nothing."""
    return rewrite(stmt, lambda n: n.body if isinstance(n, DeclBuffer) else None)


@final
class _Maker:
    def __init__(self, func: PrimFunc) -> None:
        self.functions: dict[str, PrimFunc] = {}
        self.taken = {func.name}
        self.data = data_vars(func.body)

    def stmt(self, stmt: Stmt, owners: Mapping[Var, Buffer]) -> Stmt:
        match stmt:
            case Allocate(buffer=b):
                owners = {**owners, b.data: b}
            case Block(alloc_buffers=buffers):
                owners = {**owners, **{b.data: b for b in buffers}}
        inner = map_children(stmt, lambda n: self.stmt(n, owners) if isinstance(n, Stmt) else n)
        called = called_function(stmt)
        if called is None:
            return inner
        assert isinstance(inner, Block)
        made, arguments = self.function(called, inner.body, owners)
        return Evaluate(Call(VOID, f"@{self.name(called, made)}", arguments))

    def name(self, wanted: str, made: PrimFunc) -> str:
        """The name of an equal function, or a fresh one."""
        name, k = wanted, 0
        while name in self.taken:
            if name in self.functions and structural_equal(self.functions[name], made):
                return name
            name, k = f"{wanted}_{k + 1}", k + 1
        self.taken.add(name)
        self.functions[name] = PrimFunc(name, made.params, made.buffer_map, made.body)
        return name

    def function(self, name: str, body: Stmt, owners: Mapping[Var, Buffer]) -> tuple[PrimFunc, tuple[Expr, ...]]:
        """A function with this body, and what it is called with."""
        passed = _passed(name, body, owners)
        for view in _views(body, passed):
            body = DeclBuffer(view, body)
        scalars = [v for v in _scalars(body, passed) if not _extent_of(v, passed)]
        for v in scalars:
            if v in self.data:
                raise IRError(f"{v.name} is computed from memory and cannot be passed to {name}; move its let inside")
        symbols = [v for v in _scalars(body, passed) if v not in scalars]
        fresh = {v: Var.fresh(v.name, v.type) for v in (*scalars, *symbols)}
        buffers = tuple(substitute(b, fresh).with_data(Var.fresh(b.data.name, b.data.type)) for b in passed)
        handles = tuple(Var.fresh(b.name, HANDLE) for b in passed)
        old = PrimFunc(name, handles, tuple(zip(handles, passed, strict=True)), body)
        new = instantiate(old, Arguments(buffers, tuple(fresh.items())))
        params = (*handles, *(fresh[v] for v in scalars))
        func = PrimFunc(name, params, tuple(zip(handles, buffers, strict=True)), new)
        return func, (*(b.data for b in passed), *scalars)


def _passed(name: str, body: Stmt, owners: Mapping[Var, Buffer]) -> list[Buffer]:
    """The buffers from around, those that are only read first."""
    bound = {n.buffer.data for n in nodes_of(body, Allocate)}
    used: dict[Var, None] = {}
    written: set[Var] = set()
    for n in _in_order(body):
        match n:
            case Load(buffer=b) | DeclBuffer(buffer=b):
                used.setdefault(b.data)
            case Store(buffer=b):
                used.setdefault(b.data)
                written.add(b.data)
            case Call(args=args):
                pointers = [a for a in args if isinstance(a, Var) and isinstance(a.type, PointerType)]
                used.update(dict.fromkeys(pointers))
                written.update(pointers)
    outer = [d for d in used if d not in bound]
    unknown = next((d for d in outer if d not in owners), None)
    if unknown is not None:
        raise IRError(f"{unknown.name} cannot be passed to {name}: it is not a buffer here")
    return [owners[d] for d in (*(d for d in outer if d not in written), *(d for d in outer if d in written))]


def _in_order(node: Node) -> Iterator[Node]:
    """Nodes in the order of evaluation, more or less: what a store reads comes before what it writes."""
    if isinstance(node, Store):
        for n in (*node.indices, node.value):
            yield from _in_order(n)
        yield node
        return
    yield node
    for child in children(node):
        if not isinstance(child, (Var, Buffer)):
            yield from _in_order(child)


def _views(body: Stmt, passed: Iterable[Buffer]) -> list[Buffer]:
    """Other views of the passed blocks, declared around the block: the function declares them itself."""
    whole = set(passed)
    inside = {n.buffer for n in nodes_of(body, DeclBuffer)}
    used = dict.fromkeys(n.buffer for n in walk(body) if isinstance(n, (Load, Store)))
    return [b for b in used if b not in whole and b not in inside and any(b.data is w.data for w in whole)]


def _scalars(body: Stmt, passed: Iterable[Buffer]) -> list[Var]:
    owned = {b.data for b in passed}
    shapes = [e for b in passed for e in (*b.shape, *b.strides, b.elem_offset)]
    free = (*free_vars(body), *(v for e in shapes for v in free_vars(e)))
    return [v for v in dict.fromkeys(free) if v not in owned and not isinstance(v.type, PointerType)]


def _extent_of(var: Var, passed: Iterable[Buffer]) -> bool:
    """Whether an array that is passed says what a variable is."""
    return any(e is var for b in passed for e in b.shape)


__all__ = ["assumes", "called_function", "head", "linked", "outlined", "program_of", "with_contraction"]


def no_program(given: object) -> str:
    """What a program is, and that something else was given: the end of a sentence."""
    if isinstance(given, type) or callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        hint = f"the function {name}; write @T.prim_func above it" if isfunction(given) else name
        return f"a program, not {hint}"
    what = repr(given) if given is None or isinstance(given, (int, float)) else f"a {type(given).__name__}"
    return f"a program (a function with @T.prim_func above it, a module, or the text of one), not {what}"
