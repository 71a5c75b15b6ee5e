"""Which edits of a user's project change the digest of a model in it, and which do not."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from user_projects import Project

from gnz_track.errors import BadValue
from gnz_track.user_code.digests import describe_code

Digest = Callable[..., str]

FILES = {
    "net.py": '''
        """A network."""
        from __future__ import annotations
        import math
        from dataclasses import dataclass
        from typing import TYPE_CHECKING
        from pkg import layers
        from pkg.blocks import Block as Brick, marked
        from pkg.stars import *
        import pkg.deep.maths
        import quiet
        if TYPE_CHECKING:
            from pkg.types_only import Hint
        try:
            from fast_version import scale
        except ImportError:
            from slow_version import scale
        WIDTH: int = 4
        OTHER = 5
        data = "a name that a function uses for something of its own"
        CONFIG = {"depth": 2}
        CONFIG.update(depth=3)
        UNREAD = {}
        UNREAD.update(width=1)
        if math.pi > 3:
            SLOPE = 0.5
        with open(__file__) as file:
            FIRST = len(file.readline()) * 0 + 1
        for number in range(3):
            LAST = number
        (LEFT, RIGHT), *MORE = (1, 2), 3

        @dataclass
        class Options:
            bias: bool = True

        class Unrelated:
            def forward(self):
                return 1

        def helper(x, by=2, *, plus=lambda: WIDTH):
            """Help."""
            return x * by + plus()

        @marked
        class Net(Brick):
            """A model."""
            options = Options()
            def __init__(self, depth=CONFIG["depth"]):
                self.layer = layers.Conv(depth)
                self.last = LAST
            def forward(self, x):
                data = helper(x)
                from pkg.late import later
                return [scale(data) * SLOPE * starred(x) * later(RIGHT) * FIRST, pkg.deep.maths.double(x)]
        ''',
    "pkg/__init__.py": "PACKAGE = 1\n",
    "pkg/layers.py": """
        from .parts import part
        class Conv:
            def __init__(self, depth):
                self.part = part(depth)
        class Spare:
            size = 1
        """,
    "pkg/parts.py": "from ._far import far\ndef part(x):\n    return far(x)\ndef unused():\n    return 1\n",
    "pkg/_far.py": "FACTOR = 2\ndef far(x):\n    return x * FACTOR\n",
    "pkg/blocks.py": """
        class Root:
            slope = 1
        class Block(Root):
            pass
        def marked(cls):
            cls.mark = MARK
            return cls
        MARK = 1
        """,
    "pkg/stars.py": "def starred(x):\n    return x + 1\ndef unstarred(x):\n    return x\n",
    "pkg/late.py": "def later(x):\n    return x\n",
    "pkg/types_only.py": "class Hint:\n    pass\n",
    "pkg/deep/__init__.py": "",
    "pkg/deep/maths.py": "def double(x):\n    return x * 2\n",
    "quiet.py": "NOBODY = 1\nimport pkg.blocks\n",
    "slow_version.py": "def scale(x):\n    return x\n",
}
# What is edited -> file, what stands there, and what comes in its place.
CHANGES = {
    "helper function": ("net.py", "x * by + plus()", "x * by - plus()"),
    "default argument": ("net.py", "by=2", "by=3"),
    "constant behind a default": ("net.py", "WIDTH: int = 4", "WIDTH: int = 8"),
    "base class two files away": ("pkg/blocks.py", "slope = 1", "slope = 2"),
    "class between": ("pkg/blocks.py", "class Block(Root):\n    pass", "class Block(Root):\n    more = 1"),
    "decorator": ("pkg/blocks.py", "cls.mark = MARK", "cls.mark = -MARK"),
    "constant of a decorator": ("pkg/blocks.py", "MARK = 1", "MARK = 2"),
    "field of a data class": ("net.py", "bias: bool = True", "bias: bool = False"),
    "attribute of a module": ("pkg/layers.py", "part(depth)", "part(depth + 1)"),
    "relative import": ("pkg/parts.py", "return far(x)", "return -far(x)"),
    "constant three files away": ("pkg/_far.py", "FACTOR = 2", "FACTOR = 3"),
    "star import": ("pkg/stars.py", "x + 1", "x + 2"),
    "import in a function": ("pkg/late.py", "return x", "return -x"),
    "import that is tried": ("slow_version.py", "return x", "return -x"),
    "module within a package": ("pkg/deep/maths.py", "x * 2", "x * 3"),
    "where a name comes from": ("net.py", "from pkg.late import later", "from pkg.deep.maths import double as later"),
    "under a condition": ("net.py", "SLOPE = 0.5", "SLOPE = 0.25"),
    "condition": ("net.py", "math.pi > 3", "math.pi < 3"),
    "in a loop": ("net.py", "range(3)", "range(4)"),
    "in a with": ("net.py", "* 0 + 1", "* 0 + 2"),
    "taken apart": ("net.py", "(1, 2), 3", "(1, 3), 3"),
    "update of a reached dict": ("net.py", "CONFIG.update(depth=3)", "CONFIG.update(depth=4)"),
    "patch elsewhere": ("quiet.py", "NOBODY = 1", "import pkg.blocks as b\nb.Root.slope = 7"),
    "call on import elsewhere": ("quiet.py", "NOBODY = 1", "import torch\ntorch.manual_seed(1)"),
    "call in the package": ("pkg/__init__.py", "PACKAGE = 1", "import random\nrandom.seed(1)"),
    "method": ("net.py", "self.last = LAST", "self.last = LAST + 1"),
}
KEEPS = {
    "comment": ("net.py", "CONFIG = {", "# Said here.\nCONFIG = {"),
    "docstring of the class": ("net.py", '"""A model."""', '"""Another word."""'),
    "docstring of a helper": ("net.py", '"""Help."""', ""),
    "docstring of the module": ("net.py", '"""A network."""', '"""The network."""'),
    "formatting": ("net.py", "x * by + plus()", "(\n        x*by\n        + plus( )\n    )"),
    "unrelated class": ("net.py", "return 1", "return 2"),
    "unrelated constant": ("net.py", "OTHER = 5", "OTHER = 6"),
    "name that a function has too": ("net.py", 'data = "a name', 'data = "another name'),
    "update of another dict": ("net.py", "UNREAD.update(width=1)", "UNREAD.update(width=2)"),
    "unrelated class elsewhere": ("pkg/layers.py", "size = 1", "size = 2"),
    "unrelated function elsewhere": ("pkg/parts.py", "return 1", "return 2"),
    "what a star brings and nobody takes": ("pkg/stars.py", "return x\n", "return -x\n"),
    "only for type checkers": ("pkg/types_only.py", "pass", "size = 1"),
    "constant of a module that is only imported": ("quiet.py", "NOBODY = 1", "NOBODY = 2"),
    "another import": ("net.py", "import math\n", "import math\nimport json\n"),
    "what a script does": ("net.py", "WIDTH: int = 4", "WIDTH: int = 4\nif __name__ == '__main__':\n    print(1)"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_edit_of_what_is_reached_changes_the_digest(what: str, project: Project, digest: Digest) -> None:
    project.write(FILES)
    before = digest()
    project.edit(*CHANGES[what])
    assert digest() != before


@pytest.mark.parametrize("what", KEEPS)
def test_edit_of_anything_else_keeps_the_digest(what: str, project: Project, digest: Digest) -> None:
    project.write(FILES)
    before = digest()
    project.edit(*KEEPS[what])
    assert digest() == before


def test_module_that_comes_to_be_there_changes_the_digest(project: Project, digest: Digest) -> None:
    project.write(FILES)
    before = digest()
    project.write({"fast_version.py": "def scale(x):\n    return x\n"})
    assert digest() != before


def test_parts_are_named_and_only_what_was_edited_has_another_digest(project: Project) -> None:
    project.write(FILES)
    then = describe_code(project.load("net").Net).parts
    project.edit("pkg/_far.py", "FACTOR = 2", "FACTOR = 3")
    now = describe_code(project.load("net").Net).parts
    assert [name for name in {**then, **now} if then.get(name) != now.get(name)] == ["pkg._far:FACTOR"]
    assert {"net:Net", "net:helper", "pkg.blocks:Root", "pkg._far:far"} <= set(now)


def test_order_of_definitions_and_of_files_says_nothing(project: Project, digest: Digest) -> None:
    first = "def one(x):\n    return two(x)\n"
    second = "def two(x):\n    return [one, x]\n"
    net = "class Net:\n    def forward(self, x):\n        return one(x)\n"
    project.write({"net.py": first + second + net})
    before = digest()
    project.write({"net.py": net + second + first})
    assert digest() == before


def test_other_process_in_another_folder_tells_the_same(project: Project, digest: Digest, tmp_path: Path) -> None:
    project.write(FILES)
    shutil.copytree(project.folder, tmp_path / "elsewhere" / "copy")
    code = "import net; from gnz_track.user_code.digests import describe_code; print(describe_code(net.Net).digest)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "elsewhere" / "copy",
        env={"PYTHONPATH": str(tmp_path / "elsewhere" / "copy"), "PYTHONHASHSEED": "7", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == digest()


def test_modules_that_import_each_other_have_an_end(project: Project, digest: Digest) -> None:
    project.write(
        {
            "net.py": "from other import Base\nclass Net(Base):\n    pass\n",
            "other.py": "class Base:\n    def forward(self):\n        import net\n        return net.Net\n",
        }
    )
    before = digest()
    project.edit("other.py", "return net.Net", "return [net.Net]")
    assert digest() != before


def test_decorator_is_called_before_its_module_has_the_class(project: Project) -> None:
    project.write(
        {
            "net.py": """
            from gnz_track.user_code.digests import describe_code
            def keep(cls):
                cls.digest = describe_code(cls).digest
                return cls
            @keep
            class Net:
                def forward(self):
                    return late()
            def late():
                return 1
            """
        }
    )
    before = project.load("net").Net.digest
    project.edit("net.py", "return 1", "return 2")
    assert project.load("net").Net.digest != before


REGISTRIES = {
    "decorator": """
        LAYERS = {}
        def register(cls):
            LAYERS[cls.__name__] = cls
            return cls
        @register
        class Conv:
            size = 1
        """,
    "subscript": """
        LAYERS = {}
        class Conv:
            size = 1
        LAYERS["Conv"] = Conv
        """,
    "subclass": """
        class Layer:
            known = {}
            def __init_subclass__(cls):
                Layer.known[cls.__name__] = cls
        LAYERS = Layer.known
        class Conv(Layer):
            size = 1
        """,
    "object": """
        class Registry(dict):
            def add(self, cls):
                self[cls.__name__] = cls
                return cls
        LAYERS = Registry()
        @LAYERS.add
        class Conv:
            size = 1
        """,
}


@pytest.mark.parametrize("how", REGISTRIES)
def test_what_enters_itself_into_a_reached_registry_is_reached(how: str, project: Project, digest: Digest) -> None:
    project.write(
        {
            "layers.py": REGISTRIES[how],
            "net.py": "import layers\nclass Net:\n    def forward(self):\n        return layers.LAYERS['Conv']\n",
        }
    )
    before = digest()
    project.edit("layers.py", "size = 1", "size = 2")
    assert digest() != before


def test_registration_of_other_models_says_nothing(project: Project, digest: Digest) -> None:
    project.write(
        {
            "net.py": """
            import gnz_track as gnz
            class Net:
                task_types = {"node_cls"}
            class Other:
                task_types = {"node_cls"}
            if gnz is None:
                gnz.register_model(Other, task_types="node_cls")
            """
        }
    )
    before = digest()
    project.write({"net.py": (project.folder / "net.py").read_text() + "    size = 1\n"})
    project.edit(
        "net.py",
        'gnz.register_model(Other, task_types="node_cls")\n    size',
        "gnz.register_model(Other)\nif 0:\n    size",
    )
    assert digest() == before


HIDDEN = {
    "exec": ("exec('x = 1')", "exec()"),
    "eval": ("eval('1')", "eval()"),
    "__import__": ("__import__('json')", "__import__()"),
    "import_module": ("importlib.import_module(self.name)", "import_module()"),
    "getattr of a module": ("getattr(layers, self.name)", "getattr() of a module"),
    "file": ("open(self.name).read()", "open() of a file"),
    "weights": ("torch.load(self.name)", "load() of a file"),
    "environment": ("os.environ['WIDTH']", "a variable of the environment"),
    "environment, asked": ("os.environ.get('WIDTH')", "a variable of the environment"),
    "globals": ("globals()['Net']", "globals()"),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_what_cannot_be_followed_is_said_with_its_place(how: str, project: Project) -> None:
    code, said = HIDDEN[how]
    text = "import importlib, os, torch, layers\nclass Net:\n    name = 'Conv'\n    def forward(self):\n        return "
    project.write({"layers.py": "class Conv:\n    size = 1\n", "net.py": f"{text}{code}\n"})
    assert describe_code(project.load("net").Net).unseen == (f"net, line 5: {said}",)


def test_what_is_followed_is_not_said(project: Project) -> None:
    text = """
        import re, layers
        class Net:
            def forward(self):
                return getattr(layers, 'Conv'), getattr(self, self.name), re.compile('a')
        """
    project.write({"layers.py": "class Conv:\n    size = 1\nclass Spare:\n    size = 3\n", "net.py": text})
    found = describe_code(project.load("net").Net)
    assert (found.unseen, "layers:Conv" in found.parts, "layers:Spare" in found.parts) == ((), True, False)


def test_any_class_of_a_module_may_be_meant_by_a_name_that_is_no_constant(project: Project, digest: Digest) -> None:
    text = "import layers\nclass Net:\n    def forward(self, name):\n        return getattr(layers, name)\n"
    project.write({"layers.py": "class Conv:\n    size = 1\n", "net.py": text})
    before = digest()
    project.edit("layers.py", "size = 1", "size = 2")
    assert digest() != before


def test_module_without_its_source_is_known_by_its_code_and_said(project: Project) -> None:
    def compile_bare(text: str) -> None:
        project.write({"bare.py": text})
        py_compile.compile(str(project.folder / "bare.py"), cfile=str(project.folder / "kept"))
        (project.folder / "bare.py").unlink()

    project.write({"net.py": "from bare import part\nclass Net:\n    def forward(self):\n        return part(1)\n"})
    digests = []
    for text in (
        "def part(x):\n    return x\n",
        "def part(x):\n    return x + 1\n",
        "\n\ndef part(x):\n    return x\n",
    ):
        compile_bare(text)
        project.forget()
        shutil.copy(project.folder / "kept", project.folder / "bare.pyc")
        found = describe_code(project.load("net").Net)
        assert found.unseen == ("bare: compiled, without its source",)
        digests.append(found.digest)
    assert digests[0] == digests[2] != digests[1]


def test_modules_in_an_archive_are_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for number in (1, 2):
        path = project.folder / f"packed{number}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("packed.py", f"def part(x):\n    return x + {number}\n")
        project.write(
            {"net.py": "from packed import part\nclass Net:\n    def forward(self):\n        return part(1)\n"}
        )
        with monkeypatch.context() as patch:
            patch.syspath_prepend(path)
            digests.append(describe_code(project.load("net").Net).digest)
    assert len(set(digests)) == 2


def _install(folder: Path, version: str) -> None:
    (folder / "nicelayers").mkdir(parents=True, exist_ok=True)
    (folder / "nicelayers" / "__init__.py").write_text("def nice(x):\n    return x\n")
    for old in folder.glob("*.dist-info"):
        shutil.rmtree(old)
    info = folder / f"nicelayers-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: nicelayers\nVersion: {version}\n")
    (info / "top_level.txt").write_text("nicelayers\n")
    (info / "RECORD").write_text("nicelayers/__init__.py,,\n")


def test_installed_package_is_known_by_name_and_version(
    project: Project, digest: Digest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "venv" / "site-packages"
    _install(packages, "1.0")
    monkeypatch.syspath_prepend(packages)
    project.write(
        {"net.py": "from nicelayers import nice\nimport torch\nclass Net(torch.nn.Module):\n    n = nice(1)\n"}
    )
    parts = describe_code(project.load("net").Net).parts
    assert [name for name in parts if name.startswith("package")] == ["package nicelayers"], (
        "those of each run are left out"
    )
    before = digest()
    (packages / "nicelayers" / "__init__.py").write_text("def nice(x):\n    return x + 1\n")
    assert digest() == before, "its version says what it is"
    _install(packages, "1.1")
    assert digest() != before


def test_package_that_is_installed_to_be_edited_is_the_users(
    project: Project, digest: Digest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "checkout" / "src"
    (source / "mylib").mkdir(parents=True)
    (source / "mylib" / "__init__.py").write_text("def part(x):\n    return x\n")
    monkeypatch.syspath_prepend(source)
    project.write({"net.py": "import mylib\nclass Net:\n    def forward(self):\n        return mylib.part(1)\n"})
    before = digest()
    (source / "mylib" / "__init__.py").write_text("def part(x):\n    return x + 1\n")
    sys.modules.pop("mylib")
    assert digest() != before


def test_code_that_was_edited_after_its_import_is_not_taken_for_what_runs(project: Project) -> None:
    project.write(FILES)
    net = project.load("net").Net
    (project.folder / "pkg" / "_far.py").write_text(
        "FACTOR = 2\n# A word.\ndef far(x):\n    'Far.'\n    return x * FACTOR\n"
    )
    assert len(describe_code(net).digest) == 32
    (project.folder / "pkg" / "_far.py").write_text("FACTOR = 2\ndef far(x):\n    return x - FACTOR\n")
    with pytest.raises(BadValue, match=r"pkg\._far:far is 'the former one'.*importlib\.reload"):
        describe_code(net)


def test_constant_that_a_script_has_set_is_refused(project: Project) -> None:
    project.write(FILES)
    net = project.load("net")
    net.OTHER = 7
    assert len(describe_code(net.Net).digest) == 32, "it is not reached"
    net.WIDTH = 8
    with pytest.raises(BadValue, match=r"the constant net:WIDTH is 8.*4 as in its file"):
        describe_code(net.Net)


SEVERAL_OF_ONE_NAME = {
    "property": """
        class Net:
            @property
            def width(self):
                return 1
            @width.setter
            def width(self, value):
                self.given = value
        """,
    "lambdas": """
        first = lambda x: x * 1
        last = lambda x: -x
        class Net:
            up = lambda x: first(x)
            down = last
        """,
    "conditions": """
        if len([]) == 0:
            def part(x):
                return x * 1
        else:
            def part(x):
                return -x
        class Net:
            part = part
        """,
    "overloads": """
        from functools import singledispatch
        @singledispatch
        def part(x):
            return x
        @part.register
        def _(x: int):
            return x * 1
        @part.register
        def _(x: str):
            return x
        class Net:
            def forward(self):
                return part(1)
        """,
}


@pytest.mark.parametrize("how", SEVERAL_OF_ONE_NAME)
def test_functions_of_one_name_are_no_edited_ones(how: str, project: Project, digest: Digest) -> None:
    project.write({"net.py": SEVERAL_OF_ONE_NAME[how]})
    before = digest()
    project.edit("net.py", *(("x * 1", "x * 2") if how != "property" else ("return 1", "return 2")))
    assert digest() != before
