"""`leaseforge login` and `leaseforge logout`: the token that other commands send."""

import os
import sys
from urllib.parse import urlsplit

import click

from leaseforge.settings import read
from leaseforge_cli.client import ApiClient, Refused
from leaseforge_cli.client_settings import ClientSettings, api_token, api_url
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.logins import LOCAL_URL, Login, forget_login, keep_login, kept_login
from leaseforge_cli.options import Parsed

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@click.command()
@click.option("--url", type=Parsed(api_url), help="the server's address (LEASEFORGE_API_URL)")
@click.option("--user", "username", help="who logs in with a password")
@click.option("--token", "with_token", is_flag=True, help="an API token instead of a password (it is asked for, too)")
def login(url: str | None, username: str | None, with_token: bool) -> None:
    """Ask for address, user and password (or an API token) and keep a token for other commands.

    It is kept in a file only you can read, in your configuration folder. Without a terminal secrets are read from the
    input, the first line of it. A token that was given for a password is valid for LEASEFORGE_AUTH_TTL of the server
    (12 hours), an API token until it expires or is revoked.
    """
    settings = read(ClientSettings, os.environ)
    if settings.token is not None:
        click.echo("LEASEFORGE_TOKEN is set, and wins over what is kept now", err=True)
    address = url or settings.api_url or _asked_url()
    _warn_of_plain_http(address)
    if with_token:
        token = _given_token()
    else:
        name = username or _asked("User")
        with ApiClient(address) as client:
            token = client.post("auth/login", {"username": name, "password": _secret("password")})["access_token"]
    with ApiClient(address, token) as client:
        who = client.get("auth/me")
    path = keep_login(Login(address, token, str(who["username"])))
    click.echo(f"logged in to {address} as {who['username']} ({', '.join(who['roles']) or 'no roles'}), kept in {path}")


@click.command()
def logout() -> None:
    """Forget the login that is kept, and end its token if it was given for a password."""
    kept = kept_login()
    if kept is None:
        click.echo("not logged in")
        return
    try:
        if not kept.token.startswith("lf_"):
            with ApiClient(kept.url, kept.token) as client:
                client.send("POST", "auth/logout")
    except Refused as refused:
        if refused.code != ExitCode.NOT_LOGGED_IN:
            raise
    forget_login()
    click.echo(f"logged out from {kept.url}")


def _asked_url() -> str:
    kept = kept_login()
    given = kept.url if kept else LOCAL_URL
    return api_url(click.prompt("Server", default=given, value_proc=_checked_url)) if sys.stdin.isatty() else given


def _checked_url(text: str) -> str:
    try:
        return api_url(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _asked(what: str) -> str:
    if not sys.stdin.isatty():
        raise click.UsageError(f"there is no terminal to ask for the {what.lower()}: --{what.lower()}")
    return str(click.prompt(what))


def _given_token() -> str:
    try:
        return api_token(_secret("API token"))
    except ValueError as error:
        raise CommandFailed(str(error), ExitCode.USAGE) from None


def _secret(what: str) -> str:
    """Typed without an echo, or the first line of the input: a command line can be read by everybody."""
    text = (
        str(click.prompt(what[0].upper() + what[1:], hide_input=True))
        if sys.stdin.isatty()
        else sys.stdin.readline().rstrip("\r\n")
    )
    if not text:
        raise CommandFailed(f"no {what} was given", ExitCode.USAGE)
    return text


def _warn_of_plain_http(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS:
        click.echo(f"{address} is not encrypted: everybody on the way can read password and token", err=True)
