"""Fills the lower floors' own settings from the configuration; secrets only where asked for."""

from bot.errors import ConfigProblem
from bot.secrets import Secrets
from bot.settings import Settings
from bot.settings_schema import SMTP_PORTS, MailKind, Smtp
from outbox.settings import GateSettings, OutboxSettings, SecuritySettings
from tools.mail.folders import sent_folder
from tools.mail.settings import AccountKind, Mail, MailAccount, SmtpServer, Tls

# What an account of the tour names while no server runs: enough to draft, and nothing answers.
EMBEDDED_ASLEEP = SmtpServer(host="127.0.0.1", port=1, tls=Tls.NONE, files_sent=True)


def gate_settings(settings: Settings) -> GateSettings:
    """The tables [outbox] and [security] as the gate reads them."""
    outbox, security = settings.outbox, settings.security
    return GateSettings(
        outbox=OutboxSettings(
            tools=outbox.tools,
            direct=outbox.direct,
            strict=outbox.strict,
            scripts=outbox.scripts,
            publish=outbox.publish,
            expire_days=outbox.expire_days,
        ),
        security=SecuritySettings(
            trifecta=security.trifecta,
            web=security.web,
            block_sends_after_private=security.block_sends_after_private,
        ),
    )


def mail_settings(
    settings: Settings, secrets: Secrets | None, *, embedded: SmtpServer | None = None
) -> Mail:
    """Every built kind of account, and the owner's contacts.

    Passwords are resolved where `secrets` are given; without them a server has no login, which is
    enough to read and to draft. `embedded` is the tour's server where it runs.
    Raises: ConfigProblem for a secret that cannot be found.
    """
    accounts = settings.config.mail.accounts
    return Mail(
        accounts=tuple(
            _account(settings, secrets, name, embedded)
            for name, entry in accounts.items()
            if entry.kind is MailKind.MAILDIR
        ),
        contacts=settings.contacts,
    )


def api_key(settings: Settings, secrets: Secrets, model: str) -> str | None:
    """The key of this entry of [models]; None where it names none.

    Raises: ConfigProblem for an unknown entry, or a secret that cannot be found.
    """
    entry = settings.models.get(model)
    if entry is None:
        raise ConfigProblem(f"there is no [models.{model}] in {settings.home.config}")
    return None if entry.api_key is None else secrets.resolve(entry.api_key)


def _account(
    settings: Settings, secrets: Secrets | None, name: str, embedded: SmtpServer | None
) -> MailAccount:
    entry = settings.config.mail.accounts[name]
    assert entry.path is not None, "a maildir without a path does not load"
    path = settings.path(entry.path)
    return MailAccount(
        name=name,
        kind=AccountKind.MAILDIR,
        address=entry.address,
        display_name=entry.display_name,
        aliases=entry.aliases,
        path=path,
        sent=None if entry.sent is None else sent_folder(path, entry.sent),
        smtp=_smtp(entry.smtp, secrets, embedded),
    )


def _smtp(
    entry: Smtp | None, secrets: Secrets | None, embedded: SmtpServer | None
) -> SmtpServer | None:
    if entry is None:
        return None
    if entry.embedded:
        return embedded or EMBEDDED_ASLEEP
    assert entry.host is not None, "smtp without a host does not load"
    has_login = secrets is not None and entry.password is not None
    return SmtpServer(
        host=entry.host,
        port=entry.port or SMTP_PORTS[entry.tls],
        tls=Tls(entry.tls.value),
        user=entry.user if has_login else None,
        password=secrets.resolve(entry.password) if secrets and entry.password else None,
    )
