"""The kinds of change, and whom each breaks.

*Breaking for a side* means: an unchanged implementation of the old version, on that
side, facing a peer of the new version,

1. sends something that the peer must refuse,
2. receives something that it cannot read, or
3. calls, or waits for, a method that is no longer there.

Who writes a definition follows from the methods that reach it: params are written by
the sender, results by the handler; the other side reads. From this the verdict of every
change of a shape follows, in terms of which values are allowed:

- fewer values than before (`narrows`): what an old *writer* sends may be refused;
- more values than before (`widens`): an old *reader* may get what it cannot read;
- neither provable (`changes`): both.

Unknown keys are ignored on the wire, so that an optional field may come and go without
breaking anybody, unless the object says what its unknown keys may hold. A definition
that no message reaches breaks nobody, nor does a definition that merely comes or goes:
what uses it says so. Order, descriptions and pointers are not compared.

A verdict is a warning, not a promise: where a proof is missing, the change counts as
breaking.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Effect: TypeAlias = Literal["narrows", "widens", "changes", "none", "computed"]


class Rule(NamedTuple):
    """One kind of change."""

    says: str
    """One line for people."""
    effect: Effect
    """How the verdict follows; where it is `computed`, `says` tells how."""


RULES: Final[dict[str, Rule]] = {
    # --- the protocol as a whole
    "ERA_CHANGED": Rule(
        "connections are opened in another way: breaks both", "computed"
    ),
    "DIALECT_CHANGED": Rule(
        "the schema is written in another JSON Schema dialect", "none"
    ),
    # --- methods
    "METHOD_REMOVED": Rule(
        "gone: a request breaks its senders (refused) and its handlers (never called);"
        " a notification only the handlers that wait for it",
        "computed",
    ),
    "METHOD_ADDED": Rule(
        "new: a request breaks its handlers if no capability tells who has it",
        "computed",
    ),
    "METHOD_KIND_CHANGED": Rule(
        "a request became a notification or the reverse: breaks both", "computed"
    ),
    "METHOD_SENDER_REMOVED": Rule(
        "a side may no longer send it: as METHOD_REMOVED for that direction",
        "computed",
    ),
    "METHOD_SENDER_ADDED": Rule(
        "a further side may send it: as METHOD_ADDED for that direction", "computed"
    ),
    "METHOD_EMBEDDED_CHANGED": Rule(
        "travels inside a result now, or no longer: breaks both", "computed"
    ),
    "METHOD_DEFINITION_CHANGED": Rule(
        "its message is another definition: by comparing the two", "computed"
    ),
    "METHOD_PARAMS_CHANGED": Rule(
        "its params are another definition; the message's field has the verdict",
        "none",
    ),
    "METHOD_PARAMS_REQUIRED_CHANGED": Rule(
        "its params became required or optional; the message's field has the verdict",
        "none",
    ),
    "METHOD_RESULT_ADDED": Rule(
        "a further answer: breaks its senders, unless an old answer covers it",
        "computed",
    ),
    "METHOD_RESULT_REMOVED": Rule(
        "an answer less: breaks its handlers, unless a new answer covers it",
        "computed",
    ),
    "METHOD_RESULTS_REORDERED": Rule("another of its answers is the usual one", "none"),
    "METHOD_GATE_CHANGED": Rule(
        "needs another capability: a new need breaks senders that do not look for it,"
        " a need less the receivers of a request that did not declare it",
        "computed",
    ),
    "METHOD_DEPRECATED": Rule("deprecated now: still works", "none"),
    "METHOD_UNDEPRECATED": Rule("no longer deprecated", "none"),
    "METHOD_DEPRECATION_CHANGED": Rule(
        "deprecated for another reason, or with another advice", "none"
    ),
    # --- fields
    "FIELD_NOW_REQUIRED": Rule(
        "was optional or unknown, must be sent now: breaks its writers; if it is new to"
        " a closed object, the readers too",
        "narrows",
    ),
    "FIELD_NOW_OPTIONAL": Rule(
        "may be left out now: breaks readers that rely on it", "widens"
    ),
    "REQUIRED_FIELD_REMOVED": Rule(
        "was always there, is unknown now: breaks readers that rely on it", "computed"
    ),
    "FIELD_REMOVED": Rule(
        "an optional field is gone: breaks its writers only if the object is closed, or"
        " holds something else under unknown keys",
        "computed",
    ),
    "FIELD_ADDED": Rule(
        "a new optional field: breaks readers only if the object was closed, or held"
        " something else under unknown keys",
        "computed",
    ),
    "FRAME_FIELD_ADDED": Rule(
        "the message repeats what its JSON-RPC frame says: the same on the wire", "none"
    ),
    "FRAME_FIELD_REMOVED": Rule(
        "left to the JSON-RPC frame of the message: the same on the wire", "none"
    ),
    "FIELD_DEFAULT_CHANGED": Rule("another default: an annotation", "none"),
    # --- types
    "DEFINITION_KIND_CHANGED": Rule(
        "a struct became a union or the like: by comparing the values allowed",
        "computed",
    ),
    "TYPE_NARROWED": Rule("fewer values are allowed: breaks writers", "narrows"),
    "TYPE_WIDENED": Rule("more values are allowed: breaks readers", "widens"),
    "TYPE_CHANGED": Rule("other values are allowed: breaks both", "changes"),
    "TYPE_RESPELLED": Rule("written otherwise, the same values are allowed", "none"),
    "CONSTANT_CHANGED": Rule("another constant: breaks both", "changes"),
    "ENUM_VALUE_REMOVED": Rule("a value less: breaks writers", "narrows"),
    "ENUM_VALUE_ADDED": Rule("a further value: breaks readers", "widens"),
    "UNION_ARM_REMOVED": Rule(
        "an alternative less: breaks writers, unless another covers it", "computed"
    ),
    "UNION_ARM_ADDED": Rule(
        "a further alternative: breaks readers, unless another covered it", "computed"
    ),
    "UNION_EXCLUSIVE_CHANGED": Rule(
        "exactly one must match instead of any (breaks writers), or the reverse"
        " (breaks readers)",
        "computed",
    ),
    "BOUND_TIGHTENED": Rule("a tighter bound or pattern: breaks writers", "narrows"),
    "BOUND_RELAXED": Rule("a looser bound or pattern: breaks readers", "widens"),
    "BOUND_CHANGED": Rule("another pattern or multiple: breaks both", "changes"),
    "FORMAT_CHANGED": Rule("another format: an annotation, not asserted", "none"),
    # --- objects as a whole
    "OBJECT_NOW_CLOSED": Rule(
        "unknown keys are refused now: breaks writers", "narrows"
    ),
    "OBJECT_NOW_OPEN": Rule("unknown keys are allowed now: breaks readers", "widens"),
    "ADDITIONAL_CHANGED": Rule(
        "unknown keys may hold something else: by comparing the two", "computed"
    ),
    "CONSTRAINT_ADDED": Rule(
        "a further condition on the object or its keys: breaks writers", "narrows"
    ),
    "CONSTRAINT_REMOVED": Rule(
        "a condition less on the object or its keys: breaks readers", "widens"
    ),
    # --- definitions
    "DEFINITION_REMOVED": Rule("gone; what used it has the verdict", "none"),
    "DEFINITION_ADDED": Rule("new; what uses it has the verdict", "none"),
    "DEFINITION_NAMED": Rule(
        "has, or no longer has, a name of its own in the schema", "none"
    ),
    # --- the rest
    "CAPABILITY_REMOVED": Rule("gone; its field has the verdict", "none"),
    "CAPABILITY_ADDED": Rule("new; its field has the verdict", "none"),
    "ERROR_REMOVED": Rule("no longer sent; readers take any code", "none"),
    "ERROR_ADDED": Rule("may be sent; readers take any code", "none"),
    "ERROR_CHANGED": Rule(
        "has another code: breaks both, whoever acts on the code", "computed"
    ),
    "TRAIT_CHANGED": Rule(
        "behaviour that no schema shows: breaks both, as nothing proves otherwise",
        "computed",
    ),
    "TRAIT_ADDED": Rule("a difference that mattered to no version before", "none"),
    "TRAIT_REMOVED": Rule("a difference that is no longer told", "none"),
    "PYTHON_NAME_CHANGED": Rule("called otherwise in Python; same wire", "none"),
}

ORDER: Final = {rule: number for number, rule in enumerate(RULES)}

SPELLING: Final = frozenset(
    {
        *("FRAME_FIELD_ADDED", "FRAME_FIELD_REMOVED", "TYPE_RESPELLED"),
        *("DEFINITION_NAMED", "METHOD_PARAMS_CHANGED", "PYTHON_NAME_CHANGED"),
    }
)
"""How a schema is written, not what it allows."""
