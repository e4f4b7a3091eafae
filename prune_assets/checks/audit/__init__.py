"""Audit of metadata: compares every claim that plans rely on with the values.

The entry point is `audit` of `prune_assets.checks.audit.run`; other code imports only `audit` and its report.
"""
