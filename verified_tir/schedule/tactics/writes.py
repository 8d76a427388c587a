"""Two stores in place of one, and one in place of two.

    split_write:   B[x] = a ⊕ c             ⟶      B[x] = a
                                                    B[x] = B[x] ⊕ c

    merge_writes:  B[x] = v                 ⟶      B[x] = w(v)
                   B[x] = w(B[x])

Both go by a temporary value: it keeps what the first store stores (``insert``), takes the place of the reads that see
it (``rewrite``), and when the first store has been inserted, or erased as dead (``insert``, ``erase`` with the second
store as what overwrites it), the temporary value is written out again.  So the kernel proves that the first store is
seen by nobody else, through no other view either, and that what it was made of did not change.
"""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Load
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Seq, Stmt, Store
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import ExprPath
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.schedule import codes
from verified_tir.schedule.edits import parts, rewritten
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.inline import reads_of, replace_with

TEMPORARY = "written"
"""What the temporary place is called, in case a refusal shows it."""


def split_write(session: Session, block: str) -> tuple[str, str]:
    """Store the left operand of what a block stores first, and the whole value after that; gives the two blocks' names.

    The right operand must not read what is stored to.
    """
    path, store = _only_store(session, block)
    match store.value:
        case Binary(op=op, a=first) if op not in ("and", "or") and first.dtype is store.value.dtype:
            pass
        case _:
            raise fail(
                f"block {block} stores no sum, product or the like, which could be done in two steps",
                path,
                code=codes.NOT_OF_THIS_FORM,
            )
    path = (*path, 0)
    temporary = Buffer.declare(TEMPORARY, (), first.dtype)
    session.apply(Declare(path, temporary))
    session.apply(Insert((*path, 0), Store(temporary, first, ())))
    body, split = (*path, 0), (*path, 0, 1)
    session.apply(rewritten(split, (0, 0), Load(temporary, ())))
    session.apply(Insert(split, Store(store.buffer, Load(temporary, ()), store.indices), "before", overwritten_by=1))
    session.apply(rewritten((*body, 2), (0, 0), Load(store.buffer, store.indices)))
    session.apply(rewritten((*body, 1), (0,), first))
    _forget(session, path, body, temporary)
    names = (f"{block}_0", f"{block}_1")
    for k, name in enumerate(names):
        session.apply(labelled((*path, k), name))
    return names


def merge_writes(session: Session, first: str, second: str) -> None:
    """Let the second of two blocks store at once what both come to; the first one goes.

    Each block holds one store, both to the same element; what stands between them must not read it.
    """
    here, old = _only_store(session, first)
    there, new = _only_store(session, second)
    around = here[:-1]
    if not here or there[:-1] != around or not isinstance(session.stmt(around), Seq) or there[-1] <= here[-1]:
        raise fail(
            f"blocks {first} and {second} do not follow each other in one sequence", there, code=codes.STANDS_ELSEWHERE
        )
    if old.buffer.data is not new.buffer.data or old.value.dtype is not new.value.dtype:
        raise fail(
            f"blocks {first} and {second} store to {old.buffer.name} and {new.buffer.name}",
            there,
            code=codes.NOT_OF_THIS_FORM,
        )
    temporary = Buffer.declare(TEMPORARY, (), old.value.dtype)
    session.apply(Declare(around, temporary))
    around = (*around, 0)
    session.apply(Insert((*around, here[-1]), Store(temporary, old.value, ())))
    one, two = (*around, here[-1] + 1), (*around, there[-1] + 1)
    session.apply(rewritten((*one, 0), (0,), Load(temporary, ())))
    for where in _reads(session.stmt((*two, 0)), old):
        session.attempt(rewritten((*two, 0), where, Load(temporary, ())))
    session.apply(Erase(one, overwritten_by=two[-1] - one[-1]))
    final = (*around, two[-1] - 1, 0)
    while (found := next(reads_of(session.stmt(final), temporary), None)) is not None:
        replace_with(session, final, found[1], old.value)
    _forget(session, around[:-1], around, temporary, here[-1])


def _only_store(session: Session, block: str) -> tuple[Path, Store]:
    """The place of a block that holds one store, and the store.

    :raises TacticFailed: if it holds something else, or vectors.
    """
    path, label = session.block(block)
    store = label.body
    if not isinstance(store, Store):
        raise fail(f"block {block} contains more than one store", path, code=codes.NOT_OF_THIS_FORM)
    if store.value.dtype.lanes > 1 or store.predicate is not None:
        raise fail(f"block {block} stores a vector", path, code=codes.VECTORS)
    return path, store


def _reads(store: Stmt, old: Store) -> list[ExprPath]:
    """Where a store reads the block that another one stored to, what stands in an index first."""
    found = [(where, e) for where, e in parts(store) if isinstance(e, Load) and e.buffer.data is old.buffer.data]
    return [where for where, e in reversed(found) if e.dtype is old.value.dtype]


def _forget(session: Session, path: Path, body: Path, temporary: Buffer, position: int = 0) -> None:
    """Remove a temporary place that nobody reads: its store and its allocation at ``path``."""
    session.apply(Erase((*body, position)))
    session.apply(Drop(path))
