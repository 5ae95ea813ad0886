"""The guided tour: a home of its own, a mailbox it writes itself, a mail server on loopback."""
