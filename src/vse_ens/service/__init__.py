"""The HTTP service (`vse serve`): predictions, feedback and a web page; see docs/service.md.

`vse_ens.service.app.create_app` and `vse_ens.service.server.run` need the extra ``vse-ens[service]``.
"""

from vse_ens.data.feedback.verdicts import Feedback as Feedback
from vse_ens.data.feedback.verdicts import ImageVerdicts as ImageVerdicts
from vse_ens.service.settings import Limits as Limits
from vse_ens.service.settings import Settings as Settings
