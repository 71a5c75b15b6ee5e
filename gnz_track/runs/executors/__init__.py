"""TODO of this folder.

- `choice`: executors
- `events`: events that an executor reports while it works, in this order for each cell: started, any number of
  points, done
- `fork_server`: sources of worker processes
- `inline`: the simplest executor: cells one after another, in this process
- `processes`: cells on worker processes of this machine
- `worker`: A process that trains cells until its pipe closes: ``python -m gnz_track.runs.executors.worker
  --pipe FD``
- `ray/`: TODO of this folder
"""
