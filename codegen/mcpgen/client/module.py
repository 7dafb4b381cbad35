"""A listing → the text of its module: one pure function, and nothing is asked or run.

Everything in a listing is hostile. Names go through `names.distinct`, prose and constants
through the filters of `render`, schemas through `flatten` and `datamodel`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from keyword import iskeyword
from typing import Any

from .. import resources
from ..datamodel import Models, models
from ..diagnostics import Diagnostic, clip
from ..flatten import ANY, FIELD_RESERVED, MAX_SIZE, Flat, attribute_name, flatten
from ..format import format_files
from ..names import distinct, is_plain, pascal_case, snake_case, spelled
from ..render import client_header, environment, pystr
from .listing import Listing, shown
from .request import Request

MAX_RESOURCES = 50
"""More are no fixed set that a method each would help with."""

MAX_SEARCHED = 20_000
"""So much of a description is searched for what its parameters say, each for itself."""

_METHODS_RESERVED = frozenset(
    {
        *("client", "connect", "self"),
        # The types in the signatures of the methods that follow.
        *("bool", "bytes", "dict", "float", "int", "list", "str", "tuple", "type"),
    }
)
_BASE = ("ContentBlock", "GetPromptResult", "ResourceContents", "TypedClient")
_OPERATORS = "+#./;?&"
_EXPRESSION = re.compile(rf"\{{([{_OPERATORS}]?)([^{{}}]*)\}}")
_NAME = r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*"
_VARIABLE = re.compile(rf"({_NAME})(\*|:[1-9][0-9]{{0,3}})?", re.ASCII)
_LITERAL = re.compile(r"(?:[^\x00-\x20\x7f\"%<>\\^`{|}]|%[0-9A-Fa-f]{2})*")
"""What stands between expressions; RFC 6570, section 2.1."""
_MODULES = ("typing", "typing_extensions")


@dataclass(frozen=True)
class Parameter:
    """A keyword of a method, ready to print."""

    name: str
    wire: str
    annotation: str
    default: str = ""
    doc: str = ""


@dataclass(frozen=True)
class Method:
    """A method, ready to print."""

    name: str
    call: str
    """The method of the base that does it."""
    target: str
    """A tool's or prompt's name, or a URI."""
    returns: str
    doc: str
    parameters: tuple[Parameter, ...] = ()
    takes_arguments: bool = True
    kind: str = ""
    """What a result is made into."""


@dataclass(frozen=True)
class _Variable:
    """A name in a URI template."""

    name: str
    is_needed: bool
    """With a sign of its own before it (`{/x}`, `{?x}`), it may be absent."""
    is_list: bool
    """May it have several values (`{/x*}`)?"""


@dataclass(frozen=True)
class Module:
    """The text of a client, and what could not be typed as it should."""

    text: str
    notes: tuple[Diagnostic, ...]


def generate(listing: Listing, request: Request, name: str) -> Module:
    """The module with the client class `name` for what `request` chooses of a listing."""
    chosen = listing.only(request.include, request.exclude)
    return _Generator(chosen, request, name).module(listing)


class _Generator:
    def __init__(self, listing: Listing, request: Request, name: str) -> None:
        self.listing = listing
        self.request = request
        self.name = name
        self.notes: list[Diagnostic] = []
        self.used: set[str] = {"TypedClient"}

    def module(self, whole: Listing) -> Module:
        for pattern in self.request.include:
            if whole.only([pattern], ()).is_empty:
                self._note(
                    "pattern-unmatched",
                    f'nothing has a name like "{clip(pattern, 80)}"',
                    "this shows all names: mcpgen inspect TARGET",
                )
        tools = {tool["name"]: tool for tool in self.listing.tools}
        names = distinct(tools, _method_name, spelled, reserved=_METHODS_RESERVED)
        flat = self._flat(tools, names)
        parameters = {tool: f"{root}_Parameters" for tool, root in self.inputs.items()}
        unfolded = {
            parameters[tool]: definition
            for tool in tools
            if (definition := self._unfolded(tool, flat))
        }
        unfolded |= {
            f"{root}_Value": _value(flat.roots[root], flat)
            for root in self.outputs.values()
            if _class_of(flat.roots[root], flat) is None
        }
        used = [*unfolded.values(), *self._results(flat)]
        kept = dict(_reachable(flat, used))
        made = models(
            {**kept, **unfolded},
            self.request.flavour,
            fields=flat.fields,
            unfolded=unfolded,
        )
        methods = [
            self._tool(tool, names[name], flat, made, parameters[name])
            for name, tool in tools.items()
        ]
        methods += self._others(frozenset(names.values()))
        text = self._text(sorted(methods, key=lambda m: m.name), made)
        top = client_header(
            shown(whole),
            whole.protocol_version,
            whole.sha256,
            sha256(text.encode()).hexdigest(),
        )
        return Module(top + text, tuple(self.notes) + flat.notes)

    # --- tools --------------------------------------------------------------------------

    def _flat(self, tools: Mapping[str, Any], names: Mapping[str, str]) -> Flat:
        """All schemas of all tools as one document."""
        bases = distinct(names.values(), pascal_case, _joined)
        self.inputs = {tool: f"{bases[names[tool]]}Arguments" for tool in tools}
        self.outputs = {
            tool: f"{bases[names[tool]]}Result"
            for tool, about in tools.items()
            if isinstance(about.get("outputSchema"), dict)
        }
        schemas = {
            root: tools[tool].get("inputSchema", {})
            for tool, root in self.inputs.items()
        }
        schemas |= {
            root: tools[tool]["outputSchema"] for tool, root in self.outputs.items()
        }
        return flatten(
            schemas,
            self.request.flavour,
            parameters=frozenset(self.inputs.values()),
            reserved=frozenset(
                {
                    *(self.name, "ToolFailed", *_BASE),
                    *(f"{root}_Parameters" for root in self.inputs.values()),
                    *(f"{root}_Value" for root in self.outputs.values()),
                }
            ),
        )

    def _unfolded(self, tool: str, flat: Flat) -> dict[str, Any] | None:
        """A definition of the tool's parameters under their Python names, all required."""
        definition = _class_of(flat.roots[self.inputs[tool]], flat)
        if definition is None:
            return None
        names = flat.fields[_name_of(flat.roots[self.inputs[tool]])]
        bare = {
            names[wire]: {
                k: v for k, v in schema.items() if k not in ("default", "description")
            }
            for wire, schema in definition["properties"].items()
        }
        return {"type": "object", "properties": bare, "required": list(bare)}

    def _results(self, flat: Flat) -> Iterator[dict[str, Any]]:
        yield from (flat.roots[root] for root in self.outputs.values())

    def _tool(
        self,
        tool: dict[str, Any],
        name: str,
        flat: Flat,
        made: Models,
        unfolded: str,
    ) -> Method:
        root = flat.roots[self.inputs[tool["name"]]]
        if _class_of(root, flat) is None and _takes_some(tool.get("inputSchema")):
            self._note(
                "arguments-unlisted",
                f'the tool "{clip(tool["name"], 80)}" takes arguments that its schema '
                "does not list",
                "its method takes none of them; use: client.client.call_tool(…)",
            )
        annotations = made.annotations.get(unfolded, {})
        parameters = tuple(self._parameters(root, flat, annotations))
        returns, call, kind = self._result(tool["name"], flat, made)
        doc = _doc(tool, f"Call the tool `{tool['name']}`.", parameters)
        return Method(name, call, tool["name"], returns, doc, parameters, kind=kind)

    def _result(self, tool: str, flat: Flat, made: Models) -> tuple[str, str, str]:
        """What a tool gives, the method of the base that asks for it, and its kind."""
        if tool not in self.outputs:
            return self._use("list[ContentBlock]"), "_content", ""
        output = self.outputs[tool]
        if _class_of(flat.roots[output], flat):
            name = _name_of(flat.roots[output])
            return name, "_structured", name
        value = made.annotations[f"{output}_Value"]
        kind = f"list[{value['kind']}]"
        return self._use(value["value"]), "_value", self._use(kind)

    def _parameters(
        self, root: dict[str, Any], flat: Flat, annotations: Mapping[str, str]
    ) -> Iterator[Parameter]:
        definition = _class_of(root, flat)
        if definition is None:
            return
        names = flat.fields[_name_of(root)]
        properties = definition["properties"]
        optional = [wire for wire in properties if wire not in definition["required"]]
        for wire in [*definition["required"], *optional]:
            schema, annotation = properties[wire], annotations[names[wire]]
            default = _literal(schema["default"]) if "default" in schema else ""
            if wire in optional and not default:
                default = self._use("UNSET")
                if annotation != "Any":
                    annotation += f" | {self._use('UnsetType')}"
            doc = schema.get("description", "")
            yield Parameter(names[wire], wire, self._use(annotation), default, doc)

    # --- prompts and resources ----------------------------------------------------------

    def _others(self, taken: frozenset[str]) -> Iterator[Method]:
        """Methods that begin with what they do, so that a new tool renames none."""
        prompts = {f"prompt {p['name']}": p for p in self.listing.prompts}
        templates = {
            f"read {t['name']}\0{t['uriTemplate']}": (t, variables)
            for t in self.listing.templates
            if (variables := self._variables(t["uriTemplate"])) is not None
        }
        fixed = {f"read {r['name']}\0{r['uri']}": r for r in self.listing.resources}
        if len(fixed) > MAX_RESOURCES:
            self._note(
                "resources-many",
                f"{len(fixed)} resources get no methods, being more than {MAX_RESOURCES}",
                'choose some with --include, or use: client.client.read_resource("…")',
            )
            fixed = {}
        names = distinct(
            [*prompts, *templates, *fixed],
            lambda key: _method_name(key.partition("\0")[0]),
            lambda key: _method_name(key),
            reserved=_METHODS_RESERVED | taken,
        )
        for key, prompt in prompts.items():
            yield self._prompt(prompt, names[key])
        for key, (template, variables) in templates.items():
            yield self._template(template, variables, names[key])
        for key, resource in fixed.items():
            self._use("ResourceContents")
            doc = _doc(resource, f"Read `{resource['uri']}`.")
            uri, returns = resource["uri"], "list[ResourceContents]"
            yield Method(names[key], "_read", uri, returns, doc, takes_arguments=False)

    def _prompt(self, prompt: dict[str, Any], name: str) -> Method:
        listed = prompt.get("arguments")
        arguments = {
            a["name"]: a
            for a in (listed if isinstance(listed, list) else [])
            if isinstance(a, dict) and isinstance(a.get("name"), str)
        }
        required = [wire for wire, a in arguments.items() if a.get("required") is True]
        docs = {wire: a.get("description") for wire, a in arguments.items()}
        parameters = self._texts(
            required, [w for w in arguments if w not in required], docs
        )
        self._use("GetPromptResult")
        doc = _doc(prompt, f"Get the prompt `{prompt['name']}`.", parameters)
        return Method(
            name, "_prompt", prompt["name"], "GetPromptResult", doc, parameters
        )

    def _template(
        self, template: dict[str, Any], variables: list[_Variable], name: str
    ) -> Method:
        names = dict.fromkeys(v.name for v in variables)
        needed = dict.fromkeys(v.name for v in variables if v.is_needed)
        lists = {v.name for v in variables if v.is_list}
        optional = [wire for wire in names if wire not in needed]
        parameters = self._texts([*needed], optional, {}, lists)
        self._use("ResourceContents")
        doc = _doc(template, f"Read `{template['uriTemplate']}`.", parameters)
        uri, returns = template["uriTemplate"], "list[ResourceContents]"
        return Method(name, "_expanded", uri, returns, doc, parameters)

    def _texts(
        self,
        needed: list[str],
        optional: list[str],
        docs: Mapping[str, Any],
        lists: Collection[str] = (),
    ) -> tuple[Parameter, ...]:
        names = distinct(
            [*needed, *optional], attribute_name, spelled, reserved=FIELD_RESERVED
        )
        said = {wire: text for wire, text in docs.items() if isinstance(text, str)}
        made = []
        for wire in [*needed, *optional]:
            annotation = "str | list[str]" if wire in lists else "str"
            default = "" if wire in needed else self._use("UNSET")
            annotation += f" | {self._use('UnsetType')}" if default else ""
            doc = said.get(wire, "")
            made.append(Parameter(names[wire], wire, annotation, default, doc))
        return tuple(made)

    def _variables(self, template: str) -> list[_Variable] | None:
        """What a template takes; None where it is none."""
        texts = _EXPRESSION.split(template)
        listed = [
            (_VARIABLE.fullmatch(text), operator)
            for operator, variables in zip(texts[1::3], texts[2::3], strict=True)
            for text in variables.split(",")
        ]
        found = [
            _Variable(match[1], operator in ("", "+"), match[2] == "*")
            for match, operator in listed
            if match
        ]
        is_whole = len(found) == len(listed)
        if found and is_whole and all(map(_LITERAL.fullmatch, texts[::3])):
            return found
        self._note(
            "template-malformed",
            f"{clip(template)} is no URI template",
            "it gets no method",
        )
        return None

    # --- output -------------------------------------------------------------------------

    def _use(self, code: str) -> str:
        """Code whose names are to be imported; what stands in its strings is none."""
        nodes = ast.walk(ast.parse(code))
        self.used |= {node.id for node in nodes if isinstance(node, ast.Name)}
        return code

    def _note(self, code: str, message: str, hint: str) -> None:
        self.notes.append(Diagnostic(code, message, hint=hint, severity="warning"))

    def _imports(self, made: Models) -> list[list[tuple[str, list[str]]]]:
        needed = {module: set(names) for module, names in made.imports.items()}
        available = {
            "typing": ("Any", "Literal"),
            "msgspec": ("UNSET", "UnsetType"),
            f"{self.request.runtime}.runtime.client.typed": _BASE,
        }
        for module, offered in available.items():
            if wanted := self.used.intersection(offered):
                needed.setdefault(module, set()).update(wanted)
        groups: list[list[tuple[str, list[str]]]] = [[], [], []]
        for module, names in sorted(needed.items()):
            kept = sorted(
                names & self.used, key=lambda name: (not name.isupper(), name)
            )
            own = module.endswith(".runtime.client.typed")
            if kept:
                groups[0 if module == "typing" else 2 if own else 1].append(
                    (module, kept)
                )
        return [group for group in groups if group]

    def _text(self, methods: Iterable[Method], made: Models) -> str:
        self._use(made.code)
        server = self.listing.server or "a nameless server"
        instructions = self.listing.instructions.strip()
        template = environment(resources.templates_dir()).get_template(
            "client/client.py.jinja"
        )
        raw = template.render(
            doc=f"A typed client of {_one_line(server)}."
            + (f"\n\n{instructions}" if instructions else ""),
            imports=self._imports(made),
            models=made.code.strip(),
            name=self.name,
            class_doc=f"What {_one_line(server)} offers, a method each.",
            methods=list(methods),
        )
        return format_files({"client.py": raw})["client.py"]


# --- small questions ----------------------------------------------------------------------


def _method_name(name: str) -> str:
    made = name if is_plain(name) else snake_case(name) or "call"
    made = f"call_{made}" if made[0].isdigit() else made
    return f"{made}_" if made in _METHODS_RESERVED or iskeyword(made) else made


def _joined(name: str) -> str:
    return "_".join(part.capitalize() for part in name.split("_"))


def _name_of(root: Mapping[str, Any]) -> str:
    return str(root["$ref"]).removeprefix("#/$defs/")


def _class_of(root: Mapping[str, Any], flat: Flat) -> dict[str, Any] | None:
    """The class that a root became, if it became one."""
    found = flat.definitions[_name_of(root)] if "$ref" in root else {}
    return found if "properties" in found else None


def _value(schema: dict[str, Any], flat: Flat) -> dict[str, Any]:
    """What holds a result that is no class: as it is written, and as it is checked.

    An alias may name classes below it, which nothing but a class can look up.
    """
    left = [MAX_SIZE]
    properties = {"value": schema, "kind": _without_aliases(schema, flat, left)}
    if left[0] < 0:
        properties = dict.fromkeys(properties, ANY)
    return {"type": "object", "properties": properties, "required": [*properties]}


def _without_aliases(
    schema: dict[str, Any], flat: Flat, left: list[int]
) -> dict[str, Any]:
    left[0] -= 1
    if left[0] < 0:
        return ANY
    if "$ref" in schema:
        found = flat.definitions[_name_of(schema)]
        return schema if "properties" in found else _without_aliases(found, flat, left)
    made = {key: value for key, value in schema.items() if key != "description"}
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = _without_aliases(made[key], flat, left)
    if "anyOf" in made:
        made["anyOf"] = [_without_aliases(arm, flat, left) for arm in made["anyOf"]]
    return made


def _takes_some(schema: Any) -> bool:
    """Does a schema that lists no arguments speak of some?"""
    words = ("required", "additionalProperties", "patternProperties", "$ref")
    more = (*words, "anyOf", "oneOf", "allOf")
    return isinstance(schema, dict) and any(
        schema.get(word) and schema[word] is not True for word in more
    )


def _reachable(flat: Flat, schemas: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The definitions that these schemas refer to, at any depth.

    By name, but each after those that it is made of: long chains the other way round
    are more than datamodel-code-generator can sort.
    """
    waiting = sorted({name for schema in schemas for name in _refs(schema)})[::-1]
    seen: set[str] = set()
    done: set[str] = set()
    while waiting:
        name = waiting[-1]
        if name not in seen:
            seen.add(name)
            inside = set(_refs(flat.definitions[name]))
            waiting += sorted(inside - seen)[::-1]
            continue
        waiting.pop()
        if name not in done:
            done.add(name)
            yield name, flat.definitions[name]


def _refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield _name_of(schema)
        for value in schema.values():
            yield from _refs(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _refs(value)


def _literal(value: Any) -> str:
    return pystr(value) if isinstance(value, str) else repr(value)


def _doc(
    about: Mapping[str, Any], otherwise: str, parameters: tuple[Parameter, ...] = ()
) -> str:
    said = [about.get(key) for key in ("description", "title")]
    text = next(
        (t.strip() for t in said if isinstance(t, str) and t.strip()), otherwise
    )
    said_already = _one_line(text[:MAX_SEARCHED])
    rows = [
        f"- `{p.name}`: {line}"
        for p in parameters
        if (line := _one_line(p.doc)) and line not in said_already
    ]
    return "\n".join([text, "", *rows]).rstrip()


def _one_line(text: str) -> str:
    return " ".join(text.split())
