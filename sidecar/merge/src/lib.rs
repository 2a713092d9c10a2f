//! Rows of many shards become one result: streaming k-way merge, aggregates, limits. Pure.
