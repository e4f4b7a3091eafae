"""What a session is asked for while a plan is made: schemas, values, and what a Column or a name means."""
