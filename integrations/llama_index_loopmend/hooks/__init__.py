"""Step hooks: each does one thing for an agent, and works alone or with the others."""
