"""HTTP operations, one module per topic."""

from vse_ens.service.routes import catalog, feedback, find, images, ops, predict, ranking, rules

TOPICS = (predict, ranking, catalog, find, images, feedback, rules, ops)
"""The most frequent first: routes are compared in this order."""
