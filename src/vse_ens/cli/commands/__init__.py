"""The commands of ``vse``, one per module."""
