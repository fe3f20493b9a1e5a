"""What comes out of the registry of schemas: forms, and examples in the Markdown in fences whose
first line names one, as in ```json decision. `script/forms` writes them anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from loopkit import replies
from loopkit.core.steps import kinds
from loopkit.replies import texts

ROOT = Path(__file__).resolve().parents[2]
#: The schemas that agents answer.
ANSWERED = sorted({one.reply for one in kinds.KINDS.values() if one.who == kinds.AGENT})
#: Characters of a line of an example in JSON.
ROOM = 100
#: Language, schema and fields of a fence; what stands in it.
_FENCE = re.compile(r"^```\w+ (\w+)((?: \w+)*)\n(.*?)^```$", re.S | re.M)
_HERE = re.compile(r"(<<'EOF'\n).*?(^EOF$)", re.S | re.M)


def files() -> list[Path]:
    """All Markdown that the client reads."""
    folders = ("agents", "commands", "skills", "plugins")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.md"))


def found(text: str) -> Iterator[tuple[str, str]]:
    """(schema, example as it stands there) of each such fence."""
    for fence in _FENCE.finditer(text):
        here = _HERE.search(fence[3])
        yield fence[1], here[0][len(here[1]) : -len(here[2])] if here else fence[3]


def written(text: str) -> str:
    """The text with each such fence as the registry has it."""

    def fence(match: re.Match) -> str:
        example = replies.example(match[1], *match[2].split())
        if "<<'EOF'" in match[3]:
            example = _HERE.sub(lambda here: here[1] + example + here[2], match[3])
        elif match[0].startswith("```json "):
            example = as_json(yaml.safe_load(example)) + "\n"
        start, end = (place - match.start() for place in match.span(3))
        return match[0][:start] + example + match[0][end:]

    return _FENCE.sub(fence, text)


def as_json(value: object, indent: str = "") -> str:
    """A record as JSON, a row on one line where it fits."""
    text = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(text) <= ROOM or not isinstance(value, (dict, list)) or not value:
        return text
    deeper = indent + "  "
    if isinstance(value, list):
        rows, ends = [as_json(one, deeper) for one in value], "[]"
    else:
        ends = "{}"
        rows = [f"{json.dumps(key)}: {as_json(one, deeper)}" for key, one in value.items()]
    inner = ",\n".join(deeper + row for row in rows)
    return f"{ends[0]}\n{inner}\n{indent}{ends[1]}"


def accepted(name: str) -> str:
    """The file of a schema by which hooks check answers."""
    return json.dumps(texts.accepted(replies.model(name))) + "\n"


def main() -> None:
    for name in replies.REGISTRY:
        form = texts.form(replies.model(name))
        (ROOT / "templates" / "forms" / f"{name}.yaml").write_text(form, encoding="utf-8")
    for name in ANSWERED:
        form = texts.asked(replies.model(name))
        (ROOT / "templates" / "forms" / f"{name}.json").write_text(form, encoding="utf-8")
        path = ROOT / "templates" / "schemas" / f"{name}.json"
        path.write_text(accepted(name), encoding="utf-8")
    for path in files():
        text = path.read_text(encoding="utf-8")
        if written(text) != text:
            path.write_text(written(text), encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
