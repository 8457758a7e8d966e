"""How a client of Kafka reaches a cluster, by Kafka's client properties: whom it trusts, who it is."""
