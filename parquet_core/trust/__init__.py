"""What of a file's statistics may be believed, and the bounds that are left."""
