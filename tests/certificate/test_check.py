"""Checks: who is asked, where, and what the answers come to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import verified_tir
from tests.certificate.stores import ROWS, Says, content, forge, obligations, put_question, rows, tidy
from verified_tir import Schedule, script
from verified_tir.certificate.check import check
from verified_tir.certificate.discharge import answers
from verified_tir.certificate.questions import check_questions
from verified_tir.certificate.regenerate import regenerate
from verified_tir.certificate.store import BadStore
from verified_tir.cli import check as command
from verified_tir.logic.recheck import BUDGET, Answer, SolverName, ask, version
from verified_tir.logic.standalone import body_of

INSTALLED: tuple[SolverName, ...] = ("z3", "cvc5") if version("cvc5") else ("z3",)


@pytest.mark.nightly
def test_every_solver_proves_every_obligation(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = check_questions(folder, INSTALLED, progress=lambda n, total: seen.append((n, total)))
    assert done.exit_code == 0 and not done.all_findings
    assert {a.verdict for said in done.answers.values() for a in said.values()} == {"unsat"}
    assert all(tuple(said) == INSTALLED for said in done.answers.values())
    queries = {o["query"] for name in ("file/rows", "file/small") for o in obligations(content(folder, name))}
    assert set(done.answers) == queries
    total = len(queries) * len(INSTALLED)
    assert seen[-1] == (total, total) and [n for n, _ in seen] == sorted(n for n, _ in seen)


def test_a_question_is_asked_once(folder: Path) -> None:
    executor = Says()
    done = check(folder, ("z3",), executor)
    asked = [digest for _, work, _ in executor.work for digest, _ in work]
    assert len(asked) == len(set(asked)) < len(list(done.claims))
    assert {budget for _, _, budget in executor.work} == {BUDGET}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("verdict", "code", "word"), [("unsat", 0, "proved"), ("sat", 1, "false"), ("unknown", 3, "undecided")]
)
def test_verdicts_and_exit_codes(folder: Path, verdict: str, code: int, word: str) -> None:
    done = check(folder, ("z3",), Says(verdict))
    assert done.exit_code == code
    assert {done.verdict(c.query) for c in done.claims} == {word}


def test_a_worker_that_dies_proves_nothing(folder: Path) -> None:
    done = check(folder, ("z3",), Says(RuntimeError("killed")))
    assert done.exit_code == 3
    assert {a.reason for said in done.answers.values() for a in said.values()} == {
        "the worker failed: RuntimeError: killed"
    }


def test_a_worker_that_dies_computes_nothing(folder: Path) -> None:
    class Dies(Says):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if fn is answers:
                return super().submit(fn, *args, **kwargs)
            died: Future[Any] = Future()
            died.set_exception(RuntimeError("killed"))
            return died

    done = check(folder, executor=Dies())
    assert done.exit_code == 3 and not done.all_findings and not done.not_proved("undecided")
    assert done.not_recomputed == dict.fromkeys(("file/rows", "file/small"), "the worker failed: RuntimeError: killed")


def test_a_pool_that_broke_proves_nothing(folder: Path) -> None:
    """A solver that crashes takes its process along, and with it the pool: what is left of the check says so."""

    class Broken(Says):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if fn is not answers or len(self.work) > 2:
                raise BrokenProcessPool("a process ended")
            return super().submit(fn, *args, **kwargs)

    executor = Broken()
    done = check(folder, executor=executor)
    assert done.exit_code == 3 and len(executor.work) == 3 and len(done.not_recomputed) == 2
    reasons = {c: a["z3"].reason for c, a in done.answers.items() if a["z3"].verdict == "unknown"}
    assert reasons and set(reasons.values()) == {"the worker failed: BrokenProcessPool: a process ended"}
    assert [r.impossible for r in regenerate(folder, executor)] == [*reasons.values()][:1] * 2


def test_one_solver_that_disagrees_is_enough(folder: Path) -> None:
    done = check(folder, ("z3", "cvc5"), Says())
    query = next(iter(done.answers))
    done.answers[query]["cvc5"] = Answer("sat", 0.0)
    assert done.verdict(query) == "false" and done.exit_code == 1
    done.answers[query]["cvc5"] = Answer("unknown", 0.0)
    assert done.verdict(query) == "undecided" and done.exit_code == 3
    del done.answers[query]["cvc5"]
    assert done.verdict(query) == "undecided", "who was not asked has not agreed"


@pytest.mark.nightly
def test_work_is_bounded_by_resources(folder: Path) -> None:
    """With next to no budget nothing but the trivial is decided, today as tomorrow."""
    for solver in INSTALLED:
        first, second = (check(folder, (solver,), budget=1, only="small") for _ in range(2))
        assert first.exit_code == 3
        verdicts = [{q: a[solver].verdict for q, a in done.answers.items()} for done in (first, second)]
        assert verdicts[0] == verdicts[1]
        reasons = {a[solver].reason for a in first.answers.values() if a[solver].verdict == "unknown"}
        assert reasons and all(reasons)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_of_the_standard_library(folder: Path, kind: type[Executor]) -> None:
    options = {"mp_context": get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **options) as executor:  # type: ignore[call-arg]
        done = check(folder, ("z3",), executor)
        assert done.exit_code == 0 and done.answers
        if kind is ProcessPoolExecutor:
            assert [r.findings for r in regenerate(folder, executor)] == [(), ()]


def test_only_some_certificates(folder: Path) -> None:
    executor = Says()
    done = check(folder, ("z3",), executor, only="SMALL")
    assert [c.name for c in done.certificates] == ["file/small"] and not done.all_findings
    assert set(done.answers) == {o["query"] for o in obligations(content(folder, "file/small"))}


@pytest.mark.nightly
def test_no_verdict_of_the_past_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts that are kept on disk are neither read nor written, replaying included."""

    def never(*_: object) -> None:
        raise AssertionError("a store of verdicts was used")

    for place in ("verdict_store.read_entry", "answers.read_entry", "kept.write_entry"):
        monkeypatch.setattr(f"verified_tir.logic.{place}", never)
    assert check(folder).exit_code == 0
    seen: list[tuple[int, int]] = []
    found = regenerate(folder, progress=lambda n, total: seen.append((n, total)))
    assert [r.findings for r in found] == [(), ()] and seen == [(1, 2), (2, 2)]


def test_what_cannot_be_checked(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(BadStore, match=r"manifest.json: there is no such file"):
        check(tmp_path)
    with pytest.raises(ValueError, match="at least one solver"):
        check(folder, ())


# -- queries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", INSTALLED)
@pytest.mark.parametrize(
    ("logic", "lines", "verdict"),
    [
        ("QF_LIA", ["(declare-fun x () Int)", "(assert (= (* 2 x) 7))"], "unsat"),
        ("QF_LIA", ["(declare-fun x () Int)", "(assert (= (* 2 x) 8))"], "sat"),
        ("QF_FP", ["(assert (= (fp.add RNE (_ +zero 8 24) (_ -zero 8 24)) (_ -zero 8 24)))"], "unsat"),
        ("ALL", ["(declare-fun x () (_ FloatingPoint 5 11))", "(assert (fp.isNaN x))"], "sat"),
        ("QF_LIA", [], "sat"),
    ],
)
def test_solvers_read_the_queries(solver: SolverName, logic: str, lines: list[str], verdict: str) -> None:
    text = "\n".join([f"(set-logic {logic})", *lines, "(check-sat)", ""])
    assert body_of(text) == (logic, "\n".join(lines))
    assert ask(solver, text).verdict == verdict


@pytest.mark.parametrize("solver", INSTALLED)
@pytest.mark.parametrize("line", ["(assert x)", "(assert (+ 1 true))", "(assert (= 1 2)"])
def test_what_no_solver_understands_is_unknown(solver: SolverName, line: str) -> None:
    answer = ask(solver, f"(set-logic ALL)\n{line}\n(check-sat)\n")
    assert answer.verdict == "unknown" and answer.reason


# -- the command -------------------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], folder: Path, **options: object) -> tuple[int, str, str]:
    code = command.run(command.Options(folder, **{"jobs": 1, **options}))  # type: ignore[arg-type]
    said = capsys.readouterr()
    return code, re.sub(r"\d+(\.\d+)? [mµ]?s\b", "0.0 s", said.out), said.err


@pytest.mark.nightly
def test_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, folder, regenerate=True)
    z3 = version("z3")
    claims, questions = count(folder)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"file/rows     4 steps {claims['file/rows']:>5} obligations  ok",
        f"file/small    1 step  {claims['file/small']:>5} obligations  ok",
        f"2 certificates, {sum(claims.values())} obligations ({questions} questions): "
        f"proved by z3 {z3}, computed again, replayed in 0.0 s",
    ]
    assert run(capsys, folder, quiet=True)[1].count("\n") == 1
    assert "(not computed again: questions only) in" in run(capsys, folder, questions_only=True)[1]


def count(folder: Path) -> tuple[dict[str, int], int]:
    found = {name: obligations(content(folder, name)) for name in ("file/rows", "file/small")}
    return {k: len(v) for k, v in found.items()}, len({o["query"] for v in found.values() for o in v})


@pytest.mark.nightly
def test_the_report_of_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lie(c: dict[str, object]) -> None:
        step = c["trace"][2]  # type: ignore[index]
        step["rules"][0]["obligations"][0]["query"] = put_question(
            folder, "(set-logic QF_LIA)\n(declare-fun x0 () Int)\n(assert (<= 0 x0))\n(check-sat)\n"
        )

    forge(folder, lie)
    tidy(folder)
    place = "trace[2] sequential_buffer_access: rules[0] reorder.Reorder: obligations[0] "
    code, out, _ = run(capsys, folder, regenerate=True)
    assert code == 1
    assert "file/rows     4 steps" in out and "found" in out
    assert re.search(rf"^  false: {re.escape(place)}\w+: .* \(z3: sat\) \[VT0809\]$", out, re.MULTILINE), out
    assert re.search(
        rf"^  found: {re.escape(place)}\w+: the kernel's query is another \[VT0804\]$", out, re.MULTILINE
    ), out
    assert re.search(r"obligations \(\d+ questions\): 2 findings, 1 false in 0.0 s$", out.strip()), out
    assert "proved by" not in out


def test_what_somebody_wrote_cannot_pass_for_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lie(c: dict[str, object]) -> None:
        o = obligations(c)[0]
        o["expected"], o["claim"] = "sat", "x\r\x1b[2K\u202eok\n2 certificates: proved by z3"
        o["query"] = put_question(folder, "(set-logic QF_LIA)\n(assert true)\n(check-sat)\n")
        o["name"] = "a\nfile/rows  ok"

    forge(folder, lie)
    tidy(folder)
    code, out, _ = run(capsys, folder)
    lines = out.splitlines()
    assert code == 1 and all(line.isprintable() for line in lines)
    assert not any(line.startswith(("2 certificates: proved", "file/rows  ok")) for line in lines)
    assert "      file/rows  ok: the verdict 'sat' is not a proof; a certificate has proofs only [VT0804]" in lines


def test_undecided_is_not_proved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, folder, budget=1, only="small")
    assert code == 3 and "undecided: trace[" in out and "(z3: unknown, " in out and "proved by" not in out


@pytest.mark.nightly
def test_the_report_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = command.run(
        command.Options(folder, solver="both" if len(INSTALLED) == 2 else "z3", jobs=1, regenerate=True, json=True)
    )
    report = json.loads(capsys.readouterr().out)
    assert code == report["exit_code"] == 0
    assert report["solvers"] == {s: version(s) for s in INSTALLED}
    first = report["certificates"][0]
    original = content(folder)
    assert first["name"] == "file/rows" and first["root"] == original["root"]
    assert (first["before"], first["after"]) == (original["before"]["hash"], original["after"]["hash"])
    assert first["replayed"] == {"differences": [], "impossible": ""}
    assert first["false"] == first["undecided"] == first["findings"] == report["findings"] == []
    for said in report["questions"].values():
        assert {s: a["verdict"] for s, a in said.items()} == dict.fromkeys(INSTALLED, "unsat")


@pytest.mark.nightly
def test_the_programs_of_ones_own_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after, other = tmp_path / "before.py", tmp_path / "after.py", tmp_path / "other.py"
    before.write_text(f"from verified_tir.script import tir as T\n{ROWS}")
    after.write_text(script(rows().func))
    other.write_text(script(Schedule(ROWS).func).replace("2.0", "4.0"))
    sources = {"only": "rows", "before": f"{before}:rows", "after": str(after)}
    assert run(capsys, folder, **sources)[0] == 0
    code, out, _ = run(capsys, folder, **{**sources, "after": str(other)})
    assert code == 1 and f"found: after: the program of the certificate is not rows of {other}" in out
    assert run(capsys, folder, before=str(before))[0] == 1, "the other certificate is about another program"


def test_a_file_that_is_missing_is_missed_before_anybody_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "verified_tir.certificate.questions._ask"
    monkeypatch.setattr(asked, lambda *_, **__: pytest.fail("the solvers were asked"))
    assert run(capsys, folder, after="missing.py")[0] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "mathsat"}, "there is no solver 'mathsat'; there are z3, cvc5, both"),
        ({"executor": "ray"}, "there is no executor 'ray'; there are processes, dask and dask:ADDRESS"),
        ({"executor": "processes:2"}, "there is no executor 'processes:2'"),
        ({"executor": "dask:"}, "there is no executor 'dask:'"),
        ({"only": "nothing"}, "no certificate's name contains 'nothing'"),
        ({"before": "missing.py"}, "missing.py: "),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], options: dict[str, str], words: str) -> None:
    code, out, err = run(capsys, folder, **options)
    assert code == 2 and out == "" and words in err and err.startswith("vtir: error: ") and err.count("\n") == 1


def test_a_folder_without_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path)
    assert code == 2 and "is this a folder that vtir verify --certify wrote?" in err


ABOVE = ("schedule", "lower", "validate", "codegen", "report", "testing")
"""What found a proof, or knows nothing of it."""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("options", "above"), [([], ABOVE), (["--questions-only"], (*ABOVE, "kernel", "semantics"))], ids=["", "questions"]
)
def test_a_check_loads_no_tactic(folder: Path, options: list[str], above: tuple[str, ...]) -> None:
    """No primitive is imported, by the command or by a worker; nor the kernel, where only questions are asked."""
    code = f"""
import sys
from verified_tir.cli.main import main
sys.argv = ["vtir", "check", {str(folder)!r}, "--jobs", "1", *{options!r}]
try:
    main()
except SystemExit as done:
    assert done.code == 0, done.code
loaded = [m for m in sys.modules if m.startswith(tuple("verified_tir." + a for a in {above!r}))]
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "proved by z3" in done.stdout


KNOWS_GRAPHS = {
    "write_plan", "replacements", "write_replacements", "plan_steps", "plan_layouts", "plan_graphs", "plan_believed",
    "plan_certificates",
}  # fmt: skip
"""Of plans; they read graphs, and what operators mean."""
WRITES = {"__init__", "write", "certify", "replay", "regenerate"}
"""These write certificates, and make calls again: they need schedules."""
DERIVES = {"check", "content", "recompute"}
"""These need the kernel, and nothing above it."""


def test_the_contracts_name_every_module_of_the_check() -> None:
    root = Path(verified_tir.__file__).resolve().parent
    contracts = tomllib.loads((root.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = {c["name"]: c["source_modules"] for c in contracts if c["name"] != "layers"}
    asking = {m.rpartition(".")[2] for m in named["questions of certificates are asked without the kernel"]}
    deriving = {m.rpartition(".")[2] for m in named["certificates are checked without schedules and tactics"]}
    modules = {p.stem for p in (root / "certificate").glob("*.py")}
    assert asking - {"codec", "notation"} == modules - WRITES - KNOWS_GRAPHS - DERIVES
    assert deriving == DERIVES | {"derivation", "kernel"}
