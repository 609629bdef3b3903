"""Simple drawings of images from their labels, for a page without picture files."""

from vse_ens.data.datasets.scenes.illustrations.draw import ILLUSTRATION_VERSION as ILLUSTRATION_VERSION
from vse_ens.data.datasets.scenes.illustrations.draw import illustrate as illustrate
