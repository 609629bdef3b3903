"""Readers of NUS-WIDE, IAPR TC-12 and Open Images as they are published: ``vse data nuswide`` and the like."""
