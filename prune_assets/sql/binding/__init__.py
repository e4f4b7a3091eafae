"""What the names, constants and operands of a tree are in one table and session: columns, literals and terms."""
