"""Verdicts of people on suggestions: stored, counted, and turned into pairs."""

from vse_ens.data.feedback.pairs import FeedbackCounts as FeedbackCounts
from vse_ens.data.feedback.pairs import VerdictCounts as VerdictCounts
from vse_ens.data.feedback.pairs import Verdicts as Verdicts
from vse_ens.data.feedback.pairs import apply_feedback as apply_feedback
from vse_ens.data.feedback.pairs import count_feedback as count_feedback
from vse_ens.data.feedback.pairs import export_accepted as export_accepted
from vse_ens.data.feedback.pairs import read_feedback as read_feedback
from vse_ens.data.feedback.store import Event as Event
from vse_ens.data.feedback.store import is_feedback_file as is_feedback_file
