"""Evaluation of scorers on held-out labels: rankings, metrics with intervals, and calibrated confidences.

rankings = evaluate(scorer, known, held_out)
report = summarise(rankings)
"""
