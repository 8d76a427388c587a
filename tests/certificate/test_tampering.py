"""Changes to a certificate are detected, and reported with their place.

First somebody changes a file and leaves the hashes alone; then somebody who computes them anew.  What the second one
can do is written in docs/trust.md (``test_forging`` has a test for each line there).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.certificate.stores import (
    NAME,
    Says,
    change,
    content,
    forge,
    obligations,
    put_question,
    store,
    tidy,
)  # fmt: skip
from tests.nightly import few
from verified_tir.certificate.canonical import write
from verified_tir.certificate.check import check
from verified_tir.certificate.integrity import Finding
from verified_tir.certificate.questions import Checked, check_questions
from verified_tir.certificate.regenerate import regenerate
from verified_tir.certificate.store import MANIFEST, BadStore, obligation_path

Content = dict[str, Any]


def checked(folder: Path) -> Checked:
    """The check without solvers and kernel: integrity alone."""
    return check_questions(folder, executor=Says())


def findings(folder: Path) -> list[Finding]:
    return checked(folder).all_findings


def differences(folder: Path) -> list[Finding]:
    return [f for r in regenerate(folder) for f in r.findings]


@pytest.mark.nightly
def test_nothing_is_found_where_nothing_was_changed(folder: Path) -> None:
    assert findings(folder) == []
    assert checked(folder).exit_code == 0
    assert differences(folder) == [] and not any(r.impossible for r in regenerate(folder))


def replace(key: str, *path: Any) -> Callable[[Any], Callable[[Content], None]]:
    """Change the value at a path of keys."""

    def to(new: Any) -> Callable[[Content], None]:
        def how(c: Content) -> None:
            at: Any = c
            for k in (key, *path)[:-1]:
                at = at[k]
            last = (key, *path)[-1]
            at[last] = new(at[last]) if callable(new) else new

        return how

    return to


OBLIGATION = ("trace", 1, "rules", 0, "obligations", 0)
HASH = "0" * 64
PLACE = "trace[1] transform_layout: rules[0] relayout.Relayout: obligations[0] safety"


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("how", "place"),
    [
        (replace("before", "text", 5)(lambda line: line.replace("6", "5")), "before.text"),
        (replace("after", "text", 3)(lambda line: line.replace("2, 4", "2, 5")), "after.text"),
        (replace("before", "program", 1)(lambda line: line.replace('"ge"', '"gt"')), "before.hash"),
        (replace("after", "program", 2)(lambda line: line.replace("parallel", "serial") + " "), "after.hash"),
        (replace("before", "expanded")(["x"]), "before"),
        (replace("theorem", "definite")(False), "theorem"),
        (replace("theorem", "relation")("[]"), "theorem"),
        (replace("before", "hash")(HASH), "before.hash"),
        (replace("axioms", 0)("A holds what it likes"), "axioms"),
        (replace("axioms")(lambda axioms: axioms[:-1]), "axioms"),
        (replace("relation", 1, "layouts", 0, "map")("lambda i, j: [i, j]"), "relation"),
        (replace("relation", 1, "layouts", 0, "inverse")("lambda i, j, k: [k, j]"), "relation"),
        (replace("relation", 1, "layouts", 0, "padding", 0, "value")("anything"), "relation"),
        (replace("floats", "mode")("reassociated"), "floats"),
        (replace("floats", "reductions")(["B"]), "floats"),
        (replace("tool", "version")("9.9"), "tool"),
        (replace("schedule", "budget")(1), "schedule"),
        (replace("regenerable", "yes")(False), "regenerable"),
        (replace(*OBLIGATION, "claim")("all is well"), PLACE),
        (replace(*OBLIGATION, "name")("no-op"), PLACE.replace("] safety", "] no-op")),
        (replace(*OBLIGATION, "expected")("sat"), PLACE),
        (replace(*OBLIGATION, "expected")("unknown"), PLACE),
        (replace(*OBLIGATION, "query")(HASH), PLACE),
        (replace(*OBLIGATION, "place", "path")([9]), PLACE),
        (replace(*OBLIGATION, "hash")(HASH), PLACE),
        (replace("trace", 1, "arguments", 0, "buffer")(0), "trace[1] transform_layout"),
        (replace("trace", 1, "arguments", 1, "index_map", "text", 1)("j // 3"), "trace[1] transform_layout"),
        (replace("trace", 1, "line")(77), "trace[1] transform_layout"),
        (replace("trace", 1, "hash")(HASH), "trace[1] transform_layout"),
        (replace("trace", 2, "before")(HASH), "trace[2] sequential_buffer_access"),
        (replace("trace", 1, "rules", 0, "after")(HASH), "trace[1] transform_layout"),
        (replace("trace", 1, "rules", 0, "rule")("order.Swap"), "trace[1] transform_layout"),
        (replace("trace", 1, "rules", 0, "value")(lambda x: x.replace("4", "3")), "trace[1] transform_layout"),
        (replace("trace", 1, "rules", 0, "obligations")(lambda x: x[1:]), "trace[1] transform_layout"),
        (replace("trace", 1, "rules", 0, "obligations")(lambda x: [x[1], x[0], *x[2:]]), "trace[1] transform_layout"),
        (replace("trace")(lambda trace: [*trace, trace[-1]]), "trace"),
        (replace("trace")(lambda trace: trace[:-1]), "trace"),
        (replace("trace")(lambda trace: [trace[0], *trace[2:], trace[1]]), "trace[1] sequential_buffer_access"),
        (replace("hashes", "axioms")(HASH), "axioms"),
        (replace("hashes")({}), "hashes"),
        (replace("root")(HASH), "root"),
    ],
)  # fmt: skip
def test_a_change_is_found_at_its_place(folder: Path, how: Callable[[Content], None], place: str) -> None:
    change(folder, how)
    done = checked(folder)
    assert place in {f.place for f in done.all_findings}, [str(f) for f in done.all_findings]
    assert all(f.certificate == NAME or f.certificate.startswith("obligations/") for f in done.all_findings)
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("how", "place"),
    [
        (replace("before")(7), "before"),
        (replace("trace", 0, "rules", 0, "obligations", 0, "place")("here"), "trace[0].rules[0].obligations[0].place"),
        (replace("root")("short"), "root"),
        (replace("schedule", "line")(True), "schedule.line"),
        (lambda c: c.pop("axioms"), "the certificate"),
        (lambda c: c.update(more=1), "the certificate"),
        (replace("schema")(1), "schema"),
        (replace("theorem", "given up")("0"), "theorem.given up"),
    ],
)  # fmt: skip
def test_what_is_no_certificate_is_said(folder: Path, how: Callable[[Content], None], place: str) -> None:
    change(folder, how)
    assert [f.place for f in findings(folder)] == [place]


def first_question(folder: Path) -> Path:
    return folder / obligation_path(obligations(content(folder))[0]["query"])


def test_a_question_that_was_changed(folder: Path) -> None:
    path = first_question(folder)
    path.write_text(path.read_text().replace("(<= 0 ", "(<= 1 ", 1))
    done = checked(folder)
    problems = [f.problem for f in done.all_findings]
    assert problems and all("was changed: its name is not the hash of its text" in p for p in problems)
    assert done.not_proved("undecided"), "it was not asked"


def test_a_question_that_is_gone(folder: Path) -> None:
    first_question(folder).unlink()
    assert all("is not there" in f.problem for f in findings(folder)) and findings(folder)


def test_files_that_belong_to_nothing(folder: Path) -> None:
    digest = put_question(folder, "(set-logic QF_LIA)\n(assert false)\n(check-sat)\n")
    (folder / "file" / "more.json").write_text("{}\n")
    (folder / "obligations" / "notes.txt").write_text("\n")
    found = {f.certificate: f.problem for f in findings(folder)}
    assert found == {
        str(obligation_path(digest)): "no certificate has this question",
        "obligations/notes.txt": "no certificate has this question",
        "file/more.json": "manifest.json does not list this certificate",
    }


def test_a_certificate_that_is_gone(folder: Path) -> None:
    (folder / f"{NAME}.json").unlink()
    (found,) = findings(folder)
    assert str(found) == f"{NAME}: the manifest lists it, but rows.json is not there [VT0804]"


def test_a_certificate_of_another_name(folder: Path) -> None:
    """Two certificates that change places."""
    one, two = folder / f"{NAME}.json", folder / "file/small.json"
    first, second = one.read_text(), two.read_text()
    one.write_text(second)
    two.write_text(first)
    assert {(f.certificate, f.place) for f in findings(folder)} == {(NAME, "root"), ("file/small", "root")}


def test_a_manifest_that_was_changed(folder: Path) -> None:
    path = folder / MANIFEST
    text = path.read_text()
    path.write_text(text[:-3])
    with pytest.raises(BadStore, match=MANIFEST):
        checked(folder)
    path.write_text(text.replace("file/small", "file/smell"))
    assert any(f.certificate == MANIFEST and f.place == "root" for f in findings(folder))
    path.write_text(text.replace("file/small", "../small"))
    with pytest.raises(BadStore, match="outside the folder"):
        checked(folder)


def test_spelling_counts(folder: Path) -> None:
    """Nothing is hidden in spaces, or under a key given twice."""
    path = folder / f"{NAME}.json"
    text = path.read_text()
    for other in (text.replace("\n", "\r\n"), text + "\n", text.replace('"axioms":', '"axioms": [],\n "axioms":')):
        path.write_bytes(other.encode())
        (found,) = findings(folder)
        assert "its spelling is not that of vtir" in found.problem
    path.write_text("[" * 100_000)
    assert "JSON" in str(findings(folder)[0]) or "nested" in str(findings(folder)[0])


def test_line_ends_of_the_manifest_count(folder: Path) -> None:
    path = folder / MANIFEST
    data = path.read_bytes()
    for other in (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r", 1)):
        path.write_bytes(other)
        with pytest.raises(BadStore, match="its spelling is not that of vtir"):
            checked(folder)
    path.write_bytes(data)
    assert findings(folder) == []


@pytest.mark.parametrize("name", ["file/./rows", "file//rows", "", ".", "a\0b", "file/small\nfile/rows", "\x1b[2Kok"])
def test_a_certificate_has_one_name_and_it_can_be_shown(folder: Path, name: str) -> None:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["certificates"][name] = manifest["certificates"][NAME]
    (folder / MANIFEST).write_text(write(manifest), encoding="utf-8")
    with pytest.raises(BadStore, match="is not a name of a certificate") as refused:
        checked(folder)
    assert str(refused.value).isprintable()


def test_nobody_waits_for_a_pipe(folder: Path) -> None:
    for path in (first_question(folder), folder / f"{NAME}.json"):
        path.unlink()
        os.mkfifo(path)
        assert any("is not a regular file" in f.problem for f in findings(folder))
    (folder / MANIFEST).unlink()
    os.mkfifo(folder / MANIFEST)
    with pytest.raises(BadStore, match="is not a regular file"):
        checked(folder)


@pytest.mark.nightly
@settings(max_examples=few(25, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_byte_of_any_file_can_be_changed(folder: Path, data: st.DataObject) -> None:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    path = data.draw(st.sampled_from(files))
    old = path.read_bytes()
    position = data.draw(st.integers(0, len(old) - 1))
    new = bytes([data.draw(st.integers(0, 255).filter(lambda b: b != old[position]))])
    try:
        path.write_bytes(old[:position] + new + old[position + 1 :])
        try:
            assert findings(folder)
        except BadStore:
            assert path.name == MANIFEST
    finally:
        path.write_bytes(old)


# -- somebody who computes the hashes anew -----------------------------------------------------------------------------

FALSE = "(set-logic QF_LIA)\n(declare-fun x0 () Int)\n(assert (<= 0 x0))\n(check-sat)\n"


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("how", "problem"),
    [
        (replace(*OBLIGATION, "expected")("sat"), "the verdict 'sat' is not a proof"),
        (replace(*OBLIGATION, "expected")("unknown"), "the verdict 'unknown' is not a proof"),
        (replace("trace", 2, "before")(HASH), "it does not begin with the program that the step before it ended with"),
        (replace("trace", 1, "rules", 0, "after")(HASH), "its last rule does not end with the program"),
        (replace("trace")(lambda t: t[:-1]), "it does not end with the program after"),
        (replace("trace")(lambda t: t[1:]), "it does not begin with the check of the program itself"),
        (replace("trace")(lambda t: [t[0], t[0], *t[1:]]), "comes first, and once"),
        (replace("before", "text")(["def f(:"]), "the text is not that of the program"),
        (replace("before", "text", 0)("# a comment"), "the text is not that of the program"),
        (replace("before", "program")(["(PrimFunc"]), "this is not a program: "),
        (replace("before", "program", 1)(lambda line: " " + line), "not spelled in the canonical way"),
        (replace("relation")(lambda r: r[:1]), "it is about 1 parameters"),
        (replace("relation", 0, "before", "shape")(["n", "7"]), "the parameter of the program before is A"),
        (replace("relation", 1, "after", "dtype")("int8"), "the parameter of the program after is B"),
        (replace("relation", 1, "layouts")([]), "its layouts end in float32[n, 6], not in float32[n, 2, 4]"),
        (replace("floats", "mode")("reassociated"), "does not go with 0 reductions"),
        (replace("regenerable", "yes")(False), "it is either so, or there are reasons"),
    ],
)
def test_what_contradicts_itself_is_found_whatever_the_hashes(
    folder: Path, how: Callable[[Content], None], problem: str
) -> None:
    forge(folder, how)
    assert any(problem in f.problem for f in findings(folder)), [str(f) for f in findings(folder)]


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    "text",
    [
        FALSE.replace("(check-sat)", "(push 1)\n(assert false)\n(check-sat)"),
        FALSE.replace("(assert ", "(assert false)(assert "),
        FALSE.replace("(assert ", "; comment\n(assert "),
        FALSE.replace("x0 ()", "|x| ()"),
        FALSE + FALSE,
        FALSE.replace("(set-logic QF_LIA)\n", ""),
        FALSE.replace("(check-sat)\n", "(check-sat-assuming (false))\n"),
        "",
    ],
)
def test_a_file_that_asks_something_else_is_no_question(folder: Path, text: str) -> None:
    digest = put_question(folder, text)
    forge(folder, replace(*OBLIGATION, "query")(digest))
    assert any("is not a question of vtir" in f.problem for f in findings(folder))


def test_a_false_claim_is_not_proved(folder: Path) -> None:
    forge(folder, replace(*OBLIGATION, "query")(put_question(folder, FALSE)))
    tidy(folder)
    done = check_questions(folder)
    assert not done.all_findings and done.exit_code == 1
    (claim,) = done.not_proved("false")
    assert claim.place == PLACE


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "how",
    [
        replace("trace", 1, "line")(77),
        replace("schedule", "file")("other.py"),
        replace("schedule", "function")("other"),
        replace("tool", "version")("9.9"),
    ],
)
def test_what_proves_nothing_can_be_forged(folder: Path, how: Callable[[Content], None]) -> None:
    """Lines, names and versions: nobody sees it, unless the manifest's root hash is kept somewhere else."""
    root = (folder / MANIFEST).read_text()
    forge(folder, how)
    assert check(folder, executor=Says()).exit_code == 0 and differences(folder) == []
    assert (folder / MANIFEST).read_text() != root


@pytest.mark.nightly
def test_a_certificate_that_says_it_cannot_be_replayed(folder: Path) -> None:
    """It can no longer be told from a forged one: that is said, and is not success."""
    forge(folder, replace("regenerable")({"yes": False, "why not": ["a whim"]}))
    assert check(folder).exit_code == 0
    assert [r.impossible for r in regenerate(folder)] == ["a whim", ""]


def test_arguments_that_nobody_can_follow(folder: Path) -> None:
    """Lists without end are a finding, and end neither the check nor the process."""
    deep: list[Any] = []
    for _ in range(800):
        deep = [deep]
    forge(folder, replace("trace", 3, "arguments")([deep]))
    assert [f.problem for f in check(folder, executor=Says()).all_findings] == ["it is nested too deeply"]


def test_store_is_deterministic(original: Path, tmp_path: Path) -> None:
    again = store(tmp_path / "again")
    files = sorted(p.relative_to(original) for p in original.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    assert all((original / f).read_bytes() == (again / f).read_bytes() for f in files)
