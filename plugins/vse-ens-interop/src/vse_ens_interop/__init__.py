"""Data of RecBole, LensKit, MovieLens and the XMC repository: plug-ins of the group `vse_ens.collections`."""
