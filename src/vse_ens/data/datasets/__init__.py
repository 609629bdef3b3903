"""Data sets: the built-in one, and loaders of published ones."""

from vse_ens.data.datasets.iaprtc12 import read_iaprtc12 as read_iaprtc12
from vse_ens.data.datasets.nuswide import read_nuswide as read_nuswide
from vse_ens.data.datasets.openimages import read_openimages as read_openimages
