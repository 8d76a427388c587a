"""Theorems as data: programs, rules and derivations as canonical s-expressions, and theorems made of them again.

notation     how values are spelled: atoms, tuples, forms
codec        from values to text and back, driven by the types of fields
classes      which classes of the kernel have a spelling
theorems     a derivation as data, and what it is in the kernel
statement    what a theorem says, as plain values
assumptions  what a theorem rests on, in sentences

The format is described in ``docs/certificate-format.md``.  Whoever checks a certificate imports this and the kernel,
and nothing that found a proof.
"""
