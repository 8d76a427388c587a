"""Executes LLVM IR symbolically: control and addresses are numbers, data are lanes (``graph.py``).

A branch on data is executed on both ways, up to the block where they meet; there memory and phis are merged by choices.
A loop whose end depends on data is refused.  What is undefined on one way is noted with the condition of that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from verified_tir.validate.llvm.blocks import Blocks, Undefined
from verified_tir.validate.llvm.code import Arrival, BlockCode, Code, Registers, Value, is_scalar
from verified_tir.validate.llvm.effects import EITHER, Bars
from verified_tir.validate.llvm.floats import Floats
from verified_tir.validate.llvm.forks import fork
from verified_tir.validate.llvm.graph import UNDEF, Graph, Lane, integer
from verified_tir.validate.llvm.integers import Integers
from verified_tir.validate.llvm.promises import promised
from verified_tir.validate.llvm.syntax import (
    FLOATS,
    Constant,
    FloatType,
    Function,
    IntType,
    Module,
    Scalar,
    Type,
    scalars,
    size_of,
)
from verified_tir.validate.memory import Oversize, Refused

_FUNCTIONS: Final = 1 << 62
_DEEPEST: Final = 40


@final
class Machine:
    """One run of one module.

    ``events`` are conditions, each with the path condition under which it means undefined behaviour, and a sentence.

    :param translate: makes functions ready to run (``translate.translate``).
    :param limit: how many instructions may be executed.
    :param chosen: what is undef is 0, and so is what ``freeze`` makes of poison.  That is one of the ways in which the
        program may run, so what it shows is true; what then is undefined is poison.
    :param backwards: where memory lies (:class:`Blocks`).
    :param shared: whether parallel loops are divided among threads, and not into iterations (``threads.py``).
    """

    def __init__(
        self, module: Module, graph: Graph, translate: Callable[[Machine, Function], Code], limit: int, *,
        chosen: bool = False, backwards: bool = False, shared: bool = False,
    ) -> None:  # fmt: skip
        self.module, self.graph, self.translate, self.limit, self.chosen = module, graph, translate, limit, chosen
        self.shared = shared
        self.blocks = Blocks(graph, backwards=backwards)
        self.blocks.fill = 0 if chosen else UNDEF
        self.integers = Integers(graph, self.undefined)
        self.floats = Floats(graph, self.integers.ranges)
        self.steps = 0
        self.guard: Lane = 1
        self.events: dict[tuple[Lane, Lane], str] = {}
        self.codes: dict[str, Code] = {}
        self.forked: set[tuple[int, str]] = set()
        self.running: list[tuple[Function, int]] = []
        self.bars, self.way = Bars(), EITHER
        names = list(module.functions)
        self.addresses = {name: _FUNCTIONS + 16 * k for k, name in enumerate(names)}
        self.named = {address: name for name, address in self.addresses.items()}
        for one in module.globals.values():
            block = self.blocks.new(f"@{one.name}", size_of(one.type), max(one.align, 1))
            self.addresses[one.name] = block.base
            self.write(one.type, block.base, self.constant(one.value))
            block.readonly = True

    # ------------------------------------------------------------------------------------------------- values

    def constant(self, constant: Constant) -> Value:
        kinds = scalars(constant.type)
        lanes = tuple([self._atom(k, a) for k, a in zip(kinds, constant.atoms, strict=True)])
        return lanes[0] if is_scalar(constant.type) else lanes

    def _atom(self, kind: Scalar, atom: int | str) -> Lane:
        if isinstance(atom, str):
            if atom == "undef" and self.chosen:
                return self.zero(kind)
            if atom in ("poison", "undef"):
                return UNDEF
            if atom[1:] not in self.addresses:
                raise Refused(f"LLVM IR: the address of {atom}")
            return self.addresses[atom[1:]]
        return self.graph.constant(FLOATS[kind.name], atom) if isinstance(kind, FloatType) else atom

    def zero(self, kind: Scalar) -> Lane:
        return self.graph.constant(FLOATS[kind.name], 0) if isinstance(kind, FloatType) else 0

    def choose(self, kind: Type, condition: Lane, a: Value, b: Value) -> Value:
        """A choice between values of a type; conditions are the same for all lanes."""
        if condition >= 0:
            return a if condition else b
        if isinstance(a, int) and isinstance(b, int):
            (scalar,) = scalars(kind)
            return self.choose_lane(scalar, condition, a, b)
        assert isinstance(a, tuple) and isinstance(b, tuple)
        return tuple([self.choose_lane(k, condition, x, y) for k, x, y in zip(scalars(kind), a, b, strict=True)])

    def choose_lane(self, kind: Scalar, condition: Lane, a: Lane, b: Lane) -> Lane:
        if condition >= 0:
            return a if condition else b
        if condition == UNDEF:
            return UNDEF
        if isinstance(kind, FloatType):
            return self.graph.choose(FLOATS[kind.name], condition, a, b)
        if a == b and not self.graph.doubtful(condition):
            return a
        if isinstance(kind, IntType):
            dtype = integer(1) if kind.bits == 1 else self.integers.common(kind.bits, a, b)
            return self.graph.choose(dtype, condition, a, b)
        raise Refused("LLVM IR: an address that depends on data")

    # ------------------------------------------------------------------------------------------------- memory

    def read(self, kind: Type, address: Lane) -> Value:
        parts = scalars(kind)
        if is_scalar(kind):
            return self.blocks.load(parts[0], address, 1)[0]
        self._flat(kind, parts)
        return tuple(self.blocks.load(parts[0], address, len(parts)))

    def write(self, kind: Type, address: Lane, value: Value) -> None:
        parts = scalars(kind)
        if isinstance(value, int):
            self.blocks.store(parts[0], address, (value,))
            return
        self._flat(kind, parts)
        self.blocks.store(parts[0], address, value)

    def _flat(self, kind: Type, parts: Sequence[Scalar]) -> None:
        if len(set(parts)) != 1 or parts[0].bits % 8:
            raise Refused(f"LLVM IR: a {kind} in memory")

    def aligned(self, address: Lane, align: int, what: str) -> None:
        """Check what an access promises of its address."""
        if align > 1 and address > 0 and address % align:
            raise Undefined(f"{what} at an address that is not a multiple of {align}, which it promises")

    def undefined(self, condition: Lane, what: str) -> None:
        """Undefined behaviour under a condition, on the path that is being executed."""
        if condition == 0:
            return
        if condition == 1:
            raise Undefined(what)
        self.events.setdefault((self.guard, condition), what)

    # ------------------------------------------------------------------------------------------------ running

    def call(self, name: str, arguments: Sequence[Value]) -> Value | None:
        """Run a function; what it returns."""
        code = self.codes.get(name)
        if code is None:
            code = self.codes[name] = self.translate(self, self.module.functions[name])
        if len(self.running) == _DEEPEST:
            raise Refused("LLVM IR: calls are nested too deeply")
        if "norecurse" in code.function.rules and any(f is code.function for f, _ in self.running):
            raise Undefined(f"{name} calls itself, though it is declared norecurse")
        registers = code.template[:]
        if len(arguments) != len(code.parameters):
            raise Undefined(f"{name} is called with another number of arguments")
        for slot, value, one in zip(code.parameters, arguments, code.function.parameters, strict=True):
            registers[slot] = promised(self, one.promised, one.type, value, f"the parameter {one.name} of {name}")
        blocks = self.blocks
        first, barred, outer = len(blocks.blocks), (blocks.unread, blocks.unwritten), (self.bars, self.way)
        self.bars, self.way = self.bars.inside(self.way, code.function.effects, first), EITHER
        blocks.unread, blocks.unwritten = self.bars.of(EITHER)
        self.running.append((code.function, first))
        try:
            arrival = self.run(code, registers, code.function.entry, "", None)
        finally:
            self.running.pop()
            (self.bars, self.way), (blocks.unread, blocks.unwritten) = outer, barred
        for serial in range(first + 1, len(self.blocks.blocks) + 1):
            block = self.blocks.blocks[serial]
            if block.name.startswith("%"):
                block.alive = False
        if not arrival.values:
            return None
        (result,) = arrival.values
        for value, one in zip(arguments, code.function.parameters, strict=True):
            if one.promised.returned and value != result:
                raise Undefined(f"{name} does not return its parameter {one.name}, which it promises")
        return promised(self, code.function.promised, code.function.result, result, f"the result of {name}")

    def run(self, code: Code, r: Registers, name: str, before: str, stop: str | None) -> Arrival:
        """Run from a block, reached from ``before``, until block ``stop`` or the function's end."""
        while True:
            block = code.blocks[name]
            if block.targets:
                values = tuple([r[slot] for slot in block.sources[before]])
                if name == stop:
                    return Arrival(values)
                for slot, value in zip(block.targets, values, strict=True):
                    r[slot] = value
            elif name == stop:
                return Arrival(())
            while True:
                self._steps(code, block, r)
                following = self._next(block, r)
                if isinstance(following, str):
                    before, name = block.name, following
                    break
                if isinstance(following, Arrival):
                    return following
                arrival = fork(self, code, r, block, following)
                meeting = code.joins[block.name]
                if arrival.returned or meeting is None or meeting == stop:
                    return arrival
                block = code.blocks[meeting]
                for slot, value in zip(block.targets, arrival.values, strict=True):
                    r[slot] = value

    def _steps(self, code: Code, block: BlockCode, r: Registers) -> None:
        self.steps += len(block.steps) + 1
        if self.steps > self.limit:
            raise Oversize(f"LLVM IR: more than {self.limit} instructions are executed")
        code.seen.add(block.name)
        for step in block.steps:
            step(r)

    def _next(self, block: BlockCode, r: Registers) -> str | Arrival | list[tuple[Lane, str]]:
        """The next block, the end, or the ways that data decide between, with their conditions."""
        end = block.end
        match end:
            case ("br", str() as label):
                return label
            case ("if", int() as slot, str() as yes, str() as no):
                condition = r[slot]
                assert isinstance(condition, int)
                if condition < 0:
                    condition = self._decided(condition, "branch")
                if condition >= 0:
                    return yes if condition else no
                return [(condition, yes), (self.graph.negate(condition), no)]
            case ("switch", int() as slot, int() as bits, dict() as cases, str() as default):
                return self._switch(r[slot], bits, cases, default)
            case ("ret", int() as slot):
                return Arrival((r[slot],) if slot >= 0 else (), True)
        raise Undefined("unreachable code is reached")

    def _decided(self, condition: Lane, what: str) -> Lane:
        """A condition as a number, if it is one; it must be defined."""
        condition = self.graph.settled(condition)
        if condition == UNDEF:
            raise Undefined(f"{what} on undef or poison")
        if condition < 0:
            self.undefined(self.graph.is_undef(condition), f"{what} on undef or poison")
        return condition

    def _switch(self, value: Value, bits: int, cases: dict[int, str], default: str) -> str | list[tuple[Lane, str]]:
        assert isinstance(value, int)
        if value < 0:
            value = self._decided(value, "switch")
        if value >= 0:
            return cases.get(value, default)
        ways: list[tuple[Lane, str]] = []
        none: Lane = 1
        for number, label in cases.items():
            here = self.integers.compare("eq", bits, frozenset(), value, number)
            ways.append((here, label))
            none = self.graph.both(none, self.graph.negate(here))
        return [*ways, (none, default)]
