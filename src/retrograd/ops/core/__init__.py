"""What every family stands on: rules of batches and shapes, arguments, the ops the engine needs."""
