"""Explains a plan: from it and an engine to the skip report; `Plan` is what `pr.plan` returns."""
