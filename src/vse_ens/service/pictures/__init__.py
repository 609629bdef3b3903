"""Pictures of images: where they are, their thumbnails, and a cache of thumbnails."""

from vse_ens.service.pictures.pictures import PictureService as PictureService
from vse_ens.service.pictures.pictures import PictureSize as PictureSize
