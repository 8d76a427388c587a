"""The lemmas in ``proofs/``: each is what its name says, by Z3 and, if it is installed, by cvc5."""

from __future__ import annotations

import importlib.util
import pkgutil
from inspect import isclass
from pathlib import Path

import pytest
import z3

import verified_tir.kernel.rules as rules

PROOFS = Path(__file__).resolve().parent.parent / "proofs"
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
    solver.setOption("tlimit-per", "1000")
    solver.setOption("fp-exp", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, file.read_text(), short(file))
    symbols = parser.getSymbolManager()
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(str(command.invoke(solver, symbols)).strip())
    return answers[-1].split()[0]  # "unknown" comes with a reason


SOLVERS = {"z3": ask_z3} | ({"cvc5": ask_cvc5} if importlib.util.find_spec("cvc5") else {})


@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_agrees(solver: str) -> None:
    """What a solver decides, it decides as the name of the file says; it decides nearly all."""
    answers = {file: SOLVERS[solver](file) for file in FILES}
    assert not {short(file): a for file, a in answers.items() if a not in (expected(file), "unknown")}
    assert sum(a == "unknown" for a in answers.values()) <= (0 if solver == "z3" else len(FILES) // 20)


def test_every_rule_has_lemmas_and_near_misses() -> None:
    assert {"order", "rewrite", "relayout"} <= set(rule_names())
    for rule in rule_names():
        kinds = {expected(file) for file in FILES if file.parent.name == rule}
        assert kinds == {"sat", "unsat"}, f"proofs/rules/{rule} has only {kinds or 'no file'}"


def test_headers_say_what_is_expected() -> None:
    for file in FILES:
        text = file.read_text()
        assert text.startswith("; "), short(file)
        assert f"(set-info :status {expected(file)})" in text, short(file)
        assert text.count("(check-sat)") == 1 and text.endswith("(check-sat)\n"), short(file)
