"""Models by datamodel-code-generator: the one place that knows how it is called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def models(schema: Mapping[str, Any], **options: Any) -> str:
    """The module with pydantic models for the definitions of a JSON Schema, unformatted.

    `options` are those of the generator's `generate`.
    """
    # Imported here: it takes a second.
    from datamodel_code_generator import generate

    made = generate(
        json.dumps(schema),
        input_file_type="jsonschema",
        output_model_type="pydantic_v2.BaseModel",
        target_python_version="3.11",
        formatters=[],
        disable_timestamp=True,
        **options,
    )
    if not isinstance(made, str):
        raise AssertionError("one module was asked for")
    return made
