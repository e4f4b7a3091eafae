"""Functions of one value, as Spark computes them: one a file, inverted by evaluating them forwards."""
