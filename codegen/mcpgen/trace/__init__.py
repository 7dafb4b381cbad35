"""Recording a session while it is passed through.

What comes is forwarded first and looked at later: `stdio`, with its `carrier`, and `proxy`
pass bytes on and note them in a `backlog`, which a `recorder` takes them from. That is a
process of its own, which cuts them into frames and writes those down (`session`,
`exchanges`, `book`).
"""
