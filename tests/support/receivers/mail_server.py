"""A server for e-mail (RFC 5321) with STARTTLS (RFC 3207) and AUTH PLAIN (RFC 4954), with a certificate of its own authority.

As strict as servers are: it takes no login and no mail before TLS if it has TLS, no mail before the login if it has users, and only lines
that end in CRLF and have at most 998 bytes.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from tests.support.receivers.listening import Listening, when_there

_LONGEST_LINE = 998
USER, PASSWORD = "longhaul", "correct horse"


@dataclass
class Mail:
    """One message as it was accepted: its envelope, and whether it came encrypted and after a login."""

    sender: str
    to: list[str]
    content: bytes
    encrypted: bool
    user: str

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.content, policy=default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def text(self) -> str:
        return str(self.message.get_content())


@dataclass
class MailServer(Listening):
    """The server. `refuses` are recipients that do not exist; `replies` replaces the next replies to DATA."""

    folder: Path
    tls: str = "starttls"
    users: dict[str, str] = field(default_factory=lambda: {USER: PASSWORD})
    refuses: set[str] = field(default_factory=set)
    replies: list[str] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    port: int = 0

    @property
    def authority(self) -> Path:
        """The certificate that its clients have to trust."""
        return self.folder / "authority.pem"

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a service that uses it."""
        password = self.folder / "password"
        password.write_text(f"{PASSWORD}\n")
        return {
            "LONGHAUL_SMTP_HOST": "localhost",
            "LONGHAUL_SMTP_PORT": str(self.port),
            "LONGHAUL_SMTP_TLS": self.tls,
            "LONGHAUL_SMTP_FROM": "longhaul@lab.example",
            "LONGHAUL_SMTP_USER": USER,
            "LONGHAUL_SMTP_PASSWORD_FILE": str(password),
            "SSL_CERT_FILE": str(self.authority),
        }

    def start(self) -> None:
        outer = self
        context = _context(self.folder)

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError, EOFError):
                    session = _Session(outer, self.request, context)
                    try:
                        session.serve()
                    finally:
                        session.close()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.listen(Server(("127.0.0.1", self.port), Handler))

    def wait(self, count: int) -> Sequence[Mail]:
        """The accepted mails, when there are so many."""
        return when_there(self.mails, count)


class _Session:
    """One connection."""

    def __init__(self, server: MailServer, raw: socket.socket, context: ssl.SSLContext) -> None:
        self._server, self._context = server, context
        self._socket = context.wrap_socket(raw, server_side=True) if server.tls == "tls" else raw
        self._encrypted = server.tls == "tls"
        self._user, self._sender, self._to = "", "", list[str]()
        self._file = self._socket.makefile("rb")
        self._files = [self._file]

    def serve(self) -> None:
        self._say("220 mail.example ESMTP")
        while True:
            verb, _, rest = self._line().decode("ascii").partition(" ")
            if verb.upper() == "QUIT":
                self._say("221 bye")
                return
            handle = getattr(self, f"_{verb.lower()}", None)
            self._say("502 unknown") if handle is None else handle(rest)

    def close(self) -> None:
        """Close the connection, also below its encryption."""
        for one in self._files:
            one.close()
        self._socket.close()

    def _line(self) -> bytes:
        line = self._file.readline(_LONGEST_LINE + 3)
        if not line:
            raise EOFError
        assert line.endswith(b"\r\n"), line
        return line[:-2]

    def _say(self, text: str) -> None:
        self._socket.sendall(text.encode() + b"\r\n")

    def _ehlo(self, rest: str) -> None:
        offers = ["mail.example"]
        offers += ["STARTTLS"] if self._server.tls == "starttls" and not self._encrypted else []
        offers += ["AUTH PLAIN"] if self._server.users and self._encrypted else []
        for one in offers[:-1]:
            self._say(f"250-{one}")
        self._say(f"250 {offers[-1]}")

    def _starttls(self, rest: str) -> None:
        self._say("220 go ahead")
        self._socket = self._context.wrap_socket(self._socket, server_side=True)
        self._file, self._encrypted = self._socket.makefile("rb"), True
        self._files.append(self._file)

    def _auth(self, rest: str) -> None:
        if self._server.tls != "none" and not self._encrypted:
            self._say("538 encryption is required")
            return
        how, _, text = rest.partition(" ")
        assert how == "PLAIN", how
        _, user, password = base64.b64decode(text).decode().split("\0")
        right = self._server.users.get(user) == password
        self._user = user if right else ""
        self._say("235 welcome" if right else "535 wrong user or password")

    def _mail(self, rest: str) -> None:
        if self._server.tls != "none" and not self._encrypted:
            self._say("530 encryption is required")
        elif self._server.users and not self._user:
            self._say("530 log in first")
        else:
            self._sender, self._to = rest.partition("<")[2].partition(">")[0], []
            self._say("250 sender ok")

    def _rcpt(self, rest: str) -> None:
        to = rest.partition("<")[2].partition(">")[0]
        if to in self._server.refuses:
            self._say("550 no such user")
        else:
            self._to.append(to)
            self._say("250 recipient ok")

    def _rset(self, rest: str) -> None:
        self._to = []
        self._say("250 reset")

    def _data(self, rest: str) -> None:
        self._say("354 end with a dot")
        lines = []
        while (line := self._line()) != b".":
            lines.append(line.removeprefix(b"."))
        if self._server.replies:
            self._say(self._server.replies.pop(0))
            return
        content = b"\r\n".join(lines)
        self._server.mails.append(Mail(self._sender, self._to, content, self._encrypted, self._user))
        self._say("250 accepted")


def _context(folder: Path) -> ssl.SSLContext:
    """A certificate of `localhost`, signed by an authority that is made for it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    if not certificate.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
        make = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        authority = ("-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "authority.key", "-out")
        _run(folder, *make, *authority, "authority.pem", "-addext", "keyUsage=critical,keyCertSign")
        _run(folder, *make, "-subj", "/CN=localhost", "-keyout", key.name, "-out", "request.pem")
        signed = ("-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2")
        _run(
            folder,
            "openssl",
            "x509",
            "-req",
            "-in",
            "request.pem",
            *signed,
            "-extfile",
            "names",
            "-out",
            certificate.name,
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def mail_server(folder: Path, **more: object) -> Iterator[MailServer]:
    """A server while the context lasts."""
    server = MailServer(folder, **more)  # type: ignore[arg-type]
    server.start()
    try:
        yield server
    finally:
        server.stop()
