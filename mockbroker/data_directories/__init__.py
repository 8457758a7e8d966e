"""A cluster in a directory: one file per log, and one for the cluster's metadata; docs/cluster.md.

``storage.py`` is the entry, ``directory.py`` the lock, ``log_file.py`` one file; ``disk_log.py`` and ``disk_store.py``
are the logs of partitions, ``metadata_log.py`` is the log of Kafka's metadata records.
"""

from __future__ import annotations

from mockbroker.parts import OptionalPart

PART = OptionalPart(storage="mockbroker.data_directories.storage:Storage")
