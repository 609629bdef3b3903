"""Export of suggestions, vectors and indexes to files for other programs, and of models to the Hub."""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports

if TYPE_CHECKING:
    from vse_ens.export.hub import CardFacts as CardFacts
    from vse_ens.export.hub import Pushed as Pushed
    from vse_ens.export.hub import download as download
    from vse_ens.export.hub import push as push
    from vse_ens.export.suggestions import ExportCounts as ExportCounts
    from vse_ens.export.suggestions import SuggestedEdits as SuggestedEdits
    from vse_ens.export.suggestions import format_of as format_of
    from vse_ens.export.suggestions import label_edits as label_edits
    from vse_ens.export.suggestions import suggestion_frame as suggestion_frame
    from vse_ens.export.suggestions import write_suggestions as write_suggestions
    from vse_ens.export.vectors import write_model_vectors as write_model_vectors

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "hub": "CardFacts Pushed download push",
        "suggestions": "ExportCounts SuggestedEdits format_of label_edits suggestion_frame write_suggestions",
        "vectors": "write_model_vectors",
    },
)
