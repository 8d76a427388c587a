"""The rules of the kernel, one file each.  A rule computes the new program and the questions that it owes."""
