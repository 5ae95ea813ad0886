"""Mail: reading Maildir and mbox without leaving a mark, and sending over SMTP step by step."""
