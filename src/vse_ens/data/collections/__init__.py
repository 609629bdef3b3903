"""Collections as people have them: folders of tagged images, annotation files, catalogs."""

from vse_ens.data.collections.base import Collection as Collection
from vse_ens.data.collections.base import FileChange as FileChange
from vse_ens.data.collections.base import Item as Item
from vse_ens.data.collections.base import LabelEdit as LabelEdit
from vse_ens.data.collections.base import OpenOptions as OpenOptions
from vse_ens.data.collections.base import WritableCollection as WritableCollection
from vse_ens.data.collections.detect import Glance as Glance
from vse_ens.data.collections.detect import open_collection as open_collection
