"""Bytes of somebody else's document → a JSON value, whether they are JSON or YAML.

YAML is read as JSON would be: by the rules of YAML 1.2, so that `no` is a word and
`2026-01-01` is no date, without tags, without a key twice. Aliases are copied out, and
what they add up to is bounded.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from ...diagnostics import CompileError, clip, fail
from ...load import MAX_BYTES, finite, parse_json

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 100
MAX_VALUES = 1_000_000
"""Values in a document once its aliases are written out."""
MAX_MERGED = 32
"""Mappings that one `<<` may bring in."""

_PLAIN = {
    "tag:yaml.org,2002:null": (r"~|null|Null|NULL|", "~nN\0"),
    "tag:yaml.org,2002:bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "tag:yaml.org,2002:int": (r"[-+]?[0-9]+", "-+0123456789"),
    "tag:yaml.org,2002:float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
        "-+0123456789.",
    ),
    "tag:yaml.org,2002:merge": (r"<<", "<"),
}
"""What an unquoted word may be besides text: its tag → what it looks like, begins with."""


def read_document(data: bytes, shown: str) -> Any:
    """The value that a document holds; CompileError says why it holds none."""
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        try:
            return parse_json(data, shown)
        except CompileError:
            # YAML may begin with a bracket, too.
            if not shown.endswith((".yaml", ".yml")):
                raise
    return _parse_yaml(data, shown)


def _parse_yaml(data: bytes, shown: str) -> Any:
    import yaml

    if len(data) > MAX_BYTES:
        raise fail("too-large", f"more than {MAX_BYTES} bytes", file=shown)
    try:
        text = data.decode("utf-8-sig")
        _check_depth(text, shown)
        value = _Copy(shown).of(yaml.load(text, _loader()))
        # Half of a surrogate pair is no text that could be written.
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        what = "a string holds half of a surrogate pair (\\ud800 to \\udfff)"
        raise fail("not-text", what, file=shown) from None
    except UnicodeDecodeError as error:
        raise fail("not-utf8", f"byte {error.start} is not UTF-8", file=shown) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = clip(error.problem or "no YAML")
        raise fail("not-yaml", f"{problem}{place}", file=shown) from None
    except RecursionError:
        raise _too_deep(shown) from None
    except (yaml.YAMLError, ValueError) as error:  # the latter: an absurd number
        raise fail("not-yaml", clip(str(error)), file=shown) from None


def _check_depth(text: str, shown: str) -> None:
    """The events come without recursion: so the parser below never goes too deep."""
    import yaml

    depth = 0
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _too_deep(shown)


def _loader() -> type[yaml.SafeLoader]:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """The safe loader, with the words of YAML 1.2 and no key twice."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
        merged = 0

        def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
            return finite(node.value)

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Refuse merges that would not end."""
            for key, value in node.value:
                if key.tag.endswith(":merge") and len(value.value) > MAX_MERGED:
                    raise yaml.constructor.ConstructorError(
                        None, None, "too much to merge", key.start_mark
                    )
            super().flatten_mapping(node)
            self.merged += len(node.value)
            if self.merged > MAX_VALUES:
                raise yaml.constructor.ConstructorError(
                    None, None, "too much to merge", node.start_mark
                )

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
            """Every key once; numbers and words as keys are text, as in JSON."""
            seen = set()
            own = [key for key, _ in node.value if not key.tag.endswith(":merge")]
            for key in own:
                if not isinstance(key, yaml.ScalarNode):
                    problem = "a key that is no text"
                elif key.value in seen:
                    problem = f'the key "{clip(key.value)}" twice'
                else:
                    seen.add(key.value)
                    continue
                raise yaml.constructor.ConstructorError(
                    None, None, problem, key.start_mark
                )
            self.flatten_mapping(node)
            return {
                key.value: self.construct_object(value, deep=deep)
                for key, value in node.value
            }

    Loader.add_constructor("tag:yaml.org,2002:float", Loader.construct_yaml_float)
    for tag, (pattern, first) in _PLAIN.items():
        whole = re.compile(f"(?:{pattern})$")
        Loader.add_implicit_resolver(tag, whole, [c.strip("\0") for c in first])
    return Loader


class _Copy:
    """A value without anything shared: aliases written out, and counted."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.left = MAX_VALUES

    def of(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON has it."""
        self.left -= 1
        if self.left < 0:
            raise fail(
                "too-large",
                f"more than {MAX_VALUES} values, once its aliases are written out",
                file=self.shown,
            )
        if depth > MAX_DEPTH:
            raise _too_deep(self.shown)
        if isinstance(value, dict):
            return {key: self.of(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.of(inner, depth + 1) for inner in value]
        if value is None or isinstance(value, str | bool | int | float):
            return value
        raise fail(
            "not-yaml", f"a {type(value).__name__} is no JSON value", file=self.shown
        )


def _too_deep(shown: str) -> CompileError:
    return fail("too-deep", f"nested more than {MAX_DEPTH} levels deep", file=shown)
