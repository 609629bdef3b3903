"""Numba kernels, and the only place that imports numba: arrays in, counts out."""
