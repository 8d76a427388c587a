"""Lowering: passes from a scheduled program to one that the code generator takes.

passes                    what a pass and a pipeline are
expression                pipelines as text
pipelines                 pipelines by name
one file for each pass    the pass's name in small letters
"""
