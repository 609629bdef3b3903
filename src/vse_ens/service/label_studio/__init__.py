"""The machine-learning backend API of Label Studio: predictions for tasks, and annotations as feedback."""

from vse_ens.service.label_studio.routes import label_studio_operations as label_studio_operations
