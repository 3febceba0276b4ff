"""`leaseforge users`: accounts made and changed by whoever runs the installation, and written down like everything."""

import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import click

from leaseforge_api.settings import ServerSettings
from leaseforge_auth.audit.action import Action, new_action
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.passwords import Passwords
from leaseforge_auth.roles import Role
from leaseforge_auth.users import Users, generated_password
from leaseforge_cli.client_output import confirm, yes_option
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.installation import connected, server_settings

PAGE = 100
ROLES = click.Choice([role.value for role in Role])
Work = Callable[[Users, Action], Awaitable[str | None]]


@click.group()
def users() -> None:
    """List, make and change accounts.

    Needs the server's settings: LEASEFORGE_REDIS_URL and LEASEFORGE_AUTH_SECRET. Passwords are typed or read from
    the input, never given on the command line, where everybody on the machine could read them.
    """


@users.command("list")
def list_users() -> None:
    """Print all accounts."""

    async def work(known: Users, _action: Action) -> None:
        click.echo(f"{'name':<24} {'roles':<24} {'from':<9} {'state':<9} last login")
        offset, total = 0, 1
        while offset < total:
            page, total = await known.listed(offset=offset, limit=PAGE)
            offset += PAGE
            for info in page:
                state = "disabled" if info.is_disabled else "enabled"
                seen = "-" if info.last_login_at_ms is None else _time(info.last_login_at_ms)
                click.echo(f"{info.username:<24} {','.join(info.roles) or '-':<24} {info.origin:<9} {state:<9} {seen}")

    _run(work)


@users.command("create")
@click.argument("username")
@click.option("--role", "roles", type=ROLES, multiple=True, required=True, help="may be given several times")
@click.option("--generate", is_flag=True, help="make up a password and print it, this once")
def create(username: str, roles: tuple[str, ...], generate: bool) -> None:
    """Make an account; its password is asked for, or read from the input."""
    password = generated_password() if generate else _password()

    async def work(known: Users, action: Action) -> str:
        action.note(roles=[*roles])
        await known.create(username, roles=[Role(role) for role in roles], password=password, origin="cli")
        return f"made {username} ({', '.join(roles)})"

    _run(work, "user.create", username)
    if generate:
        click.echo(f"password: {password}")


@users.command("roles")
@click.argument("username")
@click.option("--role", "roles", type=ROLES, multiple=True, required=True, help="may be given several times")
def set_roles(username: str, roles: tuple[str, ...]) -> None:
    """Give an account these roles and no others."""

    async def work(known: Users, action: Action) -> str:
        action.note(roles=[*roles])
        await known.change(username, roles=[Role(role) for role in roles])
        return f"{username} is {', '.join(roles)} now and has to log in again"

    _run(work, "user.change", username)


@users.command("password")
@click.argument("username")
@click.option("--generate", is_flag=True, help="make up a password and print it, this once")
def set_password(username: str, generate: bool) -> None:
    """Give an account a new password, which ends its sessions and access tokens."""
    password = generated_password() if generate else _password()

    async def work(known: Users, action: Action) -> str:
        action.note(new_password=True)
        await known.change(username, password=password)
        return f"{username} has a new password"

    _run(work, "user.change", username)
    if generate:
        click.echo(f"password: {password}")


@users.command("disable")
@click.argument("username")
def disable(username: str) -> None:
    """Keep an account from doing anything, at once."""

    async def work(known: Users, action: Action) -> str:
        action.note(disabled=True)
        await known.change(username, disabled=True)
        return f"{username} is disabled"

    _run(work, "user.change", username)


@users.command("enable")
@click.argument("username")
def enable(username: str) -> None:
    """Let a disabled account log in again."""

    async def work(known: Users, action: Action) -> str:
        action.note(disabled=False)
        await known.change(username, disabled=False)
        return f"{username} may log in"

    _run(work, "user.change", username)


@users.command("logout")
@click.argument("username")
def log_out(username: str) -> None:
    """End all sessions, access tokens and personal API tokens of an account."""

    async def work(known: Users, _action: Action) -> str:
        await known.log_out_everywhere(username)
        return f"{username} is logged out everywhere"

    _run(work, "user.logout", username)


@users.command("delete")
@click.argument("username")
@yes_option
def delete(username: str, yes: bool) -> None:
    """Remove an account."""
    confirm(f"Remove {username} with all sessions and personal API tokens?", yes=yes)

    async def work(known: Users, _action: Action) -> str:
        await known.delete(username)
        return f"{username} is gone"

    _run(work, "user.delete", username)


def _run(work: Work | Callable[[Users, Action], Awaitable[None]], word: str = "", username: str = "") -> None:
    """Carries out `work`; a change (`word`) with an entry before it and one after it in the audit trail."""
    said = asyncio.run(_carry_out(server_settings(), work, word, username))
    if said:
        click.echo(said)


async def _carry_out(settings: ServerSettings, work: Callable[..., Awaitable[Any]], word: str, username: str) -> Any:
    passwords = Passwords()
    try:
        async with connected(settings) as store:
            trail = AuditTrail(store, Chain(settings.auth.auth_secret), keep=settings.auth.audit_keep)
            action = new_action(trail, word, address="", path_parameters={"username": username}, request_id="")
            action.known(f"cli:{getpass.getuser()}", credential="cli")
            if not word:
                return await work(Users(store, passwords), action)
            await action.begin()
            try:
                said = await work(Users(store, passwords), action)
            except BaseException:
                await action.close(_REFUSED)
                raise
            await action.close(_DONE)
            return said
    finally:
        passwords.close()


# The trail speaks of how a request was answered; these are what a server would have said.
_DONE, _REFUSED = 200, 400


def _password() -> str:
    """Typed twice at a terminal, else the first line of the input."""
    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return typed
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise CommandFailed("no password on the input: pipe one in, or use --generate", ExitCode.USAGE)
    return line


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
