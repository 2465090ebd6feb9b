"""Search by meaning, by words, by symbol and by walks from hit to hit."""
