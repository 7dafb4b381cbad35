"""What is wrong in a session: each frame against its version's schema, all against the rules."""
