"""Atomic writes of files and directories, and artifacts: directories that are verified when they are read."""
