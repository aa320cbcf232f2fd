"""Reading and writing at indices and masks."""
