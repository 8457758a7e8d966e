"""What the cluster was asked, by whom, what became of it, and whether it stayed in its rack: the last so many calls.

``Journal`` is an observer of calls. Read it, filter it, or claim something of it: docs/journal.md.
"""

from mockbroker.core.journal.entry import JournalEntry, Share
from mockbroker.core.journal.filters import FilterError
from mockbroker.core.journal.journal import Journal

__all__ = ["FilterError", "Journal", "JournalEntry", "Share"]
