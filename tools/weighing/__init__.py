"""Learning what the words around a call weigh, from texts of many authors."""
