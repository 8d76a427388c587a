"""Names for printing: every variable and buffer gets one that is unique where it is visible.

Names are given in the order in which the text binds them, so printing a program that was read from a printed text gives
the same names again.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from contextlib import contextmanager

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var

RESERVED = frozenset({"T", "I", "range", "TypeVar", "Module", "inf", "nan", "_", "tir", "tirx", "print"})
_OTHER = re.compile(r"[^A-Za-z0-9_]")


def identifier(hint: str) -> str:
    """The hint made an identifier that has no other meaning in a text."""
    name = _OTHER.sub("_", hint) or "v"
    if name[0].isdigit():
        name = f"v{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


class Names:
    """Names in scope while a program is printed."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self.used: set[str] = set(reserved)
        self.of: dict[Var | Buffer, str] = {}
        self.blocks: dict[Var, str] = {}
        """The name of the first buffer in scope over each data variable."""
        self.lets: dict[str, DType] = {}
        """Variables declared for ``T.Let``, which may be used again by another one of the same type."""
        self.pending: list[tuple[str, DType]] = []
        """Those of them whose declaration has yet to be printed."""
        self._undo: list[list[tuple[str, object, object]]] = [[]]

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Names given inside are free again afterwards."""
        self._undo.append([])
        lets = dict(self.lets)
        try:
            yield
        finally:
            self.lets = lets
            for table, key, old in reversed(self._undo.pop()):
                self._restore(table, key, old)

    def _restore(self, table: str, key: object, old: object) -> None:
        match table, key, old:
            case "used", str(), _:
                self.used.discard(key)
            case "of", (Var() | Buffer()), None:
                self.of.pop(key, None)
            case "of", (Var() | Buffer()), str():
                self.of[key] = old
            case "blocks", Var(), None:
                self.blocks.pop(key, None)

    def unique(self, hint: str) -> str:
        """A name that nothing in scope has: the hint, or the hint with a number."""
        base = identifier(hint)
        name, k = base, 0
        while name in self.used:
            k += 1
            name = f"{base}_{k}"
        return name

    def reserve(self, name: str) -> str:
        """Take exactly this name until the end of the frame."""
        if name not in self.used:
            self.used.add(name)
            self._undo[-1].append(("used", name, None))
        return name

    def give(self, node: Var | Buffer) -> str:
        """A name for a variable or buffer that becomes visible now."""
        name = self.reserve(self.unique(node.name))
        self.set(node, name)
        return name

    def set(self, node: Var | Buffer, name: str) -> None:
        """Let a variable or buffer have this name until the end of the frame."""
        self._undo[-1].append(("of", node, self.of.get(node)))
        self.of[node] = name
        if isinstance(node, Buffer) and node.data not in self.blocks:
            self.blocks[node.data] = name
            self._undo[-1].append(("blocks", node.data, None))

    def name(self, node: Var | Buffer) -> str:
        """The name in scope; something unbound gets one here."""
        found = self.of.get(node)
        return found if found is not None else self.give(node)

    @contextmanager
    def let(self, var: Var) -> Iterator[str]:
        """A name for the variable of ``T.Let``, declared in a line of its own before the statement."""
        base = identifier(var.name)
        name, k = base, 0
        dtype = var.dtype
        while name in self.used and not (self.lets.get(name) is dtype and name not in self.of.values()):
            k += 1
            name = f"{base}_{k}"
        if name not in self.lets:
            self.lets[name] = dtype
            self.pending.append((name, dtype))
            self.reserve(name)
        old = self.of.get(var)
        self.of[var] = name
        try:
            yield name
        finally:
            if old is None:
                del self.of[var]
            else:
                self.of[var] = old
