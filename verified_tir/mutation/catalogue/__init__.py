"""A catalogue of deeper faults: errors of the kind that compiler writers really make.

Each is written down by hand as a :class:`~verified_tir.mutation.fault.Fault`: a few lines of the source, what stands
there instead, and which wrong acceptance or wrong result follows.  The automatic operators find what one dropped
question does; here are binders that are not renamed apart, facts that outlive a store, a view that is no alias, a
rounding that happens twice, a mask that is not reversed.  One file for each kind of error.

Faults of untrusted code (the lowering passes) cannot lead to a wrong theorem.  What they cost is a program that is not
lowered as it could be; those are marked ``strict``, like the faults of the kernel that only make it refuse more.
"""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.catalogue.binders import FAULTS as BINDERS
from verified_tir.mutation.catalogue.certificates import FAULTS as CERTIFICATES
from verified_tir.mutation.catalogue.domains import FAULTS as DOMAINS
from verified_tir.mutation.catalogue.interpreter import FAULTS as INTERPRETER
from verified_tir.mutation.catalogue.logic import FAULTS as LOGIC
from verified_tir.mutation.catalogue.lowering import FAULTS as LOWERING
from verified_tir.mutation.catalogue.machine_code import FAULTS as MACHINE_CODE
from verified_tir.mutation.catalogue.machine_values import FAULTS as MACHINE_VALUES
from verified_tir.mutation.catalogue.meaning import FAULTS as MEANING
from verified_tir.mutation.catalogue.memory_facts import FAULTS as MEMORY_FACTS
from verified_tir.mutation.catalogue.rules import FAULTS as RULES
from verified_tir.mutation.catalogue.validator import FAULTS as VALIDATOR
from verified_tir.mutation.fault import Fault

CATALOGUE: Final[tuple[Fault, ...]] = (
    *BINDERS,
    *DOMAINS,
    *MEMORY_FACTS,
    *RULES,
    *MEANING,
    *INTERPRETER,
    *LOGIC,
    *CERTIFICATES,
    *VALIDATOR,
    *MACHINE_VALUES,
    *MACHINE_CODE,
    *LOWERING,
)
"""All faults, by kind."""

__all__ = ["CATALOGUE"]
