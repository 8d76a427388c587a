"""Which tests may kill a mutant, and in which order they are tried.

A test counts only if it says what the kernel accepts, refuses or computes.  Left out, by rule:

* what compares texts and counts of obligations, or files of them: certificates, ``proofs/``, golden files.  Any change
  of an obligation changes those; that says nothing of whether the change matters.  For faults of certificates, and of
  the logic in which their questions are written, ``tests/certificate`` decides all the same: there the text matters;
* what does not run the kernel of this process: commands started anew, documentation, benchmarks;
* what plants faults itself: this package's own tests, and those of the exhaustive families.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from tests.mutation.mutant import Mutant

LEFT_OUT = (
    "tests/benchmarks",
    "tests/cli",
    "tests/docs",
    "tests/kernel/exhaustive/test_mutants.py",
    "tests/mutation",
    "tests/test_benchmarks.py",
    "tests/test_confirmed_refutations.py",
    "tests/test_examples.py",
    "tests/test_proofs.py",
    "tests/test_public_surface.py",
    "tests/test_trusted_base.py",
    "tests/validate/llvm/test_mutants.py",
)
"""Folders and files that decide nothing."""

CERTIFICATES = "tests/certificate/"
"""Tests that look at texts of obligations: they decide where these texts are what may be wrong."""

OF_CERTIFICATES = ("verified_tir/certificate/", "verified_tir/derivation/", "verified_tir/logic/")
"""Files for whose faults they do."""

KERNEL_TESTS = (
    "tests/kernel",
    "tests/regressions",
    "tests/must_reject",
    "tests/acceptance",
    "tests/schedule",
    "tests/lower",
    "tests/nets",
    "tests/test_expected_refusals.py",
)
"""Where the tests of the kernel's rules are, directly or by way of tactics; the most specific first."""

COUNTS = frozenset({"obligations", "derivation", "questions", "golden"})
"""Tests whose code, or that of a function that they call, names one of these look at obligations themselves, or at a
golden file."""

LONGEST = 60.0
"""Tests that take longer than this, in seconds, are not run for a mutant."""


def test_files(root: Path, *, everything: bool) -> list[str]:
    """Test files that may kill: of the kernel's, or (for faults elsewhere) ``everything`` that is not left out."""
    folders = ("tests",) if everything else KERNEL_TESTS
    found: list[str] = []
    for folder in folders:
        path = root / folder
        files = [path] if path.suffix == ".py" and path.exists() else sorted(path.rglob("test_*.py"))
        found += [name for p in files if not (name := p.relative_to(root).as_posix()).startswith(LEFT_OUT)]
    return found


def may_decide(test: str, file: str) -> bool:
    """Whether a test (its id, or the file of it) may kill a mutant of a file."""
    return not test.startswith(CERTIFICATES) or file.startswith(OF_CERTIFICATES)


@final
@dataclass(slots=True)
class Order:
    """Cheap and specific tests first; those that killed a mutant of the same function before them all."""

    killers: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def note(self, mutant: Mutant, test: str) -> None:
        """A test killed a mutant."""
        self.killers.setdefault((mutant.file, mutant.function), Counter())[test] += 1

    def sort(self, mutant: Mutant, tests: Iterable[str], seconds: dict[str, float]) -> list[str]:
        known = self.killers.get((mutant.file, mutant.function), Counter())
        own = f"test_{Path(mutant.file).stem}"

        def cost(test: str) -> tuple[float, str]:
            file = test.partition("::")[0]
            near = 0.1 if Path(file).name.startswith(own) else 1.0 if file.startswith("tests/kernel") else 2.0
            return ((seconds[test] + 0.02) * near / (1 + 20 * known[test]), test)

        return sorted((t for t in tests if seconds[t] <= LONGEST), key=cost)
