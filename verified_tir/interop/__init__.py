"""Other compilers as clients of the validator.  Each subpackage needs an extra of its own."""
