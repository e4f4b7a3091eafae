"""Parse the text of a predicate into a tree: lexer, parser, literals and nodes."""
