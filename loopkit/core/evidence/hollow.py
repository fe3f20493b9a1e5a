"""Python code whose changed functions do nothing: what is left of the work are its names.

A proof that passes all the same shows that they are there, not what they do. Other languages are
not read.
"""

from __future__ import annotations

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def hollow(text: str, before: str) -> tuple[str, list[str]]:
    """(the text with `pass` as the body of each function that is new or another than before, but
    for its docstring; their names). before: "" where there was no such file. Text that is no Python
    has none."""
    try:
        old = {(name, _code(node)) for name, node in _functions(before)}
        found = [row for row in _functions(text) if (row[0], _code(row[1])) not in old]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text, []
    lines = text.encode().splitlines(keepends=True)
    for _, node in reversed(found):
        _empty(lines, node)
    return b"".join(lines).decode(), [name for name, _ in found]


def _functions(text: str) -> list[tuple[str, ast.AST]]:
    """The functions of a module and its classes by their names, in their order; not those within
    others, nor declarations of overloads."""
    found: list[tuple[str, ast.AST]] = []

    def look(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                if not any(_named(one) == "overload" for one in child.decorator_list):
                    found.append((prefix + child.name, child))
            elif isinstance(getattr(child, "value", None), ast.Lambda):
                name = ast.unparse(getattr(child, "targets", [getattr(child, "target", child)])[0])
                found.append((prefix + name, child.value))  # type: ignore[attr-defined]
            elif isinstance(child, ast.ClassDef):
                look(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.stmt | ast.excepthandler):
                look(child, prefix)

    look(ast.parse(text), "")
    return found


def _named(decorator: ast.expr) -> str:
    return getattr(decorator, "attr", getattr(decorator, "id", ""))


def _body(node: ast.AST) -> list[ast.stmt]:
    """What a function does: all but its docstring."""
    body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if is_text and isinstance(body[0].value.value, str) else body  # type: ignore[attr-defined]


def _code(node: ast.AST) -> str:
    """What tells a function from another that does something else."""
    parts = [node.args, *([node.body] if isinstance(node, ast.Lambda) else _body(node))]  # type: ignore[attr-defined]
    return "\n".join(map(ast.dump, parts))


def _empty(lines: list[bytes], node: ast.AST) -> None:
    """Put `pass` in the place of a function's body, `None` in that of a lambda's."""
    body: list = [node.body] if isinstance(node, ast.Lambda) else _body(node)
    if not body:
        return
    first, last = body[0], body[-1]
    nothing = b"None" if isinstance(node, ast.Lambda) else b"pass"
    decorated = getattr(first, "decorator_list", None)
    row, column = first.lineno - 1, first.col_offset
    if decorated:
        row = min(one.lineno for one in decorated) - 1
    end_row, end_column = (last.end_lineno or 1) - 1, last.end_col_offset or 0
    lines[row : end_row + 1] = [lines[row][:column] + nothing + lines[end_row][end_column:]]


def says_the_same(text: str, before: str) -> bool:
    """Whether only comments, docstrings and layout tell two texts of Python apart."""
    try:
        return _silent(text) == _silent(before)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _silent(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) and node.body:
            node.body = _body(node)
    return ast.dump(tree)
