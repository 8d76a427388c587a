"""LLVM IR as data: types, constants, instructions, functions.

Only what ``parser.py`` reads: opaque pointers, fixed vectors, first-class aggregates.  Layout (sizes and alignments)
is natural, as on the 64-bit processors that code is generated for.  It is not the default that LLVM's optimiser
assumes for a module without a ``target datalayout`` (there an ``i64`` has alignment 4), so code that depends on the
difference shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from verified_tir.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64

FLOATS: Final = {"half": FLOAT16, "bfloat": BFLOAT16, "float": FLOAT32, "double": FLOAT64}
"""Our type, by LLVM's name."""


@final
@dataclass(frozen=True, slots=True)
class IntType:
    bits: int


@final
@dataclass(frozen=True, slots=True)
class FloatType:
    """A type named in ``FLOATS``."""

    name: str

    @property
    def bits(self) -> int:
        return FLOATS[self.name].bits


@final
@dataclass(frozen=True, slots=True)
class PointerType:
    bits = 64


Scalar: TypeAlias = IntType | FloatType | PointerType


@final
@dataclass(frozen=True, slots=True)
class VectorType:
    lanes: int
    element: Scalar


@final
@dataclass(frozen=True, slots=True)
class ArrayType:
    count: int
    element: Type


@final
@dataclass(frozen=True, slots=True)
class StructType:
    members: tuple[Type, ...]
    packed: bool = False


@final
@dataclass(frozen=True, slots=True)
class OtherType:
    """``void``, ``label`` or ``metadata``: the type of no value."""

    name: str


Type: TypeAlias = IntType | FloatType | PointerType | VectorType | ArrayType | StructType | OtherType

POINTER = PointerType()
BIT = IntType(1)


def scalars(kind: Type) -> tuple[Scalar, ...]:
    """The scalars of which a value of a first-class type consists, in order."""
    match kind:
        case VectorType(lanes=n, element=e):
            return (e,) * n
        case ArrayType(count=n, element=element):
            return scalars(element) * n
        case StructType(members=members):
            return tuple([s for m in members for s in scalars(m)])
        case OtherType():
            return ()
    return (kind,)


def size_of(kind: Type) -> int:
    """The bytes from one element to the next in an array of this type."""
    match kind:
        case IntType(bits=bits):
            return _power(-(-bits // 8))
        case FloatType():
            return kind.bits // 8
        case PointerType():
            return 8
        case VectorType(lanes=n, element=e):
            return _power(-(-n * e.bits // 8))
        case ArrayType(count=n, element=element):
            return n * size_of(element)
        case StructType():
            offset = offsets(kind)[-1]
            return -(-offset // align_of(kind)) * align_of(kind)
        case OtherType():
            return 0


def align_of(kind: Type) -> int:
    match kind:
        case ArrayType(element=element):
            return align_of(element)
        case StructType(members=members, packed=packed):
            return 1 if packed else max([align_of(m) for m in members], default=1)
    return max(1, size_of(kind))


def offsets(kind: StructType) -> list[int]:
    """Where each member of a structure begins, in bytes, and where the last one ends."""
    found, at = [], 0
    for member in kind.members:
        if not kind.packed:
            at = -(-at // align_of(member)) * align_of(member)
        found.append(at)
        at += size_of(member)
    return [*found, at]


def _power(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


# ----------------------------------------------------------------------------------------------------------- values


@final
@dataclass(frozen=True, slots=True)
class Register:
    """A local value, by its name without ``%``."""

    type: Type
    name: str


Atom: TypeAlias = "int | str"
"""One scalar of a constant: the bits of a number, ``"poison"``, ``"undef"``, or ``"@name"`` of a function."""


@final
@dataclass(frozen=True, slots=True)
class Constant:
    type: Type
    atoms: tuple[Atom, ...]


Operand: TypeAlias = Register | Constant


@final
@dataclass(frozen=True, slots=True)
class Attributes:
    """What attributes promise of a parameter, an argument or a result (LLVM Language Reference, parameter attributes).

    ``align``, ``nonnull`` and ``bounds`` (of a number): poison if it is false.  ``noundef``, ``dereferenceable`` (bytes
    at the address; ``or_null``: unless it is null), ``readonly`` and ``writeonly`` (what is done through the pointer):
    undefined behaviour.  ``initializes`` are ranges of bytes whose contents at entry may not be used.  ``returned``: it
    is the function's result.  ``ways`` are those in which an address may be captured, if it says so: by its
    ``address``, its ``provenance``, or as the result (``ret``).  ``unchecked`` are words that nothing here looks at.
    """

    align: int = 1
    readonly: bool = False
    writeonly: bool = False
    bounds: tuple[int, int] | None = None
    noundef: bool = False
    nonnull: bool = False
    dereferenceable: int = 0
    or_null: int = 0
    initializes: tuple[tuple[int, int], ...] = ()
    returned: bool = False
    ways: frozenset[str] | None = None
    unchecked: frozenset[str] = frozenset()


NOTHING = Attributes()


@final
@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    ``type`` is the result's (of a store, the value's).  ``flags`` are words such as ``nsw``; ``tail`` stands for
    ``musttail`` too.  ``word`` is a comparison's predicate or a call's callee, if that is a name, and ``promises`` what
    a call says of its result and of each operand; ``numbers`` are constant indices, a shuffle's mask (-1: poison), or
    an alignment; ``source`` is the element type of a ``getelementptr`` or ``alloca``, and the operand's type of a cast;
    ``labels`` are the successors or, of a phi, where each operand comes from.
    """

    opcode: str
    type: Type
    operands: tuple[Operand, ...]
    text: str
    result: str | None = None
    flags: frozenset[str] = frozenset()
    word: str = ""
    numbers: tuple[int, ...] = ()
    source: Type = OtherType("void")
    labels: tuple[str, ...] = ()
    promises: tuple[Attributes, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Block:
    name: str
    phis: tuple[Instruction, ...]
    body: tuple[Instruction, ...]
    end: Instruction


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, and what its attributes promise."""

    type: Type
    name: str
    promised: Attributes = NOTHING


@final
@dataclass(frozen=True, slots=True)
class Global:
    """A constant in memory."""

    name: str
    type: Type
    value: Constant
    align: int


@final
@dataclass(frozen=True, slots=True)
class Effects:
    """Whether memory that was there before a call may be read, and written: by addresses computed from the arguments,
    and by others."""

    reads: tuple[bool, bool] = (True, True)
    writes: tuple[bool, bool] = (True, True)


ANY_EFFECTS = Effects()


@final
@dataclass(frozen=True, slots=True)
class Function:
    """A function; ``promised`` is said of its result; ``fast``: it has the calling convention ``fastcc``; ``rules`` are
    ``nofree``, ``norecurse``, ``nosync`` and ``speculatable``."""

    name: str
    result: Type
    parameters: tuple[Parameter, ...]
    blocks: dict[str, Block]
    entry: str
    promised: Attributes = NOTHING
    effects: Effects = ANY_EFFECTS
    fast: bool = False
    rules: frozenset[str] = frozenset()


@final
@dataclass(slots=True)
class Module:
    """Functions with bodies, and constant globals, by name."""

    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, Global] = field(default_factory=dict)

    def asks_where(self) -> bool:
        """Whether addresses are compared or computed with, so that it may matter where memory lies."""
        found = (i for f in self.functions.values() for b in f.blocks.values() for i in b.body)
        return any(
            i.opcode == "ptrtoint" or (i.opcode == "icmp" and isinstance(scalars(i.operands[0].type)[0], PointerType))
            for i in found
        )
