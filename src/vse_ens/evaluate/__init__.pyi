from vse_ens.evaluate.rank_model import mean_reciprocal_rank as mean_reciprocal_rank
from vse_ens.evaluate.rank_model import rank_by_model as rank_by_model
from vse_ens.evaluate.rankings import Rankings as Rankings
from vse_ens.evaluate.reliability import Reliability as Reliability
from vse_ens.evaluate.report import Report as Report
from vse_ens.evaluate.report import summarize as summarize
