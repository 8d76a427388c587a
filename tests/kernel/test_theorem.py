"""What a theorem remembers of its steps, and under which assumptions the questions of the next one are asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernel.programs import (
    PROVER,
    blocks_of,
    body_of,
    buffer,
    licensed_for,
    load,
    program,
    store,
    take,
    unlicensed,
    variable,
    why,
)
from tests.kernel.rules.test_call import DOUBLE, LOOP, call
from tests.kernel.rules.test_stage import window
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Assume, For, LetStmt, Seq, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, NoMatch, Unproved
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.refines import statement_of
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.step import Rewrite
from verified_tir.kernel.theorem import Refines, Rule, _check, _same, apply, licensed, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import RuleBuilder, labelled, of_kind

FLOATS = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'


def then(theorem: Refines, *rules: Rule | RuleBuilder) -> Refines:
    for rule in rules:
        new = take(rule, theorem)
        assert isinstance(new, Refines), why(new)
        theorem = new
    return theorem


def not_then(theorem: Refines, rule: Rule | RuleBuilder) -> str:
    found = take(rule, theorem)
    assert not isinstance(found, Refines), "it is accepted"
    return why(found)


def tiled(b: Buffer, pad: Expr | None = None) -> Relayout:
    """``i -> [i // 4, i % 4]``, of any number of elements."""
    x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
    element, extent = binary("add", y * 4, z), b.shape[0]
    rows = binary("floordiv", binary("add", extent, const(3)), const(4))
    layout = LayoutMap((x,), (x // 4, x % 4), (y, z), (element,), (rows, const(4)), binary("ge", element, extent))
    return Relayout(b, layout, pad)


def test_only_the_kernel_makes_one() -> None:
    f = program("B[0] = 1")
    with pytest.raises(TypeError, match="made by the kernel"):
        Refines(object(), f, f, (), (), frozenset(), (), False)
    theorem, foreign = reflexive(f), program("B[0] = 2")

    class Alike:
        after = foreign

        def __hash__(self) -> int:
            return hash(theorem)

        def __eq__(self, other: object) -> bool:
            return True

    for what in (Alike(), object.__new__(Refines), foreign):
        with pytest.raises(TypeError, match="this is not a theorem: the kernel has not made it"):
            apply(Erase((0,)), what, PROVER)  # type: ignore[arg-type]


def test_what_is_not_well_formed_begins_no_theorem() -> None:
    """What a statement before the place stores to a buffer that is nowhere declared, no context can tell."""
    f, g, twice = program("A[0] = 1\nA[0] = 1"), Buffer.declare("G", (4,), "int32"), Var.fresh("i")
    marked = For(Var.fresh("j"), const(0), const(4), store(buffer(f, "B"), 1, 0), "parallel")
    for body, wrong in (
        (seq(store(g, 1, 0), f.body, marked), "buffer G is not declared here"),
        (For(twice, const(0), const(4), For(twice, const(0), const(2), seq(f.body, marked))), "i is bound twice"),
        (seq(LetStmt(twice, const(1), f.body), store(buffer(f, "A"), twice, 1), marked), "i is not in scope here"),
    ):
        with pytest.raises(Misfit, match=rf"there is no theorem about f: .*{wrong}"):
            reflexive(f.with_body(body))
        found = prove_race_free(f.with_body(body), PROVER, Entry())
        assert isinstance(found, NoMatch) and wrong in found.reason
    then(reflexive(f.with_body(f.body)), Erase((1,)))


def test_layouts_and_their_padding_add_up() -> None:
    f = program("A[0] = 1\nB[0] = 2", 'A: T.Buffer((6,), "int32"), B: T.Buffer((5,), "int32")')
    theorem = then(reflexive(f), tiled(buffer(f, "A"), const(7)), tiled(buffer(f, "B"), const(9)))
    assert [m.before.name for m in theorem.relation] == ["A", "B"]
    assert [(p.buffer.name, p.value) for p in theorem.paddings] == [("A", const(7)), ("B", const(9))]
    assert [b.name for b in theorem.entry.shapes] == ["A", "B"]
    assert theorem.before is f and theorem.entry.paddings == theorem.paddings


def test_reductions_in_another_order_add_up() -> None:
    text = "for k in range(4):\n    B[0] = B[0] + A[k]\nfor j in range(4):\n    C[0] = C[0] + A[j]"
    f = program(text, ", ".join(f'{name}: T.Buffer((4,), "float32")' for name in "ABC"))
    theorem, both = licensed_for(f, "B", "C"), blocks_of(f, "B", "C")
    for place, name, loop in ((1, "C", "j"), (0, "B", "k")):
        theorem = then(theorem, halves(f, place, name, loop))
    assert theorem.reassociated == both
    assert then(theorem, labelled((), "both")).reassociated == both
    one = then(licensed_for(f, "C"), halves(f, 1, "C", "j"))
    assert one.reassociated == blocks_of(f, "C")
    assert then(licensed_for(one, "B", "C"), halves(f, 0, "B", "k")).reassociated == both
    step, reason = unlicensed(one, "B")
    assert step == 0 and "the sum of float32 into C has the same bits in any order" in reason


def halves(f: PrimFunc, place: int, name: str, loop: str) -> Reassociate:
    local = Buffer.declare(f"P_{name}", (2,), "float32")
    return Reassociate((place,), local, (variable(f, loop) % 2,))


@pytest.mark.parametrize(
    ("params", "text", "fine"),
    [
        ('A: T.Buffer((4,), "int32")', "T.evaluate(A[0])", True),
        ('A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")', "B[0] = A[0]", False),
        ('B: T.Buffer((4,), "int32"), A: T.Buffer((4,), "int32")', "B[0] = A[0]", False),
        ('A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")', "A[0] = B[0]", True),
        ('B: T.Buffer((4,), "int32"), A: T.Buffer((4,), "int32")', "A[0] = B[0]", True),
    ],
)
def test_what_is_only_read_may_be_another_argument_too(params: str, text: str, *, fine: bool) -> None:
    f = program(text, params)
    a = buffer(f, "A")
    again = Insert((), store(a, load(a, 1), 1), "after")
    if fine:
        then(reflexive(f), again)
    else:
        assert "A would be written, which was only read" in not_then(reflexive(f), again)


def test_the_first_program_is_the_one_that_the_derivation_began_with() -> None:
    """Also one whose body is a sequence of one statement, which no text gives."""
    f = program("B[0] = 1")
    g = f.with_body(Seq((f.body,)))
    for func in (f, g):
        theorem = then(reflexive(func), labelled((), "b"))
        assert theorem.before is func and theorem.assumed == ()


def test_the_blocks_of_a_program_are_expanded_or_no_step_leads_to_it() -> None:
    """What a step says of another statement would be a theorem about a program that has no meaning yet."""
    text = "B[0] = 1\nfor i in range(4):\n    with T.{}('b'):\n        {}A[{}] = 2"
    f = program(text.format("block", "v = T.axis.spatial(4, i)\n        ", "v"))
    assert not_then(reflexive(f), labelled((0,), "one")).endswith("its blocks are not expanded")
    then(reflexive(program(text.format("sblock", "", "i"))), labelled((0,), "one"))


def test_a_theorem_keeps_no_question() -> None:
    """A question holds the context in which it was asked, and whoever answered it is done with it."""
    theorem = then(reflexive(program("B[0] = 1\nB[0] = 1")), Erase((1,)))
    (step,) = theorem.derivation
    assert step.made.questions == ()


def test_no_sum_is_put_into_another_order_without_a_licence_whatever_a_rule_computes() -> None:
    f = program("for k in range(4):\n    B[0] = B[0] + A[k]", FLOATS)
    one, other = blocks_of(f, "A"), blocks_of(f, "B")
    said = statement_of(licensed_for(f, "B"))
    _check(said, Rewrite(f, (), reassociated=other))
    for summed in (one, one | other):
        with pytest.raises(Misfit, match="floats are summed in another order without a licence"):
            _check(said, Rewrite(f, (), reassociated=summed))


def test_a_copy_that_is_only_read_takes_part_in_no_sum() -> None:
    """A copy of a licensed block is licensed where sums go on in it."""
    f = program("for k in range(4):\n    B[k] = B[k] + A[k]", FLOATS)
    for name, out in (("A", False), ("B", False), ("B", True)):
        stage = Stage((), buffer(f, name), window(0, 4), "c", copy_out=out)
        done = then(licensed_for(f, "A", "B"), stage)
        assert done.licensed == blocks_of(done.after, "A", "B", *(["c"] if out else []))


def test_a_step_that_is_made_again_gives_the_program_that_it_gave() -> None:
    f = program("B[0] = 1\nB[1] = 2")
    one, other = (then(reflexive(f), labelled((k,), "b")).derivation[0] for k in (0, 1))
    assert _same(one.made, one).after is one.after
    with pytest.raises(Misfit, match="does not give the program that it gave before"):
        _same(one.made, other)


def test_steps_that_are_made_again_for_a_licence_give_the_names_that_later_steps_use() -> None:
    f = program("for k in range(4):\n    B[0] = B[0] + A[k]\nfor j in range(4):\n    A[j] = A[j] * A[j]", FLOATS)
    first = then(reflexive(f), Stage((1,), buffer(f, "A"), window(0, 4), "c", copy_out=True))
    theorem = then(first, Stage((1, 0, 1), buffer(first.after, "c"), window(0, 4), "d", copy_out=True))
    assert licensed_for(theorem, "B").after is theorem.after


def test_what_is_kept_on_disk_is_said_of_a_theorem_and_of_those_that_rest_on_it(tmp_path: Path) -> None:
    """Whether verdicts that lay on a disk were believed, in a step of its own or in a lemma."""
    func, f = parse_func(DOUBLE), program(LOOP, FLOATS)
    for believed in (False, True):
        prover = Prover(Solver(store=VerdictStore(tmp_path)))
        proved = take(moves.split_index_set((), const(2)), reflexive(func), prover)
        assert isinstance(proved, Refines) and ("kept verdicts" in proved.proved_by) == believed
        theorem = then(reflexive(f), call((), proved, f, "A", "B"))
        assert ("kept verdicts" in theorem.proved_by) == believed


# -- assumptions -------------------------------------------------------------------------------------------------------


def test_an_assumption_stands_in_front_of_both_programs_or_there_is_no_input() -> None:
    f = program("B[0] = n", 'A: T.Buffer((n,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32')
    n = variable(f, "n")
    theorem = then(reflexive(f), Axiom(Assume(binary("gt", n, const(3)))))
    assert body_of(theorem.before) == "T.assume(n > 3)\nB[0] = n"
    assert "no input satisfies them" in not_then(theorem, Axiom(Assume(binary("lt", n, const(3)))))
    assert "no input satisfies them" in not_then(reflexive(f), Axiom(Assume(binary("lt", n, const(0)))))


SIZED = 'A: T.Buffer((n,), "int32"), C: T.Buffer((16,), "int32"), n: T.int32'
AHEAD = "T.assume(n <= 8)\nfor i in T.parallel(2):\n    C[i] = C[i + 2 + n]\nA[0] = 1"
"""There is no race as n is not negative, which an array of n elements shows, and one of (n + 3) // 4 rows does not."""


def test_what_shapes_showed_stays_known() -> None:
    f = program(AHEAD, SIZED)
    theorem = then(reflexive(f), tiled(buffer(f, "A")), labelled((2,), "next"))
    n = variable(f, "n")
    again = then(theorem, rewritten((1, 0), (0, 0), variable(theorem.after, "i") + n + 2))
    assert "C[i + n + 2]" in body_of(again.after)
    without = program(AHEAD.replace("A[0]", "A[0, 0]"), SIZED.replace("(n,)", "((n + 3) // 4, 4)"))
    assert "race" in not_then(reflexive(without), labelled((2,), "next"))


def test_what_shapes_showed_is_known_of_a_program_that_is_verified_anew() -> None:
    text = "T.assume(n <= 8)\nfor k in range(4):\n    F[0] = F[0] + G[k]\nif F[0] > T.float32(0):\n    C[n] = 1\n"
    params = SIZED + ', F: T.Buffer((1,), "float32"), G: T.Buffer((4,), "float32")'
    f = program(text + "if n > 0:\n    A[0] = 1", params)
    assert isinstance(verify_program(f, PROVER), tuple)
    theorem = then(reflexive(f), tiled(buffer(f, "A")))
    local = Buffer.declare("P", (2,), "float32")
    loop = at(theorem.after.body, (1,))
    assert isinstance(loop, For)
    then(licensed_for(theorem, "F"), Reassociate((1,), local, (loop.var % 2,)))


def test_assumptions_that_contradict_earlier_shapes_leave_no_input() -> None:
    """Nobody asked ``p ⊑ p`` for an input; a program that is verified anew is asked."""
    text = "T.assume(-3 <= n and n < {})\nfor k in range(4):\n    F[0] = F[0] + G[k]\n"
    text += "if F[0] > T.float32(0):\n    C[0] = 1\n"
    params = SIZED + ', F: T.Buffer((1,), "float32"), G: T.Buffer((4,), "float32")'
    for bound in (0, 1):
        f = program(text.format(bound) + "if n > 0:\n    A[0] = 1", params)
        theorem = then(reflexive(f), tiled(buffer(f, "A")))
        rule = Reassociate((1,), Buffer.declare("P", (2,), "float32"), (variable(theorem.after, "k") % 2,))
        if bound:
            then(licensed_for(theorem, "F"), rule)
        else:
            assert "no input satisfies them" in unlicensed(theorem, "F")[1]


@pytest.mark.parametrize("definite", [True, False])
def test_licences_of_theorems_about_definite_arguments(*, definite: bool) -> None:
    """``t[0]`` is not negative if X[0] is defined."""
    text = "t = T.alloc_buffer((1,), 'int32')\nt[0] = T.max(X[0], 0)\nfor i in range(2):\n    A[i] = A[2 + t[0]]"
    f = program(text, 'A: T.Buffer((8,), "int32"), X: T.Buffer((4,), "int32")')
    theorem, rule = reflexive(f, definite=definite), of_kind((0, 1), "parallel")
    if definite:
        assert then(theorem, rule).definite
    else:
        assert "race" in not_then(theorem, rule)


def test_a_program_without_a_meaning_is_given_no_licence() -> None:
    """A licence is a statement about all orders, of a program that is proved to have a meaning in each."""
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), X: T.Buffer((4,), "int32")'
    text = "for k in range(4):\n    B[0] = B[0] + A[k]\nA[X[0]] = B[0]"
    f = program(text, params)
    assert isinstance(verify_program(f, PROVER), Unproved)
    step, reason = unlicensed(f, "B")
    assert step == -1 and "A[X[0]]: in bounds" in reason
    g = program("T.assume(X[0] >= 0 and X[0] < 4)\n" + text + "\nif B[0] > T.float32(0):\n    A[0] = B[0]", params)
    then(licensed_for(g, "B"), halves(g, 1, "B", "k"))


def test_a_licence_is_about_blocks_of_the_first_program() -> None:
    """Whatever else compares equal to one, or says that it is a part of them."""
    f = program("t = T.alloc_buffer((1,), 'int32')\nt[0] = 1\nB[0] = t[0]")
    own, foreign = buffer(f, "B").data, Buffer.declare("C", (1,), "int32").data

    class Alike:
        def __hash__(self) -> int:
            return hash(own)

        def __eq__(self, other: object) -> bool:
            return True

    class Part(frozenset):  # type: ignore[type-arg]
        def __le__(self, other: object) -> bool:
            return True

    theorem = reflexive(f)
    local = buffer(f, "t").data
    for blocks in ({own}, frozenset({"B"}), frozenset({Alike()}), frozenset({local, Alike()}), Part({foreign}),
                   Part({own}), frozenset({foreign}), frozenset({own, foreign})):  # fmt: skip
        with pytest.raises(TypeError, match="a licence is about blocks of the program that the theorem begins with"):
            licensed(theorem, blocks, PROVER)  # type: ignore[arg-type]
    for some in (frozenset({own}), frozenset({local}), frozenset({local, *(b.data for b in f.buffers)})):
        assert isinstance(licensed(theorem, some, PROVER), Refines)
