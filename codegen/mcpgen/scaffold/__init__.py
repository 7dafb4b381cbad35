"""New projects: a server that runs, is tested, and can follow the specification."""
