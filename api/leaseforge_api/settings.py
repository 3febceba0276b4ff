"""Settings of the server process: its own, those of accounts and sessions, and where Redis is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from leaseforge.errors import FieldProblem, SettingsError
from leaseforge.process_settings import ProcessSettings
from leaseforge.settings import EngineSettings, address, read, seconds, setting
from leaseforge_auth.oidc.settings import OidcSettings
from leaseforge_auth.settings import AuthSettings

S = TypeVar("S")
TRACE_ID = "{trace_id}"


def environment(text: str) -> str:
    """Checks the word shown in the console's badge."""
    if len(text) > 32 or not text.isprintable():
        raise ValueError("must be at most 32 printable characters")
    return text


def trace_url(text: str) -> str:
    """Checks the address a job's trace is shown at."""
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname or TRACE_ID not in text.partition(url.netloc)[2]:
        raise ValueError(f"must be an http or https URL with {TRACE_ID} in its path, query or fragment")
    return text


@dataclass(frozen=True, slots=True)
class HttpSettings(ProcessSettings):
    """Where the server listens and what it calls itself."""

    api_addr: tuple[str, int] = setting(
        "LEASEFORGE_API_ADDR", default=("127.0.0.1", 8080), parse=address, help="host:port of API and console"
    )
    stop_delay_s: float = setting(
        "LEASEFORGE_STOP_DELAY",
        default=0.0,
        parse=seconds(0, 300),
        help="how long a server told to stop takes requests while /ready refuses already, for load balancers to hear",
    )
    environment: str = setting(
        "LEASEFORGE_ENVIRONMENT", default="development", parse=environment, help="word in the console's badge"
    )
    trace_url: str = setting(
        "LEASEFORGE_TRACE_URL",
        default="",
        parse=trace_url,
        help="where traces are shown: https://tracing.example.com/trace/{trace_id}; the page of a job links there",
    )


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything `create_app` and `serve` need."""

    http: HttpSettings
    auth: AuthSettings
    engine: EngineSettings
    oidc: OidcSettings

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "ServerSettings":
        """The settings of this environment. Raises SettingsError that names every wrong variable of all parts."""
        problems: list[FieldProblem] = []
        http = _read(HttpSettings, environ, problems)
        auth = _read(AuthSettings, environ, problems)
        engine = _read(EngineSettings, environ, problems)
        oidc = _read(OidcSettings, environ, problems)
        if oidc is not None and auth is not None:
            oidc = _completed(oidc, auth, problems)
        if problems or http is None or auth is None or engine is None or oidc is None:
            raise SettingsError(problems)
        return cls(http, auth, engine, oidc)


def _completed(oidc: OidcSettings, auth: AuthSettings, problems: list[FieldProblem]) -> OidcSettings | None:
    """Single sign-on as the server's own addresses make it."""
    if not auth.password_login and not oidc.is_on:
        words = "must stay on without single sign-on (LEASEFORGE_OIDC_ISSUER): nobody could log in"
        problems.append(FieldProblem("LEASEFORGE_PASSWORD_LOGIN", words))
    try:
        return oidc.completed(web_url=auth.web_url, root_path=auth.root_path)
    except SettingsError as error:
        problems += error.problems
        return None


def _read(part: type[S], environ: Mapping[str, str], problems: list[FieldProblem]) -> S | None:
    try:
        return read(part, environ)
    except SettingsError as error:
        problems += error.problems
        return None
