"""Array backends: functions of arrays alone. Nothing here knows tensors, graphs or derivatives."""
