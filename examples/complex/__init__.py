"""Complex-valued models at work: each module has `run(quick)`, which measures, and `draw`."""
