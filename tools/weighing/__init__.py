"""Learning what the words around a call weigh: texts by author, and how the weights come of them."""
