"""The workload of ordinary predicates: tables, fixtures, and what judges a case."""
