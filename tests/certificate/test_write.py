"""Writing certificates: what is in them, that the same input gives the same bytes, and what becomes of a folder."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.certificate.stores import NAME, ROWS, Says, content, obligations, rows, small, store
from verified_tir import Schedule, script
from verified_tir.certificate.canonical import BadJson, read, text_hash, value_hash, write
from verified_tir.certificate.check import check
from verified_tir.certificate.regenerate import regenerate
from verified_tir.certificate.store import MANIFEST, BadStore, read_manifest, save
from verified_tir.certificate.write import Origin, Written, certificate_name, certificate_of, shown_below
from verified_tir.cli import run as command
from verified_tir.derivation.codec import read_program
from verified_tir.ir.equal import structural_equal
from verified_tir.logic.smtlib import query
from verified_tir.logic.standalone import body_of, logic_of, standalone

FILE = f"""
from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T

{ROWS}

def helper(s: Schedule) -> None:
    s.parallel("i")


@schedule(rows)
def first(s: Schedule) -> None:
    s.split("j", [None, 2])
    helper(s)


@schedule(rows)
def first(s: Schedule) -> None:
    with expect_refusal(s):
        s.split("i", [0])
    s.unroll("j")


@schedule(rows, expect="refused")
def refused(s: Schedule) -> None:
    s.fuse("i", "k")


@schedule(rows)
def wrong(s: Schedule) -> None:
    s.fuse("i", "k")
"""


def certify(folder: Path, *paths: Path, only: str = "") -> int:
    return command.run(command.Options(paths, quiet=True, only=only, certify=folder))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a schedule file, which is the working folder."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return list(read_manifest(folder)["certificates"])


def everything(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_certificate_for_each_schedule_that_was_proved(files: Path) -> None:
    assert certify(files / "out", Path("sub")) == 1, "wrong was refused"
    assert names(files / "out") == ["sub/file/first", "sub/file/first-2"]
    found = content(files / "out", "sub/file/first")
    lines = FILE.splitlines()
    assert found["schedule"]["file"] == "sub/file.py" and found["schedule"]["budget"] == 3_000_000
    assert lines[found["schedule"]["line"] - 1] == "@schedule(rows)"
    called = [lines[step["line"] - 1].strip() for step in found["trace"][1:]]
    assert called == ['s.split("j", [None, 2])', 's.parallel("i")']
    assert [step["primitive"] for step in content(files / "out", "sub/file/first-2")["trace"]] == ["program", "unroll"]
    assert check(files / "out").exit_code == 0
    assert [r.findings for r in regenerate(files / "out")] == [(), ()]


@pytest.mark.nightly
def test_the_same_input_gives_the_same_bytes_wherever_it_lies(files: Path, tmp_path_factory: pytest.TempPathFactory,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    certify(files / "out", Path("sub"))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "sub").mkdir()
    (elsewhere / "sub" / "file.py").write_text(FILE)
    monkeypatch.chdir(elsewhere)
    certify(elsewhere / "out", elsewhere / "sub" / "file.py")
    first, second = everything(files / "out"), everything(elsewhere / "out")
    assert first == second
    assert not any(str(files.parent) in text or str(elsewhere) in text for text in first.values())


@pytest.mark.nightly
def test_a_folder_is_added_to(files: Path) -> None:
    out = files / "out"
    certify(out, Path("sub"))
    whole = everything(out)
    certify(out, Path("sub"), only="first#2")
    assert everything(out) == whole
    (files / "other.py").write_text(FILE.replace("T.float32(2)", "T.float32(3)"))
    certify(out, Path("other.py"))
    assert names(out) == ["other/first", "other/first-2", "sub/file/first", "sub/file/first-2"]
    assert check(out).exit_code == 0


@pytest.mark.nightly
def test_questions_that_nobody_needs_any_more_go(files: Path) -> None:
    out = files / "out"
    certify(out, Path("sub"))
    before = set(everything(out))
    (files / "sub" / "file.py").write_text(FILE.replace("[None, 2]", "[None, 3]").replace("n, 6", "n, 7"))
    certify(out, Path("sub"))
    assert before - set(everything(out)), "the old questions are gone"
    assert check(out).exit_code == 0


@pytest.mark.nightly
def test_two_who_write_at_once_keep_each_others_certificates(tmp_path: Path) -> None:
    written = Written()
    written.add("a", rows(), Origin("a"))
    written.add("b", small(), Origin("b"))

    def add(name: str) -> None:
        one = written.certificates[name[0]]
        save(tmp_path, {name: one}, {q: written.queries[q] for q in {o["query"] for o in obligations(one)}})

    wanted = [f"{kind}{k}" for k in range(8) for kind in "ab"]
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(add, wanted))
    assert names(tmp_path) == sorted(wanted)
    done = check(tmp_path, executor=Says())
    assert done.exit_code == 0 and done.all_findings == []


def test_a_file_called_obligations(tmp_path: Path) -> None:
    """Its certificates lie where the questions do."""
    written = Written()
    written.add(certificate_name("obligations.py", "small"), small(), Origin("small"))
    save(tmp_path, written.certificates, written.queries)
    assert check(tmp_path, executor=Says()).all_findings == []


@pytest.mark.parametrize("name", ["../a", "/a", "a\nb", "a//b", ""])
def test_names_that_no_certificate_can_have(tmp_path: Path, name: str) -> None:
    written = Written()
    written.add(name, small(), Origin("small"))
    with pytest.raises(BadStore):
        save(tmp_path / "out", written.certificates, written.queries)
    assert not (tmp_path / "out").exists()


@pytest.mark.nightly
def test_a_folder_that_was_changed_is_not_written_to(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "out"
    certify(out, Path("sub"))
    path = out / "sub" / "file" / "first-2.json"
    text = path.read_text()
    path.write_text(text[:-2])
    assert certify(out, Path("sub"), only="first") == 0, "it is written anew"
    path.unlink()
    (files / "other.py").write_text(FILE)
    assert certify(out, Path("other.py")) == 2
    assert "first-2.json: the manifest lists this certificate, but it cannot be read" in capsys.readouterr().err
    (out / MANIFEST).write_text("{}")
    assert certify(out, Path("other.py")) == 2
    assert "no certificate was written" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_tampered_neighbour_stays_tampered(files: Path) -> None:
    """Writing another certificate into the folder does not make a changed one good again."""
    out = files / "out"
    certify(out, Path("sub"))
    path = out / "sub" / "file" / "first.json"
    path.write_text(path.read_text().replace("hold definite values", "hold any values"))
    (files / "other.py").write_text(FILE)
    certify(out, Path("other.py"))
    assert [(f.certificate, f.place) for f in check(out).all_findings] == [("sub/file/first", "axioms")]


def test_a_program_of_ones_own(tmp_path: Path) -> None:
    """The parts of a certificate, for a schedule made in Python."""
    schedule = rows()
    found, queries = certificate_of(schedule, Origin("rows"))
    assert "\n".join(found["before"]["text"]) == script(Schedule(ROWS).steps[0].before)
    assert "\n".join(found["after"]["text"]) == schedule.script()
    assert found["after"]["hash"] == text_hash("\n".join(found["after"]["program"]))
    assert structural_equal(read_program("\n".join(found["after"]["program"])), schedule.func)
    assert found["axioms"] == schedule.assumptions
    assert found["floats"] == {"mode": "bits", "reductions": []}
    assert found["regenerable"] == {"yes": True, "why not": []}
    unchanged, padded = found["relation"]
    assert unchanged["layouts"] == [] and unchanged["before"] == {"shape": ["n", "6"], "dtype": "float32"}
    assert unchanged["maps"] == "[]"
    assert padded.pop("maps").startswith('[(ParameterMap (Buffer 0 "B" (Var 0 ')
    assert padded == {
        "parameter": "B",
        "before": {"shape": ["n", "6"], "dtype": "float32"},
        "after": {"shape": ["n", "2", "4"], "dtype": "float32"},
        "layouts": [
            {
                "map": "lambda i, j: [i, j // 4, j % 4]",
                "inverse": "lambda i, jo, ji: [i, 4 * jo + ji]",
                "padding": [
                    {
                        "indices": ["i", "jo", "ji"],
                        "where": "jo == 1 and ji >= 2",
                        "value": "touched by nobody",
                        "promise": "inaccessible",
                    }
                ],
                "after": {"shape": ["n", "2", "4"], "dtype": "float32"},
            }
        ],
    }
    asked = [d for step in schedule.steps for d in step.obligations]
    assert len([o for o in obligations(found) if o["name"] != "lemma"]) == len(asked)
    assert {o["query"] for o in obligations(found)} == set(queries)
    assert all(text_hash(text) == digest for digest, text in queries.items())


def test_a_step_that_cannot_be_made_again(tmp_path: Path) -> None:
    """The certificate says so; a check goes on as before, and replaying is not possible."""
    schedule = small()
    schedule.split("i_0", range(2, 3))
    written = Written()
    written.add("odd", schedule, Origin("odd"))
    save(tmp_path, written.certificates, written.queries)
    reason = "split: an argument of type range has no text"
    assert written.certificates["odd"]["regenerable"] == {"yes": False, "why not": [reason]}
    assert check(tmp_path).exit_code == 0
    assert [(r.findings, r.impossible) for r in regenerate(tmp_path)] == [((), reason)]


def test_names_that_text_cannot_hold(tmp_path: Path) -> None:
    """``I`` is ``I_`` in a text; so it is in the certificate."""
    text = "@T.prim_func\ndef f(I: T.Buffer((6,), 'int32')):\n    for _ in range(6):\n        I[_] = 0\n"
    schedule = Schedule(text)
    schedule.transform_layout("I", lambda i: [i // 4, i % 4])
    schedule.sequential_buffer_access("I")
    written = Written()
    written.add("names", schedule, Origin("f"))
    save(tmp_path, written.certificates, written.queries)
    certificate = written.certificates["names"]
    assert certificate["regenerable"]["yes"] and certificate["relation"][0]["parameter"] == "I_"
    assert any("I_[" in axiom for axiom in certificate["axioms"])
    assert not check(tmp_path).all_findings
    assert regenerate(tmp_path)[0].findings == ()


def test_refused_attempts_leave_nothing(tmp_path: Path) -> None:
    """Whatever was tried between the steps, the certificate is that of the steps."""
    plain, tried = Schedule(ROWS), Schedule(ROWS)
    for attempt in (lambda s: s.fuse("i", "z"), lambda s: s.reorder("i", "i"), lambda s: s.partition("j", 9)):
        with pytest.raises(Exception, match=r"."):
            attempt(tried)
    for s in (plain, tried):
        s.parallel("i")
    assert certificate_of(plain, Origin("f")) == certificate_of(tried, Origin("f"))


ODD: dict[str, tuple[str, Callable[[Schedule], object]]] = {
    "no parameters": ("():\n    T.evaluate(0)\n", lambda s: None),
    "no elements": (
        "(A: T.Buffer((0,), 'float32')):\n    for i in range(0):\n        A[i] = T.float32(0)\n",
        lambda s: s.split("i", [None, 4]),
    ),
    "rank 0": (
        "(A: T.Buffer((), 'float32')):\n    A[()] = T.float32(0)\n",
        lambda s: s.transform_layout("A", lambda: [0]),
    ),
    "int64, NaN": (
        "(a: T.handle, n: T.int64):\n    A = T.match_buffer(a, (n,), 'float16')\n"
        "    for i in T.serial(n):\n        A[i] = T.float16(0)\n",
        lambda s: (
            s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=math.nan),
            s.partition(s.loops()[0], s.symbol("n") // 2),
        ),
    ),
    "bool": (
        "(A: T.Buffer((6,), 'bool')):\n    for i in range(6):\n        A[i] = T.bool(True)\n",
        lambda s: s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=True),
    ),
    "reversed": (
        "(A: T.Buffer((6,), 'int32')):\n    for i in range(6):\n        A[5 - i] = i\n",
        lambda s: s.sequential_buffer_access("A"),
    ),
    "assumptions": (
        "(A: T.Buffer((6,), 'int32'), B: T.Buffer((6,), 'int32')):\n"
        "    for i in range(6):\n        T.assume(A[i] >= 0 and A[i] < 6)\n"
        "    for i in range(6):\n        B[i] = A[A[i]]\n",
        lambda s: s.parallel(s.loops()[1]),
    ),
    "names twice": (
        "(A: T.Buffer((6,), 'int32'), n: T.int32):\n    for n_1 in range(6):\n        for i in range(1):\n"
        "            A[n_1] = n\n    for i in range(6):\n        A[i] = n\n",
        lambda s: (s.split(s.loops()[2], [2, 3]), s.simplify()),
    ),
    "a view": (
        "(A: T.Buffer((4, 4), 'float32')):\n    B = T.decl_buffer((16,), 'float32', data=A.data)\n"
        "    for i in range(16):\n        B[i] = T.float32(1)\n",
        lambda s: s.split("i", [4, 4]),
    ),
    "a block of any name": (
        "(A: T.Buffer((4, 4), 'float32')):\n    for i, j in T.grid(4, 4):\n"
        "        with T.block('a \\\"b\\\" \u00e9'):\n            vi, vj = T.axis.remap('SS', [i, j])\n"
        "            A[vi, vj] = T.float32(1)\n",
        lambda s: s.reorder(*reversed(s.loops(s.blocks[0]))),
    ),
    "attributes": (
        "(A: T.Buffer((4,), 'float32')):\n    T.func_attr({'global_symbol': 'g', 'x': 1})\n"
        "    for i in range(4):\n        A[i] = T.float32(1)\n",
        lambda s: s.unroll("i"),
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ODD)
def test_odd_programs(name: str, tmp_path: Path) -> None:
    text, steps = ODD[name]
    schedule = Schedule(f"@T.prim_func\ndef f{text}")
    steps(schedule)
    written = Written()
    written.add("odd", schedule, Origin("f"))
    save(tmp_path, written.certificates, written.queries)
    done = check(tmp_path)
    assert done.exit_code == 0, [str(f) for f in done.all_findings]
    assert [(r.findings, r.impossible) for r in regenerate(tmp_path)] == [((), "")]
    assert "\n".join(content(tmp_path, "odd")["after"]["text"]) == schedule.script()


def test_two_certificates_of_one_name() -> None:
    written = Written()
    written.add("a", small(), Origin("small"))
    with pytest.raises(ValueError, match="two certificates called a"):
        written.add("a", small(), Origin("small"))


@pytest.mark.parametrize(
    ("file", "function", "name"),
    [
        ("file.py", "f", "file/f"),
        ("sub/file.py", "f#2", "sub/file/f-2"),
        ("../other/file.py", "f", "other/file/f"),
        ("/abs/file.py", "f", "abs/file/f"),
        ("./file.py", "f", "file/f"),
    ],
)
def test_names_of_certificates(file: str, function: str, name: str) -> None:
    assert certificate_name(file, function) == name


def test_files_are_named_without_the_machine(tmp_path: Path) -> None:
    assert shown_below(tmp_path / "a" / "b.py", tmp_path) == "a/b.py"
    assert shown_below(tmp_path / "b.py", tmp_path / "a") == "b.py"


# -- canonical JSON ----------------------------------------------------------------------------------------------------


def test_hashes_do_not_depend_on_the_order_of_keys() -> None:
    assert value_hash({"a": 1, "b": [None, "ü"]}) == value_hash({"b": [None, "ü"], "a": 1})
    assert value_hash([1, 2]) != value_hash([2, 1])
    assert value_hash("1") != value_hash(1) != value_hash(True)
    assert value_hash({}) == text_hash("{}")


def test_what_is_written_is_read() -> None:
    value = {"b": [1, "x\n", None, True], "a": {}}
    assert read(write(value)) == value
    assert list(read(write(value))) == ["b", "a"]


@pytest.mark.parametrize(
    "text", ["", "{", "1.5\n", "NaN\n", '{"a": 1,\n "a": 1}\n', "[1]", '["\\u0061"]\n', "[1]\n\n", "1e2\n"]
)
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(BadJson):
        read(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]\n", '{"schema": 9}\n', '{\n "schema": 1\n}\n', '{\n "schema": 1,\n "certificates": [\n  1\n ]\n}\n'],
)
def test_manifests_that_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(BadStore, match=MANIFEST):
        read_manifest(tmp_path)


# -- queries as files --------------------------------------------------------------------------------------------------


def test_the_logic_of_a_query() -> None:
    from verified_tir.logic import formula as f

    x, y = f.var("x", f.INT), f.var("y", f.INT)
    p = f.var("p", "F32")
    cases = {
        "QF_LIA": [f.le(f.mul(f.integer(3), x), f.floordiv(y, f.integer(4))), f.TRUE],
        "QF_NIA": [f.le(f.mul(x, y), f.integer(1)), f.make("<=", (f.make("div", (x, y), f.INT), x), f.BOOL)],
        "QF_UFLIA": [f.le(f.app("g", (x,), f.INT), x)],
        "QF_UFNIA": [f.le(f.mul(f.app("g", (x,), f.INT), x), x)],
        "QF_FP": [f.eq(p, f.fp("fp.add", "F32", p, p))],
        "ALL": [f.and_(f.le(x, y), f.eq(p, f.fp("fp.add", "F32", p, p))), f.le(f.bitwise("bvand", 32, x, y), y)],
    }
    for logic, terms in cases.items():
        assert [logic_of((t,)) for t in terms] == [logic] * len(terms)
    given, goal = (f.le(x, y),), f.le(x, f.integer(3))
    text = standalone(given, goal)
    assert body_of(text) == ("QF_LIA", query(given, goal).text)
    assert re.fullmatch(r"\(set-logic QF_LIA\)\n(\(declare-fun .*\)\n|\(assert .*\)\n)+\(check-sat\)\n", text)


def test_json_has_no_floats(tmp_path: Path) -> None:
    """Numbers with a fraction would have more than one spelling; arguments that are floats are hexadecimal text."""
    s = Schedule(ROWS)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.1)
    found, _ = certificate_of(s, Origin("f"))
    assert found["trace"][1]["arguments"][-1] == {"float": "0x1.999999999999ap-4"}
    json.dumps(found, allow_nan=False)
    assert read(write(found)) == found


def linked(folder: Path, target: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(target, target_is_directory=target.is_dir())


@pytest.mark.parametrize("where", ["obligations", "file/small.json", "file", "manifest.json"])
def test_no_link_below_the_folder_is_followed(tmp_path: Path, where: str) -> None:
    """What lies elsewhere stays as it was, and nothing is written there."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "ab").mkdir(parents=True)
    foreign = elsewhere / "ab" / "foreign.smt2"
    foreign.write_text("mine")
    (elsewhere / "file.json").write_text("mine")
    out = tmp_path / "out"
    linked(out / where, elsewhere / "file.json" if where.endswith(".json") else elsewhere)
    written = Written()
    written.add("file/small", small(), Origin("small", "file.py", 9))
    with pytest.raises(BadStore, match=r"symbolic link"):
        save(out, written.certificates, written.queries)
    found = sorted(p for p in elsewhere.rglob("*") if p.is_file())
    assert found == [foreign, elsewhere / "file.json"] and {p.read_text() for p in found} == {"mine"}


def test_only_questions_that_were_listed_are_removed(tmp_path: Path) -> None:
    store(tmp_path)
    foreign = tmp_path / "obligations" / "ab" / f"{'ab' * 32}.smt2"
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("mine")
    before = {p.stem for p in (tmp_path / "obligations").rglob("*.smt2")}
    written = Written()
    written.add(NAME, small(), Origin("small", "file.py", 9))
    save(tmp_path, written.certificates, written.queries)  # file/rows gets another schedule
    after = {p.stem for p in (tmp_path / "obligations").rglob("*.smt2")}
    assert after < before | set(written.queries) and foreign.read_text() == "mine"
    assert after - {foreign.stem} == set(written.queries)
