"""What is installed: typed, with the stubs, and without dependencies."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import agentese


def test_the_installed_package_is_typed_and_stands_alone():
    folder = Path(agentese.__file__).parent
    for name in ["py.typed", "_native.pyi", "generated/pi.pyi", "generated/types.pyi"]:
        assert (folder / name).is_file(), name
    assert not importlib.metadata.requires("agentese")
    assert importlib.metadata.version("agentese") == agentese.__version__


def test_nothing_but_the_standard_library_is_imported():
    program = (
        "import sys; import agentese; "
        "print([name for name in sys.modules if '.' not in name and name not in sys.stdlib_module_names])"
    )
    told = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    found = {name for name in eval(told.stdout) if not name.startswith("_")}  # noqa: S307
    assert found == {"agentese"}
