"""HTTP routes, one module per topic."""

from vse_ens.service.routes.catalog import catalog_operations as catalog_operations
from vse_ens.service.routes.export import export_operations as export_operations
from vse_ens.service.routes.feedback import feedback_operations as feedback_operations
from vse_ens.service.routes.find import find_operations as find_operations
from vse_ens.service.routes.images import images_operations as images_operations
from vse_ens.service.routes.ops import ops_operations as ops_operations
from vse_ens.service.routes.page import page_routes as page_routes
from vse_ens.service.routes.pictures import pictures_operations as pictures_operations
from vse_ens.service.routes.predict import predict_operations as predict_operations
from vse_ens.service.routes.ranking import ranking_operations as ranking_operations
from vse_ens.service.routes.rules import rules_operations as rules_operations
