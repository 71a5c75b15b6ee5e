# ruff: noqa: INP001  (a script of the image, not a package)
"""Make, renew and remove accounts of the team's server; runs where the server runs, with its settings.

    python accounts.py add NAME        a new account; its password is printed once
    python accounts.py renew NAME      a new password
    python accounts.py remove NAME

Where something is piped in, that is the password.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
import urllib.error
import urllib.request

# Word -> (method, page, whether it takes a password).
WORDS = {
    "add": ("POST", "create", True),
    "renew": ("PATCH", "update-password", True),
    "remove": ("DELETE", "delete", False),
}
LEAST_CHARACTERS = 12


def main(arguments: list[str]) -> int:
    """Do what the arguments say; return the exit code."""
    if len(arguments) != 2 or arguments[0] not in WORDS:
        sys.stderr.write(str(__doc__))
        return 2
    word, name = arguments
    method, page, takes_password = WORDS[word]
    password, is_chosen_here = _choose() if takes_password else ("", False)
    if takes_password and len(password) < LEAST_CHARACTERS:
        sys.stderr.write(f"refused: the password has {len(password)} characters; give {LEAST_CHARACTERS} or more\n")
        return 2
    said = _ask(method, page, {"username": name, **({"password": password} if takes_password else {})})
    if said:
        sys.stderr.write(f"refused: {said}\n")
        return 2
    account = f"MLFLOW_TRACKING_USERNAME={name}\nMLFLOW_TRACKING_PASSWORD={password}\n"
    sys.stdout.write(account if is_chosen_here else f"{word}: {name}\n")
    return 0


def _choose() -> tuple[str, bool]:
    given = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read().strip()
    return (given, False) if given else (secrets.token_urlsafe(18), True)


def _ask(method: str, page: str, body: dict[str, str]) -> str:
    """Ask the server on this machine as its first account; return why it refuses, or nothing."""
    user = f"{os.environ['MLFLOW_AUTH_ADMIN_USERNAME']}:{os.environ['MLFLOW_AUTH_ADMIN_PASSWORD']}"
    address = f"http://127.0.0.1:{os.environ.get('GNZ_SERVER_PORT', '5000')}/api/2.0/mlflow/users/{page}"
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Basic {base64.b64encode(user.encode()).decode()}",
    }
    request = urllib.request.Request(address, json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30):  # noqa: S310  (a page of this machine)
            return ""
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode(errors="replace")
        try:
            return str(json.loads(text)["message"])
        except (ValueError, KeyError, TypeError):
            return f"{error.code} {text[:200]}".strip()
    except OSError as error:
        return f"the server does not answer: {error}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
