"""Uses of a trained model: suggestions, explanations, search and label audits."""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports

if TYPE_CHECKING:
    from vse_ens.curate.audit.audit import Audit as Audit
    from vse_ens.curate.audit.audit import audit_labels as audit_labels
    from vse_ens.curate.audit.audit import audit_rows as audit_rows
    from vse_ens.curate.audit.wrong import total_step_size as total_step_size
    from vse_ens.curate.explain import Explanation as Explanation
    from vse_ens.curate.label_ranking import ImageScan as ImageScan
    from vse_ens.curate.label_ranking import LabelRanker as LabelRanker
    from vse_ens.curate.search import FoundImages as FoundImages
    from vse_ens.curate.search import Neighbors as Neighbors
    from vse_ens.curate.search import Searcher as Searcher
    from vse_ens.curate.suggest import explain_label as explain_label
    from vse_ens.curate.suggest_remote import RemoteSuggester as RemoteSuggester
    from vse_ens.curate.verdict_calibration import calibrated as calibrated
    from vse_ens.curate.verdict_calibration import reliability_of as reliability_of
    from vse_ens.curate.verdict_calibration import suggestions_to_judge as suggestions_to_judge
    from vse_ens.curate.verdict_calibration import with_verdicts as with_verdicts

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "audit.audit": "Audit audit_labels audit_rows",
        "audit.wrong": "total_step_size",
        "explain": "Explanation",
        "label_ranking": "ImageScan LabelRanker",
        "search": "FoundImages Neighbors Searcher",
        "suggest": "explain_label",
        "suggest_remote": "RemoteSuggester",
        "verdict_calibration": "calibrated reliability_of suggestions_to_judge with_verdicts",
    },
)
