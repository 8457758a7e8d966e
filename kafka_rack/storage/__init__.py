"""Where captures are read from and tables are written to: folders of this machine, and whatever else has a URL.

``location("s3a://bucket/trace")`` gives an object with the methods of ``pathlib.Path`` that the jobs need, and
``location("trace")`` a Path itself. Workers have no JVM and so no Hadoop: what is not local is reached by pyarrow's
file systems, with the settings that the driver read from its session.
"""

from kafka_rack.storage.locations import Location, location, matching, named_url
from kafka_rack.storage.remote import RemoteFile, RemotePath
from kafka_rack.storage.settings import StorageSettings, current_settings, use_settings

__all__ = [
    "Location",
    "RemoteFile",
    "RemotePath",
    "StorageSettings",
    "current_settings",
    "location",
    "matching",
    "named_url",
    "use_settings",
]
