"""What the operators make of small functions."""

from __future__ import annotations

from tests.mutation.operators import GROUPS, OPERATORS, mutants
from tests.mutation.sources import Source

RULE = """
class Swap:
    def rewrite(self, before):
        match statement_at(before, self.path):
            case Seq(stmts=stmts) if 0 <= self.position < len(stmts) - 1:
                if changes(a, b) or hidden(a):
                    return NoMatch(self.path, f"{a} writes what {b} reads")
        return Rewrite(after, self.questions(a, b))

    def questions(self, a, b):
        assert a is not b
        claim = f"the start of {a} comes {1 + 1} times"
        goal = f.and_(f.le(low, x), f.lt(x, high))
        yield Question("domain", claim, context, (*given, f.lt(i, j)), goal, (*self.path, 1))
        yield from no_dependence(instance(context, a, also_written=written_blocks(b)))
"""


def texts(source: str, group: str) -> dict[str, tuple[str, str]]:
    """Ids, without the file, of a group's mutants: what changes, and with what effect."""
    module = Source("verified_tir/kernel/rules/toy.py", source.encode())
    found: dict[str, tuple[str, str]] = {}
    for m in mutants(module, (group,)):
        old = source.encode()[m.start : m.end].decode()
        found[m.id.removeprefix("rules.toy:")] = (f"{old} -> {m.text}", m.effect)
    return found


def test_every_question_is_dropped() -> None:
    assert texts(RULE, "obligations") == {
        "Swap.rewrite:drop-question:1": ("self.questions(a, b) -> ()", "weaker"),
        "Swap.questions:drop-question:1": (
            'yield Question("domain", claim, context, (*given, f.lt(i, j)), goal, (*self.path, 1)) -> (yield from ())',
            "weaker",
        ),
        "Swap.questions:drop-question:2": (
            "yield from no_dependence(instance(context, a, also_written=written_blocks(b))) -> (yield from ())",
            "weaker",
        ),
    }


def test_goals_are_weakened_and_hypotheses_change() -> None:
    assert texts(RULE, "formulas") == {
        "Swap.questions:drop-conjunct:1": ("f.le(low, x) -> *()", "weaker"),
        "Swap.questions:drop-conjunct:2": ("f.lt(x, high) -> *()", "weaker"),
        "Swap.questions:swap-bound:1": ("f.le -> f.lt", "stricter"),
        "Swap.questions:drop-goal:1": ("f.le(low, x) -> f.TRUE", "weaker"),
        "Swap.questions:swap-bound:2": ("f.lt -> f.le", "weaker"),
        "Swap.questions:drop-goal:2": ("f.lt(x, high) -> f.TRUE", "weaker"),
        "Swap.questions:swap-bound:3": ("f.lt -> f.le", "stricter"),
        "Swap.questions:drop-goal:3": ("f.lt(i, j) -> f.TRUE", "stricter"),
    }


def test_side_conditions_are_dropped_whole_and_in_parts() -> None:
    assert texts(RULE, "conditions") == {
        "Swap.rewrite:drop-guard:1": ("0 <= self.position < len(stmts) - 1 -> True", "either"),
        "Swap.rewrite:drop-condition:1": ("changes(a, b) or hidden(a) -> False", "weaker"),
        "Swap.rewrite:drop-operand:1": ("changes(a, b) -> False", "weaker"),
        "Swap.rewrite:drop-operand:2": ("hidden(a) -> False", "weaker"),
    }


def test_bounds_are_off_by_one_and_effects_forgotten() -> None:
    assert set(texts(RULE, "values")) == {
        "Swap.rewrite:swap-comparison:1",
        "Swap.rewrite:swap-comparison:2",
        "Swap.rewrite:forget-one:1",
        "Swap.questions:drop-keyword:1",
        "Swap.questions:drop-element:1",
        "Swap.questions:drop-element:2",
    }
    assert texts(RULE, "domain") == {
        "Swap.questions:nothing-written:1": ("written_blocks(b) -> set()", "either"),
    }


def test_words_for_readers_are_not_mutated() -> None:
    """Claims, names, places, assertions: no mutant changes any of them."""
    module = Source("verified_tir/kernel/rules/toy.py", RULE.encode())
    quiet = [RULE.encode().index(text) for text in (b'f"{a} writes', b'"domain"', b"assert a", b"{1 + 1}", b"1))")]
    for m in mutants(module, tuple(GROUPS)):
        if m.operator not in ("drop-question",):
            assert not any(m.start <= at < m.end for at in quiet), m.id


def test_ids_survive_changes_elsewhere() -> None:
    longer = '"""Other words."""\n\nlimit = 3\n' + RULE.replace("def rewrite(self, before):", "def rewrite(self, x):")
    assert list(texts(RULE, "formulas")) == list(texts(longer, "formulas"))


def test_every_operator_is_explained_and_in_a_group() -> None:
    assert {group for group, _ in OPERATORS.values()} == set(GROUPS)
    assert all(words for _, words in OPERATORS.values())


def test_a_change_that_is_none_is_left_out() -> None:
    same = "def goal(x, y):\n    return f.le(x, y)\n"
    kept = Source("verified_tir/kernel/rules/toy.py", same.encode())
    assert {m.operator for m in mutants(kept)} == {"swap-bound", "drop-goal", "swap-arguments"}
    already = Source("verified_tir/kernel/rules/toy.py", b"def goal(x):\n    if False:\n        return NoMatch(x)\n")
    assert [m.operator for m in mutants(already)] == ["flip-constant"]


BRANCHES = """
def value(e, n):
    match e:
        case Var():
            return n == 2 * e.size
        case (
            Add(a=a)
            | Sub(a=a)
        ) if a:
            return f.sub(a, n)
        case _:
            return f.ite(n, f.eq(e, n), e)
"""


def test_cases_are_never_taken_and_operators_exchanged() -> None:
    assert {place: old for place, (old, _) in texts(BRANCHES, "branches").items()} == {
        "value:drop-case:1": "Var() -> NotImplementedError()",
        "value:drop-case:2": "a -> False",
    }
    assert {place: old for place, (old, _) in texts(BRANCHES, "arithmetic").items()} == {
        "value:swap-equality:1": "n == 2 * e.size -> (n != 2 * e.size)",
        "value:swap-operator:1": "2 * e.size -> (2 // e.size)",
        "value:next-number:1": "2 -> 3",
        "value:swap-operator:2": "f.sub -> f.add",
        "value:swap-arguments:1": "f.sub(a, n) -> f.sub(n, a)",
        "value:swap-arguments:2": "f.ite(n, f.eq(e, n), e) -> f.ite(n, e, f.eq(e, n))",
        "value:swap-operator:3": "f.eq -> f.ne",
    }
