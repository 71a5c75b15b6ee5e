"""Executors, which train: functions that take cells and a listener, and yield results.

- `choice`: executors by name, with the number of workers and the time limit
- `crew_size`: the number of workers where nobody says one
- `events`: what an executor tells: started, points, done
- `inline`: cells one after another, in this process
- `processes`: cells on worker processes of this machine
- `fork_server`: where worker processes come from
- `worker`: a process that trains cells until its pipe closes
- `ray/`: cells on a Ray cluster
"""
