"""Evaluation of scorers on held-out labels: rankings, metrics with intervals, and calibrated confidences.

rankings = evaluate(scorer, known, held_out)
report = summarize(rankings)
"""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports

if TYPE_CHECKING:
    from vse_ens.evaluate.rank_model import mean_reciprocal_rank as mean_reciprocal_rank
    from vse_ens.evaluate.rank_model import rank_by_model as rank_by_model
    from vse_ens.evaluate.rankings import Rankings as Rankings
    from vse_ens.evaluate.reliability import Reliability as Reliability
    from vse_ens.evaluate.report import Report as Report
    from vse_ens.evaluate.report import summarize as summarize

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "rank_model": "mean_reciprocal_rank rank_by_model",
        "rankings": "Rankings",
        "reliability": "Reliability",
        "report": "Report summarize",
    },
)
