"""Kinds of evidence; each module returns outcome sets of containers."""
