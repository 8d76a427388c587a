"""What somebody who can write the files and computes all hashes anew can do, and that a check finds it.

No primitive is called again here: the rules of the kernel are enough.  There is a test for each line of the table in
docs/trust.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.certificate.stores import NAME, Change, Says, content, forge, obligations, put_question, tidy
from tests.certificate.test_tampering import HASH, OBLIGATION, PLACE, differences, replace
from verified_tir import Schedule
from verified_tir.certificate.canonical import text_hash
from verified_tir.certificate.check import check
from verified_tir.certificate.integrity import Finding
from verified_tir.certificate.questions import check_questions
from verified_tir.certificate.store import save
from verified_tir.certificate.write import Origin, Written
from verified_tir.derivation.codec import read_program
from verified_tir.ir.script import script

Content = dict[str, Any]
TRIVIAL = "(set-logic QF_LIA)\n(assert false)\n(check-sat)\n"
RULE = ("trace", 1, "rules", 0)
MOVED = "trace[1] transform_layout"
FIRST = f"{MOVED}: rules[0] relayout.Relayout"


def found(folder: Path) -> list[Finding]:
    """What a check finds, whatever solvers say."""
    return check(folder, executor=Says()).all_findings


def other_program(c: Content, which: str, old: str, new: str) -> None:
    """Another program, and the text of it."""
    text = "\n".join(c[which]["program"])
    assert old in text
    lines = text.replace(old, new, 1).split("\n")
    func = read_program("\n".join(lines))
    c[which] |= {"program": lines, "hash": text_hash("\n".join(lines)), "text": script(func).split("\n")}


def other_end(c: Content) -> None:
    """Another program after, with all that the certificate says of it."""
    other_program(c, "after", "0x1.0000000000000p+1", "0x1.8000000000000p+1")
    c["trace"][-1]["after"] = c["trace"][-1]["rules"][-1]["after"] = c["after"]["hash"]


def other_beginning(c: Content) -> None:
    """Another program before, likewise."""
    other_program(c, "before", "0x1.0000000000000p+1", "0x1.8000000000000p+1")
    c["trace"][0] |= {"before": c["before"]["hash"], "after": c["before"]["hash"]}
    c["trace"][0]["rules"][0]["after"] = c["trace"][1]["before"] = c["before"]["hash"]


def without_last_step(c: Content) -> None:
    """The last step goes, and what it did stays."""
    c["trace"][-2]["after"] = c["trace"][-2]["rules"][-1]["after"] = c["after"]["hash"]
    del c["trace"][-1]


def without_a_rule(c: Content) -> None:
    """The first rule of the second step goes."""
    del c["trace"][2]["rules"][0]


def reordered(c: Content) -> None:
    """Two rules change places, and what they lead to stays where it was."""
    rules = c["trace"][2]["rules"]
    assert len(rules) > 1
    rules[0], rules[1] = {**rules[1], "after": rules[0]["after"]}, {**rules[0], "after": rules[1]["after"]}


def in_text(key: str, old: str, new: str) -> Change:
    """Another word in what the theorem says, exactly."""

    def how(c: Content) -> None:
        assert old in c["theorem"][key]
        c["theorem"][key] = c["theorem"][key].replace(old, new, 1)

    return how


def in_rule(old: str, new: str, *path: Any) -> Change:
    """Another word in the arguments of a rule."""

    def how(c: Content) -> None:
        at: Any = c
        for k in path or RULE:
            at = at[k]
        assert old in at["value"]
        at["value"] = at["value"].replace(old, new, 1)

    return how


def without_races(c: Content) -> None:
    """That no marked loop of the last program races is not said."""
    assert c["trace"][-1]["rules"].pop()["rule"] == "race freedom"


def races_earlier(c: Content) -> None:
    """It is said of the program before."""
    c["trace"][-2]["rules"].append({**c["trace"][-1]["rules"].pop(), "after": c["trace"][-2]["after"]})


FORGED: dict[str, tuple[Change, str]] = {
    "no race freedom": (without_races, "trace[4] unroll"),
    "race freedom of another program": (races_earlier, "trace[3] parallel: rules[1] race freedom"),
    "no questions about races": (replace("trace", -1, "rules", -1, "obligations")([]), "trace[4] unroll: rules[1]"),
    "a question that asks nothing": (replace(*OBLIGATION, "query")(None), PLACE),
    "another claim": (replace(*OBLIGATION, "claim")("the sun shines"), PLACE),
    "another name": (replace(*OBLIGATION, "name")("no-op"), PLACE.replace("] safety", "] no-op")),
    "another place": (replace(*OBLIGATION, "place", "path")([0]), PLACE),
    "another statement": (replace(*OBLIGATION, "place", "statement")("pass"), PLACE),
    "one question less": (replace(*RULE, "obligations")(lambda x: x[1:]), FIRST),
    "no questions": (replace(*RULE, "obligations")([]), FIRST),
    "two questions exchanged": (replace(*RULE, "obligations")(lambda x: [x[1], x[0], *x[2:]]), FIRST),
    "a question more": (replace(*RULE, "obligations")(lambda x: [x[0], *x]), FIRST),
    "fewer axioms": (replace("axioms")(lambda axioms: axioms[:-1]), "axioms"),
    "another axiom": (replace("axioms", 0)("A holds what it likes"), "axioms"),
    "other padding": (replace("relation", 1, "layouts", 0, "padding", 0, "value")("anything"), "relation"),
    "another inverse": (replace("relation", 1, "layouts", 0, "inverse")("lambda i, j, k: [k, j]"), "relation"),
    "padding that is owed, exactly": (in_text("paddings", "none false", "none true"), "theorem"),
    "another inverse, exactly": (in_text("relation", "(IntImm int32 4) %14", "(IntImm int32 4) %15"), "theorem"),
    "blocks that were reassociated": (replace("theorem", "reassociated")("[%4]"), "theorem"),
    "indefinite arguments": (replace("theorem", "definite")(False), "theorem"),
    "other floats": (replace("floats")({"mode": "reassociated", "reductions": ["B"]}), "floats"),
    "licences that nobody needs": (replace("theorem", "licences")("[%4]"), "trace[0]"),
    "licences that are given up": (replace("theorem", "given up")(2), "trace[0]"),
    "another argument of a rule": (in_rule("(IntImm int32 4)", "(IntImm int32 2)"), FIRST),
    "another witness": (in_rule("(Binary \"add\" (Binary \"mul\" (IntImm int32 4) %10) %11)", "%11"), FIRST),
    "a rule of another type": (replace(*RULE, "value")('(Erase [1] 0 false)'), FIRST),
    "another place of a rule": (in_rule("[1]", "[1 0]", "trace", 3, "rules", 0), "trace[3] parallel: rules[0] same."),
    "another name of a rule": (replace(*RULE, "rule")("relayout.Other"), FIRST.replace("Relayout", "Other")),
    "a rule in the place of the program's check": (replace("trace", 0, "rules", 0, "rule")("same.Same"), "trace[0]"),
    "another program before": (other_beginning, "trace[3] parallel: rules[0] same."),
    "another program after": (other_end, "after"),
    "one step less": (without_last_step, "after"),
    "one rule less": (without_a_rule, "trace[2] sequential_buffer_access: rules[0] rewrite.Rewrite"),
    "rules in another order": (reordered, "trace[2] sequential_buffer_access: rules[0] rewrite.Rewrite"),
    "an expanded program": (replace("before", "expanded")(["(PrimFunc"]), "before"),
    "a budget that is none": (replace("schedule", "budget")(0), "schedule.budget"),
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", FORGED)
def test_a_forger_is_found(folder: Path, how: str) -> None:
    """All hashes are right, each question that is there has its answer: what is computed again is something else."""
    change, place = FORGED[how]
    trivial = put_question(folder, TRIVIAL)

    def forged(c: Content) -> None:
        change(c)
        for o in obligations(c):
            o["query"] = o["query"] or trivial

    forge(folder, forged)
    tidy(folder)
    there = found(folder)
    assert {f.certificate for f in there} == {NAME}
    assert any(f.place.startswith(place) for f in there), [str(f) for f in there]
    assert all(str(f).isprintable() for f in there)


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "how", ["a question that asks nothing", "another claim", "fewer axioms", "another argument of a rule"]
)
def test_questions_alone_do_not_tell(folder: Path, how: str) -> None:
    """Who asks the questions only believes that they are the right ones."""
    trivial = put_question(folder, TRIVIAL)

    def forged(c: Content) -> None:
        FORGED[how][0](c)
        for o in obligations(c):
            o["query"] = o["query"] or trivial

    forge(folder, forged)
    tidy(folder)
    assert check_questions(folder).exit_code == 0
    assert check(folder).exit_code == 1


def test_a_whole_other_derivation_is_another_certificate(folder: Path) -> None:
    """A true theorem about a program of the same name: nothing is wrong with it, so only the program tells."""
    s = Schedule("@T.prim_func\ndef zero(A: T.Buffer((8,), 'int32')):\n    for i in range(8):\n        A[i] = 0\n")
    s.parallel("i")
    written = Written()
    written.add("file/small", s, Origin("small", "file.py", 9))
    save(folder, written.certificates, written.queries)
    assert check(folder).exit_code == 0


MALFORMED: dict[str, tuple[str, str]] = {
    "nothing": ("", "not one value"),
    "two values": ("(Erase [1] 0 false) (Erase [1] 0 false)", "not one value"),
    "nested deeply": ("[" * 5000 + "]" * 5000, "nested more than"),
    "a huge number": (f"(Erase [{'9' * 5000}] 0 false)", "digits"),
    "a large number": ("(Erase [99999999999999999999999999] 0 false)", ""),
    "a negative place": ("(Erase [-1] 0 false)", ""),
    "an unknown form": ('(Trust "me")', "there is no form"),
    "a statement": ("(Seq [])", "this is not a rule"),
    "a theorem": ("(Theorem (Seq []) true [] [] none)", "Theorem.start"),
    "too few fields": ("(Erase [1])", "a Erase has 3 fields, not 1"),
    "a string for a place": ('(Erase "1" 0 false)', "Erase.path: tuple is wanted"),
    "a number for a bool": ("(Erase [1] 0 1)", "Erase.dead_at_end: bool is wanted"),
    "a bool for a number": ("(Erase [1] true false)", "a bool is not a number"),
    "a free variable": ("(Partition [1] %99)", "nothing has the number %99"),
    "a free buffer": ("(Declare [1] @99)", "nothing has the number @99"),
    "a variable spelled again": ('(WrapUnit [1] (Var 0 "i" int32))', "the next Var has the number"),
    "another spelling": ("(Erase  [1] 0 false)", "not spelled in the canonical way"),
    "a quotation": ("(Apply (Erase))", "this is not a rule"),
    "another type of expression": ("(Partition [1] (Not (IntImm int32 1)))", "not takes bool operands"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("how", MALFORMED)
def test_what_is_no_rule_ends_in_a_finding(folder: Path, how: str) -> None:
    text, problem = MALFORMED[how]
    forge(folder, replace("trace", 3, "rules", 0, "value")(text))
    (one,) = found(folder)
    assert one.place == "trace[3] parallel: rules[0] same.Same", str(one)
    assert "it is not derived again" in one.problem and problem in one.problem


def in_program(old: str, new: str) -> Callable[[Content], None]:
    """Another word in the program before, which may then be none."""

    def how(c: Content) -> None:
        text = "\n".join(c["before"]["program"])
        assert re.search(old, text), old
        text = re.sub(old, lambda _: new, text, count=1)
        c["before"] |= {"program": text.split("\n"), "hash": text_hash(text)}
        c["trace"][0]["before"] = c["before"]["hash"]

    return how


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (r"^\(PrimFunc", "(IRModule", "this is not a program"),
        (r"(?s)^.*$", "(IRModule [])", "this is a IRModule, not a program"),
        (r'\(Assume \(Binary "ge" %2', '(Assume (Binary "ge" %77', "nothing has the number %77"),
        (r'\(Var 6 "j" int32\)', "%5", "nothing has the number %6"),
        (r'\(For \(Var 5 "i" int32\)', "(For %2", ""),
        (r'\(Load @0', "(Load @1", ""),
        (r'\[%5 %6\] none\)$|\[%5 %6\] none', "[%5 %5] none", ""),
        (r'"ge"', '"is"', "Binary.op"),
        (r"\(IntImm int32 6\)", "(IntImm int32 6000000000)", "does not fit int32"),
        (r"\(IntImm int32 6\)", "(IntImm int32 true)", "a bool is not a number"),
        (r"float32 \[%2", "float32 [0x1.8p+1", "Buffer.shape"),
        (r'"A"', '"\\ud800"', ""),
    ],
)  # fmt: skip
def test_what_is_no_program_ends_in_a_finding(folder: Path, old: str, new: str, problem: str) -> None:
    forge(folder, in_program(old, new))
    there = [f.problem for f in found(folder)]
    assert there and any(problem in p for p in there), there


def test_two_binders_of_one_variable(folder: Path) -> None:
    """Well spelled, and no program: the kernel says so."""

    def how(c: Content) -> None:
        in_program(r'\(For \(Var 6 "j" int32\)', "(For %5")(c)
        text = "\n".join(c["before"]["program"]).replace("%6", "%5")
        c["before"] |= {"program": text.split("\n"), "hash": text_hash(text)}

    forge(folder, how)
    assert any("it is not derived again" in f.problem for f in found(folder)), [str(f) for f in found(folder)]


def test_a_certificate_of_the_first_schema(folder: Path) -> None:
    forge(folder, replace("schema")(1))
    (one, *_) = found(folder)
    assert "certify again" in one.problem


@pytest.mark.nightly
def test_replaying_finds_other_calls(folder: Path) -> None:
    """The calls of primitives are notes: no proof rests on them, so only ``--regenerate`` looks at them."""
    forge(folder, replace("trace", 1, "arguments", 1, "index_map", "text", 2)("3 - j % 4"))
    assert check(folder).exit_code == 0
    assert {f.place for f in differences(folder)} >= {"relation"}


def test_what_hash_a_program_has_is_computed(folder: Path) -> None:
    forge(folder, replace(*RULE, "after")(HASH))
    assert any(f.place == FIRST and "after: the kernel has something else" in f.problem for f in found(folder))


def test_forging_starts_from_something_true(folder: Path) -> None:
    assert found(folder) == [] and content(folder)["schema"] == 5
