"""Explanation of plans: builds the skip report from a plan and an engine.

`pr.plan` returns `Plan`.
"""
