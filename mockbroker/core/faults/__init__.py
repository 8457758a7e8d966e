"""What is to go wrong, and when: faults by rack, link, broker, client, API, topic and group; see docs/faults.md."""

from mockbroker.core.faults.fault import Effect, Fault, FaultError, RackLink, When
from mockbroker.core.faults.faults import FaultHandle, Faults

__all__ = ["Effect", "Fault", "FaultError", "FaultHandle", "Faults", "RackLink", "When"]
