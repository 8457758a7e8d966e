"""The same scenarios with every client, beside our cluster and beside real Kafka: docs/compatibility.md.

A client's program is an actor: it takes orders, a line each, and answers each with ``ok ...`` or ``error NAME TEXT``.

    servers ADDRESSES [CLIENT_ID]                      for the orders that follow
    create TOPIC PARTITIONS                            by its admin client, three replicas
    topics                                             the names that its admin client lists
    configure TOPIC NAME VALUE                         set a config; answers the value that it then reads
    delete TOPIC
    produce TOPIC COMPRESSION RECORD ...               answers PARTITION/OFFSET of each record
    transact ID TOPIC commit|abort RECORD ...          one transaction, of a producer that is kept by its id
    open NAME TOPIC GROUP [SETTING=VALUE ...]          a consumer that reads on by itself from the beginning
    holds NAME COUNT                                   waits until it has so many partitions
    read NAME COUNT                                    waits for so many more records; answers them with their offsets
    commit NAME                                        what was answered so far
    close NAME                                         it leaves its group

A record is PARTITION/KEY/VALUE/HEADER=VALUE,... as it is sent, and PARTITION/OFFSET/KEY/VALUE/HEADERS as it was read;
its parts are of letters, digits and dashes, the headers may be missing. Settings of ``open``: ``protocol`` (classic,
consumer, share), ``rack``, ``isolation`` (read_committed).
"""
