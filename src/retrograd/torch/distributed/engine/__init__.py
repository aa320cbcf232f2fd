"""What joins processes, below the names of `torch.distributed`; it knows arrays, not tensors.

| module | holds |
|---|---|
| `connections` | sockets: how processes meet, and the process that watches them |
| `watch` | what a process hears of the others |
| `progress` | transfers under way |
| `world` | a group: checked collectives and messages, deadlines, errors |
| `mpi` | what moves arrays, by MPI; the group of all |
| `processes` | the processes of a run on this machine, which a launcher starts |
"""
