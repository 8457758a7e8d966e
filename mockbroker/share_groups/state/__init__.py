"""Share partitions (KIP-932): acquired records, acknowledgements, sessions and persisted state.

``in_flight`` has the states of records, ``partition`` one share partition at its leader, ``acquiring`` and
``acknowledging`` the operations of members on it, ``coordinator`` the state that share coordinators persist,
``sessions`` the share sessions of a broker, ``share_partitions`` all of these by group and partition.
"""
