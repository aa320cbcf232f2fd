"""Random numbers: the generator, factories, samples in place."""
