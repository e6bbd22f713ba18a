"""Links to files of the repository that are not pages of the site lead to the repository.

A link to a file that does not exist stays as it is, so that MkDocs reports it and the build fails.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?=[)#])")


def on_page_markdown(markdown, page, config, files):
    """Rewrites the links of one page."""
    folder = posixpath.dirname(page.file.src_uri)

    def rewrite(match):
        target = match["target"]
        path = posixpath.normpath(posixpath.join(folder, target))
        if files.get_file_from_path(path) or not (ROOT / path).exists():
            return target
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{config.repo_url.rstrip('/')}/{kind}/main/{path}"

    return LINK.sub(rewrite, markdown)
