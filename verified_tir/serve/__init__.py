"""A playground in the browser: what ``vtir serve`` runs.

reading    steps as text, to calls of primitives; nothing is executed
worker     takes the steps, in a process of its own
limits     what one request may take
server     the pages over HTTP, and who may ask
page/      what the browser gets
"""
