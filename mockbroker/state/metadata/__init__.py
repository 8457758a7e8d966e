"""The metadata of each broker, and its updates, in KRaft and in ZooKeeper mode."""
