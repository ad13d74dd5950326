"""Showing values in notebooks: HTML in which every piece of foreign text is escaped."""
