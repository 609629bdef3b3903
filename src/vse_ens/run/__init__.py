"""Threads, pools of workers in this process or on a cluster, and available RAM. Knows nothing about labels."""
