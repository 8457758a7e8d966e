"""Share groups' partitions (KIP-932): records that members have acquired, acknowledgements, sessions, what is kept.

``in_flight`` has the states of records, ``partition`` one share partition as its leader runs it, ``acquiring`` and
``acknowledging`` what members do to it, ``coordinator`` what share coordinators keep, ``sessions`` the share sessions
of a broker, ``share_partitions`` all of it by group and partition.
"""
