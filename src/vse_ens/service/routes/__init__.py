"""HTTP operations, one module per topic."""

from vse_ens.service.label_studio import routes as label_studio
from vse_ens.service.routes import catalog, feedback, find, images, ops, predict, ranking, rules

TOPICS = (predict, ranking, catalog, find, images, feedback, rules, ops, label_studio)
"""The most frequent first: routes are compared in this order."""
