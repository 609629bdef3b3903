"""Export of suggestions, vectors and indexes to files for other programs, and of models to the Hub."""

from vse_ens.export.hub import CardFacts as CardFacts
from vse_ens.export.hub import Pushed as Pushed
from vse_ens.export.hub import download as download
from vse_ens.export.hub import pull as pull
from vse_ens.export.hub import push as push
from vse_ens.export.suggestions import ExportCounts as ExportCounts
from vse_ens.export.suggestions import write_suggestions as write_suggestions
from vse_ens.export.vectors import write_image_vectors as write_image_vectors
from vse_ens.export.vectors import write_label_vectors as write_label_vectors
from vse_ens.export.vectors import write_vectors as write_vectors
