"""The initialised-memory invariant, asked of the kernel without a search: it believes nothing that was not shown."""

from __future__ import annotations

from tests.kernel.programs import buffer, program
from tests.kernel.test_initialised import meaning
from verified_tir import ir
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.begin import begin
from verified_tir.kernel.facts import Known, Prover
from verified_tir.kernel.memory import Entry, Ran, Version
from verified_tir.logic.solver import Solver

INTS = ", ".join(f'{name}: T.Buffer((8,), "int32")' for name in "ABC")
LOCAL = "t = T.alloc_buffer((8,), 'int32')\n"


class Place:
    """The end of a program that began with arguments of definite values."""

    def __init__(self, body: str, params: str = INTS) -> None:
        self.func: PrimFunc = program(body, params)
        self.where = begin(self.func, Entry(definite=True))
        self.where.execute(self.func.body)
        self.known: Known = Prover(Solver()).known(self.where, ())

    def versions(self, name: str) -> list[Version]:
        """Those of the block of a buffer, the oldest first."""
        data = buffer(self.func, name).data
        return sorted((v for v in self.where.seen if v.block is data), key=lambda v: v.serial)

    def shown(self, name: str, k: int, *others: str) -> bool:
        """Whether the kernel finds that the ``k``-th version of a block is initialised, together with others."""
        version = self.versions(name)[k]
        found = not self.known.uninitialised(version, frozenset(buffer(self.func, o).data for o in others))
        assert self.known.is_initialised(version) is found
        return found


def test_what_a_store_leaves_of_a_block_that_is_not_initialised() -> None:
    for first, expected in (("A", True), ("t", False)):
        place = Place(LOCAL + f"{first}[0] = 1")
        assert place.shown(first, 0) is expected  # the other one was allocated just now
        assert place.shown(first, 1) is expected


def test_what_the_kernel_was_not_told_of_an_older_version_is_not_known() -> None:
    for body in ("A[0] = 1", "for i in range(8):\n    A[i] = A[7 - i]"):
        assert not Place(body).shown("A", 1)
        place = Place(body)
        assert place.shown("A", 0) and place.shown("A", 1)


def test_copies_of_what_is_undefined() -> None:
    place = Place(LOCAL + "for i in range(8):\n    A[i] = t[i]\n    t[i] = t[7 - i]")
    assert place.shown("A", 0)
    assert not place.shown("t", 1)
    assert not place.shown("t", 1, "A") and not place.shown("A", 1, "t")
    place = Place("for i in range(8):\n    A[i] = B[i]\n    B[i] = B[7 - i]")
    assert place.shown("A", 0) and not place.shown("A", 1, "B")
    assert place.shown("B", 0) and place.shown("A", 1, "B")


def test_an_opaque_call_may_have_stored_to_each_block() -> None:
    text = "for i in range(8):\n    {}\n    A[i] = A[7 - i]"
    for call, expected in (("C[i] = 1", True), ("T.evaluate(T.call_extern('int32', 'g'))", False)):
        place = Place(text.format(call))
        assert all(place.shown(name, 0) for name in "ABC")
        assert place.shown("A", 1) is expected


def test_of_blocks_that_a_statement_does_not_touch_it_shows_nothing() -> None:
    place = Place("for i in range(8):\n    A[i] = B[i]")
    assert all(place.shown(name, 0) for name in "ABC")
    assert not place.shown("A", 1, "C")
    assert place.shown("A", 1, "B")


def test_of_two_blocks_one_is_seen_at_two_types() -> None:
    """``V[0]`` is not defined if ``F[0]`` is a NaN."""
    view = "V = T.decl_buffer((8,), {!r}, data=F.data)\nA[0] = 1"
    for dtype, expected in (("float32", True), ("int32", False)):
        place = Place(view.format(dtype), INTS + ', F: T.Buffer((8,), "float32")')
        assert place.shown("F", 0) is expected
        assert place.shown("F", 0, "A") is expected
        assert place.shown("A", 0)


def test_what_is_shown_of_one_block_is_not_known_of_another_one() -> None:
    for stored, expected in (("C[7 - i]", True), ("T.undef('int32')", False)):
        place = Place(f"for i in range(8):\n    A[i] = A[7 - i]\n    C[i] = {stored}")
        assert place.shown("A", 0) and place.shown("C", 0)
        assert place.shown("A", 1)
        assert not place.known.is_initialised(place.versions("C")[1])
        assert place.shown("C", 1, "A") is expected


def test_what_is_shown_of_several_blocks_is_known_of_each() -> None:
    place = Place("for i in range(8):\n    A[i] = C[7 - i]\n    C[i] = A[7 - i]")
    assert place.shown("A", 0) and place.shown("C", 0)
    assert place.shown("A", 1, "C")
    assert place.known.is_initialised(place.versions("C")[1])


def test_a_statement_that_stands_there_twice_began_with_other_memory_each_time() -> None:
    again = "if C[0] > 0:\n    A[1] = A[2]\n"
    text = again + "A[2] = {}\n" + again + "if A[2] > T.float32(0):\n    C[1] = 1"
    assert meaning(text.format("A[5]")) == ""
    assert "a branch on undef" in meaning(text.format("T.undef('float32')"))


def test_a_part_of_a_statement_begins_with_the_same_memory() -> None:
    """As where a rule looks into a statement that has run."""
    text = "x: T.let[T.int32] = C[0]\nif C[1] > x:\n    A[1] = A[2] + x\nA[3] = {}"
    for stored, expected in (("A[4] + C[0]", True), ("T.undef('int32') + C[0]", False)):
        place = Place(text.format(stored))
        func, whole = place.func, place.func.body
        begun = begin(func, Entry(definite=True))
        inside = begun.fork()
        inside.execute(whole)
        done = inside.memory[buffer(func, "A").data]
        inside = inside.at(begun.memory, begun.env)
        first, *_ = ir.sub_statements(inside.enter(whole, 0))
        inside.execute(first)
        known = Prover(Solver()).known(inside, ())
        part = inside.memory[buffer(func, "A").data]
        assert isinstance(part.event, Ran) and isinstance(done.event, Ran)
        assert part.event.stmt is not done.event.stmt
        assert [*part.event.memory.values()] == [*done.event.memory.values()]
        assert not known.uninitialised(begun.memory[part.block])
        assert not known.uninitialised(part) and known.is_initialised(part)
        assert not known.is_initialised(done)
        assert (not known.uninitialised(done)) is expected


def test_of_what_cannot_be_encoded_nothing_is_shown() -> None:
    """A block that is not expanded runs in no way that the kernel knows."""
    for block, expected in (
        ("with T.block('a'):\n        ", True),
        ("with T.block('a'):\n        {}\n        ", False),
    ):
        text = block.format("v = T.axis.spatial(8, i)") + ("A[{}] = A[0]".format("i" if expected else "v"))
        place = Place("for i in range(8):\n    " + text)
        assert place.shown("A", 0)
        assert place.shown("A", 1) is expected
