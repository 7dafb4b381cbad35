"""Recording a session while it is passed through.

What comes is forwarded first and looked at later: `stdio` and `proxy` pass bytes on and
put them into a `backlog`, from which a thread of its own takes them, cuts them into
frames and writes those down (`session`, `exchanges`, `book`).
"""
