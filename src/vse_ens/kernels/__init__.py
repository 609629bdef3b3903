"""Numba kernels: arrays in, counts out. No other package imports numba.

`benchmarks/paper/reference.py` is the method in plain NumPy, to read with the paper at hand. Start there; then
`vse_ens.kernels.samplers`, `vse_ens.kernels.losses`, and a training kernel such as `vse_ens.kernels.sgd`.

This module exports the argument types only. Importing a kernel's own module imports numba, which takes a second.
"""

from vse_ens.kernels.arrays import Csr as Csr
from vse_ens.kernels.arrays import Features as Features
from vse_ens.kernels.arrays import Sampling as Sampling
from vse_ens.kernels.arrays import SharedTables as SharedTables
from vse_ens.kernels.arrays import Step as Step
from vse_ens.kernels.arrays import TrainingArrays as TrainingArrays
