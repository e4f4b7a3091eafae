"""Java and Spark sessions: finds or starts them.

`queries/` reads schemas, values and meanings from a session.
"""
