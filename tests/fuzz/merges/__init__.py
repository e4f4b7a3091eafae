"""Random MERGEs, run as written and with the condition of `plan_merge`: both must leave the same table."""
