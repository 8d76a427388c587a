"""What to try, for codes where it does not depend on what the program does at the place.

Fields in braces are filled in: ``step`` is the primitive, ``first`` its first argument, ``loops`` all loops of the
program, ``loop``, ``buffer`` and ``size`` those at the place.
"""

from __future__ import annotations

from typing import Final

ON_STEPS: Final = {
    "VT0209": (
        "declare what the block does: T.reads and T.writes of all that it touches, T.axis.reduce (or R in "
        "T.axis.remap) for an axis along which instances meet in {buffer}; or leave the declaration out"
    ),
    "VT0212": "correct the text at the place that is marked; print(func) shows how it was read",
    "VT0213": "pass what the function of the module takes, in its order; expand it yourself if it returns a value",
    "VT0214": "remove one of the T.assume that contradict each other; no input satisfies all of them",
    "VT0215": "raise Python's limit with sys.setrecursionlimit, or write the lets and allocations less deeply",
    "VT0301": (
        "name one of the loops that there are ({loops}), or use the variable that split, fuse or loops(block) gave"
    ),
    "VT0302": "take the loop that is meant from s.loops(block), and pass that variable instead of the name",
    "VT0303": (
        "take the loops as they are now: s.loops() or s.loops(block); the step that replaced it returned its new ones"
    ),
    "VT0304": "pass a loop: its name ({loops}), or the variable from s.loops(block)",
    "VT0305": "s.blocks lists the names of the blocks; a block is named by T.sblock(…) in the program, or by blockize",
    "VT0306": "give the blocks different names in the program, with T.sblock(…)",
    "VT0307": (
        's.buffers lists the buffers as they are now; a block and ("read", 0) or ("write", 0) name one by its number'
    ),
    "VT0308": "pass the one of s.buffers that is meant, instead of its name",
    "VT0309": "choose one of those that are listed; help(Schedule.{step}) says what it takes",
    "VT0310": "help(Schedule.{step}) says what its arguments are, with their types",
    "VT0311": (
        "choose factors whose product is the extent, or leave one out: None stands for as many as needed, as in "
        "[None, 4]"
    ),
    "VT0312": (
        'take out what stands between the loops first: fission("{loop}") splits the loop there, move_before moves it '
        "away"
    ),
    "VT0313": (
        "make the range independent first: partition or peel the outer loop, or order the loops so that none moves "
        "outside of the one that bounds it"
    ),
    "VT0314": "split the loop by a constant factor and use the inner one, or write the program for a constant {size}",
    "VT0315": (
        "take this step before the loop is marked: {step} first, then bind, parallel or annotate; or unannotate it"
    ),
    "VT0316": "give another name as the last argument",
    "VT0317": (
        "bring both into the order that {step} needs first: reorder, move_before, move_after, fission or compute_at"
    ),
    "VT0318": "copy the parameter, and take the step with the copy: cache_read or cache_write of {buffer}",
    "VT0319": (
        "bring the block into that form first: fission separates statements, decompose_reduction the initialisation"
    ),
    "VT0320": "leave the step out: there is nothing for {step} to change here; or name another block or loop",
    "VT0321": (
        "leave the call where it is, or replace it by something of known effect: an intrinsic with a description "
        "(tensorize)"
    ),
    "VT0322": "take the step before vectorize: {step} first, with one element an iteration",
    "VT0323": (
        "remove the views of {buffer} first, or take the step with a copy that has none: cache_read or cache_write"
    ),
    "VT0324": (
        "bring the nest to the form of the intrinsic: split by its extents, reorder its loops innermost, and "
        "set_scope of its buffers; print(s) shows what it is compared with"
    ),
    "VT0325": (
        'name the buffer that the sum goes into, reassociate="{buffer}", or reassociate before the step that needed '
        "its bits"
    ),
    "VT0326": (
        "choose a map from whose results the indices can be computed, as [i // 4, i % 4]; a constant or a sum loses "
        "them"
    ),
    "VT0327": "name a block or loop that uses {buffer}; s.buffers lists all",
    "VT0328": "use one type: cast with T.cast(…) in the program, or declare the symbols with the type of the loops",
    "VT0329": "assume less: remove what contradicts this, s.assumptions lists what is assumed",
    "VT0330": (
        "give one argument for each dimension, and results that are not negative, as lambda i, j: [i, j // 4, j % 4]"
    ),
    "VT0331": (
        "give a number of the buffer's type, T.undef(), None, or a function of the new indices that reads no other "
        "buffer"
    ),
    "VT0332": "give a condition of type bool over the buffer's own indices, as lambda i, j: A[i, j] >= 0",
    "VT0380": (
        "bring the loops into one nest or one sequence first: reorder, fission, move_before; s.loops() lists them"
    ),
    "VT0381": "remove the annotation that is there already (unannotate), or write it in the form that {step} reads",
    "VT0382": "look at the map and at the shape of {buffer}; its views (T.decl_buffer) and strides must go first",
    "VT0383": "take the copy at a place where one block alone uses {buffer}; s.blocks and s.buffers list what there is",
    "VT0384": (
        "move it step by step: reorder and split the loops, then {step}; what is seen after the end (a parameter) "
        "stays where it is"
    ),
    "VT0385": (
        "bring the reduction to the form B[…] = B[…] + e with its initialisation before it; print(s) shows the nest"
    ),
    "VT0386": "name the block whose branch is meant, or simplify() first; s.blocks lists the blocks",
    "VT0387": (
        "move what the function cannot take into its block first: inline_let, compute_at; print(s) shows the nest"
    ),
    "VT0390": "s.loops(), s.blocks and s.buffers list what there is; a pass may be left out, or taken by hand",
    "VT0411": "write the padding that the result owes, write_padding, or declare it free: pad_value=T.undef() or None",
    "VT0412": (
        "let the map send no two elements of {buffer} to one place, and all of them inside of the shape: keep both "
        "quotient and remainder, as [i // 4, i % 4]"
    ),
    "VT0413": (
        "recompute only where the original has run: choose a loop inside of that of the original, or assume that none "
        "is empty"
    ),
    "VT0416": (
        "pass the function buffers of which every element may be used: cover whole tiles, pad {buffer}, or split evenly"
    ),
    "VT0418": (
        "the view must show the same elements: keep the strides and the offset that the intrinsic assumes, split evenly"
    ),
    "VT0419": (
        "an iteration reads what an earlier one left in {buffer}: leave out sink_allocation, or store to {buffer} first"
    ),
    "VT0420": (
        "take smaller steps: fission the loop into one store each, rfactor a loop whose range depends on no other"
    ),
}
