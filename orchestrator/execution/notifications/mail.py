"""E-mail: a plain text with the same content as a webhook's message, sent once to one recipient.

Python's e-mail package refuses line breaks in headers, so no name of an experiment adds one. The Message-ID is the id of the message, by
which mail servers and programs drop a repeat.
"""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
import threading
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime

from longhaul.orchestrator.execution.notifications.outcome import Outcome, delivered, failed, later
from longhaul.orchestrator.system.access_settings import Mail

# Of a step, and of the whole attempt.
_STEP_S, _LONGEST_S = 15.0, 60.0


def written(mail: Mail, to: str, key: str, subject: str, text: str) -> EmailMessage:
    """A message; ValueError if a header would be more than one line."""
    message = EmailMessage(policy=SMTP)
    message["From"] = Address("Longhaul", addr_spec=mail.sender)
    message["To"] = Address(addr_spec=to)
    message["Subject"] = subject
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = f"<{key}@{mail.sender.rpartition('@')[2]}>"
    # Holiday replies and lists leave such messages alone (RFC 3834).
    message["Auto-Submitted"] = "auto-generated"
    # Output of a guest may have halves of characters.
    message.set_content(text.encode(errors="replace").decode(), cte="quoted-printable")
    return message


def send(mail: Mail, to: str, key: str, subject: str, text: str) -> Outcome:
    """Send one message, once."""
    if not mail.allows(to):
        return failed(f"{to} is not in a domain of LONGHAUL_SMTP_DOMAINS")
    held: list[smtplib.SMTP] = []
    limit = threading.Timer(_LONGEST_S, _cut, [held])
    limit.daemon = True
    limit.start()
    try:
        server = _opened(mail, held)
        refused = server.send_message(written(mail, to, key, subject, text), mail.sender, [to])
        assert not refused  # of the only recipient an error is raised
    except smtplib.SMTPRecipientsRefused as error:
        code, text_of_server = error.recipients[to]
        answer = f"{mail.host} refused {to}: {code} {text_of_server.decode(errors='replace')}"
        return failed(answer) if code >= 500 else later(answer)
    except smtplib.SMTPResponseException as error:
        reason = error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        return later(f"{mail.host} replied: {error.smtp_code} {reason}")
    except (OSError, smtplib.SMTPException) as error:
        return later(f"{mail.host} port {mail.port}: {error or type(error).__name__}")
    finally:
        limit.cancel()
        for one in held:
            # The server has the message by now, or never gets it.
            with contextlib.suppress(OSError, smtplib.SMTPException):
                one.quit()
            one.close()
    return delivered(f"{mail.host} accepted the message for {to}")


def _opened(mail: Mail, held: list[smtplib.SMTP]) -> smtplib.SMTP:
    context, name = ssl.create_default_context(), socket.gethostname()
    if mail.tls == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            mail.host, mail.port, local_hostname=name, timeout=_STEP_S, context=context
        )
    else:
        server = smtplib.SMTP(mail.host, mail.port, local_hostname=name, timeout=_STEP_S)
    held.append(server)
    if mail.tls == "starttls":
        server.starttls(context=context)
    if mail.user:
        server.login(mail.user, mail.password)
    return server


def _cut(held: list[smtplib.SMTP]) -> None:
    """End an attempt that lasts too long: its thread then reads the end of the connection."""
    for one in held:
        with contextlib.suppress(OSError):
            if one.sock is not None:
                socket.socket.shutdown(one.sock, socket.SHUT_RDWR)
