"""cvc5, asked with the same text as Z3."""

from __future__ import annotations

import cvc5


def ask_cvc5(text: str, milliseconds: int = 5000) -> str:
    """``sat``, ``unsat`` or ``unknown``.

    :raises RuntimeError: if cvc5 does not understand the text.
    """
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(milliseconds))
    solver.setOption("fp-exp", "true")  # formats other than float32 and float64
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic ALL)\n{text}\n(check-sat)\n", "query")
    symbols, answer = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        answer += command.invoke(solver, symbols)
    if answer.strip() not in ("sat", "unsat", "unknown"):
        raise RuntimeError(answer)
    return answer.strip()
