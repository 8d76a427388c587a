"""Types and operands as text: the part of the parser below instructions."""

from __future__ import annotations

from verified_tir.ir.dtype import FLOAT32, FLOAT64
from verified_tir.ir.float_bits import float_of
from verified_tir.ir.floats import bits_of
from verified_tir.validate.llvm.lexer import Reader
from verified_tir.validate.llvm.syntax import (
    FLOATS,
    POINTER,
    ArrayType,
    Atom,
    Constant,
    FloatType,
    IntType,
    Operand,
    OtherType,
    PointerType,
    Register,
    StructType,
    Type,
    VectorType,
    scalars,
)

_PREFIXES = {"half": "0xH", "bfloat": "0xR"}


def read_type(r: Reader) -> Type:
    """A type; named and recursive ones, scalable vectors and address spaces are refused."""
    if r.kind == "word":
        word = r.take()
        if word in FLOATS:
            return FloatType(word)
        if word == "ptr":
            if r.here == "addrspace":
                raise r.refused("an address space")
            return POINTER
        if word in ("void", "label", "metadata"):
            return OtherType(word)
        if word[0] == "i" and word[1:].isdigit():
            return IntType(int(word[1:]))
        raise r.refused(f"the type {word}")
    if r.accept("["):
        count = r.number()
        r.expect("x")
        element = read_type(r)
        r.expect("]")
        return ArrayType(count, element)
    if r.accept("{"):
        return StructType(_members(r))
    if r.accept("<"):
        if r.accept("{"):
            members = _members(r)
            r.expect(">")
            return StructType(members, packed=True)
        count = r.number()
        r.expect("x")
        scalar = read_type(r)
        if not isinstance(scalar, (IntType, FloatType, PointerType)):
            raise r.refused("a vector of this type")
        r.expect(">")
        return VectorType(count, scalar)
    raise r.refused(f"{r.here!r} in place of a type")


def _members(r: Reader) -> tuple[Type, ...]:
    members: list[Type] = []
    while not r.accept("}"):
        if members:
            r.expect(",")
        members.append(read_type(r))
    return tuple(members)


def read_typed(r: Reader) -> Operand:
    return read_operand(r, read_type(r))


def read_operand(r: Reader, kind: Type) -> Operand:
    if r.kind == "local":
        return Register(kind, r.local())
    return Constant(kind, _constant(r, kind))


def read_constant(r: Reader, kind: Type) -> Constant:
    return Constant(kind, _constant(r, kind))


def _constant(r: Reader, kind: Type) -> tuple[Atom, ...]:
    parts = scalars(kind)
    if r.here in ("poison", "undef"):
        return (r.take(),) * len(parts)
    if r.accept("zeroinitializer"):
        return (0,) * len(parts)
    if r.accept("splat"):
        r.expect("(")
        (atom,) = _constant(r, read_type(r))
        r.expect(")")
        return (atom,) * len(parts)
    match kind:
        case VectorType():
            return _list(r, "<", ">", len(parts))
        case ArrayType():
            return _list(r, "[", "]", len(parts))
        case StructType():
            return _list(r, "{", "}", len(parts))
        case IntType(bits=bits):
            return (_integer(r, bits),)
        case FloatType():
            return (_float(r, kind),)
        case PointerType():
            if r.accept("null"):
                return (0,)
            if r.kind == "global":
                return ("@" + r.take()[1:].strip('"'),)
    raise r.refused(f"the constant {r.here!r}")


def _list(r: Reader, first: str, last: str, count: int) -> tuple[Atom, ...]:
    r.expect(first)
    atoms: list[Atom] = []
    while not r.accept(last):
        if atoms:
            r.expect(",")
        atoms += _constant(r, read_type(r))
    if len(atoms) != count:
        raise r.refused("a constant with another number of elements")
    return tuple(atoms)


def _integer(r: Reader, bits: int) -> int:
    if bits == 1 and r.here in ("true", "false"):
        return int(r.take() == "true")
    return r.number() & ((1 << bits) - 1)


def _float(r: Reader, kind: FloatType) -> int:
    """The bits of a float constant.  ``float`` is written as the ``double`` of the same value."""
    if r.kind != "float":
        raise r.refused(f"{r.here!r} in place of a float")
    text = r.take()
    prefix = _PREFIXES.get(kind.name, "0x")
    if text.startswith("0x"):
        if not text.startswith(prefix) or (prefix == "0x" and not text[2:3].isalnum()):
            raise r.refused(f"the float {text}")
        raw = int(text[len(prefix) :], 16)
    elif kind.name in _PREFIXES:
        raise r.refused(f"the {kind.name} {text}")
    else:
        raw = bits_of(FLOAT64, float(text))
    if kind.name != "float":
        return raw
    value = float_of(FLOAT64, raw)
    bits = bits_of(FLOAT32, value)
    if value == value and float_of(FLOAT32, bits) != value:  # noqa: PLR0124 (NaN there is one)
        raise r.refused(f"the float {text}, which is no float32,")
    return bits
