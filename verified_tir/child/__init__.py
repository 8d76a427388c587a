"""Work in child processes that may be stopped, or die, at any time.

limits     start a child for one request, hear its answers, end it
worker     the child's side
helper     a child that makes one call after another
calls      the child's side
executors  several of these as an executor; work that is handed to any executor, and what becomes of it if a worker dies
"""
