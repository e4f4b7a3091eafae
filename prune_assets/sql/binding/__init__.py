"""Bind names, constants and operands of a tree to one table and session: columns, literals and terms."""
