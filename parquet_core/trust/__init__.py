"""Judgement of statistics: which of a file's may be believed, and the bounds that are left."""
