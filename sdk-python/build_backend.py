"""The build backend: maturin, without its download of a Rust toolchain if no toolchain is installed."""

import os
import shutil

os.environ["MATURIN_NO_INSTALL_RUST"] = "1"

if shutil.which("cargo") is None:
    raise SystemExit(
        "Building agentese from source needs Rust, and `cargo` was not found. "
        "Install Rust (https://rustup.rs), or a wheel: pip install --only-binary agentese agentese"
    )

from maturin import (  # noqa: E402
    build_editable as build_editable,
    build_sdist as build_sdist,
    build_wheel as build_wheel,
    get_requires_for_build_editable as get_requires_for_build_editable,
    get_requires_for_build_sdist as get_requires_for_build_sdist,
    get_requires_for_build_wheel as get_requires_for_build_wheel,
    prepare_metadata_for_build_editable as prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel,
)
