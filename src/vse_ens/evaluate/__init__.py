"""Evaluation of scorers on held-out labels: rankings, metrics with intervals, and calibrated confidences.

rankings = evaluate(scorer, known, held_out)
report = summarize(rankings)
"""

from vse_ens.exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
