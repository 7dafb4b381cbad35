"""The servers that are compared: the same tools, as their users would write them.

Each is run as `python PROGRAM TOOL COPIES [PORT]`: with so many copies of one tool, on
stdio or else on HTTP. Nothing else is imported, since starting is measured, too.
"""
