"""Index arithmetic: maps of indices, their inverses, images and padding; simplification under ranges.

Untrusted: the kernel proves what it uses of this again.
"""
