"""The strategies for whole programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.func import PrimFunc
from verified_tir.testing.drawing import Picker
from verified_tir.testing.programs.empty import without_a_store
from verified_tir.testing.programs.features import ALL_FEATURES, Feature, checked
from verified_tir.testing.programs.finish import finish
from verified_tir.testing.programs.sketch import Place, Sketch, palettes
from verified_tir.testing.programs.statements import body
from verified_tir.testing.programs.textbook import textbook
from verified_tir.testing.programs.wide import wide_loops

_OF_NUMBERS: Final[frozenset[Feature]] = frozenset({"reductions", "textbook", "views"})


def prim_funcs(
    features: Iterable[str] = ALL_FEATURES,
    *,
    dtypes: Sequence[DType | str] | None = None,
    max_depth: int = 4,
    max_statements: int = 3,
) -> SearchStrategy[PrimFunc]:
    """Whole functions, well-formed by construction, most of which have a meaning on most arguments.

    Shrinking leads to few statements, extents of 2, and nothing that is not used.

    :param features: what programs may have; ``ALL_FEATURES - {"views"}`` has everything else.
    :param dtypes: the types of elements; the first is the usual one of a program with one type.
    :param max_depth: how deep statements nest.
    :param max_statements: how many statements there are at the top.
    :raises ValueError: for a feature that does not exist.
    """
    chosen = checked(features)
    palette = tuple(DType.parse(t) for t in dtypes) if dtypes is not None else None
    return _prim_funcs(chosen, palette, max_depth, max_statements)


@st.composite
def _prim_funcs(
    draw: DrawFn, features: frozenset[Feature], palette: tuple[DType, ...] | None, max_depth: int, max_statements: int
) -> PrimFunc:
    pick = Picker(draw)
    s = sketch(pick, features, palette)
    if s.has("textbook") and (len(features) == 1 or pick.rarely(10)):
        return textbook(pick, next(t for t in s.palette if t != BOOL))
    stmt = body(s, Place(max_depth), max_statements, 3)
    if "bounds" in features and pick.rarely(12):
        stmt = without_a_store(stmt, pick)
    func = finish(s, stmt)
    if "wide_loops" in features and pick.rarely(8):
        return wide_loops(func, (lambda _: pick.flip()) if pick.flip() else (lambda _: True))
    return func


def sketch(pick: Picker, features: frozenset[Feature], palette: tuple[DType, ...] | None = None) -> Sketch:
    """An empty program, of some data types."""
    types = palette or palettes(features)
    usual = pick.among(types) if pick.rarely(3) else types[0]
    others = tuple(t for t in types if t is not usual) if "dtypes" in features else ()
    if {usual, *others} == {BOOL}:
        features -= _OF_NUMBERS
    return Sketch(pick, features, (usual, *others))
