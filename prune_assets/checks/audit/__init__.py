"""Metadata held against values: every claim that plans rely on, and the values that disprove it.

The door is `audit` of `prune_assets.checks.audit.run`; nothing else is to be imported from here but its report.
"""
