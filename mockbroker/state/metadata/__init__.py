"""What each broker knows of the cluster, and how it comes to know it, in KRaft and in ZooKeeper mode."""
