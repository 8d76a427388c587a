"""Ranges, empty ranges, the order of iterations, and the conditions on the way to a place."""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.fault import Fault

_KERNEL = "verified_tir/kernel/"
_RULES = "verified_tir/kernel/rules/"
_ENCODE = "verified_tir/semantics/encode.py"

FAULTS: Final[tuple[Fault, ...]] = (
    # ---------------------------------------------------------------------------------------------- ranges
    Fault(
        "first-iteration-forgotten-by-facts",
        _KERNEL + "context.py",
        "Context.bind_loop",
        "self.path.extend((f.le(low, v), f.lt(v, f.add(low, extent))))",
        "self.path.extend((f.lt(low, v), f.lt(v, f.add(low, extent))))",
        "Inside a loop i > 0 is taken for known: `if i > 0` is decided, and A[i - 1] is called in bounds.",
    ),
    Fault(
        "first-iteration-forgotten-by-accesses",
        _KERNEL + "region.py",
        "_Walker.loop",
        "self.branch(stmt.body, 0, (f.le(low.value, v), f.lt(v, end)))",
        "self.branch(stmt.body, 0, (f.lt(low.value, v), f.lt(v, end)))",
        "A statement's accesses in the first iteration of its inner loops are not looked at: what only they touch is "
        "free to be reordered, and a store of theirs is not seen.",
    ),
    Fault(
        "last-iteration-may-race",
        _KERNEL + "race_free.py",
        "no_conflict_between_iterations",
        "f.lt(v, f.add(low, extent))",
        "f.lt(v, f.sub(f.add(low, extent), f.integer(1)))",
        "A race with the last iteration is not asked about: `if i == n - 1: A[0] = 1 else: A[i] = 0` runs in parallel.",
    ),
    Fault(
        "index-may-equal-the-extent",
        _ENCODE,
        "Encoder.address",
        "f.between(f.integer(0), e.value, self.value(extent))",
        "f.and_(f.le(f.integer(0), e.value), f.le(e.value, self.value(extent)))",
        "`<=` for `<`: the access one past the end counts as in bounds.",
    ),
    Fault(
        "layout-may-end-one-later",
        _RULES + "layout.py",
        "in_box",
        "f.between(f.integer(0), i, n)",
        "f.and_(f.le(f.integer(0), i), f.le(i, n))",
        "`<=` for `<`: the last element may be mapped one past the end of the new shape.",
    ),
    Fault(
        "touched-elements-are-those-that-are-stored",
        _RULES + "couple.py",
        "Couple._live",
        "if a.buffer is old:",
        "if a.buffer is old and a.write:",
        "What is read and was never written may leave the new buffer at either end.",
    ),
    Fault(
        "a-term-may-go-one-group-too-far",
        _RULES + "reassociate.py",
        "Reassociate._questions",
        "fits = [f.between(f.integer(0), w.value, n) for w, n in zip(where, extents, strict=True)]",
        "fits = [f.and_(f.le(f.integer(0), w.value), f.le(w.value, n)) for w, n in zip(where, extents, strict=True)]",
        "`<=` for `<`: a term is added to a partial result that does not exist.",
    ),
    Fault(
        "an-empty-loop-runs-once",
        _RULES + "reindex.py",
        "_domain",
        "f.lt(given, f.add(low, extent))",
        "f.le(given, f.add(low, extent))",
        "The end of a range is in it: a loop over an extent of 0 becomes its body, which then runs.",
    ),
    Fault(
        "unrolled-from-zero",
        _RULES + "unroll.py",
        "Unroll.rewrite",
        "_at_value(copy, v, const(low + k, v.dtype))",
        "_at_value(copy, v, const(k, v.dtype))",
        "The start of an unrolled loop is forgotten: range(2, 4) runs 0 and 1.",
    ),
    Fault(
        "only-the-second-loop-may-not-be-negative",
        _RULES + "order.py",
        "Join._questions",
        "f.and_(f.le(zero, one), f.le(zero, two))",
        "f.le(zero, two)",
        "Loops of extents -2 and 5 are joined to one of extent 3: iterations that ran are lost.",
    ),
    Fault(
        "the-middle-may-lie-before-the-start",
        _RULES + "order.py",
        "Partition._questions",
        "goal = f.and_(f.le(low, mid), f.le(mid, high))",
        "goal = f.le(mid, high)",
        "The second part begins before the loop did: iterations are run that were none.",
    ),
    Fault(
        "a-range-of-loaded-bounds-may-wrap",
        _RULES + "order.py",
        "Join._questions",
        "exact = f.eq(encoder.value(whole.extent), f.add(one, two))",
        "exact = f.TRUE",
        "The sum of two extents of type int8 that were loaded wraps: 100 and 100 iterations are joined to none.",
    ),
    Fault(
        "every-reduction-starts-with-its-first-axis",
        "verified_tir/elaborate/blocks.py",
        "expand_block",
        "If(all_of(conditions), block.init)",
        "If(conditions[0], block.init)",
        "With two reduction axes the initialisation runs at each start of the first one, and forgets what was summed.",
    ),
    # ----------------------------------------------------------------------------------- order of iterations
    Fault(
        "lexicographic-order-of-the-inner-loop-alone",
        "verified_tir/kernel/moments.py",
        "lexicographic_less",
        "result = f.or_(f.lt(x, y), f.and_(f.eq(x, y), result))",
        "result = f.or_(f.lt(x, y), result)",
        "(1, 0) comes before (0, 1) and after it: order is no order any more, and conflicting pairs are looked at in "
        "the wrong direction.",
    ),
    Fault(
        "separated-iterations-in-the-wrong-order",
        _RULES + "order.py",
        "iterations_may_separate",
        "f.lt(i, j)",
        "f.lt(j, i)",
        "Distribution asks whether a later iteration's first part meets an earlier one's second, which stays so: "
        "`B[i] = A[i]; A[i + 1] = i` is split in two.",
    ),
    Fault(
        "fused-loops-compared-backwards",
        _RULES + "order.py",
        "Fuse._questions",
        "iterations_may_separate(context, first, moved, first.body, place,",
        "iterations_may_separate(context, first, first.body, moved, place,",
        "Merging asks about pairs that keep their order: a consumer that reads A[i + 1] is merged with what stores "
        "A[i].",
    ),
    Fault(
        "pairs-that-keep-their-order-are-asked-about",
        _RULES + "reindex.py",
        "Reindex._order",
        "reversed_order = (*given, old_first, lexicographic_less(y2, y1))",
        "reversed_order = (*given, old_first, lexicographic_less(y1, y2))",
        "Of a reordered nest those pairs are asked about whose order does not change: a recurrence is reversed, and "
        "independent ones are refused.",
    ),
    Fault(
        "lanes-read-after-they-write",
        _RULES + "lanes.py",
        "_reads_before_writes",
        "for a, b in conflicts(runs[0].accesses, (x for x in runs[1].accesses if not x.write)):",
        "for a, b in conflicts((x for x in runs[0].accesses if not x.write), runs[1].accesses):",
        "Vector code is refused where a later lane writes what an earlier one read, and made of A[i + 1] = A[i], where "
        "each lane needs what the one before stored.",
    ),
    Fault(
        "what-comes-later-came-earlier",
        "verified_tir/kernel/moments.py",
        "happens_before",
        "here[parts] < there[parts]",
        "here[parts] > there[parts]",
        "What stores to the block before the copy is read counts as coming after: the copy is outdated.",
    ),
    Fault(
        "later-statements-of-the-same-iteration-ignored",
        _RULES + "repeat.py",
        "_Again._later",
        "later = happens_before(self.whole, (self.inside, w), (a.place, a.inner))",
        "later = happens_before(self.whole, (self.inside, w), (self.inside, a.inner))",
        "A store that follows the repeated statement in its own iteration is not seen: what runs again finds other "
        "inputs.",
    ),
    Fault(
        "iterations-around-the-place-ignored",
        _RULES + "repeat.py",
        "_Again.walk",
        "since.append(earlier_iterations(begun, loop, here.env[loop.var].value))",
        "pass",
        "What earlier iterations of the consumer's loop stored since the producer ran is not looked at.",
    ),
    # ------------------------------------------------------------------------------------- path conditions
    Fault(
        "else-branch-not-negated-by-facts",
        _KERNEL + "context.py",
        "Context.enter",
        "value = e.value if step == 0 else f.not_(e.value)",
        "value = e.value",
        "In an else branch its condition is taken to be true: what is only right under it is accepted there.",
    ),
    Fault(
        "else-branch-not-negated-by-accesses",
        _KERNEL + "region.py",
        "_Walker.statement",
        "self.branch(b, 1, (f.not_(e.value), e.defined))",
        "self.branch(b, 1, (e.value, e.defined))",
        "Accesses of an else branch are looked at where it does not run: `if i < 2: … else: A[0] = i` is parallel.",
    ),
    Fault(
        "inserted-else-not-negated",
        _RULES + "insert.py",
        "Insert.rewrite",
        "context.path.extend((f.not_(condition.value), condition.defined))",
        "context.path.extend((condition.value, condition.defined))",
        "A statement is inserted as else branch if it does no harm where the condition holds.",
    ),
    Fault(
        "right-operand-of-or-not-negated",
        _RULES + "rewrite.py",
        "Rewrite.descend",
        "premises.append(f.not_(context.encoder().value(a)))",
        "premises.append(context.encoder().value(a))",
        "The right operand of `a or b` is rewritten as if a were true there; it is evaluated where a is false.",
    ),
    Fault(
        "false-arm-not-negated",
        _RULES + "rewrite.py",
        "Rewrite.descend",
        "premises.append(value if step == 1 else f.not_(value))",
        "premises.append(value)",
        "The false arm of if_then_else is rewritten under the condition's being true.",
    ),
    Fault(
        "guards-forgotten-by-reindex",
        _RULES + "reindex.py",
        "_domain",
        "here.assume(c)",
        "pass",
        "Guards are no part of a nest's domain: a nest without the guard runs iterations that the old one did not.",
    ),
    Fault(
        "lazy-premises-exchanged",
        _ENCODE,
        "Encoder._lazy",
        'undecided = a.value if expr.op == "and" else f.not_(a.value)',
        'undecided = f.not_(a.value) if expr.op == "and" else a.value',
        "`i < n and A[i] > 0` is called unsafe, `i < n or A[i] > 0` safe.",
    ),
    Fault(
        "false-arm-evaluated-under-the-condition",
        _ENCODE,
        "Encoder._choice",
        "self._under(f.not_(ec.value), b, lane)",
        "self._under(ec.value, b, lane)",
        "The access in the false arm of if_then_else is safe if it is where the condition holds.",
    ),
    Fault(
        "with-lanes-only-one-operand-is-evaluated",
        _ENCODE,
        "Encoder._lazy",
        "if expr.dtype.lanes == 1:",
        "if expr.dtype.lanes >= 1:",
        "`ramp < 2 and A[ramp] == 0` counts as guarded lane by lane; with lanes both operands are evaluated.",
    ),
    Fault(
        "hoisted-out-of-a-loop-that-may-be-empty",
        _RULES + "branch.py",
        "Hoist.rewrite",
        "evaluated_safely(context, (c,), (), self.path)",
        "evaluated_safely(context, (c,), (f.lt(f.integer(0), context.encoder().value(loop.extent)),), self.path)",
        "A condition leaves a loop if it is safe where the loop runs at all: of an empty loop it divides by zero.",
    ),
    Fault(
        "bounds-sunk-from-under-their-guard",
        _RULES + "branch.py",
        "Sink.rewrite",
        "range_safely(context, loop.min, loop.extent, (), self.path)",
        "range_safely(context, loop.min, loop.extent, (context.encoder().value(c),), self.path)",
        "Bounds that divide by what the condition excludes are evaluated without it.",
    ),
    Fault(
        "what-the-last-statement-evaluates-is-known-at-once",
        _RULES + "bind.py",
        "_evaluated_first",
        "stmt = stmt.stmts[0] if isinstance(stmt, Seq) else stmt.body",
        "stmt = stmt.stmts[-1] if isinstance(stmt, Seq) else stmt.body",
        "That `B[n] = 4 // A[0]` can be evaluated at the end of a sequence says that it can at its beginning, before "
        "A[0] was stored.",
    ),
    Fault(
        "the-guard-of-a-killer-forgotten",
        _RULES + "last_write.py",
        "overwrites",
        "conditions = [f.replace(g, witness, memo) for g in b.given]",
        "conditions: list[Term] = []",
        "A store is dead if a later one could overwrite it, under whatever guard and outside whatever range.",
    ),
)
