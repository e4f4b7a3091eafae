"""Functions of one value, as Spark computes them: one a file, inverted by evaluating them forwards.

A file has a function that returns a `function.Function` for the type of its argument; `calls.CALLS` names it.
"""
