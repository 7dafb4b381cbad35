"""The hand-written runtime: what wires generated handlers to a connection.

So far its first room: `jsonrpc`, the frames. Peers, eras, servers and transports follow.
"""
