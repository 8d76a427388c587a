"""Elements that are wider than the cells of their block: taken apart into cells, and put together again.

The cells of a block have the width of its narrowest view.  Cell k of a wider scalar x, counted from the least
significant end, is the term ``part(x, k)``.  Cells that are all parts of one scalar, in order, are that scalar again,
bit for bit, NaN included; other cells are joined two by two.

A part of a NaN is undef, since a NaN has no bits; so a part of a float may be undef unless the float is never NaN.  A
join with an undef cell is undef.  Parts and joins of constants are constants.
"""

from __future__ import annotations

import numpy as np

from verified_tir.ir.dtype import INT64, DType
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import MAY_NAN, MAY_UNDEF, UNDEF_ID, Ids


def parts(build: Builder, dtype: DType, ids: Ids, ratio: int) -> Ids:
    """The cells of scalars of type ``dtype``: shape (rows, scalars) becomes (rows, scalars * ratio)."""
    terms = build.terms
    places = terms.constants(INT64, np.arange(ratio, dtype=np.int64))
    doubtful = MAY_UNDEF | (MAY_NAN if dtype.is_float else 0)
    whole = ids[:, :, None]
    made = build.opaque("part", _cell(dtype.nbytes // ratio), whole, places, terms.constant(INT64, ratio))
    may = np.broadcast_to(terms.flags[whole] & doubtful != 0, made.shape)
    terms.flags[made[may]] |= MAY_UNDEF
    made = np.where(whole == UNDEF_ID, UNDEF_ID, made)
    build.operations += made.size
    return made.reshape(ids.shape[0], ids.shape[1] * ratio)


def bare(build: Builder, cells: Ids, width: int) -> Ids:
    """Cells to be read each for itself.

    Parts of constants are constants.  The part of a float that may be a NaN becomes another term: copied byte by byte,
    a NaN is lost.
    """
    terms = build.terms
    split = terms.columns[0, cells] == terms.code("part", _cell(width))
    if not split.any():
        return cells
    result = cells.copy()
    for cell in np.unique(cells[split]).tolist():
        whole, place, _ = terms.operands(cell)
        dtype = terms.result_dtype(whole)
        if terms.op_of(whole) == "const":
            bits = (int(terms.columns[1, whole]) >> (8 * width * int(terms.value(place)))) & ((1 << 8 * width) - 1)
            nan = dtype.is_float and terms.flags[whole] & MAY_NAN
            result[cells == cell] = UNDEF_ID if nan else terms.constant(_cell(width), bits)
        elif dtype.is_float and terms.flags[whole] & MAY_NAN:
            bytes_of = build.opaque("bits", _cell(width), cell)
            terms.flags[bytes_of] |= MAY_UNDEF
            result[cells == cell] = bytes_of
    return result


def joined(build: Builder, cells: Ids, ratio: int, width: int) -> Ids:
    """The scalars made of cells, ``ratio`` for each: shape (rows, scalars * ratio) becomes (rows, scalars).

    What was stored as one scalar is that scalar, of the type that it was stored at; the rest are unsigned integers.
    """
    terms = build.terms
    groups = cells.reshape(-1, ratio)
    code, wholes, _, count = terms.columns[:, groups[:, 0]]
    places = terms.constants(INT64, np.arange(ratio, dtype=np.int64))
    whole = (code == terms.code("part", _cell(width))) & (count == terms.constant(INT64, ratio))
    columns = terms.columns[:, groups]
    whole &= (columns[0] == code[:, None]).all(axis=1) & (columns[1] == wholes[:, None]).all(axis=1)
    whole &= (columns[2] == places[None, :]).all(axis=1) & (columns[3] == count[:, None]).all(axis=1)
    result = np.where(whole, wholes, UNDEF_ID)
    groups = bare(build, groups, width)
    rest = ~whole & (groups != UNDEF_ID).all(axis=1)
    if rest.any():
        result[rest] = _pairwise(build, groups[rest], width)
    build.operations += cells.size
    return result.reshape(cells.shape[0], cells.shape[1] // ratio)


def _pairwise(build: Builder, groups: Ids, width: int) -> Ids:
    """Cells joined two by two, the less significant one first."""
    terms = build.terms
    while groups.shape[1] > 1:
        low, high = groups[:, 0::2], groups[:, 1::2]
        const = terms.is_const(low) & terms.is_const(high)
        doubtful = ((terms.flags[low] | terms.flags[high]) & MAY_UNDEF) != 0
        made: Ids = np.empty(low.shape, dtype=np.int64)
        if const.any():
            below = np.int64((1 << (8 * width)) - 1)
            upper = terms.payload(high[const]) & below
            made[const] = terms.constants(
                _cell(2 * width), (upper << np.int64(8 * width)) | (terms.payload(low[const]) & below)
            )
        if not const.all():
            made[~const] = build.opaque("join", _cell(2 * width), low[~const], high[~const])
        terms.flags[made[doubtful]] |= MAY_UNDEF
        groups, width = made, 2 * width
    return groups[:, 0]


def _cell(width: int) -> DType:
    return DType("uint", 8 * width)
