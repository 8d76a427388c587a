"""The validator: terms, rows, normal forms, comparison, and its reading of LLVM IR.

It is the independent opinion; what it calls equal although it is not, nobody else will look at.
"""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.fault import Fault

_VALIDATE = "verified_tir/validate/"
_LLVM = "verified_tir/validate/llvm/"

FAULTS: Final[tuple[Fault, ...]] = (
    # --------------------------------------------------------------------------------------------------- terms
    Fault(
        "adding-zero-changes-nothing",
        _VALIDATE + "operators.py",
        "Builder._float_identities",
        "_take(result, (y == zero) & (terms.flags[x] & MAY_NEGATIVE_ZERO == 0), x)",
        "_take(result, y == zero, x)",
        "x + 0.0 is x, also for -0.0: programs that differ there are equal.",
    ),
    Fault(
        "a-nan-equals-itself",
        _VALIDATE + "operators.py",
        "Builder._identities",
        "same &= known[a] & MAY_NAN == 0",
        "same &= known[a] & MAY_UNDEF == 0",
        "x == x is true; of a NaN it is not.",
    ),
    Fault(
        "zero-times-undef-is-zero",
        _VALIDATE + "operators.py",
        "Builder._identities",
        "_take(result, ((a == zero) | (b == zero)) & ((known[a] | known[b]) & MAY_UNDEF == 0), zero)",
        "_take(result, (a == zero) | (b == zero), zero)",
        "0 * undef is 0, where programs have undef: what comes after is more defined than it is.",
    ),
    Fault(
        "narrow-integers-come-back",
        _VALIDATE + "operators.py",
        "_keeps",
        "return wide.is_int and wide.bits >= narrow.bits",
        "return wide.is_int",
        "int32(int8(x)) is x.",
    ),
    Fault(
        "minimum-chooses-equal-ones-from-the-left",
        _VALIDATE + "operators.py",
        "Builder.binary",
        'self.binary("lt", dtype, a, b) if op == "min"',
        'self.binary("le", dtype, a, b) if op == "min"',
        "min(0.0, -0.0) is 0.0.",
    ),
    Fault(
        "a-choice-of-the-other-arm",
        _VALIDATE + "operators.py",
        "Builder.choose",
        "b = np.where(nested, terms.columns[3, b], b)",
        "b = np.where(nested, terms.columns[2, b], b)",
        "In c ? x : (c ? y : z) the inner choice is y instead of z.",
    ),
    Fault(
        "differences-without-order",
        _VALIDATE + "normal.py",
        "Normaliser._atom",
        'if op in ("eq", "add", "mul"):',
        'if op in ("eq", "add", "sub", "mul"):',
        "x - y and y - x of floats are one normal form.",
    ),
    Fault(
        "what-may-be-undefined-cancels",
        _VALIDATE + "normal.py",
        "Normaliser._polynomial",
        "return {m: k for m, k in total.items() if k != 0 or any(self._doubtful[atom] for atom in m)}",
        "return {m: k for m, k in total.items() if k != 0}",
        "x - x is 0 where x may be undef.",
    ),
    Fault(
        "summands-counted-once",
        _VALIDATE + "summands.py",
        "_summands",
        "found[operand] = found.get(operand, 0) + often",
        "found[operand] = 1",
        "x + x + y and x + y + y are sums of the same summands.",
    ),
    Fault(
        "z3-need-not-keep-definedness",
        _VALIDATE + "solve.py",
        "Question.equal",
        "logic.implies(there, logic.and_(here, logic.eq(x, y)))",
        "logic.implies(logic.and_(there, here), logic.eq(x, y))",
        "A result that becomes undefined is equal.",
    ),
    # ---------------------------------------------------------------------------------------------- execution
    Fault(
        "a-row-may-write-what-another-read",
        _VALIDATE + "memory.py",
        "note_write",
        "bad = ((w >> ROW_BITS == serial) & (w != keys)) | ((r >> ROW_BITS == serial) & (r != keys))",
        "bad = (w >> ROW_BITS == serial) & (w != keys)",
        "Iterations run at once though a later statement of one writes what an earlier statement of another reads.",
    ),
    Fault(
        "two-rows-may-write-one-element",
        _VALIDATE + "memory.py",
        "note_write",
        "bad |= now != keys",
        "bad |= np.zeros(bad.shape, dtype=np.bool_)",
        "Of two rows that store to one element in one statement the last one stays, whichever it is.",
    ),
    Fault(
        "else-stores-under-the-condition",
        _VALIDATE + "execute.py",
        "Executor._branch",
        "for arm, holds in ((then, True), (otherwise, False)):",
        "for arm, holds in ((then, True), (otherwise, True)):",
        "Where a condition depends on data, the else branch stores where it holds.",
    ),
    Fault(
        "initialised-at-every-iteration",
        _VALIDATE + "execute.py",
        "Executor._instances",
        "first = first & (value == start)",
        "first = first & (value >= start)",
        "The initialisation of a reduction runs each time, and only the last term counts; in both programs alike.",
    ),
    Fault(
        "one-past-the-end-is-inside",
        _VALIDATE + "access.py",
        "Access._addresses",
        "wrong = (index < 0) | (index >= extent)",
        "wrong = (index < 0) | (index > extent)",
        "An access past the end of a row reads the next row.",
    ),
    Fault(
        "rows-share-what-they-allocate",
        _VALIDATE + "execute.py",
        "Executor._allocate",
        "frame.bases[buffer.data] = np.arange(frame.count, dtype=np.int64) * span",
        "frame.bases[buffer.data] = np.zeros(frame.count, dtype=np.int64)",
        "The local buffers of all iterations are one.",
    ),
    Fault(
        "a-store-sees-itself-on-demand",
        _VALIDATE + "demand/versions.py",
        "Versions.find",
        "np.searchsorted(self._keys, self._key(address, time)) - 1",
        'np.searchsorted(self._keys, self._key(address, time), side="right") - 1',
        "An element read by the statement that stores to it is what is stored; found only where two things happen at "
        "one time.",
    ),
    # ---------------------------------------------------------------------------------------------- comparison
    Fault(
        "what-became-undefined-is-equal",
        _VALIDATE + "compare.py",
        "compare",
        "same, free = a == b, a == UNDEF_ID",
        "same, free = a == b, (a == UNDEF_ID) | (b == UNDEF_ID)",
        "An element that is undefined after, and was not before, is no difference.",
    ),
    Fault(
        "zero-padding-is-not-owed",
        _VALIDATE + "compare.py",
        "compare",
        'if other.padding is not None and other.padding != "undef":',
        'if other.padding and other.padding != "undef":',
        "Padding that should hold 0.0 is not looked at, as 0.0 is falsy.",
    ),
    Fault(
        "undefined-behaviour-of-before-is-compared-with-itself",
        _VALIDATE + "compare.py",
        "extra_events",
        "for guard, condition in after.events",
        "for guard, condition in before.events",
        "Undefined behaviour that only *after* has is not noticed.",
    ),
    Fault(
        "opaque-calls-in-any-order",
        _VALIDATE + "validator.py",
        "_memories",
        "if second.world != first.world:",
        "if (second.world is None) != (first.world is None):",
        "Calls may change places, be left out or made twice.",
    ),
    Fault(
        "empty-sizes-settle-a-pair",
        _VALIDATE + "pairs.py",
        "_shows",
        "    if any(report.sizes.get(name) == 0 for name in extents(before)):\n        return False\n",
        "",
        "Programs are equal at sizes at which nothing runs.",
    ),
    # ------------------------------------------------------------------------------------------------- LLVM IR
    Fault(
        "products-never-overflow-in-llvm",
        _LLVM + "integers.py",
        "_known",
        'if "nsw" in flags:',
        'if "nsw" in flags and op != "mul":',
        "mul nsw of large numbers is a number, and not poison.",
    ),
    Fault(
        "arithmetic-shifts-are-logical-in-llvm",
        _LLVM + "integers.py",
        "_known",
        'return x >> y if op == "lshr" else (signed(bits, x) >> y) & mask',
        "return x >> y",
        "ashr of a negative number is a large positive one.",
    ),
    Fault(
        "signed-comparisons-are-unsigned-in-llvm",
        _LLVM + "integers.py",
        "Integers.compare",
        '            if word[0] == "s":\n                x, y = signed(bits, x), signed(bits, y)\n',
        "",
        "icmp slt -1, 0 is false.",
    ),
    Fault(
        "division-overflow-is-defined-in-llvm",
        _LLVM + "integers.py",
        "Integers._divide",
        'if code == "int" and y == (1 << bits) - 1 and x == 1 << (bits - 1):',
        'if code == "int" and y == (1 << bits) - 1 and x == 1 << bits:',
        "sdiv of the least integer by -1 is a number.",
    ),
    Fault(
        "equal-though-undefined-in-llvm",
        _LLVM + "bits.py",
        "Question.refines",
        "(=> {there} (and {here} (= {value} {other})))",
        "(=> (and {there} {here}) (= {value} {other}))",
        "Machine code that leaves poison where the program has a value is equal to it.",
    ),
    Fault(
        "right-shifts-of-signed-numbers-are-logical-for-z3",
        _LLVM + "bits.py",
        "",
        '"shr": "bvashr"',
        '"shr": "bvlshr"',
        "A shift of a negative number means another operation in the questions about LLVM IR.",
    ),
    Fault(
        "read-only-parameters-may-be-written",
        _LLVM + "attributes.py",
        "read_attributes",
        'case "readonly":\n                found = replace(found, readonly=True)',
        'case "readonly":\n                found = replace(found, readonly=False)',
        "A false promise to the optimiser is passed over.",
    ),
)
