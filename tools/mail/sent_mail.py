"""The folder of sent mail: filing a copy once, and finding what proves a delivery."""

from tools.mail import reader
from tools.mail.folders import Folder
from tools.mail.maildir import file_copy, is_maildir
from tools.mail.mbox import is_mbox
from tools.mail.read_cache import ReadCache
from tools.mail.settings import MailAccount


def holds(account: MailAccount, cache: ReadCache, message_id: str) -> bool:
    """True if the account's sent mail holds that Message-ID; False also where it cannot be read.

    A copy steward filed itself proves a delivery as well as a server's: it is filed only after the
    server said 250.
    """
    folder = account.sent
    if folder is None or not (is_maildir(folder) or is_mbox(folder)):
        return False
    return bool(reader.find(account, [Folder(name="Sent", path=folder)], cache, message_id))


def file_sent(
    account: MailAccount, cache: ReadCache, message: bytes, message_id: str
) -> str | None:
    """File the copy, unless a message of that identifier is there. What went wrong, or None."""
    folder = account.sent
    if folder is None or account.smtp is None or account.smtp.files_sent:
        return None
    if holds(account, cache, message_id):
        return None
    if folder.is_file():
        return f"no copy was filed: {folder} is an mbox, and steward never writes to one"
    try:
        file_copy(folder, message, name=_file_name(message_id))
    except FileExistsError:
        return None
    except OSError as error:
        return f"no copy was filed in {folder}: {error.strerror}"
    return None


def _file_name(message_id: str) -> str:
    """A name that the identifier alone decides, so that two processes file one copy."""
    left = "".join(
        char if char.isalnum() or char in ".-" else "_" for char in message_id.strip("<>")
    )
    return f"{left[:180]}.steward"
