"""What sees every op: levels of dual numbers, batches, watchers."""
