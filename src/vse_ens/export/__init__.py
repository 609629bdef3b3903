"""Export of suggestions and vectors to files for other programs."""

from vse_ens.export.suggestions import ExportCounts as ExportCounts
from vse_ens.export.suggestions import write_suggestions as write_suggestions
from vse_ens.export.vectors import write_image_vectors as write_image_vectors
from vse_ens.export.vectors import write_label_vectors as write_label_vectors
from vse_ens.export.vectors import write_vectors as write_vectors
