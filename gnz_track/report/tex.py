"""Any text as LaTeX that prints it, whatever characters it holds."""

from __future__ import annotations

__all__ = ["escape_tex"]

# Braces after a hyphen and its like keep TeX from joining two of them into one longer sign.
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Packages for some languages give this sign a meaning of its own.
    '"': r"{\char34}",
    "`": r"{\char96}",
    "'": "'{}",
    "-": "-{}",
    ",": ",{}",
}
TABLE = str.maketrans(SPECIAL)


def escape_tex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> print(escape_tex("50%_of $x^2$"))
    50\%\_of \$x\textasciicircum{}2\$
    """
    return text.translate(TABLE)
