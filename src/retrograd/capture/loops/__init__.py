"""What a recording does with memory, as loops and as their native code."""
