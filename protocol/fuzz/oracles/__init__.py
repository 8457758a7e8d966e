"""Other codecs as judges: they read our bytes, and write what they read.

>>> from protocol.fuzz.oracles import KioOracle
>>> KioOracle().rewritten("MetadataRequest", 1, bytes.fromhex("0000000100066576656e7473")).hex()
'0000000100066576656e7473'

``KioOracle`` needs kio, ``KafkaPythonOracle`` kafka-python, ``JavaOracle`` a Java of version 17 or newer and the
jars of kafka-clients; none is loaded before it is made.
"""

from .base import Oracle, Unfit
from .java import JavaOracle
from .kafka_python import KafkaPythonOracle
from .kio import KioOracle

__all__ = ["JavaOracle", "KafkaPythonOracle", "KioOracle", "Oracle", "Unfit"]
