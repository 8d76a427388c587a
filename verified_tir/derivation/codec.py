"""From values to canonical s-expressions and back: what is spelled how follows from the types of fields.

A value is an atom, a tuple, a node of the IR, or a record: a frozen dataclass of a closed set of classes, which the
caller gives.  A node or record is a form of its class' name and its fields, in order.  Two classes of nodes have an
identity: variables and buffers.  Where one occurs first, it is spelled out with its number, ``(Var 3 "i" int32)``; from
then on it is ``%3``.  A text is read in a :class:`Scope`, which says what is numbered already.

Reading executes nothing: it makes nodes and records by their classes, whose fields are read by their types.
:func:`read` accepts the canonical spelling only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, final

from verified_tir.derivation.notation import Atom, BadText, Close, Open, Ref, Token, atom, tokens
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.exact import NODES, Inexact, field_readers
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Stmt

VAR, BUFFER = "%", "@"
_ATOMS: Final = (str, int, float, bool, type(None), DType)

Convert = Callable[[Any], Any]
"""What a form that was read becomes where it is a field of another one."""


@final
@dataclass(frozen=True, slots=True)
class Quoted:
    """The text of a value that is read in another scope, later: ``(Apply …)``."""

    text: str


QUOTED: Final = "Apply"


@cache
def node_classes() -> Mapping[str, type]:
    """The classes of nodes that have a form, by name; types of values are atoms, and bases have no nodes."""
    bases = {base for kind in NODES.values() for base in kind.__mro__[1:]}
    return {name: kind for name, kind in NODES.items() if kind not in bases and kind is not DType}


def field_names(kind: type) -> tuple[str, ...]:
    """The fields of a class, in the order in which its form has them."""
    return tuple(f.name for f in dataclasses.fields(kind))


@final
@dataclass(slots=True)
class Scope:
    """The variables and buffers that have a number, in order."""

    variables: list[Var] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)

    @staticmethod
    def of(*values: Any, records: Mapping[str, type] | None = None) -> Scope:
        """What is numbered when these were written, one after another."""
        writer = Writer(records=records)
        for value in values:
            writer.write(value)
        return Scope(list(writer.variables), list(writer.buffers))


@final
class Writer:
    """Writes values one after another; numbers go on."""

    def __init__(
        self, scope: Scope | None = None, records: Mapping[str, type] | None = None, convert: Convert | None = None
    ) -> None:
        scope = scope or Scope()
        self.variables: dict[Var, int] = {v: k for k, v in enumerate(scope.variables)}
        self.buffers: dict[Buffer, int] = {b: k for k, b in enumerate(scope.buffers)}
        self._records = records or {}
        self._convert = convert or (lambda value: value)

    def write(self, value: Any, *, lines: bool = False) -> str:
        """The one text of a value; with ``lines`` each statement begins a line.

        :raises BadText: if a part of it has no spelling.
        """
        found: list[str] = []
        pending: list[tuple[Any, int]] = [(value, 0)]  # what comes next is at the end
        while pending:
            item, depth = pending.pop()
            match item:
                case Close():
                    found.append("]" if item.tuple else ")")
                    continue
                case Quoted():
                    piece, parts = f"({QUOTED} {item.text})", None
                case _:
                    piece, parts = self._pieces(item)
            inner = depth + 1 if lines and isinstance(item, Stmt) else depth
            if found and found[-1] != "[":
                found.append("\n" + " " * inner if inner > depth else " ")
            found.append(piece)
            if parts is not None:
                pending.append((Close(piece == "["), depth))
                pending.extend((part, inner) for part in reversed(parts))
        return "".join(found)

    def _pieces(self, value: Any) -> tuple[str, Sequence[Any] | None]:
        """What a value begins with, and the parts that follow; an atom has none."""
        value = self._convert(value)
        kind = type(value)
        if kind in _ATOMS:
            return atom(value), None
        if kind is tuple:
            return "[", value
        known: dict[Any, int] | None = self.variables if kind is Var else self.buffers if kind is Buffer else None
        if known is not None and value in known:
            return atom(Ref(VAR if kind is Var else BUFFER, known[value])), None
        if self._records.get(kind.__name__) is not kind and node_classes().get(kind.__name__) is not kind:
            raise BadText(f"a {kind.__name__} has no spelling")
        parts = [getattr(value, name) for name in field_names(kind)]
        if known is not None:
            known[value] = len(known)
            parts = [known[value], *(parts[:-1] if kind is Var else parts)]
        return f"({kind.__name__}", parts


@final
@dataclass(slots=True)
class _Form:
    """A form or tuple that is being read; ``start`` is where what is quoted begins."""

    head: str | None
    items: list[Any] = field(default_factory=list)
    start: int = 0


@final
class Reader:
    """Reads values one after another; numbers go on."""

    def __init__(
        self, scope: Scope | None = None, records: Mapping[str, type] | None = None, convert: Convert | None = None
    ) -> None:
        scope = scope or Scope()
        self.variables: list[Var | None] = list(scope.variables)
        self.buffers: list[Buffer | None] = list(scope.buffers)
        self._classes = {**node_classes(), **(records or {})}
        self._convert = convert or (lambda value: value)

    def read(self, text: str) -> Any:
        """The value of a text.

        :raises BadText: if it is none.
        """
        open_: list[_Form] = [_Form(None)]
        quoted = 0  # how many forms are open inside of a quotation
        for position, token in tokens(text):
            if quoted:
                quoted += isinstance(token, Open) - isinstance(token, Close)
                if quoted == 0:
                    form = open_.pop()
                    open_[-1].items.append(Quoted(text[form.start : position - 1].strip(" \n")))
            elif isinstance(token, Open):
                open_.append(_Form(token.head, [], position))
                quoted = int(token.head == QUOTED)
            elif isinstance(token, Close):
                form = open_.pop()
                if not open_ or (form.head is None) is not token.tuple:
                    raise BadText("brackets do not match")
                self._append(open_[-1], self._made(form))
            else:
                self._append(open_[-1], self._atom(token))
        if len(open_) != 1 or len(open_[0].items) != 1:
            raise BadText("this is not one value")
        return open_[0].items[0]

    def _append(self, form: _Form, value: Any) -> None:
        if not form.items and form.head in ("Var", "Buffer"):  # its number, which is the next one
            known: list[Any] = self.variables if form.head == "Var" else self.buffers
            if type(value) is not int or value != len(known):
                raise BadText(f"the next {form.head} has the number {len(known)}, not {value!r}")
            known.append(None)
        form.items.append(value)

    def _atom(self, token: Token) -> Atom | Var | Buffer:
        if not isinstance(token, Ref):
            assert not isinstance(token, (Open, Close))
            return token
        known: Sequence[Var | Buffer | None] = self.variables if token.kind == VAR else self.buffers
        found = known[token.number] if token.number < len(known) else None
        if found is None:
            raise BadText(f"nothing has the number {token.kind}{token.number} here")
        return found

    def _made(self, form: _Form) -> Any:
        if form.head is None:
            return tuple(form.items)
        kind = self._classes.get(form.head)
        if kind is None:
            raise BadText(f"there is no form {form.head!r}")
        try:
            if kind is Var:
                return self._variable(form.items)
            if kind is Buffer:
                made = _exactly(kind, form.items[1:])
                self.buffers[form.items[0]] = made
                return made
            return self._convert(_exactly(kind, form.items))
        except (Inexact, IRError) as problem:
            raise BadText(f"{form.head}: {problem}") from None

    def _variable(self, items: list[Any]) -> Var:
        if len(items) != 3:
            raise BadText("a Var has a number, a name and a type")
        readers = dict(field_readers(Var))
        made = Var.fresh(readers["name"](items[1]), readers["type"](items[2]))
        self.variables[items[0]] = made
        return made


def _exactly(kind: type, items: Sequence[Any]) -> Any:
    """A node or record of these fields, which are read by their types first."""
    readers = field_readers(kind)
    if len(items) != len(readers):
        raise BadText(f"a {kind.__name__} has {len(readers)} fields, not {len(items)}")
    found = []
    for (name, read_field), item in zip(readers, items, strict=True):
        try:
            value = read_field(item)
        except Inexact as problem:
            raise BadText(f"{kind.__name__}.{name}: {problem}") from None
        if not _of_same_types(value, item):
            raise BadText(f"{kind.__name__}.{name}: a bool is not a number")
        found.append(value)
    return kind(*found)


def _of_same_types(value: Any, item: Any) -> bool:
    """Whether nothing was taken for something else: Python has a bool in the place of an int."""
    if type(value) is tuple is type(item):
        return all(_of_same_types(v, i) for v, i in zip(value, item, strict=True))
    return type(value) is type(item)


# -- programs ----------------------------------------------------------------------------------------------------------


def write_program(func: PrimFunc) -> str:
    """The text of a program, each statement on a line.

    :raises BadText: if a part of it has no spelling.
    """
    return Writer().write(func, lines=True)


def read_program(text: str) -> PrimFunc:
    """The program of a text, its variables new ones.

    :raises BadText: if it is not a program in the canonical spelling.
    """
    found = Reader().read(text)
    if type(found) is not PrimFunc:
        raise BadText(f"this is a {type(found).__name__}, not a program")
    if write_program(found) != text:
        raise BadText("it is not spelled in the canonical way")
    return found


__all__ = [
    "BUFFER", "QUOTED", "VAR", "BadText", "Quoted", "Reader", "Scope", "Writer", "field_names", "node_classes",
    "read_program", "write_program",
]  # fmt: skip
