"""A cluster in a directory: one file a log, and one for the cluster's metadata; docs/cluster.md.

An optional part: ``adapters/server.py`` imports it once a data directory is requested, and nothing else does.
``storage.py`` is the entry, ``directory.py`` the lock, ``log_file.py`` one file; ``disk_log.py`` and ``disk_store.py``
are the logs of partitions, ``metadata_log.py`` is the log of Kafka's metadata records.
"""
