"""Data of data sets and recommenders in the formats of other programs, as plug-ins for `vse_ens.collections`."""
