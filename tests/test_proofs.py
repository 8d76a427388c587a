"""``proofs/``: lemmas are what their names say, certificates of the examples are checked and up to date, and the table
of the rules is that of the kernel.  ``--update-golden`` rewrites the columns of the table that can be counted.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import pkgutil
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from inspect import isclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import z3

import verified_tir.kernel.rules as rules
from tests.conftest import Verified
from tests.nightly import sample
from verified_tir.certificate.check import check
from verified_tir.certificate.regenerate import regenerate
from verified_tir.certificate.store import MANIFEST
from verified_tir.logic.recheck import SolverName, version

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
PROOFS = ROOT / "proofs"
KEPT = PROOFS / "certificates"
HASHES = PROOFS / "hashes.json"
EXAMPLES = ROOT / "examples"
README = PROOFS / "README.md"
BEGIN, END = "<!-- rules -->", "<!-- end of the rules -->"
FILES = sorted(PROOFS.glob("rules/*/*.smt2"))


def expected(file: Path) -> str:
    return "sat" if file.name.startswith("near-miss-") else "unsat"


def short(file: Path) -> str:
    return str(file.relative_to(PROOFS))


def rule_names() -> list[str]:
    """The kernel's modules that define a rule, a class that can rewrite a program."""
    names = [module.name for module in pkgutil.iter_modules(rules.__path__)]
    modules = {name: importlib.import_module(f"{rules.__name__}.{name}") for name in names}
    return [
        name
        for name, module in modules.items()
        if any(hasattr(c, "rewrite") and c.__module__ == module.__name__ for c in vars(module).values() if isclass(c))
    ]


def ask_z3(file: Path) -> str:
    text = file.read_text()
    context = z3.Context()
    solver = z3.SolverFor("QF_FP", ctx=context) if "(set-logic QF_FP)" in text else z3.Solver(ctx=context)
    solver.set("rlimit", 50_000_000)
    solver.add(z3.parse_smt2_string(text, ctx=context))
    return str(solver.check())


def ask_cvc5(file: Path) -> str:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit-per", "1000000")
    solver.setOption("fp-exp", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, file.read_text(), short(file))
    symbols = parser.getSymbolManager()
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(str(command.invoke(solver, symbols)).strip())
    return answers[-1].split()[0]  # "unknown" comes with a reason


SOLVERS = {"z3": ask_z3} | ({"cvc5": ask_cvc5} if importlib.util.find_spec("cvc5") else {})


@pytest.mark.nightly
@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_agrees(solver: str) -> None:
    """Every solver decides every file, and as the name of the file says."""
    answers = {file: SOLVERS[solver](file) for file in sample(FILES, len(FILES) // 2, solver)}
    assert not {short(file): a for file, a in answers.items() if a != expected(file)}


def test_every_rule_has_lemmas_and_near_misses() -> None:
    assert {"reorder", "rewrite", "relayout"} <= set(rule_names())
    for rule in rule_names():
        kinds = {expected(file) for file in FILES if file.parent.name == rule}
        assert kinds == {"sat", "unsat"}, f"proofs/rules/{rule} has only {kinds or 'no file'}"


def test_headers_say_what_is_expected() -> None:
    for file in FILES:
        text = file.read_text()
        assert text.startswith("; "), short(file)
        assert f"(set-info :status {expected(file)})" in text, short(file)
        assert text.count("(check-sat)") == 1 and text.endswith("(check-sat)\n"), short(file)


# -- certificates ------------------------------------------------------------------------------------------------------

INSTALLED: tuple[SolverName, ...] = ("z3", "cvc5") if version("cvc5") else ("z3",)


@pytest.fixture(scope="module")
def two_processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


NAMES = sorted(json.loads(HASHES.read_text(encoding="utf-8"))["certificates"])


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_is_proved_by_every_solver(name: str, verified_examples: Verified) -> None:
    done = check(verified_examples.certificates, INSTALLED, only=name)
    assert not done.all_findings and done.exit_code == 0
    assert {c.query: done.verdict(c.query) for c in done.claims if done.verdict(c.query) != "proved"} == {}
    assert all(len(said) == len(INSTALLED) for said in done.answers.values())


@pytest.mark.nightly
def test_certificates_of_the_examples_are_proved_by_every_solver(
    two_processes: Executor, verified_examples: Verified
) -> None:
    done = check(verified_examples.certificates, INSTALLED, two_processes)
    assert not done.all_findings
    assert {c.query: done.verdict(c.query) for c in done.claims if done.verdict(c.query) != "proved"} == {}
    assert all(len(said) == len(INSTALLED) for said in done.answers.values())
    how = [a.how for said in done.answers.values() for a in said.values()]
    assert 10 * (how.count("in parts") + how.count("for any such operation")) < len(how), "docs/trust.md says so"
    assert done.exit_code == 0 and len(done.answers) > 200


def written_by_this_version() -> bool:
    """Whether what is kept was written with the version of Z3 that is installed here."""
    first = next(iter(json.loads((KEPT / MANIFEST).read_text())["certificates"]))
    tool = json.loads((KEPT / first).with_suffix(".json").read_text())["tool"]
    return bool(tool["z3"] == version("z3"))


def without_versions(text: str) -> str:
    """A certificate without what depends on the versions of tools."""
    content: dict[str, Any] = json.loads(text)
    return json.dumps({key: value for key, value in content.items() if key not in ("tool", "hashes", "root")})


def test_certificates_are_those_of_the_examples(verified_examples: Verified) -> None:
    """If not: ``make proofs``."""
    made, same = verified_examples.certificates, written_by_this_version()
    now = json.loads((made / MANIFEST).read_text(encoding="utf-8"))
    assert sorted(now["certificates"]) == NAMES, "the examples have other certificates: run make proofs"
    if same:  # the hashes cover the versions of tools
        assert now == json.loads(HASHES.read_text(encoding="utf-8")), "certificates have changed: run make proofs"
    kept = [p for p in KEPT.rglob("*") if p.is_file() and p != KEPT / MANIFEST]
    assert len(kept) > 50
    for path in kept:
        texts = [p.read_text(encoding="utf-8") for p in (path, made / path.relative_to(KEPT))]
        if path.suffix == ".json" and not same:
            texts = [*map(without_versions, texts)]
        assert texts[0] == texts[1], f"{path.name} has changed: run make proofs"


@pytest.mark.nightly
def test_the_certificates_that_are_kept_are_whole() -> None:
    kept = json.loads((KEPT / MANIFEST).read_text(encoding="utf-8"))["certificates"]
    hashes = json.loads(HASHES.read_text(encoding="utf-8"))["certificates"]
    assert kept.items() <= hashes.items()
    done = check(KEPT, ("z3",), only=next(iter(kept)))
    assert not done.all_findings and done.exit_code == 0


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_every_certificate_can_be_regenerated(name: str, verified_examples: Verified) -> None:
    found = regenerate(verified_examples.certificates, only=name)
    assert found
    assert [r for r in found if r.findings or r.impossible] == []


@pytest.mark.nightly
def test_near_misses_are_those_of_the_examples() -> None:
    """If not: ``make proofs``."""
    spec = importlib.util.spec_from_file_location("collect", PROOFS / "collect.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    there = {p.relative_to(PROOFS / "rules").as_posix(): p.read_text() for p in PROOFS.glob("rules/*/*from-*.smt2")}
    assert module.collected() == there, "run make proofs"


# -- the table of the rules --------------------------------------------------------------------------------------------


def rows() -> dict[str, list[str]]:
    """The rows of the table, by rule."""
    table = README.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip().splitlines()[2:]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table]
    return {re.sub(r"\[(.*)\]\(.*\)", r"\1", row[0]): row for row in cells}


def owed(rule: str) -> list[str]:
    """The names of a rule's obligations, as its page has them."""
    page = (ROOT / "docs" / "rules" / f"{rule}.md").read_text(encoding="utf-8")
    part = page.split("## Obligations")[1].split("\n## ")[0]
    return list(dict.fromkeys(re.findall(r"^\| `([a-z-]+)` \|", part, re.MULTILINE)))


def counted(rule: str) -> tuple[str, str]:
    """The columns that can be counted: obligations and files."""
    files = [expected(f) for f in FILES if f.parent.name == rule]
    names = ", ".join(f"`{name}`" for name in owed(rule)) or "none of its own"
    return names, f"[{files.count('unsat')} + {files.count('sat')} near misses](rules/{rule})"


def test_the_table_has_every_rule_of_the_kernel(request: pytest.FixtureRequest) -> None:
    now = {rule: counted(rule) for rule in rule_names()}
    table = rows()
    if request.config.getoption("--update-golden"):
        lines = [" | ".join([row[0], row[1], *now[rule], row[4]]) for rule, row in table.items() if rule in now]
        head, rest = README.read_text(encoding="utf-8").split(BEGIN)
        top = rest.strip().splitlines()[:2]
        body = "\n".join([*top, *(f"| {line} |" for line in lines)])
        README.write_text(f"{head}{BEGIN}\n{body}\n{END}{rest.split(END)[1]}", encoding="utf-8")
        return
    assert list(table) == sorted(now), "proofs/README.md has a row for each rule of the kernel"
    for rule, row in table.items():
        assert len(row) == 5 and row[1] and row[4], rule
        assert (row[2], row[3]) == now[rule], f"{rule}: run make proofs"
        assert f"(../docs/rules/{rule}.md)" in row[0]


def asked_in_the_kernel() -> set[str]:
    """The names of all questions, as they stand in the kernel's files."""
    found: set[str] = set()
    for file in (ROOT / "verified_tir" / "kernel").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Question":
                first = node.args[0]
                found |= {n.value for n in ast.walk(first) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return found


def test_the_names_in_the_table_are_the_kernels(verified_examples: Verified) -> None:
    """Every name is asked somewhere, and what a rule asked for the examples stands in its row."""
    named = {rule: set(re.findall(r"`([a-z-]+)`", row[2])) for rule, row in rows().items()}
    assert set().union(*named.values()) <= asked_in_the_kernel()
    seen: dict[str, set[str]] = {}
    for path in verified_examples.certificates.rglob("*.json"):
        for step in json.loads(path.read_text(encoding="utf-8")).get("trace", [])[1:]:
            for rule in step["rules"]:
                if rule["rule"] == "race freedom":  # of the last program
                    assert {o["name"] for o in rule["obligations"]} <= {"lemma", "race"}
                    continue
                names = {o["name"] for o in rule["obligations"]} - {"lemma"}
                seen.setdefault(rule["rule"].partition(".")[0], set()).update(names)
    assert len(seen) > 5
    for rule, names in seen.items():
        assert names <= named[rule], rule
