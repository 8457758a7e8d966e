"""What the jobs have to do with Spark itself: sessions, code for workers, the data source, Kafka's connector."""
