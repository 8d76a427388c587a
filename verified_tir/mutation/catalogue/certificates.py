"""Certificates: what is written into them, what a check compares, and what it takes for an answer."""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.fault import Fault

_CERTIFICATE = "verified_tir/certificate/"
_DERIVATION = "verified_tir/derivation/"

FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "undecided-questions-are-proved",
        _CERTIFICATE + "questions.py",
        "Checked.verdict",
        'return "proved" if len(said) == len(self.solvers) and set(said) == {"unsat"} else "undecided"',
        'return "proved" if said else "undecided"',
        "A certificate is confirmed whose questions no solver decided.",
    ),
    Fault(
        "one-solver-of-two-is-enough",
        _CERTIFICATE + "questions.py",
        "Checked.verdict",
        'len(said) == len(self.solvers) and set(said) == {"unsat"}',
        '"unsat" in said',
        "With `--solver both` what one of them could not decide counts as proved by both.",
    ),
    Fault(
        "questions-are-not-hashed",
        _CERTIFICATE + "integrity.py",
        "question",
        "if text_hash(text) != digest:",
        "if not digest:",
        "A question that was put in the place of another is asked, and its answer taken for the other's.",
    ),
    Fault(
        "roots-are-not-compared",
        _CERTIFICATE + "integrity.py",
        "load",
        'if found["root"] != root:',
        'if not found["root"]:',
        "A certificate in place of another, complete with its hashes, is not noticed by its manifest.",
    ),
    Fault(
        "programs-are-not-hashed",
        _CERTIFICATE + "integrity.py",
        "_programs",
        'if text_hash(program) != c[which]["hash"]:',
        'if not c[which]["hash"]:',
        "The program that is shown need not be the one that the steps begin or end with.",
    ),
    Fault(
        "steps-need-not-follow-each-other",
        _CERTIFICATE + "integrity.py",
        "_chain",
        'if step["before"] != current:',
        'if k == 0 and step["before"] != current:',
        "Two chains of steps about different programs are put together.",
    ),
    Fault(
        "the-last-rule-may-lead-elsewhere",
        _CERTIFICATE + "integrity.py",
        "_chain",
        'if step["after"] != reached:',
        'if not step["rules"] and step["after"] != reached:',
        "A step claims a program that its rules do not lead to.",
    ),
    Fault(
        "any-verdict-is-a-proof",
        _CERTIFICATE + "integrity.py",
        "_problems",
        'if o["expected"] != "unsat":',
        'if o["expected"] not in ("unsat", "unknown"):',
        "A certificate may record unknown where a proof should be.",
    ),
    Fault(
        "claims-are-not-hashed",
        _CERTIFICATE + "hashes.py",
        "obligation_hash",
        'return value_hash({k: v for k, v in o.items() if k != "hash"})',
        'return value_hash({k: v for k, v in o.items() if k not in ("hash", "claim")})',
        "The sentence above a question can be changed.",
    ),
    Fault(
        "obligations-are-counted-and-not-hashed",
        _CERTIFICATE + "hashes.py",
        "step_hash",
        'r | {"obligations": [o["hash"] for o in r["obligations"]]} for r in step["rules"]',
        'r | {"obligations": len(r["obligations"])} for r in step["rules"]',
        "An obligation can be exchanged for another one, with a hash of its own.",
    ),
    Fault(
        "axioms-are-not-hashed",
        _CERTIFICATE + "hashes.py",
        "part_hash",
        'return value_hash([s["hash"] for s in parts[part]] if part == "trace" else parts[part])',
        'return value_hash([s["hash"] for s in parts[part]] if part == "trace" else parts[part] and part)',
        "The axioms, the relation and the mode of floats can be changed.",
    ),
    Fault(
        "lemmas-are-not-written",
        _DERIVATION + "theorems.py",
        "_owed",
        "for lemma in d.lemmas:",
        "for lemma in d.lemmas[:0]:",
        "What was proved on the way is not among the questions: a check that succeeds says less than it seems to.",
    ),
    Fault(
        "lemmas-without-their-premises",
        _CERTIFICATE + "content.py",
        "_Texts.query",
        "text = standalone(o.given, o.goal)",
        "text = standalone(o.given[:-1], o.goal)",
        "The question that is written is another one than was proved.",
        strict=True,  # less is given, so solvers call claims false
    ),
    Fault(
        "questions-computed-again-are-not-compared",
        _CERTIFICATE + "differences.py",
        "",
        'OBLIGATION: Final = ("name", "claim", "place", "query", "expected")',
        'OBLIGATION: Final = ("name", "claim", "place", "expected")',
        "A weaker question under the same words passes the check.",
    ),
    Fault(
        "axioms-computed-again-are-not-compared",
        _CERTIFICATE + "differences.py",
        "",
        'COMPARED: Final = ("before", "after", "theorem", "relation", "floats", "axioms")',
        'COMPARED: Final = ("before", "after", "theorem", "relation", "floats")',
        "An axiom that the schedule rests on can be left out.",
    ),
    Fault(
        "what-the-theorem-says-is-not-compared",
        _CERTIFICATE + "differences.py",
        "",
        'COMPARED: Final = ("before", "after", "theorem", "relation", "floats", "axioms")',
        'COMPARED: Final = ("before", "after", "relation", "floats", "axioms")',
        "The padding that is declared can be another one than the rules lead to.",
    ),
    Fault(
        "more-obligations-than-the-kernel-has",
        _CERTIFICATE + "differences.py",
        "_obligations",
        "if len(then) != len(now):",
        "if len(then) > len(now):",
        "Obligations can be left out of a certificate.",
    ),
    Fault(
        "rules-have-many-spellings",
        _DERIVATION + "theorems.py",
        "_read_rule",
        "if write_rule(rule, scope) != text:",
        "if not text:",
        "A rule is read as something else than it seems to say.",
    ),
    Fault(
        "numbers-need-not-be-the-next",
        _DERIVATION + "codec.py",
        "Reader._append",
        "if type(value) is not int or value != len(known):",
        "if type(value) is not int:",
        "A variable that is spelled out again is another one, under the same number.",
    ),
    Fault(
        "a-file-may-be-spelled-in-many-ways",
        _CERTIFICATE + "canonical.py",
        "read",
        "if write(value) != text:",
        "if not text:",
        "A key that is given twice is read as the last one, and shown as the first.",
    ),
)
