"""Numba kernels: arrays in, counts out. No other package imports numba."""
