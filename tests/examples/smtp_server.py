"""A mail server for tests: takes mail, refuses what it is told to, and keeps one mail of each Message-ID."""

import socketserver
import threading
from email import message_from_bytes
from email.message import Message
from typing import Self


class MailServer:
    """Listens on a loopback port while it is entered. `answers` are what the next commands of a kind get."""

    def __init__(self) -> None:
        self.answers: dict[str, list[str]] = {}
        self.mailbox: dict[str, Message] = {}
        self.taken = 0
        mail = self

        class Session(socketserver.StreamRequestHandler):
            timeout = 10

            def handle(self) -> None:
                self.say("220 ready")
                while line := self.rfile.readline():
                    verb = line.decode().split()[0].upper()
                    scripted = mail.answers.get(verb)
                    if scripted:
                        self.say(scripted.pop(0))
                    elif verb == "DATA":
                        self.say("354 go on")
                        self.say(mail.take(self.body()))
                    else:
                        self.say("221 bye" if verb == "QUIT" else "250 fine")
                    if verb == "QUIT":
                        return

            def body(self) -> bytes:
                lines = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
                return b"".join(lines)

            def say(self, line: str) -> None:
                self.wfile.write(line.encode() + b"\r\n")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Session)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def take(self, raw: bytes) -> str:
        """Answers a mail: END scripts come first, as if the disk were full."""
        if scripted := self.answers.get("END"):
            return scripted.pop(0)
        message = message_from_bytes(raw)
        self.taken += 1
        self.mailbox.setdefault(str(message["Message-ID"]), message)
        return "250 taken"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
