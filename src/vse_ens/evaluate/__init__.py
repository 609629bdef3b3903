"""Evaluation of scorers on held-out labels: rankings, metrics with intervals, and calibrated confidences.

rankings = evaluate(scorer, known, held_out)
report = summarise(rankings)
"""

from vse_ens.evaluate.rank import evaluate as evaluate
from vse_ens.evaluate.rank import mean_metrics as mean_metrics
from vse_ens.evaluate.rankings import Rankings as Rankings
from vse_ens.evaluate.reliability import Reliability as Reliability
from vse_ens.evaluate.reliability import expected_calibration_error as expected_calibration_error
from vse_ens.evaluate.report import Report as Report
from vse_ens.evaluate.report import summarise as summarise
from vse_ens.evaluate.scorer import FunctionScorer as FunctionScorer
from vse_ens.evaluate.scorer import Scorer as Scorer
