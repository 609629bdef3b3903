"""HTTP routes, one module per topic."""

from vse_ens.service.routes.catalog import catalog_router as catalog_router
from vse_ens.service.routes.export import export_router as export_router
from vse_ens.service.routes.feedback import feedback_router as feedback_router
from vse_ens.service.routes.find import find_router as find_router
from vse_ens.service.routes.images import images_router as images_router
from vse_ens.service.routes.ops import ops_router as ops_router
from vse_ens.service.routes.page import add_page as add_page
from vse_ens.service.routes.pictures import pictures_router as pictures_router
from vse_ens.service.routes.predict import predict_router as predict_router
from vse_ens.service.routes.ranking import ranking_router as ranking_router
from vse_ens.service.routes.rules import rules_router as rules_router
