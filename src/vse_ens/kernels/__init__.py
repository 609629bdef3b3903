"""Numba kernels: arrays in, counts out. No other package imports numba.

This module exports the argument types only. Importing a kernel's own module imports numba, which takes a second.
"""

from vse_ens.kernels.arrays import Csr as Csr
from vse_ens.kernels.arrays import Features as Features
from vse_ens.kernels.arrays import Sampling as Sampling
from vse_ens.kernels.arrays import SharedTables as SharedTables
from vse_ens.kernels.arrays import Step as Step
