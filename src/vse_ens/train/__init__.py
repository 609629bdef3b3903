"""Schedules: what is trained, in which order, and when to stop. Calls kernels; never prints."""
