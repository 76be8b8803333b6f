"""Measures what a user would pick instead, beside the same C loop: the drivers are in ../../Peers."""
