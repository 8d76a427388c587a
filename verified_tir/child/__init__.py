"""Work in a child process that may be stopped at any time.

limits     start a child, hear its answers, end it
worker     the child's side
"""
