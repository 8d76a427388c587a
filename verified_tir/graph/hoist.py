"""HoistLayoutRewrite: blocks that rewrite a layout leave a PrimFunc and become nodes of the graph.

    def matmul(A, B, C):                              gv = R.layout_transform(B, index_map=…)
        B_[j, i // 4, i % 4] = B[i, j]        ⟶       C = R.call_tir(matmul, (A, gv), …)
        C[…] += A[…] * B_[…]

A block is found by its annotation (``meta_schedule.layout_rewrite_preproc``) or by what it does: everything that is
stored to an array of the function's own comes from one operand, or all of a result from such an array, under an index
map (``copies``).  Several statements may do it together: one that fills, one that copies.

The kernel moves these statements to the front or to the end, past what they do not touch, and turns them into the
programs of the compact form; then the function is, up to names and labels, the program of the graph that is made
(``program_of_graph``).  That is the theorem: the function is refined by the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

from verified_tir.elaborate.labels import without_labels
from verified_tir.graph.compact import steps_of
from verified_tir.graph.copies import Copied, copied
from verified_tir.graph.errors import GraphError, NoCopy
from verified_tir.graph.hoisted_graph import Lifted, graph_of_parts
from verified_tir.graph.hoisting_steps import Group, compacted, gathered, moved_up, to_its_end
from verified_tir.graph.ir import Graph
from verified_tir.graph.program import buffer_like, program_of_graph, same_program, type_of_buffer
from verified_tir.graph.replace_statements import Proof
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, Seq, Stmt, Store, seq
from verified_tir.ir.visit import sub_statements, walk
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.rule_builders import unwrapped
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Session

ANNOTATIONS = frozenset({"meta_schedule.layout_rewrite_preproc", "layout_rewrite"})
"""What a block is marked with that rewrites a layout."""

FROZEN = "frozen_layout"
"""The attribute of a function from which rewrites were lifted: its layouts were chosen, and stay."""


@final
@dataclass(frozen=True, slots=True)
class Hoisted:
    """A PrimFunc without its layout rewrites.

    :param graph: the rewrites and the rest, as a graph of the function's arrays.
    :param core: the rest.
    :param lifted: each rewrite that was lifted, those of operands first.
    :param left: why others were not.
    :param theorem: the function is refined by the graph's program; ``None`` if nothing was lifted.
    :param schedule: the steps of the proof, as certificates are written of them.
    """

    func: PrimFunc
    graph: Graph | None
    core: PrimFunc
    lifted: tuple[Lifted, ...] = ()
    left: tuple[str, ...] = ()
    theorem: Refines | None = None
    schedule: Schedule | None = None


def hoist(func: PrimFunc, *, results: int | None = None, annotated_only: bool = False) -> Hoisted:
    """Lift layout rewrites out of a PrimFunc.

    :param results: how many parameters are results, the last ones; those that are written unless given.
    :param annotated_only: leave blocks alone that are not marked.
    :raises ScheduleError: if the function has no meaning on some arguments.
    :raises GraphError: if it takes scalars, or arrays of a shape that is not fixed, or writes an operand.
    """
    if len(func.params) != len(func.buffers):
        raise GraphError(f"{func.name} takes scalars; call_tir passes arrays only")
    for b in func.buffers:
        type_of_buffer(b)
    written = {n.buffer.data for n in walk(func.body) if isinstance(n, Store)}
    count = sum(b.data in written for b in func.buffers) if results is None else results
    operands = func.buffers[: len(func.buffers) - count]
    wrong = next((b for b in operands if b.data in written), None)
    if wrong is not None:
        raise GraphError(f"{func.name} writes {wrong.name}, and results come last among the parameters of call_tir")
    work = _Hoisting(func, annotated_only, count)
    while work.lift_one():
        pass
    return work.finish()


@final
@dataclass(slots=True)
class _Hoisting:
    func: PrimFunc
    annotated_only: bool
    results: int
    proof: Proof = field(init=False)
    lifted: list[Lifted] = field(default_factory=list)
    left: dict[Buffer, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.proof = Proof(self.func)
        self.proof.take("unwrap", (), _unwrapped)

    @property
    def inputs(self) -> list[Buffer]:
        buffers = self.proof.func.buffers
        return list(buffers[: len(buffers) - self.results])

    @property
    def outputs(self) -> list[Buffer]:
        buffers = self.proof.func.buffers
        return list(buffers[len(buffers) - self.results :])

    # -- one rewrite -------------------------------------------------------------------------------------------------

    def lift_one(self) -> bool:
        """Lift one rewrite; whether there was one."""
        for group in self.groups():
            try:
                self.lift(group)
            except ScheduleError as refused:
                self.left[group.target] = refused.summary()
                continue
            return True
        return False

    def groups(self) -> Iterator[Group]:
        """Rewrites that have not been lifted nor refused."""
        entries = [e for e in _top(self.proof.func.body, ()) if not self.is_lifted(e[1])]
        done = {x.target for x in self.lifted if x.side == "operand"}
        sources = {*self.inputs, *done}
        targets = {*self.outputs} | {x.source for x in self.lifted if x.side == "result"}
        local = {n.buffer for n in walk(self.proof.func.body) if isinstance(n, Allocate)}
        for target in dict.fromkeys(b for _, s in entries for b in sorted(_stored(s), key=lambda b: b.name)):
            if target in done or target in self.left or target not in local | targets:
                continue
            mine = [(p, s) for p, s in entries if target in _stored(s)]
            read = {b for _, s in mine for b in _loaded(s)} - {target}
            side: Literal["operand", "result"] = "operand" if target in local and target not in targets else "result"
            allowed = sources if side == "operand" else local - targets - done
            if len(mine) == len(entries):  # nothing would be left: it is a rewrite itself, if anything
                continue
            group = self.understood(target, mine, read & allowed, side) if read <= allowed and len(read) == 1 else None
            if group is not None:
                yield group
            elif any(_marked(s) for _, s in mine):
                names = ", ".join(sorted(b.name for b in read)) or "nothing"
                self.left.setdefault(target, f"it reads {names}; a rewrite that can be lifted reads one operand")

    def understood(
        self, target: Buffer, mine: list[tuple[Path, Stmt]], read: set[Buffer], side: Literal["operand", "result"]
    ) -> Group | None:
        """What the statements copy; ``None`` if that is none of our business."""
        (source,), marked = read, any(_marked(s) for _, s in mine)
        if any(_stored(s) != {target} for _, s in mine) or (self.annotated_only and not marked):
            return None
        others = (s for p, s in _top(self.proof.func.body, ()) if p not in {q for q, _ in mine})
        if side == "result" and any(target in _loaded(s) for s in others):
            self.left[target] = "what is stored there is read again"
            return None
        try:
            found = copied(without_labels(seq(*(s for _, s in mine))), source, target)
            steps_of(found)
        except NoCopy as problem:
            self.left[target] = str(problem)
            if not marked:
                return None
            return Group(source, target, [p for p, _ in mine], side, None, str(problem))
        if not marked and _is_copy(found):
            return None
        return Group(source, target, [p for p, _ in mine], side, found)

    def lift(self, group: Group) -> None:
        """Move the statements, and make them the compact form.

        :raises ScheduleError: if the kernel refuses; nothing has changed then.
        """
        label = f"{group.target.name}_rewrite_{len(self.lifted)}"
        steps = () if group.found is None else steps_of(group.found)
        inside = group.paths[0][:-1]
        first = not inside or all(isinstance(self.proof.session.stmt(inside[:k]), Allocate) for k in range(len(inside)))
        anew = None
        private = group.target.scope != "global"
        if group.side == "operand" and (private or not first) and group.found is not None:
            anew = buffer_like(group.target.name, type_of_buffer(group.target))

        def take(session: Session) -> None:
            gathered(session, group, label)
            if anew is not None:
                moved_up(session, group, label, steps, anew, sum(x.side == "operand" for x in self.lifted))
                return
            to_its_end(session, group, label, self.is_lifted)
            if group.found is not None:
                compacted(session, group.source, group.target, label, steps, group.found)

        self.proof.take("hoist", (group.target,), take)
        if group.reason:
            self.left[group.target] = f"{group.reason}; being marked, it is a function of its own"
        self.lifted.append(Lifted(group.source, anew or group.target, group.side, label, steps, group.reason))

    def is_lifted(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Block) and any(x.label == stmt.name for x in self.lifted)

    # -- the graph ---------------------------------------------------------------------------------------------------

    def finish(self) -> Hoisted:
        left = tuple(f"{b.name}: {why}" for b, why in self.left.items())
        if not self.lifted:
            return Hoisted(self.func, None, self.func, (), left, None)
        after = self.proof.func
        rest = [s for _, s in _top(after.body, ()) if not self.is_lifted(s)]
        bodies = {s.name: s.body for _, s in _top(after.body, ()) if isinstance(s, Block) and self.is_lifted(s)}
        core_body = _without(after.body, {x.label for x in self.lifted})
        graph, core = graph_of_parts(self.func, self.inputs, self.outputs, self.lifted, bodies, core_body, FROZEN)
        assert rest
        if not same_program(after, program_of_graph(graph)):
            raise GraphError(f"the graph made of {self.func.name} is another program; this is a mistake of this tool")
        Proof(core)
        return Hoisted(self.func, graph, core, tuple(self.lifted), left, self.proof.theorem, self.proof.schedule)


# -- looking at the program --------------------------------------------------------------------------------------------


def _top(stmt: Stmt, path: Path) -> Iterator[tuple[Path, Stmt]]:
    """The statements at the top of a program, in order; allocations around them are looked through."""
    match stmt:
        case Allocate(body=body):
            yield from _top(body, (*path, 0))
        case Seq(stmts=stmts):
            for k, s in enumerate(stmts):
                yield from _top(s, (*path, k))
        case _:
            yield path, stmt


def _unwrapped(session: Session) -> None:
    while (root := next(_wrapped(session.func.body, ()), None)) is not None:
        session.apply(unwrapped(root))


def _wrapped(stmt: Stmt, path: Path) -> Iterator[Path]:
    """Labels at the top around several statements, or around an allocation."""
    for p, s in _top(stmt, path):
        if isinstance(s, Block) and s.is_label and isinstance(s.body, (Seq, Allocate)):
            inner = s.body.body if isinstance(s.body, Allocate) else s.body
            if any(sub_statements(x) for x in sub_statements(inner)):
                yield p


def _without(stmt: Stmt, labels: set[str]) -> Stmt:
    """The program without statements at its top."""
    match stmt:
        case Allocate(buffer=b, body=body, annotations=notes):
            inner = _without(body, labels)
            used = any(n is b.data for n in walk(inner))
            return Allocate(b, inner, notes) if used else inner
        case Seq(stmts=stmts):
            return seq(*(_without(s, labels) for s in stmts))
        case Block(name=name) if name in labels:
            return Seq(())
    return stmt


def _stored(stmt: Stmt) -> set[Buffer]:
    own = {n.buffer for n in walk(stmt) if isinstance(n, Allocate)}
    return {n.buffer for n in walk(stmt) if isinstance(n, Store)} - own


def _loaded(stmt: Stmt) -> set[Buffer]:
    own = {n.buffer for n in walk(stmt) if isinstance(n, Allocate)}
    return {n.buffer for n in walk(stmt) if isinstance(n, Load)} - own


def _marked(stmt: Node) -> bool:
    return any(isinstance(n, Block) and any(k in ANNOTATIONS and v for k, v in n.annotations) for n in walk(stmt))


def _is_copy(found: Copied) -> bool:
    """Whether nothing moves: that may be a stage of the program, and no rewrite."""
    shape = found.source.shape if found.direction == "forward" else found.target.shape
    return found.source.shape == found.target.shape and found.index_map.is_identity(shape)
