"""Instructions to closures over a list of registers, once for each function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, final

from verified_tir.validate.llvm.addresses import getelementptr
from verified_tir.validate.llvm.calls import call
from verified_tir.validate.llvm.code import BlockCode, Code, Registers, Step, Value, is_scalar
from verified_tir.validate.llvm.definitions import check_definition
from verified_tir.validate.llvm.effects import Ways
from verified_tir.validate.llvm.graph import UNDEF, Lane
from verified_tir.validate.llvm.instructions import CASTS, FLOAT, INTEGER
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.parser import KERNEL
from verified_tir.validate.llvm.promises import barred, ruled_out
from verified_tir.validate.llvm.syntax import (
    FLOATS,
    ArrayType,
    Block,
    Constant,
    FloatType,
    Function,
    Instruction,
    IntType,
    Operand,
    PointerType,
    Register,
    Scalar,
    StructType,
    Type,
    align_of,
    scalars,
    size_of,
)
from verified_tir.validate.memory import Refused

_FAST: Final[dict[str, Callable[[int, int], int]]] = {
    "add": int.__add__, "sub": int.__sub__, "mul": int.__mul__,
    "and": int.__and__, "or": int.__or__, "xor": int.__xor__,
}  # fmt: skip


def translate(machine: Machine, function: Function) -> Code:
    """A function, ready to run."""
    check_definition(function, machine.module.functions)
    return _Translator(machine, function).code()


@final
class _Translator:
    def __init__(self, machine: Machine, function: Function) -> None:
        self.machine, self.function = machine, function
        self.names: dict[str, int] = {}
        self.template: Registers = []
        self._constants: dict[Constant, int] = {}
        functions = machine.module.functions
        self.barred, self.ways = barred(function, functions), Ways(function, functions)

    def code(self) -> Code:
        parameters = tuple([self._name(p.name) for p in self.function.parameters])
        blocks = {name: self._block(block) for name, block in self.function.blocks.items()}
        return Code(self.function, self.template, parameters, blocks)

    # -------------------------------------------------------------------------------------------------- slots

    def _name(self, name: str) -> int:
        found = self.names.get(name)
        if found is None:
            found = self.names[name] = len(self.template)
            self.template.append(UNDEF)
        return found

    def place(self, operand: Operand) -> int:
        if isinstance(operand, Register):
            return self._name(operand.name)
        found = self._constants.get(operand)
        if found is None:
            found = self._constants[operand] = len(self.template)
            self.template.append(self.machine.constant(operand))
        return found

    def target(self, i: Instruction) -> int:
        return self._name(i.result) if i.result is not None else -1

    def _block(self, block: Block) -> BlockCode:
        sources: dict[str, list[int]] = {}
        for phi in block.phis:  # a predecessor that leads here by several edges is listed for each
            for label, operand in dict(zip(phi.labels, phi.operands, strict=True)).items():
                sources.setdefault(label, []).append(self.place(operand))
        return BlockCode(
            block.name,
            tuple([self.target(phi) for phi in block.phis]),
            {label: tuple(found) for label, found in sources.items()},
            tuple([phi.type for phi in block.phis]),
            tuple([self.ways.confined(self.machine, i, self.step(i)) for i in block.body]),
            self._end(block.end),
        )

    def _end(self, i: Instruction) -> tuple[object, ...]:
        match i.opcode:
            case "br" if not i.operands:
                return "br", i.labels[0]
            case "br":
                return "if", self.place(i.operands[0]), i.labels[0], i.labels[1]
            case "switch":
                kind = i.operands[0].type
                assert isinstance(kind, IntType)
                cases = dict(zip(i.numbers, i.labels[1:], strict=True))
                return "switch", self.place(i.operands[0]), kind.bits, cases, i.labels[0]
            case "ret":
                return "ret", self.place(i.operands[0]) if i.operands else -1
        return ("unreachable",)

    # ------------------------------------------------------------------------------------------- instructions

    def step(self, i: Instruction) -> Step:
        """The closure of an instruction that is neither a phi nor the end of a block."""
        known, root = self.barred, self.function.name == KERNEL
        wrong = ruled_out(i, known, self.machine.module.functions, root=root) if known.sure or known.doubtful else None
        if wrong is not None:
            return partial(_raised, wrong)
        if i.opcode in INTEGER:
            return self._integer(i)
        if i.opcode in FLOAT:
            return self._lanewise(i, partial(self.machine.floats.binary, i.opcode, FLOATS[_float(i.type).name]))
        if i.opcode in CASTS:
            return self._cast(i)
        match i.opcode:
            case "icmp" | "fcmp":
                return self._lanewise(i, self._comparison(i))
            case "fneg":
                return self._lanewise(i, partial(self.machine.floats.negate, FLOATS[_float(i.type).name]))
            case "freeze":
                return self._freeze(i)
            case "select":
                return self._select(i)
            case "load":
                return self._load(i)
            case "store":
                return self._store(i)
            case "alloca":
                return self._alloca(i)
            case "getelementptr":
                return getelementptr(self.machine, i, self.target(i), [self.place(o) for o in i.operands])
            case "call":
                return call(self.machine, i, self.target(i), [self.place(o) for o in i.operands])
        return self._movement(i)

    def _lanewise(self, i: Instruction, operation: Callable[..., Lane]) -> Step:
        d, places = self.target(i), [self.place(o) for o in i.operands]
        if is_scalar(i.operands[0].type):
            if len(places) == 1:
                (x,) = places

                def unary(r: Registers) -> None:
                    r[d] = operation(r[x])

                return unary
            x, y = places

            def binary(r: Registers) -> None:
                r[d] = operation(r[x], r[y])

            return binary

        def lanes(r: Registers) -> None:
            columns = [_lanes(r[k]) for k in places]
            r[d] = tuple([operation(*row) for row in zip(*columns, strict=True)])

        return lanes

    def _integer(self, i: Instruction) -> Step:
        kind = _integer_type(i.type)
        slow = partial(self.machine.integers.binary, i.opcode, kind.bits, i.flags)
        fast = _FAST.get(i.opcode)
        if fast is None or i.flags or not is_scalar(i.type):
            return self._lanewise(i, slow)
        d, (x, y), mask = self.target(i), [self.place(o) for o in i.operands], (1 << kind.bits) - 1

        def step(r: Registers) -> None:
            a, b = r[x], r[y]
            assert isinstance(a, int) and isinstance(b, int)
            r[d] = fast(a, b) & mask if a >= 0 and b >= 0 else slow(a, b)

        return step

    def _comparison(self, i: Instruction) -> Callable[[Lane, Lane], Lane]:
        kind = scalars(i.operands[0].type)[0]
        if isinstance(kind, FloatType):
            return partial(self.machine.floats.compare, i.word, FLOATS[kind.name])
        return partial(self.machine.integers.compare, i.word, kind.bits, i.flags)

    def _cast(self, i: Instruction) -> Step:
        source, target = scalars(i.source), scalars(i.type)
        machine = self.machine
        if len(source) == len(target) and (i.opcode != "bitcast" or source[0].bits == target[0].bits):
            one, other = source[0], target[0]
            return self._lanewise(i, partial(machine.floats.cast, i.opcode, one, other, i.flags))
        d, x, scalar = self.target(i), self.place(i.operands[0]), is_scalar(i.type)

        def regroup(r: Registers) -> None:
            lanes = recast(machine, source, target, r[x])
            r[d] = lanes[0] if scalar else lanes

        return regroup

    def _freeze(self, i: Instruction) -> Step:
        """What is frozen stays as undefined as it was, unless a value is to be chosen."""
        machine, zero = self.machine, self.machine.zero(scalars(i.type)[0])
        return self._lanewise(i, lambda x: zero if x == UNDEF and machine.chosen else x)

    def _select(self, i: Instruction) -> Step:
        d, (c, x, y) = self.target(i), [self.place(o) for o in i.operands]
        kind, machine = i.type, self.machine
        if is_scalar(i.operands[0].type):

            def one(r: Registers) -> None:
                condition = r[c]
                assert isinstance(condition, int)
                if condition < 0 and isinstance(kind, (PointerType, IntType)):
                    condition = machine.graph.settled(condition)  # a choice between addresses needs a number
                if condition == UNDEF:
                    value = r[x]
                    r[d] = UNDEF if isinstance(value, int) else (UNDEF,) * len(value)
                else:
                    r[d] = machine.choose(kind, condition, r[x], r[y])

            return one
        scalar = scalars(kind)[0]

        def lanes(r: Registers) -> None:
            rows = zip(_lanes(r[c]), _lanes(r[x]), _lanes(r[y]), strict=True)
            r[d] = tuple([machine.choose_lane(scalar, *row) for row in rows])

        return lanes

    # ------------------------------------------------------------------------------------------------- memory

    def _load(self, i: Instruction) -> Step:
        d, p, machine, kind = self.target(i), self.place(i.operands[0]), self.machine, i.type
        align = i.numbers[0] or align_of(kind)

        def step(r: Registers) -> None:
            address = r[p]
            assert isinstance(address, int)
            machine.aligned(address, align, "load")
            r[d] = machine.read(kind, address)

        return step

    def _store(self, i: Instruction) -> Step:
        (v, p), machine, kind = [self.place(o) for o in i.operands], self.machine, i.type
        align = i.numbers[0] or align_of(kind)

        def step(r: Registers) -> None:
            address = r[p]
            assert isinstance(address, int)
            machine.aligned(address, align, "store")
            machine.write(kind, address, r[v])

        return step

    def _alloca(self, i: Instruction) -> Step:
        d, machine, name = self.target(i), self.machine, f"%{i.result}"
        count = self.place(i.operands[0]) if i.operands else -1
        size, align = size_of(i.source), i.numbers[0] or align_of(i.source)

        def step(r: Registers) -> None:
            times = 1 if count < 0 else r[count]
            if not isinstance(times, int) or times < 0:
                raise Refused("LLVM IR: an alloca whose size depends on data")
            r[d] = machine.blocks.new(name, size * times, align).base

        return step

    # ------------------------------------------------------------------------------------------------- vectors

    def _movement(self, i: Instruction) -> Step:
        d, places = self.target(i), [self.place(o) for o in i.operands]
        match i.opcode:
            case "extractelement":
                return self._extractelement(d, *places)
            case "insertelement":
                return self._insertelement(d, *places)
            case "shufflevector":
                x, y = places
                mask = i.numbers

                def shuffle(r: Registers) -> None:
                    both = (*_lanes(r[x]), *_lanes(r[y]))
                    r[d] = tuple([both[k] if k >= 0 else UNDEF for k in mask])

                return shuffle
            case "extractvalue":
                (x,) = places
                first, count, scalar = *_member(i.operands[0].type, i.numbers), is_scalar(i.type)

                def extract(r: Registers) -> None:
                    found = _lanes(r[x])[first : first + count]
                    r[d] = found[0] if scalar else found

                return extract
            case "insertvalue":
                x, y = places
                first, count = _member(i.type, i.numbers)

                def insert(r: Registers) -> None:
                    whole = _lanes(r[x])
                    r[d] = (*whole[:first], *_lanes(r[y]), *whole[first + count :])

                return insert
        raise Refused(f"LLVM IR: {i.opcode} in: {i.text[:120]}")

    def _extractelement(self, d: int, x: int, k: int) -> Step:
        index = self._index

        def step(r: Registers) -> None:
            vector = _lanes(r[x])
            number = index(r[k])
            r[d] = vector[number] if 0 <= number < len(vector) else UNDEF

        return step

    def _insertelement(self, d: int, x: int, v: int, k: int) -> Step:
        index = self._index

        def step(r: Registers) -> None:
            vector, value, number = _lanes(r[x]), r[v], index(r[k])
            assert isinstance(value, int)
            inside = 0 <= number < len(vector)
            r[d] = (*vector[:number], value, *vector[number + 1 :]) if inside else (UNDEF,) * len(vector)

        return step

    def _index(self, lane: Value) -> int:
        assert isinstance(lane, int)
        number = self.machine.graph.settled(lane)
        if number < UNDEF:
            raise Refused("LLVM IR: the index of a vector's lane depends on data")
        return number


def _raised(what: Exception, _: Registers) -> None:
    raise what


def recast(machine: Machine, source: tuple[Scalar, ...], target: tuple[Scalar, ...], value: Value) -> tuple[Lane, ...]:
    """``bitcast`` between other numbers of lanes: the low bits come first."""
    old, new = source[0].bits, target[0].bits
    lanes, parts = _lanes(value), machine.blocks.parts
    if old > new:
        pieces = [p for lane in lanes for p in parts.split(lane, old, new)]
        return tuple([machine.floats.bits(IntType(new), target[0], p) for p in pieces])
    ratio = new // old
    if old % 8 and any(lane < 0 for lane in lanes):
        if UNDEF in lanes:
            return (UNDEF,) * len(target)
        raise Refused("LLVM IR: a mask of data as one integer")
    numbers = [machine.floats.bits(source[0], IntType(old), lane) for lane in lanes]
    joined = [parts.join(numbers[k : k + ratio], old) for k in range(0, len(numbers), ratio)]
    return tuple([machine.floats.bits(IntType(new), target[0], p) for p in joined])


def _lanes(value: Value) -> tuple[Lane, ...]:
    return (value,) if isinstance(value, int) else value


def _member(kind: Type, path: tuple[int, ...]) -> tuple[int, int]:
    """Where a member of an aggregate begins, in scalars, and how many it has."""
    first = 0
    for k in path:
        if isinstance(kind, StructType):
            first += sum(len(scalars(m)) for m in kind.members[:k])
            kind = kind.members[k]
        else:
            assert isinstance(kind, ArrayType), kind
            kind = kind.element
            first += k * len(scalars(kind))
    return first, len(scalars(kind))


def _integer_type(kind: Type) -> IntType:
    found = scalars(kind)[0]
    assert isinstance(found, IntType), kind
    return found


def _float(kind: Type) -> FloatType:
    found = scalars(kind)[0]
    assert isinstance(found, FloatType), kind
    return found
