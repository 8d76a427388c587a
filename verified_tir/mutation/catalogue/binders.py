"""What belongs to one instance is taken for what belongs to another: variables, loads and lanes not renamed apart."""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.fault import Fault

_KERNEL = "verified_tir/kernel/"
_RULES = "verified_tir/kernel/rules/"

FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "inner-loop-variables-shared",
        _KERNEL + "region.py",
        "_Walker.loop",
        "v = fresh(stmt.var.name, f.INT)",
        "v = f.var(stmt.var.name, f.INT)",
        "Two instances are looked at with one value of their inner loops: `for i: for j: A[j] = i` is parallel over i, "
        "since only equal j are compared with equal i, and stores of different j never meet in a reordered nest.",
    ),
    Fault(
        "parameters-called-as-they-like",
        "verified_tir/kernel/begin.py",
        "_free_name",
        "name.isidentifier() and name not in taken",
        "name not in taken",
        "A parameter that the program calls `i!7` is the variable that `fresh` makes for a loop: what is said of one "
        "is said of the other.",
    ),
    Fault(
        "a-parameter-called-as-another-one",
        "verified_tir/kernel/begin.py",
        "_free_name",
        "name.isidentifier() and name not in taken",
        "name.isidentifier()",
        "Two parameters of one name are one variable: that they are equal is always true.",
    ),
    Fault(
        "volatile-loads-shared",
        _KERNEL + "region.py",
        "_Walker.load",
        'value, defined = fresh(buffer.name, sort_of(scalar)), fresh(f"{buffer.name}.def", f.BOOL)',
        'value, defined = f.var(buffer.name, sort_of(scalar)), f.var(f"{buffer.name}.def", f.BOOL)',
        "What two instances load from memory that they write counts as one value: `t[0] = i; if t[0] == i: B[0] = i` "
        "may be reversed, since two different i cannot both equal the one t[0].",
    ),
    Fault(
        "lanes-of-two-stores-shared",
        _KERNEL + "region.py",
        "_Walker.store",
        'lane = fresh("lane", f.INT)',
        'lane = f.var("lane", f.INT)',
        "Two vector stores are compared lane by lane only: stores to B[i:i+4] of neighbouring iterations overlap in "
        "different lanes, and are called disjoint.",
    ),
    Fault(
        "writes-of-the-other-statement-forgotten",
        _KERNEL + "region.py",
        "instance",
        "volatile = {*also_written} if share_loads else {*written_blocks(stmt), *also_written}",
        "volatile = set() if share_loads else set(written_blocks(stmt))",
        "An index that is loaded counts as the same on both sides of a swap, although the other statement stores to "
        "it: `B[P[0]] = 1` changes places with `P[0] = 3; B[2] = 5`.",
    ),
    Fault(
        "unknowns-of-a-killer-not-renamed",
        _RULES + "last_write.py",
        "overwrites",
        "witness = {**solved[0], **run.renamed_apart()}",
        "witness = dict(solved[0])",
        "The condition under which a later statement overwrites is evaluated with what another iteration loaded: a "
        "store is erased as dead although its killer may skip it.",
    ),
    Fault(
        "unknowns-of-an-assumption-not-renamed",
        _KERNEL + "facts.py",
        "Known.instantiate",
        "witness = {**values_of(values, run.inner()), **run.renamed_apart()}",
        "witness = values_of(values, run.inner())",
        "Two assumptions of different iterations share what these iterations loaded: from `assume((A[i] < A[i+1]) == "
        "(t[0] > 0))` with t stored anew each time follows that A is monotone or nowhere so.",
    ),
    Fault(
        "a-map-may-use-what-the-program-binds",
        _RULES + "layout.py",
        "LayoutMap.problem",
        "if v not in variables and v not in in_scope:",
        "if v not in variables and v not in in_scope and not v.dtype.is_int:",
        "A map may mention the variable of a loop inside the allocation: an element then stands elsewhere in each "
        "iteration, though it is one element.",
    ),
    Fault(
        "what-a-function-binds-captures-its-arguments",
        _KERNEL + "calls.py",
        "instantiate",
        "made = go(refresh_binders(func.body)[0])",
        "made, _ = refresh_binders(go(func.body))",
        "An argument that mentions a variable which the function itself binds (a function inlined into a copy of "
        "itself) is captured: the call stores to X[k] for its own k and not for the caller's.",
    ),
    Fault(
        "copies-share-binders",
        _RULES + "reorder.py",
        "_Work.texts",
        "refresh_binders(body)[0] if link.leaf in copied else body",
        "body",
        "The copies of a body that binds something (an inner loop, a local buffer) bind it all; TVM's ConvertSSA "
        "exists for this.  Well-formedness refuses the program.",
        strict=True,
    ),
    Fault(
        "inserted-statement-keeps-its-binders",
        _RULES + "insert.py",
        "Insert.rewrite",
        "added, _ = refresh_binders(self.stmt)",
        "added = self.stmt",
        "A statement can be inserted once, and never where its own variables occur already.",
        strict=True,
    ),
    Fault(
        "repeated-instance-keeps-its-binders",
        _RULES + "repeat.py",
        "_Again.nest",
        "copy, _ = refresh_binders(self.source)",
        "copy = self.source",
        "What runs again binds what it bound before: no producer with an inner loop is computed at its consumer.",
        strict=True,
    ),
    Fault(
        "copy-out-keeps-the-binders-of-copy-in",
        _RULES + "stage.py",
        "Stage._copies",
        "return inwards, refresh_binders(outwards)[0]",
        "return inwards, outwards",
        "The loops that copy in and those that copy out have the same variables; both at once are refused.",
        strict=True,
    ),
)
