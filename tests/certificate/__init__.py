"""Certificates: writing, checking, tampering, replaying."""
