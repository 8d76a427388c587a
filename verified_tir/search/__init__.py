"""Where facts about memory are looked for: untrusted, and never believed.

The kernel says which formulas hold (``verified_tir.kernel.facts``); here it is decided for which of them it is asked.
"""
