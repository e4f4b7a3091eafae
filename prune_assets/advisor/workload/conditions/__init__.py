"""Conditions as Spark's plans print them, with unquoted constants, back into SQL; what is ambiguous is refused."""
