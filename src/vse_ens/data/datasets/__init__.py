"""Data sets: the built-in one."""
