"""Links that leave docs/ lead to files of the repository, which the site does not have: their text stays."""

import re

OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./[^)\s]*\)")


def on_page_markdown(markdown, **_):
    return OUTSIDE.sub(r"\1", markdown)
