"""Uses of a trained model: suggestions, explanations, search, label audits and label maps."""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Audit": "vse_ens.curate.audit.audit",
        "Finding": "vse_ens.curate.audit.audit",
        "Duplicate": "vse_ens.curate.audit.duplicates",
        "Explanation": "vse_ens.curate.explain",
        "Reason": "vse_ens.curate.explain",
        "FoundImage": "vse_ens.curate.search",
        "Neighbour": "vse_ens.curate.search",
        "Searcher": "vse_ens.curate.search",
        "Suggester": "vse_ens.curate.suggest",
        "Suggestion": "vse_ens.curate.suggest",
        "SuggestOptions": "vse_ens.curate.suggest",
        "RemoteSuggester": "vse_ens.curate.suggest_remote",
    },
)
