"""Names in scope while a text is parsed, and the domains of the loops around the place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script.values import Value


class Scope:
    """A stack of frames, innermost last.

    A name is visible from where it is bound to the end of its frame.  Binding it again in the same frame hides the
    earlier binding (as reading the text in order suggests); binding it in an inner frame is refused, because Python
    would keep the new value after that frame.
    """

    def __init__(self, outer: Mapping[str, Value] | None = None) -> None:
        self.outer: Mapping[str, Value] = outer or {}
        self.frames: list[dict[str, Value]] = [{}]
        self.loops: dict[Var, tuple[Expr, Expr]] = {}
        """The (min, extent) of every loop around the place, by its variable."""

    def find(self, name: str) -> Value:
        """What the name stands for.

        :raises KeyError: if it is not in scope.
        """
        for frame in reversed(self.frames):
            if name in frame:
                return frame[name]
        return self.outer[name]

    def has(self, name: str) -> bool:
        """Whether the name is in scope."""
        return any(name in frame for frame in self.frames) or name in self.outer

    def hide(self, name: str, value: Value) -> None:
        """Let the name stand for ``value`` to the end of the innermost frame, whatever it means outside.

        Loop and axis variables do this: TVM prints such programs, and means them so.
        """
        self.frames[-1][name] = value

    def bind(self, name: str, value: Value) -> None:
        """Let the name stand for ``value`` to the end of the innermost frame.

        :raises IRError: if an outer frame binds it already.
        """
        if name != "_" and any(name in frame for frame in self.frames[:-1]):
            raise IRError(f"{name} is bound already in an enclosing scope; choose another name")
        self.frames[-1][name] = value

    @contextmanager
    def frame(self) -> Iterator[None]:
        """An inner frame."""
        self.frames.append({})
        try:
            yield
        finally:
            self.frames.pop()

    def buffers(self) -> list[Buffer]:
        """The buffers in scope, outermost first."""
        return [v for frame in self.frames for v in frame.values() if isinstance(v, Buffer)]

    def names(self) -> list[str]:
        """All names in scope."""
        return [*self.outer, *(name for frame in self.frames for name in frame)]
