"""From what was written to what the kernel speaks of: calls and blocks expanded, the claims of blocks proved."""
