"""Workloads of real queries: the filters, columns and bytes of each table's scans."""
