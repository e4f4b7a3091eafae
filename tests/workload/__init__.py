"""The workload of ordinary predicates: tables, fixtures, and checks of cases."""
