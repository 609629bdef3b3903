"""Numba kernels: arrays in, counts out. No other package imports numba.

`benchmarks/paper/reference.py` is the method in plain NumPy, to read with the paper at hand. Start there; then
`vse_ens.kernels.samplers`, `vse_ens.kernels.losses`, and a training kernel such as `vse_ens.kernels.sgd`.

Their arguments are in `vse_ens.kernels.arrays`. Importing any other module here imports numba, which takes a second.
"""
