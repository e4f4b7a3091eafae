"""Trust in statistics: decide which statistics of a file are trusted, and decode them."""
