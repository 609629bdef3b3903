"""Threads (and later processes and clusters). Does not know what a label is."""
