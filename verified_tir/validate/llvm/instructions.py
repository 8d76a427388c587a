"""One line of LLVM IR to an instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from verified_tir.validate.llvm.attributes import read_attributes
from verified_tir.validate.llvm.lexer import Reader
from verified_tir.validate.llvm.syntax import (
    BIT,
    NOTHING,
    ArrayType,
    Constant,
    Instruction,
    Operand,
    OtherType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from verified_tir.validate.llvm.values import read_operand, read_type, read_typed

_VOID = OtherType("void")
INTEGER: Final = frozenset({
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor",
})  # fmt: skip
FLOAT: Final = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
CASTS: Final = frozenset({
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr",
    "bitcast",
})  # fmt: skip
FLAGS: Final = frozenset({"nsw", "nuw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw"})
FAST: Final = frozenset({"nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast"})
_METADATA: Final = frozenset({"!alias.scope", "!noalias", "!llvm.loop", "!prof", "!llvm.access.group"})


def read_instruction(r: Reader) -> Instruction:
    """The instruction of a line.

    :raises Refused: if it, one of its flags, or metadata on it is not known.
    """
    result = None
    if r.kind == "local":
        result = r.local()
        r.expect("=")
    opcode = r.take()
    tail = opcode in ("tail", "musttail")
    if opcode in ("tail", "musttail", "notail"):
        opcode = r.take()
    flags = _flags(r) | ({"tail"} if tail else frozenset())
    read = _READERS.get(opcode)
    if read is None:
        raise r.refused(f"the instruction {opcode!r}")
    made = read(r)
    while r.accept(","):
        if r.kind != "metadata" or r.here not in _METADATA:
            raise r.refused(f"{r.here!r}")
        r.take()
        r.take()
    if r.kind == "group":
        r.take()
    if r.here:
        raise r.refused(f"{r.here!r}")
    return replace(made, opcode=opcode, result=result, flags=flags | made.flags, text=r.line.strip())


def _flags(r: Reader) -> frozenset[str]:
    found = set()
    while r.here in FLAGS or r.here in FAST:
        word = r.take()
        if word in FAST:
            raise r.refused(f"the fast-math flag {word!r}, which lets results differ,")
        if r.here == "(":
            raise r.refused(f"{word}(…)")
        found.add(word)
    return frozenset(found)


def _plain(kind: Type, *operands: Operand) -> Instruction:
    return Instruction("", kind, operands, "")


def _binary(r: Reader) -> Instruction:
    first = read_typed(r)
    r.expect(",")
    return _plain(first.type, first, read_operand(r, first.type))


def _unary(r: Reader) -> Instruction:
    operand = read_typed(r)
    return _plain(operand.type, operand)


def _compare(r: Reader) -> Instruction:
    word = r.take()
    first = read_typed(r)
    r.expect(",")
    second = read_operand(r, first.type)
    kind = VectorType(first.type.lanes, BIT) if isinstance(first.type, VectorType) else BIT
    return replace(_plain(kind, first, second), word=word)


def _cast(r: Reader) -> Instruction:
    operand = read_typed(r)
    r.expect("to")
    return replace(_plain(read_type(r), operand), source=operand.type)


def _list(r: Reader, count: int) -> list[Operand]:
    operands = [read_typed(r)]
    for _ in range(count - 1):
        r.expect(",")
        operands.append(read_typed(r))
    return operands


def _select(r: Reader) -> Instruction:
    condition, a, b = _list(r, 3)
    return _plain(a.type, condition, a, b)


def _phi(r: Reader) -> Instruction:
    kind = read_type(r)
    operands: list[Operand] = []
    labels: list[str] = []
    while not operands or (r.here == "," and r.tokens[r.at + 1] == "[" and r.accept(",")):
        r.expect("[")
        operands.append(read_operand(r, kind))
        r.expect(",")
        labels.append(r.local())
        r.expect("]")
    return replace(_plain(kind, *operands), labels=tuple(labels))


def _alignment(r: Reader) -> int:
    """``, align n``, if it is there (0 if not)."""
    if r.here == "," and r.tokens[r.at + 1] == "align":
        r.take()
        r.take()
        return r.number()
    return 0


def _load(r: Reader) -> Instruction:
    kind = read_type(r)
    r.expect(",")
    pointer = read_typed(r)
    return replace(_plain(kind, pointer), numbers=(_alignment(r),))


def _store(r: Reader) -> Instruction:
    value, pointer = _list(r, 2)
    return replace(_plain(value.type, value, pointer), numbers=(_alignment(r),))


def _alloca(r: Reader) -> Instruction:
    kind = read_type(r)
    operands: list[Operand] = []
    if r.here == "," and r.tokens[r.at + 1] != "align":
        r.take()
        operands.append(read_typed(r))
    align = _alignment(r)
    return replace(_plain(PointerType(), *operands), source=kind, numbers=(align,))


def _getelementptr(r: Reader) -> Instruction:
    source = read_type(r)
    r.expect(",")
    operands = [read_typed(r)]
    while r.here == "," and r.kinds[r.at + 1] != "metadata":
        r.take()
        operands.append(read_typed(r))
    lanes = max([o.type.lanes for o in operands if isinstance(o.type, VectorType)], default=0)
    kind: Type = VectorType(lanes, PointerType()) if lanes else PointerType()
    return replace(_plain(kind, *operands), source=source)


def _extractelement(r: Reader) -> Instruction:
    vector, index = _list(r, 2)
    assert isinstance(vector.type, VectorType)
    return _plain(vector.type.element, vector, index)


def _insertelement(r: Reader) -> Instruction:
    vector, value, index = _list(r, 3)
    return _plain(vector.type, vector, value, index)


def _shufflevector(r: Reader) -> Instruction:
    a, b, mask = _list(r, 3)
    if not isinstance(mask, Constant) or not isinstance(a.type, VectorType):
        raise r.refused("a shuffle whose mask is not a constant")
    numbers = tuple([-1 if isinstance(atom, str) else atom for atom in mask.atoms])
    return replace(_plain(VectorType(len(numbers), a.type.element), a, b), numbers=numbers)


def _indices(r: Reader) -> tuple[int, ...]:
    found = []
    while r.here == "," and r.kinds[r.at + 1] == "number":
        r.take()
        found.append(r.number())
    return tuple(found)


def _extractvalue(r: Reader) -> Instruction:
    aggregate = read_typed(r)
    numbers = _indices(r)
    kind = aggregate.type
    for k in numbers:
        kind = _member(kind, k)
    return replace(_plain(kind, aggregate), numbers=numbers)


def _insertvalue(r: Reader) -> Instruction:
    aggregate, value = _list(r, 2)
    return replace(_plain(aggregate.type, aggregate, value), numbers=_indices(r))


def _member(kind: Type, k: int) -> Type:
    match kind:
        case StructType(members=members):
            return members[k]
        case ArrayType(element=element):
            return element
    raise TypeError(f"{kind} has no members")


def _branch(r: Reader) -> Instruction:
    if r.accept("label"):
        return replace(_plain(_VOID), labels=(r.local(),))
    condition = read_typed(r)
    labels = []
    for _ in range(2):
        r.expect(",")
        r.expect("label")
        labels.append(r.local())
    return replace(_plain(_VOID, condition), labels=tuple(labels))


def _switch(r: Reader) -> Instruction:
    value = read_typed(r)
    r.expect(",")
    r.expect("label")
    labels = [r.local()]
    numbers = []
    r.expect("[")
    while not r.accept("]"):
        case = read_typed(r)
        assert isinstance(case, Constant) and isinstance(case.atoms[0], int)
        numbers.append(case.atoms[0])
        r.expect(",")
        r.expect("label")
        labels.append(r.local())
    return replace(_plain(_VOID, value), numbers=tuple(numbers), labels=tuple(labels))


def _return(r: Reader) -> Instruction:
    kind = read_type(r)
    if kind == _VOID:
        return _plain(_VOID)
    operand = read_operand(r, kind)
    return _plain(kind, operand)


def _call(r: Reader) -> Instruction:
    """A call; ``numbers`` are the alignments that attributes promise of the arguments."""
    fast = r.accept("fastcc")
    r.accept("ccc")
    promised = [read_attributes(r)]
    kind = read_type(r)
    operands: list[Operand] = []
    word = ""
    if r.kind == "global":
        word = r.take()[1:].strip('"')
    else:
        operands.append(read_operand(r, PointerType()))
        promised.append(NOTHING)
    r.expect("(")
    aligns: list[int] = []
    while not r.accept(")"):
        if aligns:
            r.expect(",")
        argument = read_type(r)
        attributes = read_attributes(r)
        if attributes.bounds is not None:
            raise r.refused("the range of an argument")
        aligns.append(attributes.align)
        if argument == OtherType("metadata"):
            if r.kind != "metadata":
                raise r.refused(f"the metadata {r.here!r}")
            r.take()
            continue
        operands.append(read_operand(r, argument))
        promised.append(attributes)
    if r.here == "[":
        raise r.refused("an operand bundle")
    convention = frozenset({"fastcc"} if fast else ())
    made = replace(_plain(kind, *operands), word=word, numbers=tuple(aligns), promises=tuple(promised))
    return replace(made, flags=convention)


_READERS: Final[dict[str, Callable[[Reader], Instruction]]] = {
    **dict.fromkeys(INTEGER | FLOAT, _binary),
    **dict.fromkeys(CASTS, _cast),
    "fneg": _unary, "icmp": _compare, "fcmp": _compare, "select": _select, "phi": _phi, "load": _load, "store": _store,
    "alloca": _alloca, "getelementptr": _getelementptr, "freeze": _unary, "extractelement": _extractelement,
    "insertelement": _insertelement, "shufflevector": _shufflevector, "extractvalue": _extractvalue,
    "insertvalue": _insertvalue, "br": _branch, "switch": _switch, "ret": _return, "call": _call,
    "unreachable": lambda _: _plain(_VOID),
}  # fmt: skip
