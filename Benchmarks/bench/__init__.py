"""Measures the workloads beside their references and writes a table: see ../README.md."""
