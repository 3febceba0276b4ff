"""Who may come in: accounts, passwords, tokens, sessions, permissions."""
