"""Kinds of evidence: each module returns outcome sets for a leaf and containers."""
