"""What was proved on the way stands in a certificate, each lemma before what needs it."""

from __future__ import annotations

from verified_tir import Schedule
from verified_tir.certificate.write import Origin, content_of

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = 0.0
    for i, j in T.grid(4, 4):
        B[i] = B[i] + A[j]
    for k in range(4):
        B[k] = B[k] + 0.0
"""


def test_every_lemma_is_written_before_what_needs_it() -> None:
    """That a sum which begins with 0.0 is never -0.0 takes an induction: its base, and a step for each store."""
    s = Schedule(PROGRAM)
    s.remove_no_op()
    needed = [d for step in s.theorem.derivation for d in step.obligations]
    assert any(d.lemmas for d in needed)
    content, questions = content_of(s, Origin("f", "f.py", 1), [0] * len(s.steps))
    written = [o for step in content["trace"][1:] for rule in step["rules"] for o in rule["obligations"]]
    wanted: list[tuple[str, str]] = []
    for d in needed:
        wanted += [(lemma.obligation.claim, "lemma") for lemma in d.lemmas]
        wanted.append((d.obligation.claim, d.obligation.name))
    assert [(o["claim"], o["name"]) for o in written] == wanted
    assert {o["query"] for o in written} <= questions.keys()
