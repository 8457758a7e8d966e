"""The last calls of a cluster: their clients, how they ended, and if they stayed in their rack.

``Journal`` is an observer of calls. Read it, filter it, or assert properties of it: docs/journal.md.
"""

from mockbroker.core.journal.entry import JournalEntry, Share
from mockbroker.core.journal.filters import FilterError
from mockbroker.core.journal.journal import Journal

__all__ = ["FilterError", "Journal", "JournalEntry", "Share"]
