"""Mutants that change nothing of what is accepted, with the reason.

Code of which a change makes no difference goes, if it can.  What stays saves time, or says more plainly what a reader
must believe; there are few of them, and a test holds their number.
"""

from __future__ import annotations

from typing import Final

SAVES_TIME = "saves time: what is left out then has no part in it"
PLACES = "only readers are told where it is"
ASKS_MORE = "saves a question whose answer is yes"
ASKS_AT_ONCE = "asks at once what is asked when one question for all fails"

EQUIVALENT: Final[dict[str, str]] = {
    "access:conflicts:drop-operand:5": "asks a question twice",
    "access:conflicts:drop-statement:1": "asks a question twice",
    "access:happens_before:drop-statement:3": "what comes after the places part decides nothing",
    "access:happens_before:never-branch:3": "what comes after the places part decides nothing",
    "begin:entered:drop-operand:1": "two buffers of a block are several views",
    "context:Context.evaluated:drop-statement:1": "of this unknown nothing else is known",
    "context:Context.inside:always-branch:1": SAVES_TIME,
    "context:Context.inside:always-branch:2": SAVES_TIME,
    "context:Context.inside:always-branch:3": SAVES_TIME,
    "context:Context.inside:next-number:1": SAVES_TIME,
    "context:Context.inside:next-number:2": SAVES_TIME,
    "context:Context.ran:drop-filter:2": "versions of blocks that end with the statement are seen by nobody",
    "context:Context.usable:always-branch:1": SAVES_TIME,
    "context:Context.usable_facts:drop-filter:1": "what a sum leaves in a licensed block is an unknown",
    "facts:Known.inside:drop-operand:3": "asks without facts, too, what is asked with them",
    "race_free:no_conflict_between_iterations:next-number:1": "both runs are arbitrary",
    "race_free:race_questions:always-branch:2": SAVES_TIME,
    "race_free:race_questions:shared-binder:1": "what is known of two more iterations does no harm inside of the loop",
    "region:_Walker.load:flip-constant:1": "nobody asks whether what an access loaded is data",
    "reaching_definitions:_still_there:drop-operand:2": SAVES_TIME,
    "rules.common:evaluated_safely:always-branch:1": ASKS_MORE,
    "rules.erase:Erase._dead_stores:shared-binder:1": "what comes later does not see a dead store",
    "rules.erase:Erase._dead_stores:drop-statement:1": "what comes later does not see a dead store",
    "rules.last_write:dead_stores:drop-filter:1": SAVES_TIME,
    "rules.last_write:overwrites:drop-filter:1": SAVES_TIME,
    "rules.last_write:with_past:drop-filter:1": SAVES_TIME,
    "rules.layout:masked_lanes_safe:always-branch:1": SAVES_TIME,
    "rules.padding:holds_value:drop-conjunct:1": "of an element that may be undefined no value is known",
    "rules.recompute:Recompute.rewrite:shared-binder:2": "what P writes is unknown at each moment of P",
    "rules.recompute:Recompute.rewrite:swap-comparison:1": "the statements are two, so no index is the other",
    "rules.rewrite:Rewrite.rewrite:drop-keyword:1": SAVES_TIME,
    "rules.rewrite:_parts:drop-filter:1": ASKS_MORE,
    "rules.same:bare:always-branch:1": SAVES_TIME,
    "rules.skeleton:filled:always-branch:3": SAVES_TIME,
    "rules.skeleton:safely:drop-filter:1": ASKS_MORE,
    "theorem:_apply:drop-keyword:1": "what was asked is forgotten, which frees memory",
    "theorem:_questions:drop-operand:1": ASKS_MORE,
    "theorem:licensed:always-branch:4": SAVES_TIME,
    "theorem:licensed:drop-union:1": SAVES_TIME,
    "rules.reorder:_Work._in_order:always-branch:2": ASKS_AT_ONCE,
    "rules.reorder:_Work._in_order:drop-operand:1": ASKS_MORE,
    "rules.reorder:_Work._in_order:drop-operand:2": ASKS_MORE,
    "rules.reorder:_Work._in_order:drop-operand:3": ASKS_AT_ONCE,
    "rules.reorder:_Work._in_order:drop-operand:4": ASKS_AT_ONCE,
    "rules.reorder:_Work._in_order:flip-truth:2": "asks what fails before it asks the rest",
    "rules.reorder:_Work._in_order:never-branch:1": ASKS_MORE,
    "rules.reorder:_Work._in_order:never-branch:2": "asks what fails before it asks the rest",
    "rules.reorder:_Work._not_shared:swap-operator:1": ASKS_MORE,
    "rules.reorder:_Work._not_shared:drop-conjunct:1": ASKS_MORE,
    "rules.reorder:_Work._not_shared:drop-conjunct:2": ASKS_MORE,
    "rules.reorder:_Work._not_shared:always-branch:3": ASKS_MORE,
    "rules.reorder:_Work._reached:drop-filter:1": ASKS_MORE,
    "rules.reorder:_Work._reached:always-branch:2": ASKS_MORE,
    "rules.reorder:_within:swap-operator:1": PLACES,
}
"""Why a mutant, by its id, is none."""
