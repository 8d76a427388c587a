"""Single rules: stores that are dead, layouts and padding, copies, repeated instances, reductions, calls, discharge."""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.fault import Fault

_KERNEL = "verified_tir/kernel/"
_RULES = "verified_tir/kernel/rules/"

FAULTS: Final[tuple[Fault, ...]] = (
    # -------------------------------------------------------------------------------------- insert and erase
    Fault(
        "a-statement-that-feeds-itself-is-inserted",
        _RULES + "insert.py",
        "Insert._questions",
        "fed = read_blocks(added) & written_blocks(added) if later else set()",
        "fed = set[Var]()",
        "The inserted statement reads what it has just stored, and is judged by what was there before.",
    ),
    Fault(
        "undef-may-be-inserted-over-a-value",
        _RULES + "insert.py",
        "Insert._questions",
        "goal = f.and_(a.value.defined, unchanged(context, a, old))",
        "goal = f.implies(a.value.defined, unchanged(context, a, old))",
        "A store of undef over a defined element is no change: a result becomes undefined.",
    ),
    Fault(
        "filling-an-undefined-place-is-no-effect",
        _RULES + "erase.py",
        "Erase._no_op",
        "goal = f.and_(old.defined, unchanged(context, a, old))",
        "goal = f.implies(old.defined, unchanged(context, a, old))",
        "The rule for insertion used for erasure: the first store to a local buffer goes, and what reads it reads "
        "undef.",
    ),
    Fault(
        "erased-stores-may-feed-each-other",
        _RULES + "erase.py",
        "Erase.rewrite",
        "unread -= read_blocks(target)",
        "pass",
        "A local buffer that only the erased statement reads is left out, though it feeds a store that is judged by "
        "what was there before.",
    ),
    Fault(
        "the-killer-may-read-what-it-kills",
        _RULES + "last_write.py",
        "dead",
        "for read in reads_of(here.fork(), s, blocks, ran, begun=begun):",
        "for read in reads_of(here.fork(), s, blocks, ran, begun=begun) if ran else ():",
        "`B[0] = 1` goes before `B[0] = B[0] + 1`, which overwrites it.",
    ),
    Fault(
        "a-while-condition-is-evaluated-once",
        _RULES + "rewrite.py",
        "Rewrite.rewrite",
        "context.repeat(target, target.body)",
        "pass",
        "The condition of a while loop is rewritten by what holds before its first round.",
    ),
    Fault(
        "what-reads-memory-may-move-past-a-store",
        _RULES + "bind.py",
        "_writes_last",
        "return isinstance(stmt, Store) and not opaque_calls(stmt)",
        "return not opaque_calls(stmt)",
        "A load gets a name before a sequence that stores to it, and its uses behind the store get the old value.",
    ),
    # ------------------------------------------------------------------------------------- layouts and padding
    Fault(
        "injective-in-one-coordinate",
        _RULES + "layout.py",
        "LayoutMap.image",
        "f.and_(*[f.eq(b, x) for b, x in zip(back, xs, strict=True)])",
        "f.or_(*[f.eq(b, x) for b, x in zip(back, xs, strict=True)])",
        "A map is injective if one of the old indices can be told from the new ones: (i, j) ↦ i.",
    ),
    Fault(
        "padding-may-cover-elements",
        _RULES + "layout.py",
        "LayoutMap.exact",
        "f.eq(at_y.encoder().value(self.padding), f.not_(hit))",
        "f.implies(f.not_(hit), at_y.encoder().value(self.padding))",
        "Elements may be declared padding: their values are assumed to be the pad value.",
    ),
    Fault(
        "padding-may-be-left-out",
        _RULES + "layout.py",
        "LayoutMap.exact",
        "f.eq(at_y.encoder().value(self.padding), f.not_(hit))",
        "f.implies(at_y.encoder().value(self.padding), f.not_(hit))",
        "Padding may be declared to be elements: what a copy-out or a caller reads there is anything.",
    ),
    Fault(
        "the-inverse-may-leave-the-old-shape",
        _RULES + "layout.py",
        "LayoutMap.exact",
        "hit = f.and_(in_box(context, xs, old.shape), *[f.eq(a, y) for a, y in zip(again, ys, strict=True)])",
        "hit = f.and_(*[f.eq(a, y) for a, y in zip(again, ys, strict=True)])",
        "A place whose origin lies outside of the old array counts as an element.",
    ),
    Fault(
        "earlier-padding-covers-new-padding",
        _RULES + "relayout.py",
        "Relayout._carried",
        'inside = Binary("and", Not(self.layout.padding), substitute(p.predicate, mapping))',
        "inside = substitute(p.predicate, mapping)",
        "After a second layout the first one's padding also claims places that belong to nobody: what is undef there "
        "counts as 0.",
    ),
    Fault(
        "a-pad-value-is-read-where-it-moved-from",
        _RULES + "relayout.py",
        "Relayout._moved",
        "Load(new, self.layout.apply(n.indices))",
        "Load(new, n.indices)",
        "A pad value that reads the buffer names its elements by their old indices in the new layout.",
    ),
    Fault(
        "padding-holds-its-value-if-it-is-defined",
        _RULES + "padding.py",
        "holds_value",
        "f.and_(found.defined, f.eq(found.value, wanted.value))",
        "f.implies(found.defined, f.eq(found.value, wanted.value))",
        "Padding to which nothing was written at the end of a program counts as holding the value that is owed.",
    ),
    Fault(
        "sizes-compared-in-elements",
        _RULES + "share.py",
        "_size",
        "size = f.integer(buffer.dtype.nbytes)",
        "size = f.integer(1)",
        "A block of eight bytes holds a buffer of eight floats.",
    ),
    # ------------------------------------------------------------------------------------------ copies, repeats
    Fault(
        "staged-accesses-may-lie-in-padding",
        _RULES + "stage.py",
        "Stage._in_region",
        "goal = f.and_(fits, f.not_(padding), back)",
        "goal = f.and_(fits, back)",
        "An access is redirected to a place of the copy that was never filled.",
    ),
    Fault(
        "a-copy-for-one-type-serves-all",
        _RULES + "stage.py",
        "Stage._misfit",
        "if self.copy_out and len({b.dtype.scalar for b in context.views.get(data, ())}) > 1:",
        "if self.copy_out and len({b.dtype.nbytes for b in context.views.get(data, ())}) > 1:",
        "A copy at float32 of what the program also sees as int32: the bits of a NaN are lost on the way.",
    ),
    Fault(
        "producers-read-their-inputs-when-they-began",
        _RULES + "repeat.py",
        "_Again.questions",
        "start.repeat(self.whole, self.whole)",
        "pass",
        "The producer counts as just begun when it reaches the repeated statement: what it reads of itself is "
        "undefined or old.",
    ),
    Fault(
        "reads-of-the-killers-bounds-forgotten",
        _RULES + "last_write.py",
        "reads_of",
        "if not isinstance(stmt, (Seq, Block)):",
        "if not isinstance(stmt, (Seq, Block, For)):",
        "What the bounds of a later loop read is not looked at: a statement goes whose result a bound reads.",
    ),
    Fault(
        "earlier-iterations-include-this-one",
        _RULES + "last_write.py",
        "earlier_iterations",
        "f.lt(v, now)",
        "f.le(v, now)",
        "A read at the beginning of an iteration is preceded by a write at its end.",
    ),
    # ------------------------------------------------------------------------------------------------ reductions
    Fault(
        "sums-begin-with-positive-zero",
        _RULES + "reduction.py",
        "identity_of",
        '"add": -0.0',
        '"add": 0.0',
        "The identity of float addition is -0.0: partial sums that begin with 0.0 turn a sum of -0.0 into 0.0.",
    ),
    Fault(
        "the-identity-stands-on-either-side",
        _RULES + "reduction.py",
        "Reduction.identity_on_the_left",
        'return self.op in ("and", "or") or (self.buffer.dtype.is_float and self.op in ("min", "max"))',
        "return False",
        "`max(x, -inf)` by select is x but for a NaN in x, and `b and true` evaluates b: the order of the operands "
        "matters.",
    ),
    Fault(
        "maxima-begin-with-the-largest-float",
        _RULES + "reduction.py",
        "identity_of",
        '"max": float("-inf")',
        '"max": -3.4028234663852886e38',
        "The least finite float is no identity of max: a maximum of -inf alone becomes it.",
    ),
    Fault(
        "unsigned-and-begins-with-one-bit",
        _RULES + "reduction.py",
        "identity_of",
        '"bitand": -1 if dtype.min_value < 0 else dtype.max_value',
        '"bitand": -1 if dtype.min_value < 0 else 1',
        "A bitwise and of unsigned integers in groups keeps the lowest bit alone.",
    ),
    Fault(
        "what-the-maximum-begins-with-may-be-nan",
        _RULES + "reduction.py",
        "Reduction._comparable",
        '            (f"no element of {name} that the {self.op} begins with", old.value, old.defined),\n',
        "",
        "A NaN in the result before the reduction is dropped in one order and kept in another.",
    ),
    Fault(
        "updates-may-read-their-element-elsewhere",
        _RULES + "reduction.py",
        "_problem",
        "reads = [n for n in walk(nest) if isinstance(n, Load) and n.buffer.data is old.data]",
        "reads = [n for n in walk(nest) if isinstance(n, Load) and n.buffer is old]",
        "A term that reads the result through another view of its block is no term of a reduction; in another order it "
        "reads something else.",
    ),
    Fault(
        "a-group-belongs-to-no-element",
        _RULES + "reassociate.py",
        "Reassociate._questions",
        "same = [f.eq(y, encoder.value(x)) for y, x in zip(target, found.store.indices, strict=True)]",
        "same = [f.eq(y, y) for y, x in zip(target, found.store.indices, strict=True)]",
        "The terms of B[0] are summed in a group that is added to B[1].",
    ),
    # ------------------------------------------------------------------------------------------------- functions
    Fault(
        "a-buffer-may-be-passed-twice",
        _RULES + "arguments.py",
        "argument_problem",
        "if arguments.buffers.count(a) > 1:",
        "if arguments.buffers.count(a) > 2:",
        "f(A, A) where f writes one of them is refined as if the parameters were apart (the question about overlap "
        "then decides).",
    ),
    Fault(
        "data-passed-as-an-index",
        "verified_tir/elaborate/calls.py",
        "_expanded",
        "elif any(n in data or _of_memory(n) for n in walk(argument)):",
        "elif any(_of_memory(n) for n in walk(argument)):",
        "A let of a load is passed as a scalar: in the callee its arithmetic may not overflow, in the caller it wraps.",
    ),
    Fault(
        "strides-of-an-argument-forgotten",
        _RULES + "arguments.py",
        "fits",
        "if a.strides and _written(programs, p):",
        "if a.strides and not _written(programs, p):",
        "A view whose strides fold two indices into one element is passed to a function that writes it.",
    ),
    # -------------------------------------------------------------------------------- the program, and discharge
    Fault(
        "the-condition-of-a-while-is-safe-at-first",
        _KERNEL + "entry.py",
        "_visit",
        "here.repeat(stmt, stmt.body)",
        "pass",
        "A program is called meaningful though the condition of its while loop runs out of bounds after a round.",
    ),
    Fault(
        "blocks-may-read-through-a-view",
        "verified_tir/elaborate/claims.py",
        "_regions",
        "if declared is None or a.buffer is None or",
        "if declared is None or a.buffer not in {r.buffer for r in declared} or",
        "What a block touches of buffers that it does not declare at all is not looked at.",
    ),
    Fault(
        "unknown-counts-as-proved",
        _KERNEL + "obligation.py",
        "discharge",
        "    if isinstance(verdict, Proved):\n        return [Discharged(",
        '    if type(verdict).__name__ != "Refuted":\n        return [Discharged(',
        "What the solver gave up on counts as proved.",
    ),
    Fault(
        "one-of-several-other-ways-is-enough",
        _KERNEL + "obligation.py",
        "discharge",
        "        if failed is not None:\n            return done, failed\n",
        "        if failed is None:\n            return done, None\n",
        "Of the questions that together take the place of one that failed, the first that is proved will do: one "
        "conflicting pair keeps its order, so all do.",
    ),
    Fault(
        "definite-arguments-are-taken-for-granted",
        _KERNEL + "obligation.py",
        "_thorough",
        "inputs_defined=entry.inputs_defined or entry.definite",
        "inputs_defined=True",
        "A theorem that is about all arguments is proved of definite values only: a lemma used on undefined memory.",
    ),
)
