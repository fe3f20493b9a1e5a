"""Kinds of fields, and what all models share: one name for a field, other spellings accepted."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.aliases import AliasGenerator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ..core.evidence import command
from ..core.journal.errors import UsageFault
from ..core.memory import decisions
from ..core.plan import drafts
from ..core.plan.schema import plain

#: Characters of one text and entries of a list at the most.
LONGEST, MOST = 50_000, 200
#: The largest number of anything that can be counted.
LARGEST = 999_999

_NOTHING = ("", "none", "n/a", "-")


def fault(what: str) -> PydanticCustomError:
    """A fault of a field: what it must be."""
    return PydanticCustomError("own", "{what}", {"what": what})


def is_nothing(value: Any) -> bool:
    """Whether a value says that the field does not apply."""
    return value is None or isinstance(value, str) and value.strip().lower() in _NOTHING


def text(value: Any) -> Any:
    """A number where a text belongs is a text; nothing is an empty one."""
    if value is None:
        return ""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise fault("must hold only characters that can be written") from None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def needed(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("empty", "must say something")
    return value


def whole(value: Any) -> Any:
    """82.0 is a whole number, also as the text that YAML makes of it; 82.5 and "82" are not."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,10}\.0{1,10}", value):
        return int(float(value))
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return value


def amount(value: Any) -> Any:
    """87.5, also as a text, with or without a percent sign; true is not an amount."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,10})?\s*%?", value.strip()):
        return float(value.strip().rstrip("% "))
    return value


def _truth(value: Any) -> Any:
    """The reader of records knows no booleans."""
    known = {"true": True, "yes": True, "false": False, "no": False}
    return known.get(value.strip().lower(), value) if isinstance(value, str) else value


def nothing(value: Any) -> Any:
    return None if is_nothing(value) else value


def several(value: Any) -> Any:
    """One value where a list belongs is a list of one."""
    if is_nothing(value):
        return []
    return value if isinstance(value, list) else [value]


def reason(value: Any) -> Any:
    """An unquoted `name: why not` is read as a record of one entry."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, why),) = value.items()
        return f"{name}: {why}"
    return value


def _squeezed(value: str) -> str:
    return " ".join(value.split())


def accepted(value: str) -> str:
    try:
        command.accept(value)
    except UsageFault as error:
        raise fault(str(error)) from None
    return value.strip()


def _inside(value: list[str]) -> list[str]:
    try:
        return drafts.paths(value)
    except UsageFault as error:
        raise fault(error.what) from None


def _from_session(value: list[str]) -> list[str]:
    """Where the session was opened the decider knows."""
    _inside(value)
    return value


def _number(value: Any) -> Any:
    number = decisions.number_of(value)
    if number is None:
        raise fault("must be numbers of decisions, like [1, 3]")
    return number


def _numbers(value: Any) -> Any:
    """`001, 002` and `decision 2` name decisions too."""
    if isinstance(value, str) and not is_nothing(value):
        return [word for word in value.replace(",", " ").split() if word.lower() != "decision"]
    return several(value)


class OneOf:
    """A closed list of words or numbers, in any case and spelling; `also`: other words for them."""

    def __init__(self, *values: str | int, **also: str | int) -> None:
        self.values, self.also = values, also
        self.known = {plain(value): value for value in values} | also

    def _read(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int):
            return value
        return self.known.get(plain(value), value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            self._read, core_schema.literal_schema(list(self.values))
        )

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict:
        return handler(core) | ({"also": self.also} if self.also else {})


Text = Annotated[str, BeforeValidator(text), Field(max_length=LONGEST)]
Needed = Annotated[Text, AfterValidator(needed)]
#: On one line.
Line = Annotated[Text, AfterValidator(_squeezed)]
NeededLine = Annotated[Line, AfterValidator(needed)]
Gist = Annotated[Line, Field(max_length=decisions.LONGEST)]
NeededGist = Annotated[Gist, AfterValidator(needed)]
Reason = Annotated[NeededGist, BeforeValidator(reason)]
Texts = Annotated[list[Annotated[Text, BeforeValidator(reason)]], Field(max_length=MOST)]
Stripped = Annotated[Text, AfterValidator(str.strip)]
_Id = Annotated[Stripped, AfterValidator(str.upper)]
Ids = Annotated[list[_Id], BeforeValidator(several), Field(max_length=MOST)]
Paths = Annotated[list[Text], AfterValidator(_inside), Field(max_length=MOST)]
TaskPaths = Annotated[list[Text], AfterValidator(_from_session), Field(max_length=MOST)]
Count = Annotated[int, Field(ge=0, le=LARGEST, strict=True), BeforeValidator(whole)]
OptionalCount = Annotated[Count | None, BeforeValidator(nothing)]
Score = Annotated[int, Field(ge=0, le=100, strict=True), BeforeValidator(whole)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False), BeforeValidator(amount)]
Flag = Annotated[bool, Field(strict=True), BeforeValidator(_truth)]
OptionalFlag = Annotated[Flag | None, BeforeValidator(nothing)]
_Decision = Annotated[int, BeforeValidator(_number)]
Decisions = Annotated[list[_Decision], BeforeValidator(_numbers), Field(max_length=MOST)]
Check = Annotated[Needed, AfterValidator(accepted)]
OptionalCheck = Annotated[
    Text, AfterValidator(lambda value: accepted(value) if value.strip() else "")
]


class Reply(BaseModel):
    """What all models share: no unknown field, and `to_row`, the record that core gets.

    also: other names of a field · ignored: what is read and not asked for, since it follows from
    other fields · instead: what a field that is missing follows from · bare: the one field of what
    is submitted as a bare list.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    also: ClassVar[dict[str, str]] = {}
    ignored: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[dict[str, tuple[str, ...]]] = {}
    bare: ClassVar[str] = ""

    @classmethod
    def name_of(cls, key: Any) -> Any:
        """The field that a key means: `blockedBy` and `blocked-by` are `blocked_by`."""
        if key in cls.model_fields or not isinstance(key, str):
            return key
        own = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", key).lower()
        return cls.also.get(own, own if own in cls.model_fields else key)

    @model_validator(mode="before")
    @classmethod
    def _with_our_names(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        row: dict = {}
        for key, content in value.items():
            name = cls.name_of(key)
            field = cls.model_fields.get(name)
            if field and (content is None or content == "" and not field.is_required()):
                continue  # what does not apply is left out
            if name in row:
                raise fault(f"{name} must be given once, not also as {key}")
            row[name] = content
        row = cls.completed(row)
        return {name: content for name, content in row.items() if name not in cls.ignored}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict:
        row = handler(core)
        own = handler.resolve_ref_schema(row)
        also = {**cls.also, **dict.fromkeys(cls.ignored, "")}
        own.update({"also": also} if also else {})
        own.update({"instead": cls.instead} if cls.instead else {})
        return row

    @classmethod
    def completed(cls, row: dict) -> dict:
        """The record with what follows from its other fields."""
        return row

    def to_row(self) -> dict:
        """The record with the keys of the journal."""
        return self.model_dump(mode="json", by_alias=True)


class CamelReply(Reply):
    """One whose keys in the journal are in camel case."""

    model_config = ConfigDict(alias_generator=AliasGenerator(serialization_alias=to_camel))
