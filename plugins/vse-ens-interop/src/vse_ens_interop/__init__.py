"""Data of CVAT, Hydrus, RecBole, LensKit, MovieLens and the XMC repository, as plug-ins for `vse_ens.collections`."""
