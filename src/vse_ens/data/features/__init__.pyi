from vse_ens.data.features.attach import attach_features as attach_features
from vse_ens.data.features.attach import plain_features as plain_features
from vse_ens.data.features.nearby import group_features as group_features
from vse_ens.data.features.nearby import nearby_features as nearby_features
from vse_ens.data.features.read import read_features as read_features
from vse_ens.data.features.read import read_scores as read_scores
from vse_ens.data.features.table import FeatureTable as FeatureTable
