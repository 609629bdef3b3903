"""Uses of a trained model: suggestions, explanations, search, label audits and label maps."""

from vse_ens.curate.audit.audit import Audit as Audit
from vse_ens.curate.audit.audit import Finding as Finding
from vse_ens.curate.audit.duplicates import Duplicate as Duplicate
from vse_ens.curate.explain import Explanation as Explanation
from vse_ens.curate.explain import Reason as Reason
from vse_ens.curate.search import FoundImage as FoundImage
from vse_ens.curate.search import Neighbour as Neighbour
from vse_ens.curate.search import Searcher as Searcher
from vse_ens.curate.suggest import Suggester as Suggester
from vse_ens.curate.suggest import Suggestion as Suggestion
from vse_ens.curate.suggest import SuggestOptions as SuggestOptions
from vse_ens.curate.suggest_remote import RemoteSuggester as RemoteSuggester
