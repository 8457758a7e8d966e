"""A capture's clients, groups and topics under other settings, its rows added up by Spark."""
