"""The installed package has types and stubs, and no dependencies."""

import importlib.metadata
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import agentese
from conftest import ROOT


def test_installed_package_is_typed_and_self_contained():
    folder = Path(agentese.__file__).parent
    for name in ["py.typed", "_native.pyi", "generated/pi.pyi", "generated/types.pyi"]:
        assert (folder / name).is_file(), name
    needed = [line.replace('"', "'") for line in importlib.metadata.requires("agentese") or []]
    assert all("extra == 'pydantic'" in line or "extra == 'websocket'" in line for line in needed), needed
    assert importlib.metadata.version("agentese") == agentese.__version__


def test_one_wheel_serves_all_versions_and_carries_its_licences():
    installed = importlib.metadata.distribution("agentese")
    tags = [line for line in (installed.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: ")]
    assert tags and all(tag.startswith("Tag: cp311-abi3-") for tag in tags), tags
    assert installed.metadata["License-Expression"] == "MIT OR Apache-2.0"
    licences = ["LICENSE-APACHE", "LICENSE-MIT"]
    assert installed.metadata.get_all("License-File") == licences
    # An editable installation has no copies. `./test --package` builds the wheel from the source distribution, so both
    # contain the same files.
    if '"editable":true' not in (installed.read_text("direct_url.json") or "").replace(" ", ""):
        for name in licences:
            assert installed.read_text(f"licenses/{name}") == (ROOT / name).read_text(), name


def test_only_the_standard_library_is_imported():
    program = (
        "import sys; import agentese; "
        "print([name for name in sys.modules if '.' not in name and name not in sys.stdlib_module_names])"
    )
    told = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    found = {name for name in eval(told.stdout) if not name.startswith("_")}  # noqa: S307
    # Before Python 3.12, pydantic needs `typing_extensions`, which is imported only if it is
    # installed.
    assert found - {"typing_extensions"} == {"agentese"}


def test_one_dialect_does_not_load_the_others():
    program = """
        import sys
        from agentese import pi
        loaded = {name.removeprefix("agentese.") for name in sys.modules if name.startswith("agentese.")}
        assert pi.Client and "pi" in loaded
        assert not loaded & {"omp", "opal", "operator", "pisces", "shapes"}, loaded
        import agentese
        assert agentese.opal.Client and agentese.shapes.UserMessage
        assert {"pi", "opal", "shapes", "Record"} <= set(dir(agentese)) and "importlib" not in dir(agentese)
        everything = {}
        exec("from agentese import *", everything)
        assert everything["omp"].Client and set(everything) - {"__builtins__"} == set(agentese.__all__)
        try:
            agentese.nothing
        except AttributeError as error:
            assert "'agentese' has no attribute 'nothing'" in str(error), error
        else:
            raise AssertionError("nothing was found")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_build_without_rust_fails_with_instructions():
    folder = ROOT / "sdk-python"
    ended = subprocess.run(
        [sys.executable, "-c", "import build_backend"], cwd=folder, env={"PATH": "", "PYTHONPATH": str(folder)},
        capture_output=True, text=True,
    )
    assert ended.returncode == 1 and "https://rustup.rs" in ended.stderr
    program = "import build_backend as backend; print(backend.get_requires_for_build_wheel())"
    path = str(Path(sys.executable).parent)
    cargo = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env={**os.environ, "PYTHONPATH": str(folder), "PATH": f"{path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True,
    )
    assert "puccinialin" not in cargo.stdout
