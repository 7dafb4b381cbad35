"""The reference verdicts: the `jsonschema` package applied to the unchanged document.

Nothing of mcpgen is imported here, so an error of the compiler cannot hide in the
oracle that is supposed to find it.
"""

from __future__ import annotations

from typing import Any, TypeAlias
from urllib.parse import quote

from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY
from referencing.jsonschema import DRAFT7, DRAFT202012

Schema: TypeAlias = dict[str, Any] | bool

_DOCUMENT_URI = "urn:mcpgen:document"
_DRAFT7_URI = "http://json-schema.org/draft-07/schema"


class Oracle:
    """Answers whether an instance satisfies a definition of one schema document.

    Formats are annotations, as both dialects say by default, and references resolve
    in the document (or the bundled meta-schemas) only: the registry has no way to
    retrieve anything else.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        declared = str(document.get("$schema", "")).rstrip("#")
        self.ref_hides_siblings = declared == _DRAFT7_URI
        self._dialect: type[Validator] = Draft202012Validator
        specification = DRAFT202012
        if self.ref_hides_siblings:
            self._dialect, specification = Draft7Validator, DRAFT7
        self._container = "$defs" if "$defs" in document else "definitions"
        self._definitions: dict[str, dict[str, Any]] = document.get(self._container, {})
        resource = specification.create_resource(document)
        self._registry = REGISTRY.with_resource(_DOCUMENT_URI, resource).crawl()
        self._resolver = self._registry.resolver(_DOCUMENT_URI)
        self._validators: dict[str, Validator] = {}

    @property
    def definitions(self) -> list[str]:
        """The sorted names of the document's definitions."""
        return sorted(self._definitions)

    def schema(self, name: str) -> dict[str, Any]:
        """The schema of the definition `name`, as it stands in the document."""
        return self._definitions[name]

    def is_valid(self, name: str, instance: object) -> bool:
        """Whether `instance` satisfies the definition `name`."""
        validator = self._validators.get(name)
        if validator is None:
            reference = {"$ref": _DOCUMENT_URI + self._fragment(name)}
            validator = self._dialect(reference, registry=self._registry)
            self._validators[name] = validator
        return next(validator.iter_errors(instance), None) is None

    def accepts(self, schema: Schema, instance: object) -> bool:
        """Whether `instance` satisfies a part of the document, or a mix of parts.

        The definitions travel along, because the part's references point at them.
        """
        whole = {"allOf": [schema], self._container: self._definitions}
        validator = self._dialect(whole, registry=self._registry)
        return next(validator.iter_errors(instance), None) is None

    def resolve(self, reference: str) -> Schema:
        """The schema that `reference` names, seen from the document's root."""
        target: Schema = self._resolver.lookup(reference).contents
        return target

    def _fragment(self, name: str) -> str:
        """The JSON Pointer to a definition, escaped as a URI fragment."""
        escaped = name.replace("~", "~0").replace("/", "~1")
        return f"#/{self._container}/{quote(escaped)}"
