"""What is known of a buffer's elements, as a value: RFC 77's buffer constraints.

A constraint says where (a predicate over the buffer's indices) which value stands.  It describes; nothing is proved
with it.  The proofs use what it was read from: the relation of the theorem, assumptions, stores.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

from verified_tir.index.conditions import negate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import TRUE, Binary, Expr, FloatImm, IntImm, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.poly import counted_in
from verified_tir.ir.sugar import as_expr, binary
from verified_tir.ir.visit import substitute

When = Literal["always", "at entry and exit", "at entry", "at exit", "when all is written"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class BufferConstraint:
    """Where ``predicate`` is true of the indices, the element of ``buffer`` is ``value`` (RFC 77).

    :ivar indices: one variable for each dimension of the buffer, as it is now.
    :ivar predicate: a condition over them; a constant true means everywhere.
    :ivar value: an expression over them, which may read the buffer; ``T.undef()``: the element may be touched and hold
        anything; ``None``: nobody may touch it.
    :ivar when: at what time.  A buffer that is only read holds it always.
    """

    buffer: Buffer
    indices: tuple[Var, ...]
    predicate: Expr
    value: Expr | None
    when: When = "always"

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.buffer.shape):
            n = len(self.buffer.shape)
            raise IRError(f"{self.buffer.name} has {n} dimensions, the constraint {len(self.indices)} indices")
        if not self.predicate.dtype.is_bool or self.predicate.dtype.lanes != 1:
            raise IRError(f"the predicate of a constraint is a condition, not of type {self.predicate.dtype}")
        if self.value is not None and self.value.dtype is not self.buffer.dtype:
            raise IRError(f"{self.buffer.name} holds {self.buffer.dtype}, the constraint {self.value.dtype}")

    def __str__(self) -> str:
        from verified_tir.ir.script import script

        element = f"{self.buffer.name}[{', '.join(v.name for v in self.indices)}]"
        where = "" if self.predicate is TRUE else f" where {script(self.predicate)}"
        match self.value:
            case None:
                return f"{element} is touched by nobody{where}"
            case Undef():
                return f"{element} may be anything{where}"
            case IntImm(value=number) | FloatImm(value=number):
                return f"{element} == {number}{where}"
            case value:
                return f"{element} == {script(value)}{where}"

    def holds_at(self, point: Sequence[Expr]) -> Expr:
        """The predicate at some indices."""
        return substitute(self.predicate, self._at(point))

    def value_at(self, point: Sequence[Expr]) -> Expr | None:
        """The value at some indices."""
        return None if self.value is None else substitute(self.value, self._at(point))

    def _at(self, point: Sequence[Expr]) -> dict[Var, Expr]:
        """The indices as those of an access, which may be of another type."""
        return {v: counted_in(e, v.dtype) for v, e in zip(self.indices, point, strict=True)}

    @property
    def condition(self) -> Expr:
        """What ``T.assume`` says of one element: ``4 * io + ii < 14 or A[io, ii] == 0``.

        On floats that is IEEE's comparison, to which both zeros are equal.

        :raises IRError: for forbidden access, of which an assumption cannot speak, for NaN, which equals nothing, and
            for vectors, whose comparison is one of each lane.
        """
        if self.buffer.dtype.lanes > 1:
            raise IRError(f"an assumption is about numbers; the elements of {self.buffer.name} are {self.buffer.dtype}")
        if self.value is None:
            raise IRError(f"that nobody touches {self.buffer.name} is said by its layout, not by an assumption")
        if isinstance(self.value, FloatImm) and self.value.value != self.value.value:
            raise IRError(f"an assumption cannot say that {self.buffer.name} holds NaN, which equals nothing")
        claim = Binary("eq", self.buffer[self.indices], self.value)
        return claim if self.predicate is TRUE else binary("or", negate(self.predicate), claim)


@final
@dataclass(frozen=True, slots=True, eq=False)
class IndexFunction:
    """A function of indices that was called once with variables: ``inputs`` and the expression that it gave."""

    inputs: tuple[Var, ...]
    output: Expr

    @staticmethod
    def of(function: Callable[..., Any], buffer: Buffer) -> IndexFunction:
        """Call a function of the buffer's indices.

        :raises IRError: if it takes another number of indices or gives no expression.
        """
        rank = len(buffer.shape)
        dtype = max((e.dtype for e in buffer.shape), key=lambda t: t.bits, default=INT32)
        names = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_POSITIONAL]
        names = names if len(names) == rank else [f"i{k}" for k in range(rank)]
        inputs = tuple(Var.fresh(name, dtype) for name in names)
        try:
            inspect.signature(function).bind(*inputs)
        except TypeError as problem:
            raise IRError(f"a function of the {rank} indices of {buffer.name} is wanted: {problem}") from problem
        return IndexFunction(inputs, as_expr(function(*inputs)))

    def __call__(self, *indices: Expr) -> Expr:
        return substitute(self.output, dict(zip(self.inputs, indices, strict=True)))
