"""Python as it is where only the base of verified_tir is installed: what the extras bring is not found."""

import os
import sys
from importlib.machinery import PathFinder


class WithoutExtras(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.partition(".")[0] in os.environ["VTIR_TESTS_ABSENT"].split()
        return None if absent else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutExtras
