"""What `leaseforge dev` prints when everything is up: where to go, how to log in, how to submit a first job."""

from leaseforge_cli.first_login import PASSWORD, Login

# Reads the answer of a login and prints its token, with the Python that is there anyway.
READ_ANSWER = "import json, sys; print(json.load(sys.stdin)['access_token'])"


def banner(url: str, login: Login) -> str:
    """The text, with shell lines that work when pasted as they are."""
    username = login.username or "ada"
    known = login.password or f"${PASSWORD}"
    credentials = f'{{\\"username\\":\\"{username}\\",\\"password\\":\\"{known}\\"}}'
    shown = f"{login.password}   ({login.explanation})" if login.password else login.explanation
    who = f"  user      {login.username}\n  password  {shown}" if login.username else f"  log in    {shown}"
    prepare = "" if login.password else f"  {PASSWORD}='...'   # the password, unless this shell has it\n"
    return f"""
Leaseforge is running.

  console   {url}/
{who}

A first job, from another terminal:

{prepare}  TOKEN=$(curl -sS {url}/api/auth/login -H 'Content-Type: application/json' \\
    -d "{credentials}" | python3 -c "{READ_ANSWER}")
  curl -sS {url}/api/jobs -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{{"type": "echo", "payload": {{"hello": "world"}}}}'

Ctrl-C stops everything; the data stays for the next start.
"""
