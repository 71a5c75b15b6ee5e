"""Laws of the normal form, over the text of this package."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import gnz_track
from gnz_track.user_code.statements import normal_form

FILES = sorted(Path(gnz_track.__file__).parent.glob("*/*.py"))
TEXTS = st.sampled_from(FILES).map(lambda path: path.read_text("utf-8"))


@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_formatting_says_nothing(text: str) -> None:
    tree = ast.parse(text)
    assert normal_form(ast.parse(ast.unparse(tree))) == normal_form(tree)


@settings(max_examples=40, deadline=None)
@given(text=TEXTS, data=st.data())
def test_comments_say_nothing(text: str, data: st.DataObject) -> None:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    ends = sorted({token.end[0] for token in tokens if token.type in {tokenize.NEWLINE, tokenize.NL}})
    lines = text.splitlines()
    for end in data.draw(st.lists(st.sampled_from(ends), max_size=5)):
        lines[end - 1] += "  # a remark" if end <= len(lines) else ""
    assert normal_form(ast.parse("\n".join(lines))) == normal_form(ast.parse(text))


@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_docstrings_say_nothing(text: str) -> None:
    tree, bare = ast.parse(text), ast.parse(text)
    for node in ast.walk(bare):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    assert normal_form(bare) == normal_form(tree)


@settings(max_examples=60, deadline=None)
@given(text=TEXTS, data=st.data())
def test_any_name_or_value_says_something(text: str, data: st.DataObject) -> None:
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    kinds = (ast.Name, ast.Attribute, ast.arg, ast.Constant, ast.keyword)
    places = [node for node in ast.walk(tree) if isinstance(node, kinds) and id(node) not in alone]
    if not places:
        return
    before, node = normal_form(tree), data.draw(st.sampled_from(places))
    if isinstance(node, ast.Constant):
        node.value = [node.value, "another"]
    elif isinstance(node, ast.Name):
        node.id += "_"
    elif isinstance(node, ast.Attribute):
        node.attr += "_"
    else:
        node.arg = f"{node.arg}_"
    assert normal_form(tree) != before
