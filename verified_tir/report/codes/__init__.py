"""What each code means: the one table of codes, of which ``vtir help`` and ``docs/errors.md`` are made.

page       what a page consists of
others     VT00 files and commands, VT01 texts, VT09 and VT10
program    VT02 the program itself
steps      VT03 a primitive does not apply
families   VT038, VT039 the rest of that
claims     VT04 what a step owes
compiled   VT05 index maps, VT06 compiling and calling
models     VT07 models and graphs
certificates  VT08 certificates
"""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes import certificates, claims, compiled, families, models, others, program, steps
from verified_tir.report.codes.page import Page

GROUPS: Final = {
    "VT00": "Files and commands",
    "VT01": "Reading programs",
    "VT02": "The program itself has no meaning",
    "VT03": "A primitive does not apply",
    "VT04": "A claim is false, or was not decided",
    "VT05": "Index maps",
    "VT06": "Compiling and calling",
    "VT07": "Models and graphs",
    "VT08": "Certificates",
    "VT09": "Validation",
    "VT10": "Campaigns of random tests",
}
"""The groups of codes by their first four characters."""

_MODULES = (others, program, steps, families, claims, compiled, models, certificates)
_ALL = tuple(page for module in _MODULES for page in module.PAGES)
PAGES: Final[dict[str, Page]] = {p.code: p for p in sorted(_ALL, key=lambda p: p.code)}
"""The page of each code, in their order."""

__all__ = ["GROUPS", "PAGES", "Page"]
