"""Errors of a placement, an assignment, a selection, and of their settings and files.

Every message contains the actual and the expected value, on one line, so that tools can print it unchanged.
"""

from __future__ import annotations


class KafkaRackError(Exception):
    """Base of every error that the rack logic raises about its input."""


class InvalidReplicationFactorError(KafkaRackError):
    """A replication factor below 1, or above the number of brokers (InvalidReplicationFactorException)."""


class ReplicaPlacementError(KafkaRackError):
    """A placer could not place the replicas (KIP-660's ReplicaPlacementException, REPLICA_PLACEMENT_FAILED)."""


class InvalidPartitionsError(ReplicaPlacementError):
    """A number of partitions below 1 (InvalidPartitionsException)."""


class MissingRackError(ReplicaPlacementError):
    """Some brokers have a rack and some have none (AdminOperationException of KIP-36).

    ``brokers`` are the sorted ids without a rack.
    """

    def __init__(self, brokers: tuple[int, ...]) -> None:
        super().__init__(brokers)  # as args, so it pickles for Spark
        self.brokers = brokers

    def __str__(self) -> str:
        named = ", ".join(str(broker) for broker in self.brokers)
        noun = "broker" if len(self.brokers) == 1 else "brokers"
        return f"{noun} {named} without a rack, while others have one: give every broker a rack, or ignore racks"


class DuplicateBrokerError(ReplicaPlacementError):
    """A repeated broker id."""


class PlacerSettingsError(KafkaRackError):
    """A placer's name, its settings or its state file cannot be used."""


class PartitionAssignorError(KafkaRackError):
    """Members subscribe to something that cannot be assigned (PartitionAssignorException)."""


class SelectionError(KafkaRackError):
    """An invalid replica selector or leader preference."""


class InputError(KafkaRackError):
    """An invalid file or argument of a user; the message says where."""


class UnreadableRegistrationError(KafkaRackError):
    """A reader cannot parse a broker's registration in ZooKeeper."""
