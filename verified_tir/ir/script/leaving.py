"""``break``, ``continue`` and an early ``return``, written with branches and flags.

A program here runs its statements in order, so a text that leaves a loop or the function early is rewritten into one
that does not, and has the same meaning:

    for i in range(n):                      left = T.alloc_buffer((), "bool")
        if A[i] < 0.0:                      left[()] = False
            break                     ⟶     for i in range(n):
        B[i] = A[i]                             if not left[()]:
                                                    if A[i] < 0.0:
                                                        left[()] = True
                                                    else:
                                                        B[i] = A[i]

What follows a branch that always leaves goes into its ``else``; what follows a statement that may leave runs under the
condition that it has not.  A loop that is left runs its remaining iterations empty, and a ``while`` does not evaluate
its condition again.  ``continue`` is a flag of the iteration, where it needs one at all.

TVM has the three as ``T.break_loop()``, ``T.continue_loop()`` and ``T.ret``; ``break`` leaves the innermost loop of a
``T.grid``.  An iteration of a parallel, vectorized or bound loop cannot stop the others, so ``break`` is refused there,
as is a return with a value inside a loop.  ``T.thread_return()`` ends one thread: where nothing but loops over threads
is around it, that is ``continue``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, final

from verified_tir.ir.script.source import Located, Source

THREAD_RETURN: Final = "thread_return"
"""One thread returns: it goes on with the next iteration of its loop, which is another thread."""
_CALLS: Final[dict[str, type[ast.stmt]]] = {
    "break_loop": ast.Break, "Break": ast.Break, "continue_loop": ast.Continue, "Continue": ast.Continue,
    "ret": ast.Return, "Return": ast.Return, THREAD_RETURN: ast.Continue,
}  # fmt: skip
_SERIAL: Final = frozenset({"range", "serial", "unroll", "unrolled", "grid"})
"""Loops whose iterations run one after the other."""


@final
@dataclass(slots=True)
class _Body:
    """Rewritten statements: the flags that may be set when they end, and whether they always leave."""

    stmts: list[ast.stmt]
    flags: list[str] = field(default_factory=list)
    leaves: bool = False


@final
@dataclass(slots=True)
class _Loop:
    """The loop around a place: the names of its flags, once something needs them."""

    broken: str = ""
    skipped: str = ""
    may_break: bool = True
    alone: bool = False
    """Whether only loops over threads are around, and nothing follows them: an iteration is all that a thread does."""


class Leaving:
    """Rewrites the body of one function.

    :param t_name: the name below ``T`` that an expression spells, as the parser finds it.
    :param alias: a name of the namespace ``T`` in the text.
    """

    def __init__(self, source: Source, node: ast.FunctionDef, t_name: Callable[[ast.expr], str | None], alias: str):
        self.source = source
        self.node = node
        self.t_name = t_name
        self.alias = alias
        every = [*ast.walk(node)]
        self.used = {n.id for n in every if isinstance(n, ast.Name)} | {n.arg for n in every if isinstance(n, ast.arg)}
        self.returned = ""
        self.flags: set[str] = set()
        self.tested: set[str] = set()
        """The flags that some condition reads; the others are not needed."""
        calls = [n for n in every if isinstance(n, ast.Call)]
        self.threads = sum(t_name(n.func) in ("launch_thread", "device_entry") or _begins_device(n) for n in calls)

    def body(self) -> list[ast.stmt]:
        """The statements of the function, none of which leaves anything early.

        :raises ScriptError: where that cannot be said.
        """
        body = self.node.body
        last = len(body) - 1
        match body[-1]:
            case ast.Expr(value=ast.Call() as call) if self._exit(body[-1]) is ast.Return:
                given = self._evaluated(call).args
                body = [*body[:-1], _at(ast.Return(given[0] if given else None), call)]
        if not any(self._exit(n) for k, s in enumerate(body) for n in _statements_in(s) if k < last or n is not s):
            return body
        rewritten = self._body(body, None, True)
        _Unneeded(self.tested, self.flags).body(rewritten.stmts)
        stmts = rewritten.stmts or [_at(ast.Pass(), body[0])]
        return [*self._flag(self.returned, body[0]), *stmts] if self.returned in self.tested else stmts

    def _exit(self, node: ast.stmt) -> type[ast.stmt] | None:
        """``ast.Break``, ``ast.Continue`` or ``ast.Return`` for a statement that leaves, as a call of ``T`` too."""
        match node:
            case ast.Break() | ast.Continue() | ast.Return():
                return type(node)
            case ast.Expr(value=ast.Call() as call):
                return _CALLS.get(self.t_name(self._evaluated(call).func) or "")
        return None

    def _is_thread_return(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value=ast.Call() as call):
                return self.t_name(self._evaluated(call).func) == THREAD_RETURN
        return False

    def _evaluated(self, call: ast.Call) -> ast.Call:
        """The call inside ``T.evaluate(…)``, or the call itself."""
        match call:
            case ast.Call(func=func, args=[ast.Call() as inner]) if self.t_name(func) in ("evaluate", "Evaluate"):
                return inner
        return call

    # -- statements -----------------------------------------------------------------------------------------------

    def _body(self, nodes: Sequence[ast.stmt], loop: _Loop | None, whole: bool = False) -> _Body:
        """Statements of one scope, inside ``loop``; ``whole`` says that nothing around does anything after them."""
        done = _Body([])
        for k, node in enumerate(nodes):
            how = self._exit(node)
            if how is not None:
                left = self._leave(node, how, loop)
                return _Body([*done.stmts, *left.stmts], [*done.flags, *left.flags], True)
            part = self._statement(node, loop, whole and k == len(nodes) - 1)
            rest = nodes[k + 1 :]
            done.stmts += part.stmts
            if not part.flags and not part.leaves:
                continue
            done.flags += part.flags
            if part.leaves or not rest:
                return _Body(done.stmts, done.flags, part.leaves)
            after = self._body(rest, loop)
            match part.stmts:  # what follows a branch that always leaves is its other branch
                case [ast.If() as branch] if (empty := self._open_branch(node, loop)) is not None:
                    setattr(branch, empty, [*getattr(branch, empty), *after.stmts])
                case _:
                    done.stmts.append(self._unless(part.flags, after.stmts, node))
            return _Body(done.stmts, [*done.flags, *after.flags])
        return done

    def _open_branch(self, node: ast.stmt, loop: _Loop | None) -> str | None:
        """The branch of an ``if`` that goes on where the other one always leaves; ``None`` if there is none."""
        if not isinstance(node, ast.If):
            return None
        then, other = (self._ends(b) for b in (node.body, node.orelse))
        free = [not any(self._exit(n) for s in b for n in _statements_in(s)) for b in (node.body, node.orelse)]
        if then and free[1]:
            return "orelse"
        return "body" if other and free[0] else None

    def _ends(self, nodes: Sequence[ast.stmt]) -> bool:
        """Whether the statements leave in any case, by one of their own."""
        return any(self._exit(n) is not None for n in nodes)

    def _statement(self, node: ast.stmt, loop: _Loop | None, last: bool) -> _Body:
        """A statement that may leave by something inside; ``last`` says that nothing is done after it."""
        if not any(self._exit(n) for n in _statements_in(node)):
            return _Body([node])
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                then, other = self._body(body, loop), self._body(orelse, loop)
                branch = _at(ast.If(test, then.stmts or [_at(ast.Pass(), node)], other.stmts), node)
                return _Body([branch], [*then.flags, *other.flags], then.leaves and other.leaves)
            case ast.With(items=items, body=body):
                inner = self._body(body, loop)
                return _Body([_at(ast.With(items, inner.stmts), node)], inner.flags, inner.leaves)
            case ast.For():
                return self._for(node, last)
            case ast.While(test=test, body=body):
                own = _Loop()
                inner = self._body(body, own)
                flags = [f for f in (own.broken, self.returned) if f in inner.flags]
                going = [_at(ast.UnaryOp(ast.Not(), self._read(f, node)), node) for f in flags]
                if going:
                    self._test(flags, node)
                    test = _at(ast.BoolOp(ast.And(), [*going, test]), node)
                stmts = [*self._flag(own.skipped, node), *inner.stmts]
                again = _at(ast.While(test, stmts, []), node)
                returned = [self.returned] if self.returned in flags else []
                return _Body([*self._flag(own.broken, node), again], returned)
        raise self.source.error(node, "nothing can be left from here; write it with if and else")

    def _for(self, node: ast.For, ends: bool) -> _Body:
        """A loop whose iterations do nothing once it is left."""
        kind = self._kind(node)
        own = _Loop(may_break=kind in _SERIAL, alone=ends and kind == "thread_binding")
        inner = self._body(node.body, own, own.alone)
        stmts = [*self._flag(own.skipped, node), *inner.stmts]
        flags = list(dict.fromkeys(f for f in inner.flags if f in (own.broken, self.returned) and f))
        returned = [self.returned] if self.returned in flags else []
        if returned and not own.may_break:
            raise self.source.error(node, "only a serial loop can be left by return; write it with conditions")
        if not flags:
            return _Body([_at(ast.For(node.target, node.iter, stmts, []), node)])
        body = [self._unless(flags, stmts, node)]
        match node.target, node.iter:
            case (
                (ast.Tuple(elts=[*names, last]) | ast.List(elts=[*names, last])),
                ast.Call(func=func, args=[*extents, extent]),
            ) if kind == "grid" and names and len(names) == len(extents):
                one = _at(ast.Call(copy.deepcopy(func), [extent], node.iter.keywords), node)
                rest = _at(ast.Call(func, extents, node.iter.keywords), node)
                loop: ast.stmt = _at(ast.For(last, one, body, []), node)
                target = names[0] if len(names) == 1 else _at(ast.Tuple(names, ast.Store()), node)
                outer = [*self._flag(own.broken, node), loop]
                if returned:
                    outer = [self._unless(returned, outer, node)]
                return _Body([_at(ast.For(target, rest, outer, []), node)], returned)
        if own.broken in flags and kind == "grid" and not self._is_single(node):
            raise self.source.error(node, "break leaves the innermost loop only; write this T.grid as nested loops")
        again = _at(ast.For(node.target, node.iter, body, []), node)
        return _Body([*self._flag(own.broken, node), again], returned)

    @staticmethod
    def _is_single(node: ast.For) -> bool:
        """Whether a ``T.grid`` is one loop."""
        match node:
            case ast.For(target=ast.Name(), iter=ast.Call(args=[single])):
                return not isinstance(single, ast.Starred)
        return False

    def _kind(self, node: ast.For) -> str:
        match node.iter:
            case ast.Call(func=ast.Name(id="range")):
                return "range"
            case ast.Call(func=func):
                return self.t_name(func) or ""
        return ""

    # -- leaving --------------------------------------------------------------------------------------------------

    def _leave(self, node: ast.stmt, how: type[ast.stmt], loop: _Loop | None) -> _Body:
        """What stands for the statement that leaves."""
        if how is ast.Return:
            return self._return(node, loop)
        if loop is None:
            raise self.source.error(node, "there is no loop around it that could be left")
        if self._is_thread_return(node) and not loop.alone:
            raise self.source.error(
                node, "T.thread_return() has no meaning here unless there is nothing but loops over threads around it"
            )
        if how is ast.Continue:
            loop.skipped = loop.skipped or self._name("skipped")
            return _Body([self._set(loop.skipped, node, True)], [loop.skipped])
        if not loop.may_break:
            why = "its iterations need not run in order; only a serial loop can be left by break"
            raise self.source.error(node, f"this loop cannot be left: {why}")
        loop.broken = loop.broken or self._name("left")
        return _Body([self._set(loop.broken, node, True)], [loop.broken])

    def _return(self, node: ast.stmt, loop: _Loop | None) -> _Body:
        match node:
            case ast.Return(value=value):
                pass
            case ast.Expr(value=ast.Call() as call):
                call = self._evaluated(call)
                value = call.args[0] if call.args else None
                node = _at(ast.Return(value), node)
            case _:
                value = None
        if isinstance(value, ast.Constant) and value.value is None:
            value = None
        if loop is not None and value is not None:
            raise self.source.error(
                node, "a return with a value inside a loop has no meaning here; store the value, break, and return it"
            )
        self.returned = self.returned or self._name("returned")
        stmts: list[ast.stmt] = [node] if value is not None else []
        return _Body([*stmts, self._set(self.returned, node, True)], [self.returned])

    # -- flags ----------------------------------------------------------------------------------------------------

    def _name(self, hint: str) -> str:
        """A name that the function does not use."""
        name, k = hint, 0
        while name in self.used:
            k += 1
            name = f"{hint}_{k}"
        self.used.add(name)
        self.flags.add(name)
        return name

    def _flag(self, flag: str, place: Located) -> list[ast.stmt]:
        """The flag, not set; nothing if there is none."""
        if not flag:
            return []
        alloc = ast.Attribute(ast.Name(self.alias, ast.Load()), "alloc_buffer", ast.Load())
        call = ast.Call(alloc, [ast.Tuple([], ast.Load()), ast.Constant("bool")], [])
        made = _at(ast.Assign([ast.Name(flag, ast.Store())], call), place)
        return [made, self._set(flag, place, False)]

    def _set(self, flag: str, place: Located, value: bool) -> ast.stmt:
        target = ast.Subscript(ast.Name(flag, ast.Load()), ast.Tuple([], ast.Load()), ast.Store())
        return _at(ast.Assign([target], ast.Constant(value)), place)

    def _read(self, flag: str, place: Located) -> ast.expr:
        return _at(ast.Subscript(ast.Name(flag, ast.Load()), ast.Tuple([], ast.Load()), ast.Load()), place)

    def _test(self, flags: Sequence[str], place: Located) -> None:
        """Notes that the flags are read."""
        self.tested |= set(flags)
        if self.returned in flags and self.threads:
            raise self.source.error(place, "a thread returns for itself only; write what follows under a condition")

    def _unless(self, flags: Sequence[str], stmts: list[ast.stmt], place: Located) -> ast.stmt:
        """The statements, if none of the flags is set."""
        self._test(flags, place)
        unset: list[ast.expr] = [ast.UnaryOp(ast.Not(), self._read(f, place)) for f in dict.fromkeys(flags)]
        test = unset[0] if len(unset) == 1 else ast.BoolOp(ast.And(), unset)
        return _at(ast.If(test, stmts or [ast.Pass()], []), place)


@final
@dataclass(slots=True)
class _Unneeded:
    """Takes out flags that no condition reads."""

    tested: set[str]
    flags: set[str]

    def body(self, stmts: list[ast.stmt]) -> None:
        """Take them out of the statements, in place."""
        kept = [s for s in stmts if not self._sets(s)]
        stmts[:] = kept or ([_at(ast.Pass(), stmts[0])] if stmts else [])
        for s in stmts:
            for inner in ("body", "orelse"):
                if isinstance(nested := getattr(s, inner, None), list):
                    self.body(nested)

    def _sets(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) | ast.Name(id=name)]):
                return name in self.flags and name not in self.tested
        return False


def _statements_in(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and all that stand inside it, outer ones first."""
    yield node
    for name in ("body", "orelse", "finalbody"):
        for inner in getattr(node, name, ()):
            yield from _statements_in(inner)


def _begins_device(node: ast.Call) -> bool:
    """Whether the call is ``T.attr({"tirx.device_entry": True})``."""
    return any(isinstance(n, ast.Constant) and n.value == "tirx.device_entry" for a in node.args for n in ast.walk(a))


_Node = TypeVar("_Node", bound=ast.AST)


def _at(node: _Node, place: Located) -> _Node:
    """The node at a place of the text; its parts that have none of their own, too."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.expr, ast.stmt)) and not hasattr(inner, "lineno"):
            inner.lineno, inner.col_offset = place.lineno, place.col_offset
    return node
