//! The vocabulary of both sides: the ShardingCluster resource, the topology, and what they mean.
