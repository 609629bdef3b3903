"""Atomic writes of files and directories, and artifacts: directories that are verified when they are read."""

from vse_ens.storage.artifact import ARRAYS as ARRAYS
from vse_ens.storage.artifact import MANIFEST as MANIFEST
from vse_ens.storage.artifact import ArtifactSpec as ArtifactSpec
from vse_ens.storage.atomic import open_atomic as open_atomic
from vse_ens.storage.atomic import remove_dir as remove_dir
from vse_ens.storage.atomic import replace_dir as replace_dir
from vse_ens.storage.atomic import replace_file as replace_file
from vse_ens.storage.atomic import replace_files as replace_files
from vse_ens.storage.atomic import reserve as reserve
from vse_ens.storage.atomic import sync_dir as sync_dir
from vse_ens.storage.atomic import write_bytes as write_bytes
from vse_ens.storage.atomic import write_json as write_json
from vse_ens.storage.atomic import write_text as write_text
from vse_ens.storage.reader import ArtifactReader as ArtifactReader
from vse_ens.storage.reader import read_artifact as read_artifact
from vse_ens.storage.writer import ArtifactWriter as ArtifactWriter
from vse_ens.storage.writer import write_artifact as write_artifact
