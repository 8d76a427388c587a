"""Twins of programs: other names, buffers behind views."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, final

from tests.nets.derivations import Lemmas, Untranslated, rebuilt
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Call, Load, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, Evaluate, Region, Stmt, Store
from verified_tir.ir.visit import sub_statements, walk
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules.rewrite import Edit, Rewrite
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.step import Rule
from verified_tir.schedule.functions import called_function, program_of

Name = Callable[[str], str]

NAMED: dict[type, str] = {
    Buffer: "name",
    Block: "name",
    PrimFunc: "name",
    Stage: "name",
}
"""The fields that hold a name without a meaning."""

VOID = DType.parse("void")
PATHS = {"path", "source"}


def as_it_is(name: str) -> str:
    return name


@final
class Twins:
    """Programs and rules with other names, or with each buffer behind a view, or both."""

    def __init__(self, name: Name = as_it_is, *, views: bool = False, outlined: bool = False) -> None:
        self.name = name
        self.with_views = views
        self.outlined = outlined
        self.fresh = name is not as_it_is
        """Whether variables are others."""
        self.map: dict[Node, Node] = {}
        """What stands for variables, and for buffers as they are declared."""
        self.accessed: dict[Buffer, Buffer] = {}
        """The view through which a buffer of the twin is accessed."""
        self.original: Stmt | None = None
        self.twin: Any = None

    def program(self, func: PrimFunc) -> PrimFunc:
        if self.outlined:
            made, owed = program_of(outlined(func), func.name)
            if owed:
                raise Untranslated
            return made
        renamed: PrimFunc = self.renamed(func)
        return viewed(renamed) if self.with_views else renamed

    def renamed(self, value: Any) -> Any:
        """A node, record or plain value with other names."""
        if isinstance(value, Var):
            if value not in self.map:
                self.map[value] = value if not self.fresh else Var.fresh(self.name(value.name), value.type)
            return self.map[value]
        if isinstance(value, Node):
            if value not in self.map:
                self.map[value] = self.with_name(value, rebuilt(value, self.renamed))
            return self.map[value]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self.with_name(value, rebuilt(value, self.renamed))
        return value

    def with_name(self, original: Any, made: Any) -> Any:
        """The record made of ``original`` with its own name changed."""
        field = NAMED.get(type(made))
        if field is None or self.name is as_it_is:
            return made
        values = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
        return type(made)(**{**values, field: self.name(values[field])})

    # -- rules -----------------------------------------------------------------------------------------------------

    def rule(self, rule: Rule, lemma: Lemmas) -> Rule:
        def change(value: Any) -> Any:
            if isinstance(value, Refines):
                found = lemma(value)
                if found is None:
                    raise Untranslated
                theorem, twin = found
                self.map |= {
                    k: v for k, v in twin.map.items() if k not in self.map
                }  # its parameters, to be given values
                return theorem
            if isinstance(value, Node) or not dataclasses.is_dataclass(value):
                return self.through_views(self.renamed(value))
            return self.with_name(value, self.moved(value, rebuilt(value, change)))

        return change(rule)  # type: ignore[no-any-return]

    def moved(self, original: Any, made: Any) -> Any:
        """The rule with places of the twin for places of the original."""
        values = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
        for field in PATHS & set(values) if not isinstance(original, Edit) else ():
            values[field] = self.place(getattr(original, field))
        if isinstance(original, Stage):
            here, there = original.path, values["path"]
            values["only"] = tuple(self.place((*here, *p))[len(there) :] for p in original.only)
        if isinstance(original, Rewrite):
            here, there = original.path, values["path"]
            pairs = zip(original.edits, made.edits, strict=True)
            values["edits"] = tuple(
                dataclasses.replace(e, path=self.place((*here, *o.path))[len(there) :]) for o, e in pairs
            )
        for field in {Stage: ("buffer",)}.get(type(original), ()):
            values[field] = self.accessed.get(values[field], values[field])
        return type(made)(**values)

    def place(self, path: Path) -> Path:
        """The place in the twin of a statement of the original."""
        if self.outlined:
            return (0, *path) if called_function(self.twin) is not None else path
        if not self.with_views:
            return path
        assert self.original is not None and self.twin is not None
        original, twin = self.original, self.twin
        found: list[int] = []
        rest = list(path)
        while True:
            while isinstance(twin, DeclBuffer) and twin.buffer in self.accessed.values():
                found.append(0)
                twin = twin.body
            if not rest:
                return tuple(found)
            k = rest.pop(0)
            below, other = sub_statements(original), sub_statements(twin)
            if k >= len(below) or len(below) != len(other):
                return (*found, k, *rest)
            original, twin = below[k], other[k]
            found.append(k)

    def through_views(self, value: Any) -> Any:
        """A node of the twin in which buffers are accessed through their views."""
        if not self.accessed or not isinstance(value, Node):
            return value
        return _accessing(value, self.accessed)

    # -- steps -----------------------------------------------------------------------------------------------------

    def following(self, original: PrimFunc, twin: PrimFunc) -> Twins | None:
        plain, views = without_views(twin) if self.with_views else (twin, {})
        if called_function(twin.body) is not None:
            plain = twin.with_body(twin.body.body)
        if self.outlined and any(called_function(n) is not None for n in walk(plain.body)):
            raise Untranslated  # a call further inside: what was assumed before it, or the call of a lemma
        if not structural_equal(original, plain):
            return None
        made = Twins(self.name, views=self.with_views, outlined=self.outlined)
        made.map = {k: v for k, v in self.map.items() if isinstance(k, Var)}
        made.accessed = views
        made.original, made.twin = original.body, twin.body
        _align(original, plain, made.map)
        return made

    def block(self, data: Var) -> Var:
        found = self.map[data]
        assert isinstance(found, Var)
        return found


def _align(a: Any, b: Any, found: dict[Node, Node]) -> None:
    """Pairs of variables and buffers at the same places of two programs that are equal but for names."""
    seen: set[Node] = set()
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if type(a) is tuple:
            stack.extend(zip(a, b, strict=True))
        elif isinstance(a, Node) and a not in seen:
            seen.add(a)
            if isinstance(a, (Var, Buffer)):
                found[a] = b
            if not isinstance(a, Var):
                stack.extend((getattr(a, f), getattr(b, f)) for f in a.__match_args__)


# -- views ----------------------------------------------------------------------------------------------------------


def view_of(buffer: Buffer) -> Buffer:
    """An identical view of another name."""
    return buffer.with_data(buffer.data, f"{buffer.name}_view")


def viewed(func: PrimFunc) -> PrimFunc:
    """The program with every buffer that a block came with, or was allocated as, reached through a view."""
    allocated = [n.buffer for n in walk(func.body) if isinstance(n, Allocate)]
    allocated += [b for n in walk(func.body) if isinstance(n, Block) for b in n.alloc_buffers]
    views = {b: view_of(b) for b in (*func.buffers, *allocated)}
    body = _accessing(func.body, views)
    for b in reversed(func.buffers):
        body = DeclBuffer(views[b], body)
    return func.with_body(body)


def _accessing(node: Any, views: dict[Buffer, Buffer]) -> Any:
    """Accesses and regions of buffers become those of their views; below an allocation its view is declared."""
    memo: dict[Node, Node] = {}

    def go(n: Any) -> Any:
        if not isinstance(n, Node) or isinstance(n, (Var, Buffer)):
            return n
        if n not in memo:
            made = rebuilt(n, go)
            if isinstance(made, (Load, Store, Region)) and made.buffer in views:
                values = [getattr(made, f) for f in made.__match_args__]
                values[made.__match_args__.index("buffer")] = views[made.buffer]
                made = type(made)(*values)
            if isinstance(made, Allocate) and made.buffer in views:
                made = Allocate(made.buffer, DeclBuffer(views[made.buffer], made.body), made.annotations)
            if isinstance(made, Block):
                own = [b for b in made.alloc_buffers if b in views]
                parts = [made.init, made.body]
                for b in reversed(own):
                    parts = [None if p is None else DeclBuffer(views[b], p) for p in parts]
                made = dataclasses.replace(made, init=parts[0], body=parts[1])
            memo[n] = made
        return memo[n]

    return go(node)


def without_views(func: PrimFunc) -> tuple[PrimFunc, dict[Buffer, Buffer]]:
    """The program with identical views erased, and the last view of each buffer."""
    whole = {b.data: b for b in func.buffers}
    whole |= {n.buffer.data: n.buffer for n in walk(func.body) if isinstance(n, Allocate)}
    views: dict[Buffer, Buffer] = {}
    for n in walk(func.body):
        if isinstance(n, DeclBuffer):
            b = whole[n.buffer.data]
            if n.buffer.with_data(b.data, b.name) is b:
                views[b] = n.buffer
    bases = {v: b for b, v in views.items()}
    memo: dict[Node, Node] = {}

    def go(n: Any) -> Any:
        if not isinstance(n, Node):
            return n
        if n in bases:
            return bases[n]
        if n not in memo:
            made = rebuilt(n, go) if not isinstance(n, (Var, Buffer)) else n
            memo[n] = made.body if isinstance(n, DeclBuffer) and n.buffer in bases else made
        return memo[n]

    return func.with_body(go(func.body)), views


# -- calls -----------------------------------------------------------------------------------------------------------


def outlined(func: PrimFunc) -> IRModule:
    """A module in which the function calls another one, which does what it did."""
    inner = Twins()
    inner.fresh = True
    name = f"the_body_of_{func.name}"
    callee = dataclasses.replace(inner.renamed(func), name=name)
    arguments = tuple([p if (b := func.buffer_of(p)) is None else b.data for p in func.params])
    call = Evaluate(Call(VOID, f"@{name}", arguments))
    return IRModule(((func.name, func.with_body(call)), (name, callee)))


__all__ = ["Twins", "outlined", "viewed", "without_views"]
