"""From the text of a predicate to its tree: lexer, parser, literals and nodes."""
