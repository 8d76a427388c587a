"""Tactics: the user's primitives and the searches behind them.  Untrusted: the kernel proves whatever they propose."""
