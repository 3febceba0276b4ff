"""What the console needs to know of the installation it is part of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """Built by the app factory from the server's settings.

    `root_path` is the prefix a proxy puts in front ("/jobs", no slash at the end; "" for none): every link, form
    and redirect carries it. `environment` is the word in the badge. `secure` says that browsers come over https, so
    that the console's cookies are marked Secure. `trace_url` is where a trace is shown, with `{trace_id}` in it, "" for
    nowhere.
    """

    version: str
    root_path: str = ""
    environment: str = "development"
    secure: bool = False
    trace_url: str = ""
