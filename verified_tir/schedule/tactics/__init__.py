"""Tactics: what the user's primitives do.  Untrusted: they search, guess and ask the kernel for rules."""
